//! The failure of a step: to the enclosing step, ignored, or to its handler.

use branchpoint_core::ir::{DecisionKind, Exit, ExprId, Failure, Mark, PlaceId, Write};
use branchpoint_expr::Value;

use super::{Location, Lower};
use crate::lowering::object;
use crate::steps::tree::{Role, StepIndex};

impl Lower<'_, '_> {
    /// The failure of the step itself. `finish` is the end of its work, for handled errors.
    pub(super) fn failure(&mut self, index: StepIndex, at: Location, finish: Option<PlaceId>) -> Failure {
        if let Some(known) = self.own.failures.get(&index).filter(|_| finish.is_some()) {
            return *known;
        }
        let error = self.error_of(index);
        let on_error = self.own.document.steps[index].get("on_error");
        let (to, handling) = match (on_error, finish) {
            (Some(handled), Some(finish)) if handled.items().is_some() => {
                (self.handled(index, at, error, finish), Some("handle"))
            }
            (Some(handled), Some(finish)) if handled.text().is_some_and(|text| &**text == "continue") => {
                let nothing = self.b.value("");
                let mut writes = self.hold(nothing);
                writes.extend(self.own.step_slots.get(&index).map(|step_slots| Write::Put(step_slots.error, error)));
                (self.b.set(writes, finish, None), Some("continue"))
            }
            _ => (self.b.leave(at.scope, Exit::Fail(error)), None),
        };
        self.b.mark(to, Mark::Fail(self.own.ids[index], error));
        let to = handling.map_or(to, |name| self.declare_handler(index, name, error, to));
        self.fail_to(to)
    }

    /// Declares that a failed step is handled, as a decision of the step.
    fn declare_handler(&mut self, index: StepIndex, name: &str, error: ExprId, to: PlaceId) -> PlaceId {
        let first = self.steps_of(index, Role::OnError).first().map(|step| self.own.document.steps[*step].id.clone());
        let handling = if name == "handle" { "its on_error steps follow" } else { "on_error is `continue`" };
        let text = format!(
            r#""the step failed (" + string(failed.kind) + ": " + string(failed.message) + "), and {handling}""#
        );
        let rule = (name, "the step failed (on_error)");
        let step = (self.own.ids[index], DecisionKind::Branch);
        let (place, decision) = self.decide_by_rule(step, rule, first.as_deref(), Some(error), to);
        let reason = self.formula(&text);
        self.b.reason(decision, 0, reason);
        place
    }

    /// The error with the innermost step that failed: this one, if none is named.
    fn error_of(&mut self, index: StepIndex) -> ExprId {
        let id = Value::Str(self.own.document.steps[index].id.clone());
        let text = r#"{"kind": failed.kind, "message": failed.message, "step": failed.step ?? STEP}"#;
        self.formula_with(text, &[], &[("STEP", id)])
    }

    /// The list runs as a chain whose input is the error; its tail is the step's output.
    fn handled(&mut self, index: StepIndex, at: Location, error: ExprId, finish: PlaceId) -> PlaceId {
        let steps = self.steps_of(index, Role::OnError);
        let outer = self.b.local(&format!("{}.outer_error", self.own.document.steps[index].id));
        let restore = self.b.read(outer);
        let end = self.b.set([Write::Put(self.slots["error"], restore)], finish, None);
        let (begin, _) = self.chain(&steps, at, end, end);
        let (around, handled) = (self.b.read(self.slots["error"]), self.b.read(self.slots["error"]));
        let mut writes = vec![Write::Put(outer, around), Write::Put(self.slots["error"], error)];
        writes.extend(self.hold(handled));
        writes.extend(self.own.step_slots.get(&index).map(|step_slots| Write::Put(step_slots.error, handled)));
        self.b.set(writes, begin, None)
    }

    /// The place that fails a step with its own error, through its handler.
    pub(super) fn fault(&mut self, kind: &str, message: &str, failure: Failure) -> PlaceId {
        let error = self.b.value(object([("kind", Value::from(kind)), ("message", Value::from(message))]));
        self.b.set([Write::Put(self.slots["failed"], error)], failure.to, None)
    }
}
