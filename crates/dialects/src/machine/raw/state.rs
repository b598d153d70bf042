//! States: the fields of every kind, and those of each kind.

use std::sync::Arc;

use branchpoint_expr::{Diagnostic, Field, Kind, Span};

use super::kinds::{Agent, Call, Command, Parallel, Terminal};
use super::loops::Loop;
use super::{Action, Fields, Findings, OnFailure, Retry, Text, Transition};

/// One state.
#[derive(Debug)]
pub(in crate::machine) struct State {
    pub(in crate::machine) name: Arc<str>,
    /// The place of its name.
    pub(in crate::machine) span: Span,
    pub(in crate::machine) what: What,
    pub(in crate::machine) on_success: Option<Text>,
    pub(in crate::machine) on_failure: Option<OnFailure>,
    pub(in crate::machine) transitions: Vec<Transition>,
    pub(in crate::machine) continue_on_error: bool,
    pub(in crate::machine) timeout_ms: Option<u64>,
    pub(in crate::machine) retry: Option<Retry>,
    pub(in crate::machine) pre: Vec<Action>,
    pub(in crate::machine) post: Vec<Action>,
    pub(in crate::machine) dir: Option<Text>,
}

/// What a state does.
#[derive(Debug)]
pub(in crate::machine) enum What {
    Command(Command),
    Agent(Agent),
    Parallel(Parallel),
    Loop(Loop),
    Call(Call),
    Terminal(Terminal),
    /// Its kind could not be told; the finding is made.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Command,
    Agent,
    Parallel,
    ForEach,
    While,
    /// A loop whose block says which it is.
    Loop,
    Call,
    Terminal,
}

const TYPES: [(&str, Type); 8] = [
    ("step", Type::Command),
    ("command", Type::Command),
    ("agent", Type::Agent),
    ("parallel", Type::Parallel),
    ("for_each", Type::ForEach),
    ("while", Type::While),
    ("call_workflow", Type::Call),
    ("terminal", Type::Terminal),
];

impl State {
    pub(super) fn read(field: &Field, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::of(&field.value, format!("states.{}", field.key), found)?;
        fields.unsupported(&["mcp_proxy", "plugin", "acp"], found);
        fields.ignore(&["description", "depends_on", "capture"]);
        let what = What::read(&mut fields, found);
        let mut hooks = fields.object("hooks", found);
        let mut actions =
            |key, found: &mut Findings| hooks.as_mut().map_or_else(Vec::new, |hooks| Action::list(hooks, key, found));
        let (pre, post) = (actions("pre", found), actions("post", found));
        if let Some(hooks) = hooks {
            hooks.finish(found);
        }
        let state = Self {
            name: field.key.clone(),
            span: field.key_span,
            what,
            on_success: fields.filled("on_success", found),
            on_failure: OnFailure::read(&mut fields, found),
            transitions: Transition::list(&mut fields, found),
            continue_on_error: fields.flag("continue_on_error", found).unwrap_or(false),
            timeout_ms: fields.duration("timeout", found).filter(|limit| *limit > 0),
            retry: Retry::read(&mut fields, found),
            pre,
            post,
            dir: fields.filled("dir", found),
        };
        fields.finish(found);
        Some(state)
    }

    pub(in crate::machine) fn is_terminal(&self) -> bool {
        matches!(self.what, What::Terminal(_))
    }

    pub(in crate::machine) fn as_loop(&self) -> Option<&Loop> {
        match &self.what {
            What::Loop(round) => Some(round),
            _ => None,
        }
    }
}

impl What {
    fn read(fields: &mut Fields<'_>, found: &mut Findings) -> Self {
        if made_elsewhere(fields, found) {
            return Self::Unknown;
        }
        let Some(of) = state_type(fields, found) else { return Self::Unknown };
        match of {
            Type::Command => Self::Command(Command::read(fields, found)),
            Type::Agent => Self::Agent(Agent::read(fields, found)),
            Type::Parallel => Self::Parallel(Parallel::read(fields, found)),
            Type::ForEach => Self::Loop(Loop::read(fields, Some(false), found)),
            Type::While => Self::Loop(Loop::read(fields, Some(true), found)),
            Type::Loop => Self::Loop(Loop::read(fields, None, found)),
            Type::Call => Self::Call(Call::read(fields, found)),
            Type::Terminal => {
                let words = [("success", false), ("failure", true)];
                let failure = fields.word("status", &words, found).unwrap_or(false);
                Self::Terminal(Terminal { failure, message: fields.text("message", found) })
            }
        }
    }
}

/// Whether a plugin or a step template says what a state does. Its fields are theirs then, so nobody here can tell what is
/// missing or unknown among them. The word `operation` beside a command is no such thing.
fn made_elsewhere(fields: &mut Fields<'_>, found: &mut Findings) -> bool {
    let keys: &[&str] = if has_command(fields) { &["use_template"] } else { &["use_template", "operation"] };
    let elsewhere = fields.unsupported(keys, found);
    if elsewhere {
        fields.ignore_rest();
    }
    elsewhere
}

fn has_command(fields: &Fields<'_>) -> bool {
    fields.says("command") || fields.says("script_file")
}

/// The kind of a state: its type, or what its other fields show.
fn state_type(fields: &mut Fields<'_>, found: &mut Findings) -> Option<Type> {
    let Some(written) = fields.take("type") else { return shown_type(fields, found) };
    let text = Text::of(written);
    let name = text.as_ref().map_or("", |text| text.text().as_ref());
    // Plugins bring types of their own, named after them: `database.query`.
    if name.eq_ignore_ascii_case("operation") || name.contains('.') {
        let message = format!("states of type `{name}` are not offered");
        found.error(Kind::Unsupported, written.span, message);
        fields.ignore_rest();
        return None;
    }
    let known = TYPES.iter().find(|(word, _)| word.eq_ignore_ascii_case(name)).map(|(_, of)| *of);
    if known.is_none() {
        let message = format!("there is no state type `{name}`");
        let finding = Diagnostic::error(Kind::UnknownType, written.span, message);
        found.suggest(finding, name, TYPES.iter().map(|(word, _)| *word));
    }
    // A loop block means the same as the types of loops, also in a step that has nothing else to do.
    known.map(|of| if of == Type::Command && !has_command(fields) && fields.has("loop") { Type::Loop } else { of })
}

fn shown_type(fields: &Fields<'_>, found: &mut Findings) -> Option<Type> {
    let shows =
        [("command", Type::Command), ("script_file", Type::Command), ("loop", Type::Loop), ("agent", Type::Agent)];
    let shown = shows.into_iter().find(|(key, _)| fields.has(key)).map(|(_, of)| of);
    if shown.is_none() {
        fields.missing("type", found);
    }
    shown
}
