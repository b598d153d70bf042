//! States: the fields of every kind, and those of each kind.

use std::sync::Arc;

use branchpoint_expr::{Field, Kind, Located, Span};

use super::kinds::{Agent, Call, Command, Parallel, Terminal};
use super::loops::Loop;
use super::operation::Operation;
use super::tables::{AGENT, AGENT_BLOCK, CALL, COMMAND, PARALLEL, STATE, TERMINAL, TYPE};
use super::{Action, Findings, OnFailure, Retry, Text, Transition};
use crate::fields::{Access, Check, Path, Table, Unknown};
use crate::output_limit;

/// One state.
#[derive(Debug)]
pub(in crate::machine) struct State {
    pub(in crate::machine) name: Arc<str>,
    /// The place of its name.
    pub(in crate::machine) span: Span,
    pub(in crate::machine) kind: StateKind,
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

/// The work of a state.
#[derive(Debug)]
pub(in crate::machine) enum StateKind {
    Command(Command),
    Agent(Agent),
    Parallel(Parallel),
    Loop(Loop),
    Call(Call),
    Operation(Operation),
    Terminal(Terminal),
    /// Its type is unknown, which is reported.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Command,
    Agent,
    Parallel,
    ForEach,
    While,
    /// A loop whose block has the type.
    Loop,
    Call,
    Operation,
    Terminal,
}

impl State {
    pub(super) fn read(field: &Field, findings: &mut Findings) -> Option<Self> {
        let (path, state) = (format!("states.{}", field.key), &field.value);
        if !state.is_object() && !state.is_null() {
            findings.check().object(Path::Root(&path), state, &[]);
            return None;
        }
        let kind = StateKind::read(Path::Root(&path), state, findings);
        let hooks = |key: &str| state.get("hooks").map(|hooks| Action::list(hooks, key)).unwrap_or_default();
        Some(Self {
            name: field.key.clone(),
            span: field.key_span,
            kind,
            on_success: state.filled("on_success"),
            on_failure: OnFailure::read(state),
            transitions: Transition::list(state),
            continue_on_error: state.flag("continue_on_error").unwrap_or(false),
            timeout_ms: state.duration_ms("timeout").filter(|limit| *limit > 0),
            retry: state.given("retry").map(Retry::read),
            pre: hooks("pre"),
            post: hooks("post"),
            dir: state.filled("dir"),
        })
    }

    pub(in crate::machine) fn is_terminal(&self) -> bool {
        matches!(self.kind, StateKind::Terminal(_))
    }

    pub(in crate::machine) fn as_loop(&self) -> Option<&Loop> {
        match &self.kind {
            StateKind::Loop(round) => Some(round),
            _ => None,
        }
    }
}

impl StateKind {
    /// Checks the fields of a state, and reads those of its type.
    fn read(path: Path<'_>, state: &Located, findings: &mut Findings) -> Self {
        let Some(of) = state_type(state) else {
            read_unknown(path, state, &mut findings.check());
            return Self::Unknown;
        };
        let mut check = findings.check();
        let mut checked = |tables: &[Table]| check.object(path, state, &[&[TYPE, STATE], tables].concat());
        match of {
            Type::Command => {
                checked(&[COMMAND, output_limit::FIELDS]);
                Self::Command(Command::read(state))
            }
            Type::Agent => {
                if state.given("agent").is_some() {
                    check.misplaced = Some((vec![AGENT], "agent"));
                    check.object(path, state, &[TYPE, STATE, AGENT_BLOCK]);
                } else {
                    checked(&[AGENT_BLOCK, AGENT]);
                }
                Self::Agent(Agent::read(state, findings))
            }
            Type::Parallel => {
                checked(&[PARALLEL]);
                Self::Parallel(Parallel::read(state))
            }
            Type::ForEach => Self::Loop(Loop::read(path, state, Some(false), findings)),
            Type::While => Self::Loop(Loop::read(path, state, Some(true), findings)),
            Type::Loop => Self::Loop(Loop::read(path, state, None, findings)),
            Type::Call => {
                checked(&[CALL]);
                Self::Call(Call::read(state))
            }
            Type::Operation => Operation::read(path, state, &mut check).map_or(Self::Unknown, Self::Operation),
            Type::Terminal => {
                checked(&[TERMINAL]);
                Self::Terminal(Terminal {
                    failure: state.word("status") == "failure",
                    message: state.text_at("message"),
                })
            }
        }
    }
}

/// Checks a state without a known type. Where a plugin or a step template would define it, unknown fields are theirs.
fn read_unknown(path: Path<'_>, state: &Located, check: &mut Check<'_>) {
    let word = state.word("type");
    // Plugins add their own types, named after them: `database.query`.
    let by_plugin = word.contains('.');
    if by_plugin || is_defined_elsewhere(state) {
        check.style.unknown = Unknown::None;
        if let Some(written) = state.given("type").filter(|_| by_plugin) {
            let message = format!("`{path}.type` is `{word}`, which is not supported");
            check.error(
                Kind::Unsupported,
                written.span,
                message,
                "use a command, an agent or a workflow of its own instead",
            );
        }
        check.object(path, state, &[STATE]);
        return;
    }
    check.object(path, state, &[TYPE, STATE]);
    if state.given("type").is_none() {
        check.missing(state, &format!("{path}.type"), None, "add it, such as `type: step` for a command");
    }
}

/// Whether a step template defines a state.
fn is_defined_elsewhere(state: &Located) -> bool {
    state.get("use_template").is_some()
}

fn has_command(state: &Located) -> bool {
    let is_given = |key: &str| state.given(key).is_some_and(|value| value.text().is_none_or(|text| !text.is_empty()));
    is_given("command") || is_given("script_file")
}

/// The type of a state: its field `type`, or what its other fields show.
fn state_type(state: &Located) -> Option<Type> {
    if is_defined_elsewhere(state) {
        return None;
    }
    // A field `operation` beside a command has no effect.
    let is_operation = state.given("operation").is_some() && !has_command(state);
    if state.given("type").is_none() {
        if is_operation {
            return Some(Type::Operation);
        }
        let shows =
            [("command", Type::Command), ("script_file", Type::Command), ("loop", Type::Loop), ("agent", Type::Agent)];
        return shows.into_iter().find(|(key, _)| state.given(key).is_some()).map(|(_, of)| of);
    }
    Some(match &*state.word("type") {
        // A loop block means the same as the types of loops, even in a step without other work.
        "step" | "command" if !has_command(state) && state.given("loop").is_some() => Type::Loop,
        "step" | "command" if is_operation => Type::Operation,
        "step" | "command" => Type::Command,
        "operation" => Type::Operation,
        "agent" => Type::Agent,
        "parallel" => Type::Parallel,
        "for_each" => Type::ForEach,
        "while" => Type::While,
        "call_workflow" => Type::Call,
        "terminal" => Type::Terminal,
        _ => return None,
    })
}
