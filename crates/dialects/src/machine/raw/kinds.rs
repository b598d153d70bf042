//! The data of each kind of state beside the common fields.

use std::sync::Arc;

use branchpoint_expr::{Field, Located, Span, Value};

use super::{Findings, Guard, Text, proxy};
use crate::fields::Access;
use crate::output_limit::OutputLimit;

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
    /// The tools of MCP servers that it may call.
    pub(in crate::machine) tools: Vec<String>,
}

/// Text before a prompt: by name, or by its folder.
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

impl Source {
    /// The text of one field, or the file that another one names.
    fn read(object: &Located, text: &str, file: &str) -> Option<Self> {
        object.filled(text).map(Self::Text).or(object.filled(file).map(Self::File))
    }
}

impl Command {
    pub(super) fn read(state: &Located) -> Self {
        Self { source: Source::read(state, "command", "script_file"), limit: OutputLimit::read(state) }
    }
}

impl Agent {
    /// Reads the block `agent`, or the state without one.
    pub(super) fn read(state: &Located, findings: &mut Findings) -> Self {
        let agent = state.given("agent").unwrap_or(state);
        Self {
            provider: agent.filled("provider"),
            prompt: Source::read(agent, "prompt", "prompt_file"),
            system_prompt: agent.filled("system_prompt"),
            role: agent.filled("role"),
            skills: agent.list("skills").iter().filter_map(Skill::read).collect(),
            options: agent.get("options").map(Located::to_value).unwrap_or_default(),
            json: agent.word("output_format") == "json",
            converses: agent.word("mode") == "conversation",
            conversation: agent.given("conversation").map(Conversation::read),
            tools: proxy::tools(agent, findings),
        }
    }
}

impl Skill {
    fn read(entry: &Located) -> Option<Self> {
        let by_name = || Text::of(entry).or_else(|| entry.text_at("name")).map(Self::Name);
        entry.text_at("path").map(Self::Path).or_else(by_name)
    }
}

impl Conversation {
    fn read(conversation: &Located) -> Self {
        let stops = conversation.texts("stop_conditions").or_else(|| conversation.texts("stop_condition"));
        Self {
            stops: stops.unwrap_or_default().into_iter().map(|stop| Guard(stop.0)).collect(),
            max_turns: conversation.int("max_turns"),
            inject_context: conversation.filled("inject_context"),
            continue_from: conversation.filled("continue_from"),
        }
    }
}

impl Parallel {
    pub(super) fn read(state: &Located) -> Self {
        Self {
            branches: state.texts("parallel").unwrap_or_default(),
            strategy: match &*state.word("strategy") {
                "any_succeed" => Strategy::AnySucceed,
                "best_effort" => Strategy::BestEffort,
                _ => Strategy::AllSucceed,
            },
            max_concurrent: state.int("max_concurrent").and_then(|most| u32::try_from(most).ok()).unwrap_or(0),
        }
    }
}

impl Call {
    pub(super) fn read(state: &Located) -> Self {
        let fields = |key: &str| state.get(key).map_or(&[][..], Located::fields);
        let output = |field: &Field| Some((field.key.clone(), field.key_span, Text::of(&field.value)?));
        Self {
            workflow: state.filled("workflow"),
            inputs: fields("inputs").to_vec(),
            outputs: fields("outputs").iter().filter_map(output).collect(),
        }
    }
}
