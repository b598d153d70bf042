//! Approvals by people.

use branchpoint_core::ir::{Arm, DecisionKind, ExprId, Failure, PlaceId, SlotId, Status, Write};
use branchpoint_expr::{Expression, Form, Located, Shape, Value, seconds_ms};

use super::{Location, Lower};
use crate::approvals::ApprovalRules;
use crate::lowering::located_object;
use crate::steps::request::located;
use crate::steps::tree::{Step, StepIndex};

/// How often an approval opens again because what it shows has changed.
const MAX_CHANGES: i64 = 10;

impl Lower<'_, '_> {
    pub(super) fn people(&mut self, index: StepIndex, at: Location, finish: PlaceId) -> PlaceId {
        let step = &self.own.document.steps[index];
        let failure = self.failure(index, at, Some(finish));
        let outcome = self.b.read(self.slots["answer"]);
        let writes = self.hold(outcome);
        let resolved = self.b.set(writes, finish, None);
        let fails_run = step.text("timeout_outcome").is_some_and(|outcome| &**outcome == "fail_run");
        let expired = fails_run.then(|| self.run_fails(index));
        let rules = ApprovalRules::of(step.located).map(|rules| Ruled::new(self, index, at, rules));
        let begin = self.b.reserve();
        let next = match &rules {
            Some(ruled) if ruled.rules.can_change() => self.exact(index, ruled, failure, begin, resolved),
            _ => resolved,
        };
        let (writes, spec) = self.approval_request(index, at, rules.as_ref());
        // The core finds the recipients of groups when the request opens, and reports what is wrong with them.
        let fail = rules.is_some().then_some(failure);
        let wait = self.b.wait([Arm::Request { spec, into: Some(self.slots["answer"]), next, expired }], fail);
        let decision = self.b.decision(self.own.ids[index], DecisionKind::Approval);
        // The same steps follow every outcome; only a timeout may fail the run.
        let fails = fails_run.then_some("the run fails (hitl_timeout)");
        let timeout = self.b.rule_branch(decision, "timeout", "the deadline passed", fails);
        self.b.decides(wait, decision, [Some(timeout)]);
        // The request is built before the wait, because a failed wait must report its step.
        let no_recipients =
            self.fault("hitl_no_recipients", "the approval has no approvers; list at least one recipient", failure);
        let has_recipients = self.test("len(filter(probe.recipients, # != nil)) > 0");
        let has_groups = rules.as_ref().is_some_and(|ruled| ruled.rules.has_groups());
        let guarded =
            if has_groups { wait } else { self.b.decide([(has_recipients, wait)], no_recipients, Some(failure)) };
        let begin = self.b.at(begin).set(writes, guarded, Some(failure));
        match &rules {
            Some(ruled) => {
                let counter = self.count(ruled, "0");
                self.b.set([Write::Clear(ruled.changed), counter], begin, None)
            }
            None => begin,
        }
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
    fn approval_request(&mut self, index: StepIndex, at: Location, ruled: Option<&Ruled<'_>>) -> (Vec<Write>, ExprId) {
        let step = &self.own.document.steps[index];
        let fixed = fixed(step);
        let spec = self.written(at.scope, |options| Expression::with_form(&fixed, Form::Text, options));
        let recipients = match step.text("recipient_distribution").map(|text| &**text) {
            Some("owner") => "[account.owner]",
            Some("selected_members") => "probe.recipients",
            _ => "concat([account.owner], account.admins ?? [])",
        };
        let rules = ruled.map_or("", |_| RULES);
        let text = format!(
            r#"{{"step": probe.step, "prompt": probe.prompt, "recipients": filter({recipients}, # != nil),
               "choices": probe.choices, "required": probe.required, "timeout_ms": probe.timeout_ms,
               "reminder_ms": probe.reminder_ms, "reminder_max": probe.reminder_max{rules}}}"#
        );
        let mut slots = vec![("account", self.own.named["account"])];
        let mut values = Vec::new();
        let mut writes = vec![Write::Put(self.slots["probe"], spec)];
        if let Some(ruled) = ruled {
            slots.extend([("shown", ruled.shown), ("changed", ruled.changed)]);
            values.push(("RULES", ruled.rules.fixed()));
            writes.push(Write::Put(ruled.shown, ruled.computed));
        }
        writes.push(self.store_with("probe", &text, &slots, &values));
        (writes, self.b.read(self.slots["probe"]))
    }

    /// After a choice: evaluates what the approval shows once more. If it has changed, a new request opens that lists the changes.
    fn exact(
        &mut self,
        index: StepIndex,
        ruled: &Ruled<'_>,
        failure: Failure,
        again: PlaceId,
        resolved: PlaceId,
    ) -> PlaceId {
        let message = format!("what the approval shows has changed {MAX_CHANGES} times while people were deciding");
        let too_often = self.fault("approval_outdated", &message, failure);
        let counted = self.count(ruled, "reopened + 1");
        let reopen = self.b.set([counted], again, None);
        let slots = [("reopened", ruled.reopened), ("shown", ruled.shown), ("changed", ruled.changed)];
        let limit = [("LIMIT", Value::Int(MAX_CHANGES))];
        let is_last = self.test_with("reopened >= LIMIT", &slots, &limit);
        let limited = self.b.decide([(is_last, too_often)], reopen, None);
        let has_changed = self.test_with("len(changed) > 0", &slots, &[]);
        let decision = self.b.decision(self.own.ids[index], DecisionKind::Branch);
        let reason = r#""what the approval shows has changed: " + join(map(changed, #.path), ", ")"#;
        let branch = self.b.rule_branch(decision, "ask_again", "what the approval shows has changed", None);
        let reason = self.formula_with(reason, &slots, &[]);
        self.b.reason(decision, branch, reason);
        let decide = self.b.decide([(has_changed, limited)], resolved, Some(failure));
        self.b.decides(decide, decision, [Some(branch), None]);
        let compare = Write::Put(ruled.changed, self.formula_with("approvalChanges(shown, probe)", &slots, &[]));
        let compared = self.b.set([Write::Put(self.slots["probe"], ruled.computed), compare], decide, Some(failure));
        let chosen = self.test(r#"answer.settled_by in ["quorum", "veto"]"#);
        self.b.decide([(chosen, compared)], resolved, Some(failure))
    }

    fn count(&mut self, ruled: &Ruled<'_>, text: &str) -> Write {
        self.store_with(ruled.reopened, text, &[("reopened", ruled.reopened)], &[])
    }
}

/// The rules of an approval, as parts of its request.
const RULES: &str = r#", "show": shown.show, "changed": changed,
    "rules": {"need": RULES.need, "veto": RULES.veto, "self_approval": RULES.self_approval, "escalate_ms": RULES.escalate_ms,
        "escalate_to": RULES.escalate_to, "end_early": RULES.end_early, "form": RULES.form, "defaults": shown.defaults,
        "groups": account.groups, "requester": account.requester}"#;

/// An approval with rules, and the slots that it needs.
struct Ruled<'d> {
    rules: ApprovalRules<'d>,
    /// What is shown: `{show, defaults}`.
    computed: ExprId,
    /// The value that was shown when the request opened.
    shown: SlotId,
    /// What has changed since the request before this one.
    changed: SlotId,
    /// How often the approval has opened again.
    reopened: SlotId,
}

impl<'d> Ruled<'d> {
    fn new(lower: &mut Lower<'_, 'd>, index: StepIndex, at: Location, rules: ApprovalRules<'d>) -> Self {
        let computed = lower.written(at.scope, |options| Expression::fields(&rules.computed(), options));
        let id = &lower.own.document.steps[index].id;
        let [shown, changed, reopened] =
            ["shown", "changed", "reopened"].map(|name| lower.b.local(&format!("{id}.{name}")));
        Self { rules, computed, shown, changed, reopened }
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
