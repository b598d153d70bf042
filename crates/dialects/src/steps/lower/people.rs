//! Approvals by people.

use branchpoint_core::ir::{Arm, DecisionKind, ExprId, PlaceId, Status, Write};
use branchpoint_expr::{Expression, Form, Located, Shape, Value, seconds_ms};

use super::{Location, Lower};
use crate::lowering::located_object;
use crate::steps::request::located;
use crate::steps::tree::{Step, StepIndex};

impl Lower<'_, '_> {
    pub(super) fn people(&mut self, index: StepIndex, at: Location, finish: PlaceId) -> PlaceId {
        let step = &self.own.document.steps[index];
        let failure = self.failure(index, at, Some(finish));
        let outcome = self.b.read(self.slots["answer"]);
        let writes = self.hold(outcome);
        let resolved = self.b.set(writes, finish, None);
        let fails_run = step.text("timeout_outcome").is_some_and(|outcome| &**outcome == "fail_run");
        let expired = fails_run.then(|| self.run_fails(index));
        let (writes, spec) = self.approval_request(index, at);
        let wait =
            self.b.wait([Arm::Request { spec, into: Some(self.slots["answer"]), next: resolved, expired }], None);
        let decision = self.b.decision(self.own.ids[index], DecisionKind::Approval);
        // The same steps follow every outcome; only a timeout may fail the run.
        let fails = fails_run.then_some("the run fails (hitl_timeout)");
        let timeout = self.b.rule_branch(decision, "timeout", "the deadline passed", fails);
        self.b.decides(wait, decision, [Some(timeout)]);
        // The request is built before the wait, because a failed wait must report its step.
        let no_recipients =
            self.fault("hitl_no_recipients", "the approval has no approvers; list at least one recipient", failure);
        let has_recipients = self.test("len(filter(probe.recipients, # != nil)) > 0");
        let guarded = self.b.decide([(has_recipients, wait)], no_recipients, Some(failure));
        self.b.set(writes, guarded, Some(failure))
    }

    /// No handler catches an approval that fails the run.
    fn run_fails(&mut self, index: StepIndex) -> PlaceId {
        let id = self.own.document.steps[index].id.clone();
        let error = r#"{"kind": "hitl_timeout", "message": "the deadline of the approval has passed without a decision", "step": STEP}"#;
        let result = self.failed_result();
        let close = self.b.close(Status::Failed, result);
        self.assign_with("failed", error, &[], &[("STEP", Value::Str(id))], close)
    }

    /// The request as an object; recipients are known only when the step starts.
    fn approval_request(&mut self, index: StepIndex, at: Location) -> (Vec<Write>, ExprId) {
        let step = &self.own.document.steps[index];
        let fixed = fixed(step);
        let spec = self.written(at.scope, |options| Expression::with_form(&fixed, Form::Text, options));
        let recipients = match step.text("recipient_distribution").map(|text| &**text) {
            Some("owner") => "[account.owner]",
            Some("selected_members") => "probe.recipients",
            _ => "concat([account.owner], account.admins ?? [])",
        };
        let text = format!(
            r#"{{"step": probe.step, "prompt": probe.prompt, "recipients": filter({recipients}, # != nil),
               "choices": probe.choices, "required": probe.required, "timeout_ms": probe.timeout_ms,
               "reminder_ms": probe.reminder_ms, "reminder_max": probe.reminder_max}}"#
        );
        let whole = self.store_with("probe", &text, &[("account", self.own.named["account"])], &[]);
        (vec![Write::Put(self.slots["probe"], spec), whole], self.b.read(self.slots["probe"]))
    }
}

/// The fixed fields of a request; the prompt is the only template in it.
fn fixed(step: &Step<'_>) -> Located {
    let constant = |value: Value| located(&value, step.span());
    let ms = |name: &str| {
        let seconds = step.get(name).map(|value| &value.shape);
        let seconds = match seconds {
            Some(Shape::Int(int)) => Some(*int as f64),
            Some(Shape::Float(float)) => Some(*float),
            _ => None,
        };
        let ms = seconds.and_then(seconds_ms).and_then(|ms| i64::try_from(ms).ok());
        constant(ms.map_or(Value::Null, Value::Int))
    };
    let choices = Value::from(vec![Value::from("approve"), Value::from("deny")]);
    let list = |name: &str, default: Value| step.get(name).map_or(default, Located::to_value);
    let fields = [
        ("step", constant(Value::from(&*step.id))),
        ("prompt", step.get("prompt_template").cloned().unwrap_or_else(|| constant(Value::from("")))),
        ("recipients", constant(list("recipient_user_ids", Value::from(Vec::new())))),
        ("choices", constant(list("choices", choices))),
        ("required", constant(Value::Int(step.int("required_approvals").unwrap_or(1)))),
        ("timeout_ms", ms("timeout_seconds")),
        ("reminder_ms", ms("reminder_interval_seconds")),
        ("reminder_max", constant(step.int("reminder_max_count").map_or(Value::Null, Value::Int))),
    ];
    located_object(step.span(), fields)
}
