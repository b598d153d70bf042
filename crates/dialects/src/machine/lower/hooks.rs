//! Hooks: lists of commands and log lines around states and runs. A hook that fails is reported and changes nothing.

use branchpoint_core::effect::{Kind, Response};
use branchpoint_core::ir::builder::effect;
use branchpoint_core::ir::{Effect, Mark, PlaceId, StepId, Write};
use branchpoint_expr::{Object, Value};

use super::Lower;
use super::commands::{EXIT_CODE, reported, user_shell};
use super::context::ContextId;
use super::templates::{call_text, object, plain, secret_texts};
use crate::machine::raw::Action;

impl Lower<'_> {
    /// Runs actions one after the other, then continues. `failed` is the place after a failure; without it, a failure is only a warning.
    pub(super) fn hooks(
        &mut self,
        context: ContextId,
        actions: &[Action],
        step: StepId,
        next: PlaceId,
        failed: Option<PlaceId>,
    ) -> PlaceId {
        actions.iter().rev().fold(next, |next, action| {
            let bad = failed.unwrap_or_else(|| self.b.record(Mark::Warn(step, "hook_failed".into()), next));
            let error = self.test("hooked.error != nil");
            let failed = self.assign("failure", "hooked.error", bad);
            let judged = self.b.decide([(error, failed)], next, None);
            let (kind, template, input) = match action {
                Action::Log(text) => (Kind::Notify, object([("message", plain(Some(text)))]), "request"),
                Action::Command(text) => {
                    let input = r#"{"command": request.command, "inputs": environment}"#;
                    (Kind::Process, object([("command", call_text(Some(text)))]), input)
                }
            };
            // The output of a hook is not used.
            let response = Response { truncate: true, ..reported(1, EXIT_CODE) };
            let secrets = secret_texts([("command", Some(action.text()).filter(|_| kind == Kind::Process))]);
            let fixed = if kind == Kind::Process { user_shell() } else { Object::default() };
            // A hook of a state is not an attempt of the state's work, so its effect has no step.
            let of = Some(step).filter(|step| self.own.run_hooks.contains(step));
            let effect_id = self.b.effect(Effect { fixed, response, secrets, step: of, ..effect(kind) });
            let input = self.formula(input);
            let done = self.b.do_(effect_id, input, Some(self.slots["hooked"]), judged, Some(self.fail_to(bad)));
            self.expand(self.scope(context), &template, self.slots["request"], done, bad)
        })
    }

    /// A failing hook at the start fails the run before any state.
    pub(super) fn start_hooks(&mut self, first: PlaceId) -> PlaceId {
        let document = self.own.document;
        if document.hooks.start.is_empty() {
            return first;
        }
        let failed = self.assign(
            "verdict",
            r#"{"kind": "hook_failed", "message": failure.message, "error": {"Message": failure.message,
                "State": "", "ExitCode": 1, "Type": "exit_code"}}"#,
            self.own.ends.failed,
        );
        let step = self.hook_step("workflow_start");
        let hooked = self.hooks(super::ROOT_CONTEXT, &document.hooks.start, step, first, Some(failed));
        let mut writes = self.begin_writes("");
        let nothing = self.b.value(Value::Null);
        writes.push(Write::Put(self.slots["error"], nothing));
        self.b.set(writes, hooked, None)
    }

    /// A step for the hooks of a run, so that their output has a place in the trace.
    pub(super) fn hook_step(&mut self, name: &str) -> StepId {
        let span = self.own.document.span;
        let step = self.b.step(name, "hooks", None, (span.start, span.start));
        self.own.run_hooks.push(step);
        step
    }
}
