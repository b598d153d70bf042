//! The document as written, with the span of every part.
//!
//! [`tables`] lists the fields of every object; objects are checked against them and then read. The rules check the meaning of fields
//! together.

mod findings;
mod inputs;
mod kinds;
mod loops;
mod operation;
mod outputs;
mod parts;
mod proxy;
mod state;
pub(super) mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::{Diagnostic, Located, Span};

use crate::fields::{Access, Path, Unknown};

pub(super) use crate::fields::Text;
pub(super) use findings::Findings;
pub(super) use inputs::{Input, InputType};
pub(super) use kinds::{Agent, Call, Command, Parallel, Skill, Source, Strategy, Terminal};
pub(super) use loops::{Loop, Repetition};
pub(super) use operation::{Operation, OperationKind};
pub(super) use outputs::Output;
pub(super) use parts::{Action, Backoff, Guard, OnFailure, Retry, Transition};
pub(super) use state::{State, StateKind};

/// A whole document.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) name: Option<Text>,
    pub(super) inputs: Vec<Input>,
    pub(super) outputs: Vec<Output>,
    /// Names of environment variables that it declares.
    pub(super) env: Vec<Text>,
    pub(super) initial: Option<Text>,
    /// In document order.
    pub(super) states: Vec<State>,
    pub(super) hooks: Hooks,
    pub(super) span: Span,
    /// The positions of the states by name.
    positions: BTreeMap<Arc<str>, usize>,
}

/// The hooks at the beginning and at the ends of a run.
#[derive(Debug, Default)]
pub(super) struct Hooks {
    pub(super) start: Vec<Action>,
    pub(super) end: Vec<Action>,
    pub(super) error: Vec<Action>,
    pub(super) cancel: Vec<Action>,
}

impl Document {
    pub(super) fn read(document: &Located, findings: &mut Findings) -> Option<Self> {
        if !findings.check().object(Path::Root(""), document, &[tables::DOCUMENT]) {
            return None;
        }
        let states = document.given("states").map(|states| read_states(states, findings)).unwrap_or_default();
        if let Some(initial) = document.fields().iter().find(|field| &*field.key == "initial") {
            let below_states = |finding: &&mut Diagnostic| finding.span == initial.key_span;
            if let Some(finding) = findings.0.iter_mut().find(below_states) {
                finding.help = Some("move it below `states`".to_owned());
            }
        }
        let positions = states.iter().enumerate().map(|(at, state)| (state.name.clone(), at)).collect();
        Some(Self {
            name: document.text_at("name"),
            inputs: Input::all(document, findings),
            outputs: Output::all(document, findings),
            env: document.texts("env").unwrap_or_default(),
            initial: document.get("states").and_then(|states| states.text_at("initial")),
            states,
            hooks: document.get("hooks").map(Hooks::read).unwrap_or_default(),
            span: document.span,
            positions,
        })
    }

    /// The position of a state.
    pub(super) fn state(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }
}

/// `initial` is a reserved key; every other key is a state.
fn read_states(states: &Located, findings: &mut Findings) -> Vec<State> {
    let mut check = findings.check();
    check.style.unknown = Unknown::None;
    check.object(Path::Root("states"), states, &[tables::STATES]);
    let fields = states.fields().iter().filter(|field| &*field.key != "initial");
    fields.filter_map(|field| State::read(field, findings)).collect()
}

impl Hooks {
    fn read(hooks: &Located) -> Self {
        Self {
            start: Action::list(hooks, "workflow_start"),
            end: Action::list(hooks, "workflow_end"),
            error: Action::list(hooks, "workflow_error"),
            cancel: Action::list(hooks, "workflow_cancel"),
        }
    }
}
