//! Steps that compute a value, and the wait.

use branchpoint_core::ir::{Arm, DecisionKind, PlaceId, Write};
use branchpoint_expr::{Expression, Value, duration_text};

use super::{Location, Lower};
use crate::steps::guard;
use crate::steps::tree::StepIndex;

impl Lower<'_, '_> {
    /// Makes the template of a step the current value; without one, the value is unchanged.
    pub(super) fn rendered(&mut self, index: StepIndex, at: Location, finish: PlaceId) -> PlaceId {
        match self.own.document.steps[index].get("template") {
            Some(template) => {
                let value = self.template(at.scope, template);
                self.set_output(index, at, value, finish)
            }
            None => finish,
        }
    }

    fn set_output(
        &mut self,
        index: StepIndex,
        at: Location,
        value: branchpoint_core::ir::ExprId,
        finish: PlaceId,
    ) -> PlaceId {
        let failure = self.failure(index, at, Some(finish));
        let writes = [Write::Put(self.slots["value"], value), self.store("kind", r#""text/plain""#)];
        self.b.set(writes, finish, Some(failure))
    }

    pub(super) fn regex_replace(&mut self, index: StepIndex, at: Location, finish: PlaceId) -> PlaceId {
        let empty = branchpoint_expr::Located::from(&Value::from(Vec::new()));
        let rules = self.own.document.steps[index].get("rules").unwrap_or(&empty);
        let value = self.written(at.scope, |options| Expression::replacements(rules, options));
        self.set_output(index, at, value, finish)
    }

    /// Stores the current value as the shown result of the run.
    pub(super) fn shown(&mut self, index: StepIndex, next: PlaceId) -> PlaceId {
        let html = self.own.document.steps[index].flag("html_format", true);
        self.assign(self.own.named["shown"], &format!(r#"{{"v": value, "k": kind, "html": {html}}}"#), next)
    }

    /// A wait returns its input at the given time.
    pub(super) fn pause(&mut self, index: StepIndex, at: Location, finish: PlaceId) -> PlaceId {
        let step = &self.own.document.steps[index];
        let failure = self.failure(index, at, Some(finish));
        let literal = step.get("duration").and_then(guard::duration_ms).and_then(|ms| i64::try_from(ms).ok());
        let (builtin, written) = match step.get("until") {
            Some(until) => ("instantMs", Some(until)),
            None => ("durationMs", step.get("duration")),
        };
        let mut writes = Vec::new();
        let time = match (literal, written) {
            (None, Some(written)) => {
                let rendered = self.template(at.scope, written);
                let read = self.store("probe", &format!("{builtin}(probe)"));
                writes = vec![Write::Put(self.slots["probe"], rendered), read];
                self.b.read(self.slots["probe"])
            }
            (literal, _) => self.b.value(Value::Int(literal.unwrap_or(0))),
        };
        let mut arms = vec![match builtin {
            "instantMs" => Arm::Until { at_ms: time, next: finish },
            _ => Arm::After { delay_ms: time, next: finish },
        }];
        if let Some(limit) = step.get("timeout").and_then(guard::duration_ms).and_then(|ms| i64::try_from(ms).ok()) {
            let timed_out = self.fault("timeout", "the wait took longer than its time limit", failure);
            let delay_ms = self.b.value(Value::Int(limit));
            arms.push(Arm::After { delay_ms, next: timed_out });
        }
        let wait = self.b.wait(arms, Some(failure));
        let decision = self.b.decision(self.own.ids[index], DecisionKind::Wait);
        let due = match literal.and_then(|ms| u64::try_from(ms).ok()) {
            Some(ms) if builtin == "durationMs" => format!("the wait of {} is over", duration_text(ms)),
            _ => "the time was reached".to_owned(),
        };
        let mut exits = vec![Some(self.b.rule_branch(decision, "due", &due, None))];
        let fails = Some(guard::fails(None));
        let timed_out = guard::failing(None, step).map(|rule| self.b.rule_branch(decision, "timeout", &rule, fails));
        exits.extend(timed_out.map(Some));
        self.b.decides(wait, decision, exits);
        if writes.is_empty() {
            return wait;
        }
        let what = step.get("until").map_or("duration", |_| "date and time");
        let bad = self.fault("step_failed", &format!("the time of the wait is not a {what}"), failure);
        let unread = self.test("probe == nil");
        let decide = self.b.decide([(unread, bad)], wait, None);
        self.b.set(writes, decide, Some(failure))
    }
}
