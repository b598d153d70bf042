//! Policies: is each complete, and can the steps that it covers follow it.

use std::collections::BTreeSet;

use branchpoint_expr::{Expression, Kind, Located};

use super::Check;
use super::texts::options;
use crate::DocumentKinds as _;
use crate::fields::Access;
use crate::steps::condition;
use crate::steps::policy::{self, Action, Policy, Stage};
use crate::steps::tree::{Role, Step, StepIndex};

impl Check<'_, '_> {
    /// The policies of the document.
    pub(super) fn document_policies(&mut self) {
        self.policies(self.document.located);
    }

    /// The policies of a step, and those that cover it.
    pub(super) fn step_policies(&mut self, index: StepIndex, step: &Step<'_>) {
        self.policies(step.located);
        if let Some(own) = step.located.given("policies").filter(|own| own.items().is_some_and(|own| !own.is_empty()))
            && !policy::makes_value(step)
            && !policy::has_inside(step)
        {
            let message =
                format!("a {} step makes no value of its own, so a policy has nothing to evaluate", step.kind.name);
            self.error(Kind::BadPolicy, own.span, message, "put the policy on the step that makes the value");
        }
        let covering = policy::covering(self.document, index);
        let in_items = self.is_in_items(index);
        if let Some(asks) = covering.iter().find(|policy| policy.action() == Some(Action::Ask)).filter(|_| in_items) {
            let message = format!(
                "the policy `{}` asks people for the step `{}`, which is inside a for_each",
                asks.name(),
                step.id
            );
            self.error(Kind::HitlInForEach, asks.located.span, message, "block or flag there, or ask after the loop");
        }
        let streams = step.list(Role::Children).is_some_and(|children| {
            children.steps.iter().any(|child| self.document.steps[*child].is("streaming_result"))
        });
        if let Some(late) = covering.iter().find(|policy| policy.stage() == Some(Stage::Output)).filter(|_| streams) {
            let message =
                format!("the policy `{}` needs the whole output of `{}`, which is streamed", late.name(), step.id);
            self.error(Kind::BadPolicy, late.located.span, message, "use display_result instead of streaming_result");
        }
    }

    fn is_in_items(&self, index: StepIndex) -> bool {
        let document = self.document;
        document.around(index).any(|(holder, list)| list.role == Role::Body && document.steps[holder].is("for_each"))
    }

    fn policies(&mut self, holder: &Located) {
        let mut names = BTreeSet::new();
        for policy in policy::of(holder) {
            self.policy(policy);
            if !policy.name().is_empty() && !names.insert(policy.name()) {
                let message = format!("there are two policies `{}`", policy.name());
                self.error(Kind::BadPolicy, policy.located.span, message, "give one of them another name");
            }
        }
    }

    fn policy(&mut self, policy: Policy<'_>) {
        let (located, is_mask) = (policy.located, policy.action() == Some(Action::Mask));
        if located.given("if").is_some() {
            self.condition(&condition::of(located));
        }
        if let Some(prompt) = located.given("judge").filter(|prompt| prompt.text().is_some()) {
            self.template(prompt);
        }
        let is_conditional = located.given("if").or(located.given("judge")).is_some();
        if !is_conditional && !is_mask && policy.action().is_some() {
            let message = format!("the policy `{}` has no condition", policy.name());
            self.error(Kind::BadPolicy, located.span, message, "add `if` or `judge`");
        }
        match located.given("mask") {
            Some(mask) if !is_mask => {
                let message = "`mask` has no effect without `then: mask`";
                self.error(Kind::BadPolicy, mask.span, message, "remove it, or write `then: mask`");
            }
            None if is_mask => {
                let message = format!("the policy `{}` masks, but has no pattern", policy.name());
                self.error(Kind::BadPolicy, located.span, message, "add `mask` with a regular expression");
            }
            Some(mask) if mask.text().is_some() => {
                let compiled = Expression::replacements(&rules(mask), options());
                self.compiled(compiled.map(|compiled| (compiled.warnings().to_vec(), compiled.references())));
            }
            _ => {}
        }
    }
}

/// The replacement of everything that a pattern matches.
pub(in crate::steps) fn rules(pattern: &Located) -> Located {
    let text = branchpoint_expr::Value::from("***");
    let substitution = Located { span: pattern.span, ..Located::from(&text) };
    let rule =
        crate::lowering::located_object(pattern.span, [("pattern", pattern.clone()), ("substitution", substitution)]);
    Located { shape: branchpoint_expr::Shape::List(vec![rule]), span: pattern.span }
}
