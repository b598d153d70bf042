//! The ends of a run: terminal states, inline failures, unhandled failures, cancellation.

use branchpoint_core::ir::{Mark, PlaceId, Status, StepId, Write};
use branchpoint_expr::Value;

use super::Lower;
use super::context::ROOT_CONTEXT;
use super::state::CurrentState;
use super::templates::plain;
use crate::machine::raw::{OnFailure, Terminal, Text};

/// The exit status of the command line for a run that failed.
const FAILED: i64 = 3;

/// The places at which runs end, after the slot `verdict` is set.
pub(super) struct Ends {
    pub(super) completed: PlaceId,
    pub(super) failed: PlaceId,
}

impl<'d> Lower<'d> {
    /// The ends of a run, each with its hooks.
    pub(super) fn ends(&mut self) {
        let hooks = &self.own.document.hooks;
        // Undeclared inputs are accepted, with a warning.
        let names = self.input_names();
        let more = if names.is_empty() { "" } else { r#", "warnings": inputProblems(given, DECLARED)"# };
        let outputs = if self.own.document.outputs.is_empty() { "" } else { r#", "outputs": outputs"# };
        let more = format!("{more}{outputs}");
        let declared = [("DECLARED", Value::from(names))];
        let completed = format!(
            r#"{{"status": "completed", "message": verdict.message, "exit_code": 0, "state": verdict.state, "states": states{more}}}"#
        );
        let failed = format!(
            r#"{{"status": "failed", "kind": verdict.kind, "message": verdict.message,
                "exit_code": verdict.exit_code ?? {FAILED}, "error": verdict.error, "state": verdict.state, "states": states,
                "failure": {{"step": verdict.error.State, "kind": verdict.error.Type, "message": verdict.error.Message}}{more}}}"#
        );
        let cancelled = format!(r#"{{"status": "cancelled", "exit_code": {FAILED}, "states": states}}"#);
        let ends = [
            (Status::Completed, completed, "workflow_end", &hooks.end),
            (Status::Failed, failed, "workflow_error", &hooks.error),
            (Status::Cancelled, cancelled, "workflow_cancel", &hooks.cancel),
        ];
        let [completed, failed, cancelled] = ends.map(|(status, result, name, actions)| {
            let result = self.formula_with(&result, &[], &declared);
            let close = self.b.close(status, result);
            if actions.is_empty() {
                return close;
            }
            let step = self.hook_step(name);
            self.hooks(ROOT_CONTEXT, actions, step, close, None)
        });
        let unknown = (!self.own.document.outputs.is_empty()).then(|| self.bad_output());
        let completed = self.declared_outputs(completed, unknown);
        self.b.at(self.own.ends.completed).set([], completed, None);
        let error = self.store("error", "verdict.error");
        let failed = self.declared_outputs(failed, None);
        self.b.at(self.own.ends.failed).set([error], failed, None);
        self.b.on_cancel(cancelled);
    }

    /// A declared output cannot be evaluated, which fails the run.
    fn bad_output(&mut self) -> PlaceId {
        let verdict = r#"{"kind": "step_failed", "message": failure.message, "state": verdict.state, "error": {"Message": failure.message,
            "State": verdict.state, "ExitCode": 1, "Type": "condition"}}"#;
        self.assign("verdict", verdict, self.own.ends.failed)
    }

    /// A failure outside of any state, such as a value that is nested too deeply to be stored.
    pub(super) fn unexpected_failure(&mut self) -> PlaceId {
        self.assign(
            "verdict",
            r#"{"kind": "step_failed", "message": failure.message, "error": {"Message": failure.message, "State": "",
                "ExitCode": 1, "Type": failure.kind}}"#,
            self.own.ends.failed,
        )
    }

    /// The run fails because of a state. `message` and `error` are formulas, in which STATE is its name; without an error it
    /// is derived from the message.
    pub(super) fn failed_run(&mut self, current: CurrentState<'d>, kind: &str, message: &str, error: &str) -> PlaceId {
        let of = if kind == "condition_error" { "condition" } else { "exit_code" };
        let text = format!(
            r#"{{"kind": "{kind}", "message": {message}, "state": STATE,
                "error": {error} ?? {{"Message": {message}, "State": STATE, "ExitCode": 1, "Type": "{of}"}}}}"#
        );
        let verdict = self.store_with("verdict", &text, &[], &[current.name()]);
        let end = self.leave_to_root(current.context, self.own.ends.failed);
        self.b.set([verdict], end, None)
    }

    pub(super) fn terminal(&mut self, current: CurrentState<'d>, terminal: &'d Terminal, place: PlaceId) {
        let end = if terminal.failure { self.own.ends.failed } else { self.own.ends.completed };
        let end = self.leave_to_root(current.context, end);
        let end = if terminal.failure { self.failed_end(current.step, end) } else { end };
        let default = terminal.failure.then(|| format!("the run ended in the state `{}`", current.state.name));
        let reported = self.verdict(&current.state.name, terminal.message.as_ref(), default, FAILED, (current, end));
        let writes = self.end_writes(&current.state.name);
        self.b.at(place).set(writes, reported, None);
        self.b.mark(place, Mark::Begin(current.step, None));
        if !terminal.failure {
            self.b.mark(place, Mark::End(current.step, None));
        }
    }

    /// A terminal state that is a failure is recorded as failed, with the error of the run.
    fn failed_end(&mut self, step: StepId, end: PlaceId) -> PlaceId {
        let error = self.formula(r#"{"kind": "terminal_failure", "message": verdict.message}"#);
        self.b.record(Mark::Fail(step, error), end)
    }

    /// An inline failure acts as a terminal state of its own, in the root.
    pub(super) fn inline(&mut self, state: usize) -> PlaceId {
        let document = self.own.document;
        let of = &document.states[state];
        let Some(OnFailure::Inline { message, status, span }) = &of.on_failure else { return self.own.ends.failed };
        let name = inline_name(&of.name);
        let step = self.b.step(&name, "terminal", None, (span.start, span.end));
        let current = CurrentState { context: ROOT_CONTEXT, at: state, state: of, step };
        let end = self.failed_end(step, self.own.ends.failed);
        let reported = self.verdict(&name, message.as_ref(), None, *status, (current, end));
        let writes = self.end_writes(&name);
        let place = self.b.set(writes, reported, None);
        self.b.mark(place, Mark::Begin(step, None))
    }

    /// The writes at the beginning of an end. `error` is only for earlier transitions, so the message of an end does not read it.
    fn end_writes(&mut self, name: &str) -> Vec<Write> {
        let mut writes = self.begin_writes(name);
        writes.push(self.store("cause", "error"));
        let nothing = self.b.value(Value::Null);
        writes.push(Write::Put(self.slots["error"], nothing));
        writes
    }

    /// Sets the verdict with the expanded message, or with its raw text if it cannot be expanded.
    fn verdict(
        &mut self,
        name: &str,
        message: Option<&Text>,
        default: Option<String>,
        status: i64,
        (current, end): (CurrentState<'d>, PlaceId),
    ) -> PlaceId {
        let mut verdict = |message: &str, raw: Value| {
            let text = format!(
                r#"{{"kind": "terminal_failure", "message": {message}, "state": STATE, "exit_code": {status},
                    "error": {{"Message": {message}, "State": cause.State ?? STATE, "ExitCode": cause.ExitCode ?? 1,
                        "Type": cause.Type ?? "exit_code"}}}}"#
            );
            let constants = [("STATE", Value::from(name)), ("RAW", raw)];
            self.assign_with("verdict", &text, &[], &constants, end)
        };
        let Some(message) = message else {
            return verdict("RAW", default.map_or(Value::Null, Value::from));
        };
        let expanded = verdict("request", Value::Null);
        let raw = verdict("RAW", Value::Str(message.text().clone()));
        let template = plain(Some(message)).expect("a message was given");
        self.expand(self.scope(current.context), &template, self.slots["request"], expanded, raw)
    }
}

/// The name of the terminal state that an inline failure acts as.
pub(super) fn inline_name(state: &str) -> String {
    format!("__inline_error_{state}")
}
