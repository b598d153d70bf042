//! Effects: their requests, and their answers.

use std::sync::Arc;

use branchpoint_core::effect::Kind;
use branchpoint_core::ir::builder::ROOT;
use branchpoint_core::ir::{Effect, EffectId, ExprId, Failure, PlaceId, ScopeId, Write};
use branchpoint_expr::{Dialect, Expression, Form, Located, Object, Value};

use super::{Location, Lower};
use crate::agent::stop_names;
use crate::lowering::texts;
use crate::steps::request::{Request, located};
use crate::steps::tree::{Step, StepIndex};
use crate::steps::{attachments, condition, effect, guard};

/// The name of the local that holds the attachments for a model, in the fields of its request. No file has a name with a slash.
const SENT: &str = "attachments[/]";

impl Lower<'_, '_> {
    /// What a call of a model attaches: what the rules of its step select; without any, the stored files of the input, or of the
    /// output that it rates. A step with a template for them needs nothing.
    pub(super) fn sent_with(&mut self, index: StepIndex, scope: ScopeId) -> Vec<Write> {
        let step = &self.own.document.steps[index];
        if !self.sends_attachments(index) {
            return Vec::new();
        }
        if attachments::has_rules(step) {
            return self.picked(step);
        }
        let Some(rated) = rated_output(step) else {
            return vec![self.store("probe", "storedAttachments(value)")];
        };
        let rated = located(&rated, step.located.span);
        let rated = self.written(scope, |options| Expression::with_form(&rated, Form::Value, options));
        vec![Write::Put(self.slots["probe"], rated), self.store("probe", "storedAttachments(probe)")]
    }

    fn sends_attachments(&self, index: StepIndex) -> bool {
        let step = &self.own.document.steps[index];
        let is_model = effect::kind(step, self.own.options.scripted.contains(&*step.id)) == Kind::Model;
        is_model
            && attachments::ATTACHING.contains(&step.kind.name)
            && (attachments::has_rules(step) || step.get("attachments").is_none())
    }

    /// Calls the runner and makes the answer the current value.
    pub(super) fn call_runner(&mut self, index: StepIndex, at: Location, finish: PlaceId) -> PlaceId {
        let step = &self.own.document.steps[index];
        let kind = effect::kind(step, self.own.options.scripted.contains(&*step.id));
        let request = Request::of(step, kind);
        let failure = self.failure(index, at, Some(finish));
        let answered = self.answered(index, finish);
        let effect = self.effect_of(index, kind, &request);
        let checks = request.checks();
        let fields = self.request_input(index, at, request);
        let call_runner = if checks.is_empty() {
            self.b.do_(effect, fields, Some(self.slots["answer"]), answered, Some(failure))
        } else {
            let names = [("p", self.slots["probe"])];
            let input = self.b.read(self.slots["probe"]);
            let call_runner = self.b.do_(effect, input, Some(self.slots["answer"]), answered, Some(failure));
            let mut writes = vec![Write::Put(self.slots["probe"], fields)];
            let checks = checks.iter().map(|check| self.b.formula(check, Dialect::Steps, &names, &[]));
            writes.extend(checks.map(|checked| Write::Put(self.slots["probe"], checked)));
            self.b.set(writes, call_runner, Some(failure))
        };
        let step = &self.own.document.steps[index];
        let sends = step.is("send_email") && !self.own.options.scripted.contains(&*step.id);
        if sends { self.addressed(index, at, call_runner, failure) } else { call_runner }
    }

    /// Rejects a mail without recipients before it is sent. Scripted answers take precedence.
    fn addressed(&mut self, index: StepIndex, at: Location, call_runner: PlaceId, failure: Failure) -> PlaceId {
        let lost = self.fault("step_failed", "this mail has no recipient", failure);
        let Some(to) = self.own.document.steps[index].get("to") else { return lost };
        // Only the runner knows the value of a secret.
        if texts(to).any(|text| text.contains("secret.")) {
            return call_runner;
        }
        let value = self.written(at.scope, |options| Expression::with_form(to, Form::Value, options));
        let no_recipients = self.test(
            r#"probe == nil || type(probe) == "string" && trim(probe) == "" || type(probe) == "array" && len(probe) == 0"#,
        );
        let decide = self.b.decide([(no_recipients, lost)], call_runner, None);
        self.b.set([Write::Put(self.slots["probe"], value)], decide, Some(failure))
    }

    fn effect_of(&mut self, index: StepIndex, kind: Kind, request: &Request) -> EffectId {
        let step = &self.own.document.steps[index];
        let retry = step.get("retry").and_then(guard::policy);
        let attempt_limit_ms = step.get("timeout").and_then(guard::duration_ms);
        let definition = effect::definition(step, kind, request);
        self.b.effect(Effect { retry, attempt_limit_ms, step: Some(self.own.ids[index]), ..definition })
    }

    fn request_input(&mut self, index: StepIndex, at: Location, mut request: Request) -> ExprId {
        let step = &self.own.document.steps[index];
        if let Some(rated) = rated_output(step) {
            request.fields.retain(|(name, ..)| &**name != "subject");
            request.fields.push(field("subject", &rated, step.located));
        }
        if self.sends_attachments(index) {
            request.fields.retain(|(name, ..)| &**name != "attachments");
            request.fields.push(field("attachments", &Value::from(format!("{{{{{SENT}}}}}")), step.located));
            self.b.name(ROOT, &[SENT], self.slots["probe"]);
        }
        if let Some(written) = step.get("stop_when") {
            let names = stop_names(&condition::at_key(written)).expect("the rules refuse what does not compile");
            let values = names.iter().map(|path| path.join(".")).map(|name| {
                let value = Value::from(format!("{{{{{name}}}}}"));
                (name, value)
            });
            let values = Value::from(values.map(|(name, value)| (name.into(), value)).collect::<Object>());
            let values = if names.is_empty() { Value::Null } else { values };
            request.fields.push(field("stop_when_values", &values, step.located));
        }
        self.written(at.scope, |options| Expression::fields(&request.fields, options))
    }

    fn answered(&mut self, index: StepIndex, finish: PlaceId) -> PlaceId {
        let mut writes = vec![self.store("value", "answer.output"), self.store("kind", "answer.content_type")];
        if let Some(step_slots) = self.own.step_slots.get(&index).copied() {
            for (fact, slot) in step_slots.facts.into_iter().flatten() {
                writes.push(self.store(slot, &format!("answer.{fact}")));
            }
        }
        self.b.set(writes, finish, None)
    }
}

/// A template for the output of the step that an evaluation names.
fn rated_output(step: &Step<'_>) -> Option<Value> {
    step.text("target_step_id").map(|target| Value::from(format!("{{{{step.{target}.output}}}}")))
}

fn field(name: &str, value: &Value, near: &Located) -> (Arc<str>, Form, Located) {
    (name.into(), Form::Value, located(value, near.span))
}
