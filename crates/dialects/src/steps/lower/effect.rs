//! Effects: what is asked, and what becomes of the answer.

use std::sync::Arc;

use branchpoint_core::effect::Kind;
use branchpoint_core::ir::builder::ROOT;
use branchpoint_core::ir::{Effect, EffectId, ExprId, Failure, PlaceId, Write};
use branchpoint_expr::{Dialect, Expression, Form, Located, Object, Value};

use super::{Lower, Where};
use crate::agent::stop_names;
use crate::lowering::texts;
use crate::steps::request::{Request, located};
use crate::steps::tree::No;
use crate::steps::{attachments, condition, effect, guard};

/// The name of the local that holds the attachments for a model, in the fields of its request. No file has a name with a slash.
const SENT: &str = "attachments[/]";

impl Lower<'_, '_> {
    /// What a call of a model attaches: what the rules of its step select; without any, the stored files of the input. A step
    /// with a template for them needs nothing.
    pub(super) fn sent_with(&mut self, no: No) -> Vec<Write> {
        let step = &self.own.document.steps[no];
        if !self.sends_attachments(no) {
            return Vec::new();
        }
        if attachments::has_rules(step) {
            return self.picked(step);
        }
        vec![self.put("probe", "storedAttachments(value)")]
    }

    fn sends_attachments(&self, no: No) -> bool {
        let step = &self.own.document.steps[no];
        let is_model = effect::kind(step, self.own.options.scripted.contains(&*step.id)) == Kind::Model;
        is_model
            && attachments::ATTACHING.contains(&step.kind.name)
            && (attachments::has_rules(step) || step.get("attachments").is_none())
    }

    /// Asks the outside and takes the answer as the value at hand.
    pub(super) fn ask(&mut self, no: No, at: Where, finish: PlaceId) -> PlaceId {
        let step = &self.own.document.steps[no];
        let kind = effect::kind(step, self.own.options.scripted.contains(&*step.id));
        let request = Request::of(step, kind);
        let failure = self.failure(no, at, Some(finish));
        let answered = self.answered(no, finish);
        let effect = self.effect_of(no, kind, &request);
        let checks = request.checks();
        let fields = self.asked_with(no, at, request);
        let ask = if checks.is_empty() {
            self.b.do_(effect, fields, Some(self.slots["answer"]), answered, Some(failure))
        } else {
            let names = [("p", self.slots["probe"])];
            let input = self.b.read(self.slots["probe"]);
            let ask = self.b.do_(effect, input, Some(self.slots["answer"]), answered, Some(failure));
            let mut writes = vec![Write::Put(self.slots["probe"], fields)];
            let checks = checks.iter().map(|check| self.b.formula(check, Dialect::Steps, &names, &[]));
            writes.extend(checks.map(|checked| Write::Put(self.slots["probe"], checked)));
            self.b.set(writes, ask, Some(failure))
        };
        let step = &self.own.document.steps[no];
        let sends = step.is("send_email") && !self.own.options.scripted.contains(&*step.id);
        if sends { self.addressed(no, at, ask, failure) } else { ask }
    }

    /// A mail to nobody fails before anyone is asked to send it. What someone wrote down for the step comes first.
    fn addressed(&mut self, no: No, at: Where, ask: PlaceId, failure: Failure) -> PlaceId {
        let lost = self.fault("step_failed", "this mail has no recipient", failure);
        let Some(to) = self.own.document.steps[no].get("to") else { return lost };
        // A secret is known only to the one who sends.
        if texts(to).any(|text| text.contains("secret.")) {
            return ask;
        }
        let value = self.written(at.scope, |options| Expression::with_form(to, Form::Value, options));
        let nobody = self.test(
            r#"probe == nil || type(probe) == "string" && trim(probe) == "" || type(probe) == "array" && len(probe) == 0"#,
        );
        let decide = self.b.decide([(nobody, lost)], ask, None);
        self.b.set([Write::Put(self.slots["probe"], value)], decide, Some(failure))
    }

    fn effect_of(&mut self, no: No, kind: Kind, request: &Request) -> EffectId {
        let step = &self.own.document.steps[no];
        let retry = step.get("retry").and_then(guard::policy);
        let attempt_limit_ms = step.get("timeout").and_then(guard::duration_ms);
        let definition = effect::definition(step, kind, request);
        self.b.effect(Effect { retry, attempt_limit_ms, step: Some(self.own.ids[no]), ..definition })
    }

    fn asked_with(&mut self, no: No, at: Where, mut request: Request) -> ExprId {
        let step = &self.own.document.steps[no];
        if let Some(target) = step.text("target_step_id") {
            let judged = Value::from(format!("{{{{step.{target}.output}}}}"));
            request.fields.retain(|(name, ..)| &**name != "subject");
            request.fields.push(field("subject", &judged, step.located));
        }
        if self.sends_attachments(no) {
            request.fields.retain(|(name, ..)| &**name != "attachments");
            request.fields.push(field("attachments", &Value::from(format!("{{{{{SENT}}}}}")), step.located));
            self.b.name(ROOT, &[SENT], self.slots["probe"]);
        }
        if let Some(written) = step.get("stop_when") {
            let names = stop_names(&condition::under(written)).expect("the rules refuse what does not compile");
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

    fn answered(&mut self, no: No, finish: PlaceId) -> PlaceId {
        let mut writes = vec![self.put("value", "answer.output"), self.put("kind", "answer.content_type")];
        if let Some(kept) = self.own.kept.get(&no).copied() {
            for (fact, slot) in kept.facts.into_iter().flatten() {
                writes.push(self.put(slot, &format!("answer.{fact}")));
            }
        }
        self.b.set(writes, finish, None)
    }
}

fn field(name: &str, value: &Value, near: &Located) -> (Arc<str>, Form, Located) {
    (name.into(), Form::Value, located(value, near.span))
}
