//! The document as its author wrote it: a mirror with places, read once, before any rule is looked at.
//!
//! Reading tells what is wrong with a single field (its type, its range, both spellings at once) and which keys nobody
//! knows. What fields mean together is told by the rules.

mod fields;
mod inputs;
mod kinds;
mod loops;
mod parts;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Kind, Located, Span};

use crate::DocumentKinds as _;

pub(super) use fields::{Fields, Findings, Text};
pub(super) use inputs::{Input, InputType};
pub(super) use kinds::{Agent, Call, Command, Parallel, Skill, Source, Strategy, Terminal};
pub(super) use loops::{Loop, Times};
pub(super) use parts::{Action, Backoff, Guard, OnFailure, Retry, Transition};
pub(super) use state::{State, What};

/// A whole document.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) name: Option<Text>,
    pub(super) inputs: Vec<Input>,
    /// Names of environment variables it says it reads.
    pub(super) env: Vec<Text>,
    pub(super) initial: Option<Text>,
    /// In document order.
    pub(super) states: Vec<State>,
    pub(super) hooks: Hooks,
    pub(super) span: Span,
    /// The positions of the states by name.
    positions: BTreeMap<Arc<str>, usize>,
}

/// What runs at the beginning and at the ends of a run.
#[derive(Debug, Default)]
pub(super) struct Hooks {
    pub(super) start: Vec<Action>,
    pub(super) end: Vec<Action>,
    pub(super) error: Vec<Action>,
    pub(super) cancel: Vec<Action>,
}

impl Document {
    pub(super) fn read(document: &Located, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::of(document, "", found)?;
        fields.unsupported(&["plugins", "plugin", "packs", "pack", "mcp_proxy", "mcp", "acp", "tui", "history"], found);
        fields.ignore(&["version", "description", "author", "tags"]);
        let name = fields.needed("name", found);
        let inputs = Input::all(&mut fields, found);
        let env = fields.texts("env", found).unwrap_or_default();
        let hooks = fields.object("hooks", found).map(|hooks| Hooks::read(hooks, found)).unwrap_or_default();
        let states = fields.take("states");
        if states.is_none() {
            fields.missing("states", found);
        }
        let (initial, states) = states.map(|states| read_states(states, found)).unwrap_or_default();
        fields.finish(found);
        let positions = states.iter().enumerate().map(|(at, state)| (state.name.clone(), at)).collect();
        Some(Self { name, inputs, env, initial, states, hooks, span: document.span, positions })
    }

    /// The position of a state.
    pub(super) fn state(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }
}

/// `initial` is a reserved key; every other key is a state.
fn read_states(states: &Located, found: &mut Findings) -> (Option<Text>, Vec<State>) {
    if !states.is_object() {
        found.error(Kind::BadValue, states.span, format!("`states` is an object, and this is {}", states.describe()));
        return (None, Vec::new());
    }
    let mut initial = None;
    let mut read = Vec::new();
    for field in states.fields() {
        if &*field.key == "initial" {
            initial = Text::of(&field.value);
        } else {
            read.extend(State::read(field, found));
        }
    }
    if initial.is_none() {
        found.error(Kind::MissingField, states.span, "`states.initial` is required: the name of the first state");
    }
    (initial, read)
}

impl Hooks {
    fn read(mut fields: Fields<'_>, found: &mut Findings) -> Self {
        let mut actions = |key| Action::list(&mut fields, key, found);
        let hooks = Self {
            start: actions("workflow_start"),
            end: actions("workflow_end"),
            error: actions("workflow_error"),
            cancel: actions("workflow_cancel"),
        };
        fields.finish(found);
        hooks
    }
}
