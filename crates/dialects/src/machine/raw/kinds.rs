//! What the kinds of states have beside the fields of every state.

use std::sync::Arc;

use branchpoint_expr::{Field, Kind, Located, Span, Value};

use super::{Fields, Findings, Guard, Text};
use crate::DocumentKinds as _;
use crate::output::{self, OutputLimit};

/// A text, or a file that holds it.
#[derive(Debug)]
pub(in crate::machine) enum Source {
    Text(Text),
    File(Text),
}

#[derive(Debug)]
pub(in crate::machine) struct Command {
    pub(in crate::machine) source: Option<Source>,
    pub(in crate::machine) limit: OutputLimit,
}

impl Command {
    pub(super) fn read(fields: &mut Fields<'_>, found: &mut Findings) -> Self {
        let source = source(fields, "command", "script_file", found);
        let bytes = fields.integer("max_output", output::BYTES, found);
        let truncate = fields.flag("truncate", found).unwrap_or(false);
        Self { source, limit: OutputLimit { bytes, truncate } }
    }
}

#[derive(Debug)]
pub(in crate::machine) struct Agent {
    pub(in crate::machine) provider: Option<Text>,
    pub(in crate::machine) prompt: Option<Source>,
    pub(in crate::machine) system_prompt: Option<Text>,
    pub(in crate::machine) role: Option<Text>,
    pub(in crate::machine) skills: Vec<Skill>,
    pub(in crate::machine) options: Value,
    pub(in crate::machine) json: bool,
    pub(in crate::machine) converses: bool,
    pub(in crate::machine) conversation: Option<Conversation>,
}

/// Knowledge that goes before a prompt: by name, or by the folder that holds it.
#[derive(Debug)]
pub(in crate::machine) enum Skill {
    Name(Text),
    Path(Text),
}

#[derive(Debug, Default)]
pub(in crate::machine) struct Conversation {
    pub(in crate::machine) stops: Vec<Guard>,
    pub(in crate::machine) max_turns: Option<i64>,
    pub(in crate::machine) inject_context: Option<Text>,
    pub(in crate::machine) continue_from: Option<Text>,
}

#[derive(Debug)]
pub(in crate::machine) struct Parallel {
    pub(in crate::machine) branches: Vec<Text>,
    pub(in crate::machine) strategy: Strategy,
    pub(in crate::machine) max_concurrent: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Strategy {
    AllSucceed,
    AnySucceed,
    BestEffort,
}

#[derive(Debug)]
pub(in crate::machine) struct Call {
    pub(in crate::machine) workflow: Option<Text>,
    pub(in crate::machine) inputs: Vec<Field>,
    /// The state of the child, and the name its output gets.
    pub(in crate::machine) outputs: Vec<(Arc<str>, Span, Text)>,
}

#[derive(Debug)]
pub(in crate::machine) struct Terminal {
    pub(in crate::machine) failure: bool,
    pub(in crate::machine) message: Option<Text>,
}

/// A text or the file that holds it: one of them, not both.
fn source(fields: &mut Fields<'_>, text: &'static str, file: &'static str, found: &mut Findings) -> Option<Source> {
    if fields.says(text) && fields.says(file) {
        let message = format!("`{}` and `{}` exclude each other", fields.path(text), fields.path(file));
        found.error(Kind::Conflict, fields.span, message);
    }
    if fields.says(file) && !fields.says(text) {
        fields.take(text);
        return fields.needed(file, found).map(Source::File);
    }
    fields.take(file);
    fields.needed(text, found).map(Source::Text)
}

impl Agent {
    pub(super) fn read(state: &mut Fields<'_>, found: &mut Findings) -> Self {
        const KEYS: [&str; 10] = [
            "provider",
            "prompt",
            "prompt_file",
            "system_prompt",
            "role",
            "skills",
            "options",
            "output_format",
            "mode",
            "conversation",
        ];
        let mut block = state.object("agent", found);
        let fields = match &mut block {
            Some(block) => {
                only_in_block(state, &KEYS, "agent", found);
                block
            }
            None => &mut *state,
        };
        fields.unsupported(&["mcp_proxy"], found);
        let agent = Self {
            provider: fields.needed("provider", found),
            prompt: source(fields, "prompt", "prompt_file", found),
            system_prompt: fields.filled("system_prompt", found),
            role: fields.filled("role", found),
            skills: skills(fields, found),
            options: fields.take("options").map(Located::to_value).unwrap_or_default(),
            json: fields.word("output_format", &[("text", false), ("json", true)], found).unwrap_or(false),
            converses: fields.word("mode", &[("single", false), ("conversation", true)], found).unwrap_or(false),
            conversation: fields.object("conversation", found).map(|fields| Conversation::read(fields, found)),
        };
        if let Some(block) = block {
            block.finish(found);
        }
        agent
    }
}

/// Fields of a block may stand on the state or in the block, not in both.
pub(super) fn only_in_block(state: &mut Fields<'_>, keys: &[&'static str], block: &str, found: &mut Findings) {
    for key in keys {
        if let Some(value) = state.take(key) {
            let message = format!("`{}` stands beside the block `{block}` that has its place", state.path(key));
            found.error(Kind::Conflict, value.span, message).help = Some(format!("move it into `{block}`"));
        }
    }
}

fn skills(fields: &mut Fields<'_>, found: &mut Findings) -> Vec<Skill> {
    let path = fields.path("skills");
    let mut skills = Vec::new();
    for (n, entry) in fields.list("skills", found).iter().enumerate() {
        if let Some(name) = Text::of(entry) {
            skills.push(Skill::Name(name));
            continue;
        }
        let Some(mut entry) = Fields::of(entry, format!("{path}[{n}]"), found) else { continue };
        let (name, folder) = (entry.text("name", found), entry.text("path", found));
        skills.extend(folder.map(Skill::Path).or(name.map(Skill::Name)));
        entry.finish(found);
    }
    skills
}

impl Conversation {
    fn read(mut fields: Fields<'_>, found: &mut Findings) -> Self {
        let mut stops = Vec::new();
        if let Some(written) = fields.either("stop_conditions", "stop_condition", found) {
            for stop in written.items().unwrap_or_else(|| std::slice::from_ref(written)) {
                match Text::of(stop) {
                    Some(text) => stops.push(Guard(text.0)),
                    None => fields.bad("stop_conditions", stop, "a condition as text", found),
                }
            }
        }
        let conversation = Self {
            stops,
            max_turns: fields.integer("max_turns", 1..=100, found),
            inject_context: fields.filled("inject_context", found),
            continue_from: fields.filled("continue_from", found),
        };
        fields.finish(found);
        conversation
    }
}

impl Parallel {
    pub(super) fn read(fields: &mut Fields<'_>, found: &mut Findings) -> Self {
        if !fields.has("parallel") {
            fields.missing("parallel", found);
        }
        let words = [
            ("all_succeed", Strategy::AllSucceed),
            ("any_succeed", Strategy::AnySucceed),
            ("best_effort", Strategy::BestEffort),
        ];
        let branches = fields.texts("parallel", found);
        if branches.as_ref().is_some_and(Vec::is_empty) {
            fields.missing("parallel", found);
        }
        Self {
            branches: branches.unwrap_or_default(),
            strategy: fields.word("strategy", &words, found).unwrap_or(Strategy::AllSucceed),
            max_concurrent: fields
                .integer("max_concurrent", 0..=i64::from(u32::MAX), found)
                .and_then(|most| u32::try_from(most).ok())
                .unwrap_or(0),
        }
    }
}

impl Call {
    pub(super) fn read(fields: &mut Fields<'_>, found: &mut Findings) -> Self {
        let workflow = fields.needed("workflow", found);
        let inputs = fields.take("inputs");
        if let Some(wrong) = inputs.filter(|inputs| !inputs.is_object()) {
            fields.bad("inputs", wrong, "an object", found);
        }
        let mut outputs = Vec::new();
        if let Some(written) = fields.take("outputs") {
            if !written.is_object() {
                fields.bad("outputs", written, "an object: states of the child, and names", found);
            }
            for field in written.fields() {
                match Text::of(&field.value) {
                    Some(name) => outputs.push((field.key.clone(), field.key_span, name)),
                    None => fields.bad("outputs", &field.value, "an object of names", found),
                }
            }
        }
        Self { workflow, inputs: inputs.map(|inputs| inputs.fields().to_vec()).unwrap_or_default(), outputs }
    }
}
