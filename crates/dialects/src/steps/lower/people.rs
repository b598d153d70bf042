//! Questions to people.

use branchpoint_core::ir::{Arm, DecisionKind, ExprId, PlaceId, Status, Write};
use branchpoint_expr::{Expression, Form, Located, Shape, Value, seconds_ms};

use super::{Lower, Where};
use crate::lowering::located_object;
use crate::steps::request::located;
use crate::steps::tree::{No, Step};

impl Lower<'_, '_> {
    pub(super) fn people(&mut self, no: No, at: Where, finish: PlaceId) -> PlaceId {
        let step = &self.own.document.steps[no];
        let failure = self.failure(no, at, Some(finish));
        let outcome = self.b.read(self.slots["answer"]);
        let writes = self.hold(outcome);
        let resolved = self.b.set(writes, finish, None);
        let fails_run = step.text("timeout_outcome").is_some_and(|outcome| &**outcome == "fail_run");
        let expired = fails_run.then(|| self.run_fails(no));
        let (writes, spec) = self.question(no, at);
        let wait =
            self.b.wait([Arm::Request { spec, into: Some(self.slots["answer"]), next: resolved, expired }], None);
        let decision = self.b.decision(self.own.ids[no], DecisionKind::Approval);
        // Whatever was decided, the same steps follow; only a time limit may fail the run.
        let fails = fails_run.then_some("the run fails (hitl_timeout)");
        let timeout = self.b.rule_branch(decision, "timeout", "the deadline passed", fails);
        self.b.decides(wait, decision, [Some(timeout)]);
        // The question is made before it is asked, because a wait that fails must tell which step it was.
        let nobody = self.fault("hitl_no_recipients", "there is nobody to ask", failure);
        let asked = self.test("len(filter(probe.recipients, # != nil)) > 0");
        let guarded = self.b.decide([(asked, wait)], nobody, Some(failure));
        self.b.set(writes, guarded, Some(failure))
    }

    /// No handler catches a question that fails the run.
    fn run_fails(&mut self, no: No) -> PlaceId {
        let id = self.own.document.steps[no].id.clone();
        let error = r#"{"kind": "hitl_timeout", "message": "nobody has decided in time", "step": STEP}"#;
        let result = self.failed_result();
        let close = self.b.close(Status::Failed, result);
        self.assign_with("failed", error, &[], &[("STEP", Value::Str(id))], close)
    }

    /// The question as an object, made step by step: recipients are known only when the step starts.
    fn question(&mut self, no: No, at: Where) -> (Vec<Write>, ExprId) {
        let step = &self.own.document.steps[no];
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
        let whole = self.put_with("probe", &text, &[("account", self.own.named["account"])], &[]);
        (vec![Write::Put(self.slots["probe"], spec), whole], self.b.read(self.slots["probe"]))
    }
}

/// What the document says about a question; the prompt is the only template in it.
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
