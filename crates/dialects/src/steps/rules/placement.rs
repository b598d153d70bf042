//! The placement of steps: those that show a result, request approvals, or need a certain trigger.

use branchpoint_expr::{Kind, Located};

use super::Check;
use crate::DocumentKinds as _;
use crate::fields::Access;
use crate::steps::tree::{Role, StepIndex};

/// Steps that work on the content that started the run.
const CONTENT: [&str; 5] =
    ["load_content", "load_content_attachment", "write_content_attachment", "write_metadata", "publish_content"];

impl Check<'_, '_> {
    pub(super) fn placements(&mut self) {
        let mut streams = 0;
        for index in 0..self.document.steps.len() {
            let kind = self.document.steps[index].kind;
            if kind.shows() {
                self.shown(index);
            }
            match kind.name {
                "human_in_the_loop" => self.asks(index),
                "streaming_result" => {
                    streams += 1;
                    self.streams(index, streams > 1);
                }
                name if CONTENT.contains(&name) => self.content(index),
                _ => {}
            }
        }
    }

    fn shown(&mut self, index: StepIndex) {
        let document = self.document;
        let step = &document.steps[index];
        let top = document.top_list(index).role;
        let within = |roles: fn(Role) -> bool| roles(top) || document.around(index).any(|(_, list)| roles(list.role));
        let help = "put it after the step that holds it, in its `child_steps`";
        if within(|role| role == Role::Body) {
            let message = "a result is shown once, and this would show one in every round";
            self.error(Kind::ResultInLoop, step.span(), message, help);
        }
        if within(|role| matches!(role, Role::Arm(_) | Role::Branch(_) | Role::OnError | Role::OnBudget)) {
            let message = "a result step ends the workflow, but the workflow continues after a branch";
            self.error(Kind::ResultInBranch, step.span(), message, help);
        }
    }

    fn asks(&mut self, index: StepIndex) {
        let document = self.document;
        let in_items = |(holder, list): (StepIndex, &crate::steps::tree::List)| {
            list.role == Role::Body && document.steps[holder].is("for_each")
        };
        if document.around(index).any(in_items) {
            let message = "people cannot be asked inside a for_each: a vote would not say which item it means";
            let help = "ask before or after the loop, or call a workflow that asks";
            self.error(Kind::HitlInForEach, document.steps[index].span(), message, help);
        }
    }

    fn streams(&mut self, index: StepIndex, again: bool) {
        let document = self.document;
        let span = document.steps[index].span();
        let below_model = document
            .around(index)
            .next()
            .is_some_and(|(holder, list)| list.role == Role::Children && document.steps[holder].is("prompt_call"));
        if !below_model {
            let message = "this streams the text of the step around it, which must be a prompt_call";
            self.error(Kind::StreamingPlacement, span, message, "put it into the `child_steps` of a prompt_call");
        }
        if again {
            let message = "a workflow streams one result, and this is another";
            self.error(Kind::StreamingDuplicate, span, message, "use display_result here");
        }
        let trigger = self.trigger_type();
        if !["dynamic_input", "template_input"].contains(&trigger.as_deref().unwrap_or("dynamic_input")) {
            let message = "a run that this trigger starts has no viewer";
            self.error(Kind::StreamingTrigger, span, message, "use display_result, or the trigger dynamic_input");
        }
    }

    fn content(&mut self, index: StepIndex) {
        let step = &self.document.steps[index];
        let trigger = self.trigger_type();
        if trigger.is_some_and(|trigger| trigger != "new_content") {
            let message =
                format!("a {} step works on the content that started the run, and there is none", step.kind.name);
            self.error(Kind::ContentTrigger, step.span(), message, "give the trigger the type new_content");
        }
    }

    /// The type of the trigger, if one is given.
    fn trigger_type(&self) -> Option<String> {
        let trigger = self.document.located.given("trigger")?;
        let kind = trigger.given("type").and_then(Located::text);
        Some(kind.map_or("dynamic_input", |kind| &**kind).to_owned())
    }
}
