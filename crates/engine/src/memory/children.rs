//! Child runs: a call of another workflow is a run in memory of its own, one level deeper.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::Event;
use branchpoint_core::ir::{Effect, Program};
use branchpoint_expr::{Object, Value};

use super::Memory;
use crate::runner::{Answer, Call, Runner};

/// What a run may call, what it was told, and how deep it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Children<'p> {
    pub(super) programs: Option<&'p BTreeMap<Arc<str>, Program>>,
    pub(super) facts: Object,
    pub(super) depth: u32,
}

impl<'p> Memory<'p> {
    /// The same run, with workflows that it may call. Without them, calls go to the runner like any other.
    #[must_use]
    pub fn calling(mut self, programs: &'p BTreeMap<Arc<str>, Program>) -> Self {
        self.children.programs = Some(programs);
        self
    }

    /// Runs a called workflow to its end with the same runner. None: this is no call of one that is known.
    pub(super) fn child(&mut self, call: &Call, runner: &mut dyn Runner) -> Option<Answer> {
        let programs = self.children.programs.filter(|_| &*call.kind == Effect::CHILD_RUN)?;
        let name = call.spec.get("workflow").and_then(Value::as_str)?;
        let program = programs.get(name)?;
        let mut child = Memory::new(program, self.now_ms);
        child.children = Children { depth: self.children.depth + 1, ..self.children.clone() };
        let input = call.input.get("inputs").cloned().unwrap_or_default();
        let (facts, depth) = (child.children.facts.clone(), child.children.depth);
        if let Err(rejected) = child.hand(Event::Start { input, facts, depth }) {
            return Some(Answer::failed("child", rejected.to_string()));
        }
        child.go_on(runner);
        self.now_ms = self.now_ms.max(child.now_ms);
        // One that waits for somebody does not answer.
        Some(child.result().map_or(Answer::Never, |result| Answer::data(result.clone())))
    }
}
