//! What a run remembers, and the formulas over it.

use branchpoint_core::ir::builder::{Builder, ROOT};
use branchpoint_core::ir::{ConditionId, ExprId, SlotId, Write};
use branchpoint_expr::{Dialect, Object, Value};

use super::Lower;
use crate::machine::rules::Uses;

/// The slots that every state uses. Those of the root live as long as the run; the others belong to a strand, so that
/// branches do not disturb each other.
pub(super) struct Slots {
    /// What the run was started with, and with defaults.
    pub(super) given: SlotId,
    pub(super) inputs: SlotId,
    /// Texts among the inputs: what commands find in their environment.
    pub(super) environment: SlotId,
    /// The results of states by name.
    pub(super) states: SlotId,
    /// The sessions of agents by state.
    pub(super) sessions: SlotId,
    /// How the run ends, once that is known.
    pub(super) verdict: SlotId,
    pub(super) facts: SlotId,
    pub(super) env: SlotId,
    pub(super) context: SlotId,
    /// When the run began, in milliseconds.
    pub(super) started: SlotId,
    pub(super) now: SlotId,
    pub(super) workflow: SlotId,
    pub(super) error: SlotId,
    /// What a call of the outside was asked with, template by template.
    pub(super) request: SlotId,
    /// What came of a state: `{output, stderr, exit_code, response, tokens, error}`.
    pub(super) answer: SlotId,
    /// The error of an op that failed.
    pub(super) failure: SlotId,
    /// What a frame delivered.
    pub(super) got: SlotId,
    /// A file that was read, and what goes before a prompt.
    pub(super) file: SlotId,
    pub(super) before: SlotId,
    /// What came of a hook.
    pub(super) hooked: SlotId,
    pub(super) line: SlotId,
    /// The error that led to the end of the run. Messages of ends do not see it, hooks after them do.
    pub(super) cause: SlotId,
    /// The variables of the environment that the text of a file reads.
    pub(super) variables: SlotId,
}

impl Slots {
    pub(super) fn new(b: &mut Builder, uses: &Uses) -> Self {
        let empty = || Some(Value::from(Object::default()));
        let facts = b.facts();
        let slots = Self {
            given: b.input(),
            inputs: b.slot(ROOT, "inputs", empty()),
            environment: b.slot(ROOT, "environment", empty()),
            states: b.slot(ROOT, "states", empty()),
            sessions: b.slot(ROOT, "sessions", empty()),
            verdict: b.slot(ROOT, "verdict", None),
            facts,
            env: b.slot(ROOT, "env", empty()),
            context: b.slot(ROOT, "context", empty()),
            started: b.slot(ROOT, "started", None),
            // Time is told at every event, so a run that does not ask for it has none.
            now: if uses.workflow { b.now() } else { facts },
            workflow: b.local("workflow"),
            error: b.local("error"),
            request: b.local("request"),
            answer: b.local("answer"),
            failure: b.local("failure"),
            got: b.local("got"),
            file: b.local("file"),
            before: b.local("before"),
            hooked: b.local("hooked"),
            line: b.local("line"),
            cause: b.local("cause"),
            variables: b.local("variables"),
        };
        slots.name(b, uses);
        slots
    }

    /// The names that documents write.
    fn name(&self, b: &mut Builder, uses: &Uses) {
        b.name(ROOT, &["inputs"], self.inputs);
        b.name(ROOT, &["states"], self.states);
        b.name(ROOT, &["env"], self.env);
        b.name(ROOT, &["error"], self.error);
        if uses.workflow {
            b.name(ROOT, &["workflow"], self.workflow);
        }
        if uses.context {
            b.name(ROOT, &["context"], self.context);
        }
    }

    /// The names that formulas write.
    fn names(&self) -> [(&'static str, SlotId); 23] {
        [
            ("given", self.given),
            ("inputs", self.inputs),
            ("environment", self.environment),
            ("states", self.states),
            ("sessions", self.sessions),
            ("verdict", self.verdict),
            ("facts", self.facts),
            ("env", self.env),
            ("context", self.context),
            ("started", self.started),
            ("now", self.now),
            ("workflow", self.workflow),
            ("error", self.error),
            ("request", self.request),
            ("answer", self.answer),
            ("failure", self.failure),
            ("got", self.got),
            ("file", self.file),
            ("before", self.before),
            ("hooked", self.hooked),
            ("line", self.line),
            ("cause", self.cause),
            ("variables", self.variables),
        ]
    }
}

impl Lower<'_> {
    /// A value computed from the slots of the run.
    #[track_caller]
    pub(super) fn formula(&mut self, text: &str, more: &[(&str, SlotId)]) -> ExprId {
        self.formula_with(text, more, &[])
    }

    /// As [`Self::formula`], with names for values of the document. They never become part of the text, whose size is limited.
    #[track_caller]
    pub(super) fn formula_with(&mut self, text: &str, more: &[(&str, SlotId)], constants: &[(&str, Value)]) -> ExprId {
        let names: Vec<_> = self.slots.names().into_iter().chain(more.iter().copied()).collect();
        self.b.formula_with(text, Dialect::Session, &names, constants)
    }

    /// A slot becomes the value of a formula that names values of the document.
    #[track_caller]
    pub(super) fn put_with(
        &mut self,
        slot: SlotId,
        text: &str,
        more: &[(&str, SlotId)],
        constants: &[(&str, Value)],
    ) -> Write {
        Write::Put(slot, self.formula_with(text, more, constants))
    }

    /// As [`Self::formula`], a condition.
    #[track_caller]
    pub(super) fn test(&mut self, text: &str, more: &[(&str, SlotId)]) -> ConditionId {
        self.test_with(text, more, &[])
    }

    /// As [`Self::formula_with`], a condition.
    #[track_caller]
    pub(super) fn test_with(
        &mut self,
        text: &str,
        more: &[(&str, SlotId)],
        constants: &[(&str, Value)],
    ) -> ConditionId {
        let names: Vec<_> = self.slots.names().into_iter().chain(more.iter().copied()).collect();
        self.b.test_with(text, Dialect::Session, &names, constants)
    }

    /// A slot becomes the value of a formula.
    #[track_caller]
    pub(super) fn put(&mut self, slot: SlotId, text: &str, more: &[(&str, SlotId)]) -> Write {
        Write::Put(slot, self.formula(text, more))
    }
}
