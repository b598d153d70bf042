//! Where the error of a step goes: up, nowhere, or to the steps that handle it.

use branchpoint_core::ir::{DecisionKind, Exit, ExprId, Failure, Mark, PlaceId, Write};
use branchpoint_expr::Value;

use super::{Lower, Where};
use crate::lowering::object;
use crate::steps::tree::{No, Role};

impl Lower<'_, '_> {
    /// Where the step's own error goes. `finish` is the end of its own work, for errors that are handled.
    pub(super) fn failure(&mut self, no: No, at: Where, finish: Option<PlaceId>) -> Failure {
        if let Some(known) = self.own.failures.get(&no).filter(|_| finish.is_some()) {
            return *known;
        }
        let error = self.error_of(no);
        let on_error = self.own.document.steps[no].get("on_error");
        let (to, handling) = match (on_error, finish) {
            (Some(handled), Some(finish)) if handled.items().is_some() => {
                (self.handled(no, at, error, finish), Some("handle"))
            }
            (Some(handled), Some(finish)) if handled.text().is_some_and(|text| &**text == "continue") => {
                let nothing = self.b.value("");
                let mut writes = self.hold(nothing);
                writes.extend(self.own.kept.get(&no).map(|kept| Write::Put(kept.error, error)));
                (self.b.set(writes, finish, None), Some("continue"))
            }
            _ => (self.b.leave(at.scope, Exit::Fail(error)), None),
        };
        self.b.mark(to, Mark::Fail(self.own.ids[no], error));
        let to = handling.map_or(to, |name| self.declare_handler(no, name, error, to));
        self.fail_to(to)
    }

    /// Declares that a failed step is handled, as a decision of the step.
    fn declare_handler(&mut self, no: No, name: &str, error: ExprId, to: PlaceId) -> PlaceId {
        let first = self.steps_of(no, Role::OnError).first().map(|step| self.own.document.steps[*step].id.clone());
        let handling = if name == "handle" { "its on_error steps follow" } else { "on_error is `continue`" };
        let text = format!(
            r#""the step failed (" + string(failed.kind) + ": " + string(failed.message) + "), and {handling}""#
        );
        let rule = (name, "the step failed (on_error)");
        let step = (self.own.ids[no], DecisionKind::Branch);
        let (place, decision) = self.decide_by_rule(step, rule, first.as_deref(), Some(error), to);
        let reason = self.formula(&text);
        self.b.reason(decision, 0, reason);
        place
    }

    /// The error with the innermost step that failed: this one, if none is named.
    fn error_of(&mut self, no: No) -> ExprId {
        let id = Value::Str(self.own.document.steps[no].id.clone());
        let text = r#"{"kind": failed.kind, "message": failed.message, "step": failed.step ?? STEP}"#;
        self.formula_with(text, &[], &[("STEP", id)])
    }

    /// The list runs as a chain whose input is the error; its tail is the step's output.
    fn handled(&mut self, no: No, at: Where, error: ExprId, finish: PlaceId) -> PlaceId {
        let steps = self.steps_of(no, Role::OnError);
        let outer = self.b.local(&format!("{}.outer_error", self.own.document.steps[no].id));
        let restore = self.b.read(outer);
        let end = self.b.set([Write::Put(self.slots["error"], restore)], finish, None);
        let (begin, _) = self.chain(&steps, at, end, end);
        let (around, handled) = (self.b.read(self.slots["error"]), self.b.read(self.slots["error"]));
        let mut writes = vec![Write::Put(outer, around), Write::Put(self.slots["error"], error)];
        writes.extend(self.hold(handled));
        writes.extend(self.own.kept.get(&no).map(|kept| Write::Put(kept.error, handled)));
        self.b.set(writes, begin, None)
    }

    /// The place that fails a step for a reason of its own, by the way of its handler.
    pub(super) fn fault(&mut self, kind: &str, message: &str, failure: Failure) -> PlaceId {
        let error = self.b.value(object([("kind", Value::from(kind)), ("message", Value::from(message))]));
        self.b.set([Write::Put(self.slots["failed"], error)], failure.to, None)
    }
}
