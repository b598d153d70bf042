//! Policies: decisions about the current value, before or after a step's own work.

use branchpoint_core::effect::{Kind, Response, Task};
use branchpoint_core::ir::builder::effect;
use branchpoint_core::ir::{Arm, DecisionId, DecisionKind, Effect, Failure, Mark, PlaceId, Write};
use branchpoint_expr::{Expression, Form, Located, Object, Value};

use super::{Location, Lower};
use crate::fields::Access;
use crate::lowering::object;
use crate::steps::condition;
use crate::steps::policy::{self, Action, Policy, Stage};
use crate::steps::request::located;
use crate::steps::rules::mask_rules;
use crate::steps::tree::StepIndex;

/// The score from which a judged policy applies.
const APPLIES_FROM: f64 = 0.5;

/// A policy of a step run, with everything that its places need.
#[derive(Clone, Copy)]
struct Applied<'d> {
    index: StepIndex,
    at: Location,
    policy: Policy<'d>,
    stage: Stage,
    action: Action,
    decision: DecisionId,
    /// Where the run continues.
    next: PlaceId,
    /// Where an error of the step leads.
    failure: Failure,
}

impl<'d> Lower<'_, 'd> {
    /// The policies of a stage of a step, one after the other; `next` if there are none.
    pub(super) fn policies(
        &mut self,
        index: StepIndex,
        at: Location,
        stage: Stage,
        next: PlaceId,
        failure: Failure,
    ) -> PlaceId {
        let covering = policy::covering(self.own.document, index);
        let of_stage = covering.into_iter().filter(|policy| policy.stage() == Some(stage)).rev();
        of_stage.fold(next, |next, policy| {
            let Some(action) = policy.action() else { return next };
            let decision = self.b.decision(self.own.ids[index], DecisionKind::Policy);
            self.applied(Applied { index, at, policy, stage, action, decision, next, failure })
        })
    }

    /// Whether a step has policies of a stage.
    pub(super) fn has_policies(&self, index: StepIndex, stage: Stage) -> bool {
        policy::covering(self.own.document, index).iter().any(|policy| policy.stage() == Some(stage))
    }

    /// The end of a step's own work, with the policies over its output before it. What handles an error of the step gives an output,
    /// too; a policy that blocks that one fails the step.
    pub(super) fn govern(&mut self, index: StepIndex, at: Location, finish: PlaceId) -> PlaceId {
        let (input, output) = (self.has_policies(index, Stage::Input), self.has_policies(index, Stage::Output));
        if !input && !output {
            return finish;
        }
        let is_handled = self.own.document.steps[index].located.given("on_error").is_some();
        let handled = if is_handled && output {
            let up = self.failure(index, at, None);
            self.policies(index, at, Stage::Output, finish, up)
        } else {
            finish
        };
        let failure = self.failure(index, at, Some(handled));
        self.own.failures.insert(index, failure);
        self.policies(index, at, Stage::Output, finish, failure)
    }

    /// Defines where a step begins, with the policies over its input first.
    pub(super) fn begin_governed(&mut self, index: StepIndex, at: Location, next: PlaceId) {
        if !self.has_policies(index, Stage::Input) {
            return self.begin(index, at, next);
        }
        let begin = self.b.reserve();
        let start = std::mem::replace(&mut self.own.begins[index], begin);
        self.begin(index, at, next);
        self.own.begins[index] = start;
        let failure = self.own.failures[&index];
        let first = self.policies(index, at, Stage::Input, begin, failure);
        let writes: Vec<Write> = self.no_gap().into_iter().collect();
        self.b.at(start).set(writes, first, None);
    }

    fn applied(&mut self, applied: Applied<'d>) -> PlaceId {
        let Applied { at, policy, action, decision, next, .. } = applied;
        let name = policy.name();
        let broken = self.policy_error(applied);
        let branch_name = format!("{name}: {}", action.as_str());
        let target = (action == Action::Block).then_some("the step fails (policy_blocked)");
        let hit = self.consequence(applied, broken);
        if policy.located.given("judge").is_some() {
            return self.judged(applied, &branch_name, target, hit, broken);
        }
        if policy.located.given("if").is_none() {
            let always = self.b.rule_branch(decision, &branch_name, "the policy has no condition", target);
            let decide = self.b.decide([], hit, None);
            return self.b.decides(decide, decision, [Some(always)]);
        }
        let condition = self.condition(at.scope, &condition::of(policy.located));
        let decide = self.b.decide([(condition, hit)], next, Some(broken));
        // An explanation of the condition would show what a mask hides.
        let applies = if action == Action::Mask {
            self.b.rule_branch(decision, &branch_name, "the condition of the policy is true", target)
        } else {
            self.b.branch(decision, &branch_name, Some(condition), target)
        };
        let passes = self.passes(applied);
        self.b.decides(decide, decision, [Some(applies), Some(passes)])
    }

    fn passes(&mut self, applied: Applied<'d>) -> u32 {
        let name = format!("{}: pass", applied.policy.name());
        match applied.action {
            Action::Mask => self.b.default_branch(applied.decision, &name, "the policy does not apply", None),
            _ => self.b.branch(applied.decision, &name, None, None),
        }
    }

    /// What follows when a policy applies.
    fn consequence(&mut self, applied: Applied<'d>, broken: Failure) -> PlaceId {
        let Applied { index, policy, stage, action, next, .. } = applied;
        match action {
            Action::Block => self.policy_blocked(applied, "its condition is true"),
            Action::Mask => {
                let located = policy.located;
                let empty = Located::from(&Value::Null);
                let rules = mask_rules(located.given("mask").unwrap_or(&empty));
                let masked = self.written(applied.at.scope, |options| Expression::replacements(&rules, options));
                let value = r#"type(value) == "string" ? probe : maskedJson(probe)"#;
                let writes = [
                    Write::Put(self.slots["probe"], masked),
                    self.store("value", value),
                    self.store(
                        "kind",
                        r#"type(value) == "string" && kind == "application/json" ? "text/plain" : kind"#,
                    ),
                    Write::Clear(self.slots["probe"]),
                    Write::Clear(self.slots["answer"]),
                ];
                self.b.set(writes, next, Some(broken))
            }
            Action::Flag => {
                let flag = object([
                    ("step", Value::Str(self.own.document.steps[index].id.clone())),
                    ("policy", Value::from(policy.name())),
                    ("on", Value::from(if stage == Stage::Input { "input" } else { "output" })),
                    ("message", policy.message().map_or(Value::Null, |message| Value::Str(message.clone()))),
                ]);
                let flag = self.b.value(flag);
                self.b.set([Write::Push(self.own.named["flags"], flag)], next, None)
            }
            Action::Ask => self.request_approval(applied, broken),
        }
    }

    /// People decide whether the run continues: with `approve` it does, with anything else the policy blocks.
    fn request_approval(&mut self, applied: Applied<'d>, broken: Failure) -> PlaceId {
        let Applied { index, policy, next, .. } = applied;
        let step = self.own.document.steps[index].id.clone();
        let blocked = self.policy_blocked(applied, "people did not approve");
        let approved = self.test(r#"answer.outcome == "approve""#);
        let decide = self.b.decide([(approved, next)], blocked, None);
        let question =
            policy.message().map_or_else(|| format!("The policy `{}` asks.", policy.name()), ToString::to_string);
        let text = r#"{"step": STEP, "prompt": QUESTION + "\n\n" + (type(value) == "string" ? value : toJSON(value)),
            "recipients": filter(concat([account.owner], account.admins ?? []), # != nil), "choices": ["approve", "deny"],
            "required": 1, "timeout_ms": nil, "reminder_ms": nil, "reminder_max": nil}"#;
        let constants = [("STEP", Value::Str(step)), ("QUESTION", Value::from(question))];
        let spec = self.store_with("probe", text, &[("account", self.own.named["account"])], &constants);
        let request = self.b.read(self.slots["probe"]);
        let into = Some(self.slots["answer"]);
        let wait = self.b.wait([Arm::Request { spec: request, into, next: decide, expired: None }], Some(broken));
        let decision = self.b.decision(self.own.ids[index], DecisionKind::Approval);
        self.b.decides(wait, decision, [None]);
        let no_approvers =
            self.fault_of(applied, "policy_error", "no approver is available: the run has no owner and no admins");
        let has_approvers = self.test("len(probe.recipients) > 0");
        let guarded = self.b.decide([(has_approvers, wait)], no_approvers, Some(broken));
        self.b.set([spec], guarded, Some(broken))
    }

    /// A model rates how well the prompt describes the value.
    fn judged(
        &mut self,
        applied: Applied<'d>,
        branch_name: &str,
        target: Option<&str>,
        hit: PlaceId,
        broken: Failure,
    ) -> PlaceId {
        let Applied { index, at, policy, decision, next, stage, .. } = applied;
        let (id, span) = (format!("{}.{}", self.own.document.steps[index].id, policy.name()), policy.located.span);
        let judge = *self
            .own
            .judges
            .entry((index, stage == Stage::Input, policy.name()))
            .or_insert_with(|| self.b.step(&id, "policy", None, (span.start, span.end)));
        let mut fixed = Object::default();
        fixed.insert("task".into(), Task::Score.into());
        fixed.insert(
            "model".into(),
            policy.located.str("model").map_or("default".into(), |model| Value::Str(model.clone())),
        );
        let response = Response { envelope: true, pass_threshold: Some(APPLIES_FROM), ..Response::default() };
        let call = self.b.effect(Effect { fixed, response, step: Some(judge), ..effect(Kind::Model) });
        let prompt = policy.located.given("judge").cloned().unwrap_or_else(|| located(&Value::Null, span));
        let subject = located(&Value::from("{{input}}"), span);
        let fields = [("prompt".into(), Form::Text, prompt), ("subject".into(), Form::Value, subject)];
        let input = self.written(at.scope, |options| Expression::fields(&fields, options));
        let applies = self.test("answer.output.passed == true");
        let decide = self.b.decide([(applies, hit)], next, Some(broken));
        let reason = r#""the judge rated it " + string(answer.output.score) + ", and the policy applies from 0.5""#;
        let applies = self.ruled(decision, (branch_name, "the judge rated it 0.5 or more"), reason, &[], target);
        let name = format!("{}: pass", policy.name());
        let passes = self.ruled(decision, (&name, "the judge rated it below 0.5"), reason, &[], None);
        self.b.decides(decide, decision, [Some(applies), Some(passes)]);
        let output = self.formula("answer.output");
        self.b.mark(decide, Mark::End(judge, Some(output)));
        let error = self.b.read(self.slots["failed"]);
        let lost = self.b.set([], broken.to, None);
        self.b.mark(lost, Mark::Fail(judge, error));
        let lost = Failure { to: lost, ..broken };
        let ask = self.b.do_(call, input, Some(self.slots["answer"]), decide, Some(lost));
        self.b.mark(ask, Mark::Begin(judge, None));
        ask
    }

    fn policy_blocked(&mut self, applied: Applied<'d>, why: &str) -> PlaceId {
        let message = applied.policy.message().map_or(why, |message| &**message);
        self.fault_of(applied, "policy_blocked", message)
    }

    /// A policy that cannot be evaluated blocks, too.
    fn policy_error(&mut self, applied: Applied<'d>) -> Failure {
        let place = self.fault_of(applied, "policy_error", "");
        self.fail_to(place)
    }

    /// The step fails because of a policy. Without a message, it has the message of the current error.
    fn fault_of(&mut self, applied: Applied<'d>, kind: &str, message: &str) -> PlaceId {
        let step = &self.own.document.steps[applied.index];
        let begins = format!("the policy `{}` of the step `{}`: ", applied.policy.name(), step.id);
        let constants = [
            ("KIND", Value::from(kind)),
            ("BEGIN", Value::from(begins)),
            ("MESSAGE", Value::from(message)),
            ("STEP", Value::Str(step.id.clone())),
        ];
        let own = if message.is_empty() { "string(failed.message)" } else { "MESSAGE" };
        let error = format!(r#"{{"kind": KIND, "message": BEGIN + {own}, "step": STEP}}"#);
        let place = self.assign_with("failed", &error, &[], &constants, applied.failure.to);
        if applied.stage == Stage::Input {
            // The step has not begun, and its record says that it failed.
            let input = self.b.read(self.slots["value"]);
            self.b.mark(place, Mark::Begin(self.own.ids[applied.index], Some(input)));
        }
        place
    }
}
