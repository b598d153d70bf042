//! Lowers one state in one context: it begins, performs its work, stores its result, and chooses the next state.

use branchpoint_core::ir::{Mark, PlaceId, StepId, Write};
use branchpoint_expr::Value;

use super::context::ContextId;
use super::{Lower, loops};
use crate::machine::raw::{State, StateKind};

/// The places after the work of a state. The slot `answer` has its outcome.
#[derive(Clone, Copy)]
pub(super) struct Outcomes {
    pub(super) ok: PlaceId,
    pub(super) bad: PlaceId,
    /// A text cannot be expanded; the slot `failure` has the reason.
    pub(super) unexpanded: PlaceId,
}

/// A state that is being lowered.
#[derive(Clone, Copy)]
pub(super) struct CurrentState<'d> {
    pub(super) context: ContextId,
    pub(super) at: usize,
    pub(super) state: &'d State,
    pub(super) step: StepId,
}

impl CurrentState<'_> {
    /// The name of the state as the constant `STATE` of formulas.
    pub(super) fn name(self) -> (&'static str, Value) {
        ("STATE", Value::from(&*self.state.name))
    }
}

/// The result of a state, from its outcome.
pub(super) const RESULT: &str = r#"{"Output": answer.output ?? "", "Stderr": answer.stderr ?? "", "ExitCode": EXIT,
    "Status": STATUS_WORD, "Response": answer.response, "TokensUsed": answer.tokens ?? 0COUNTS}"#;

/// The additional result of an agent.
pub(super) const TOKENS: &str = r#", "TokensInput": answer.input_tokens ?? 0, "TokensOutput": answer.output_tokens ?? 0,
    "TokensEstimated": answer.tokens_estimated ?? false"#;

impl<'d> Lower<'d> {
    /// The place at which a state begins in a context. The first use adds the state to the program.
    pub(super) fn state_place(&mut self, context: ContextId, at: usize) -> PlaceId {
        if let Some(place) = self.own.places.get(&(context, at)) {
            return *place;
        }
        let place = self.b.reserve();
        self.own.places.insert((context, at), place);
        self.own.queue.push((context, at));
        place
    }

    pub(super) fn step(&mut self, context: ContextId, at: usize) -> StepId {
        if let Some(step) = self.own.steps.get(&(context, at)) {
            return *step;
        }
        let document = self.own.document;
        let state = &document.states[at];
        let parent = self.context(context).step;
        let step = self.b.step(&state.name, kind_name(&state.kind), parent, (state.span.start, state.span.end));
        self.own.steps.insert((context, at), step);
        step
    }

    pub(super) fn state(&mut self, context: ContextId, at: usize) {
        let document = self.own.document;
        let state = &document.states[at];
        let current = CurrentState { context, at, state, step: self.step(context, at) };
        let place = self.own.places[&(context, at)];
        if let StateKind::Terminal(terminal) = &state.kind {
            return self.terminal(current, terminal, place);
        }
        let outcomes = self.outcomes(current);
        let work = self.work(current, outcomes);
        let hooked = self.hooks(context, &state.pre, current.step, work, None);
        let mut writes = self.begin_writes(&state.name);
        let nothing = self.b.value(Value::Null);
        writes.push(Write::Put(self.slots["error"], nothing));
        self.b.at(place).set(writes, hooked, None);
        self.b.mark(place, Mark::Begin(current.step, None));
    }

    fn work(&mut self, current: CurrentState<'d>, outcomes: Outcomes) -> PlaceId {
        match &current.state.kind {
            StateKind::Command(command) => self.command(current, command, outcomes),
            StateKind::Agent(agent) if agent.converses => self.conversation(current, agent, outcomes),
            StateKind::Agent(agent) => self.agent(current, agent, outcomes),
            StateKind::Parallel(parallel) => self.parallel(current, parallel, outcomes),
            StateKind::Loop(round) => self.looped(current, round, outcomes),
            StateKind::Call(call) => self.call(current, call, outcomes),
            StateKind::Operation(operation) => self.operation(current, operation, outcomes),
            StateKind::Terminal(_) | StateKind::Unknown => outcomes.ok,
        }
    }

    /// The writes that update `workflow`.
    pub(super) fn begin_writes(&mut self, state: &str) -> Vec<Write> {
        if !self.own.uses.workflow {
            return Vec::new();
        }
        let name = self.own.document.name.as_ref().map_or("", |name| name.text().as_ref());
        let text = r#"{"ID": facts.run_id, "Name": NAME, "CurrentState": STATE,
            "Duration": elapsedText(started, instantMs(now))}"#;
        let constants = [("NAME", Value::from(name)), ("STATE", Value::from(state))];
        vec![self.store_with("workflow", text, &[], &constants)]
    }

    /// Stores the result, runs the hooks after it, and chooses the next state.
    fn outcomes(&mut self, current: CurrentState<'d>) -> Outcomes {
        let next = self.after(current, true);
        let next = self.hooks(current.context, &current.state.post, current.step, next, None);
        let ok = self.stored(current, true, next);

        let chosen = self.after(current, false);
        let error = r#"{"Message": answer.error.message, "State": STATE, "ExitCode": answer.exit_code ?? 1,
            "Type": answer.error.kind}"#;
        let reported = self.assign_with("error", error, &[], &[current.name()], chosen);
        let reported = self.hooks(current.context, &current.state.post, current.step, reported, None);
        let bad = self.stored(current, false, reported);
        let unexpanded = self.not_retried(current, bad);
        let unexpanded = self.failed_with("template", unexpanded);
        Outcomes { ok, bad, unexpanded }
    }

    fn stored(&mut self, current: CurrentState<'d>, ok: bool, next: PlaceId) -> PlaceId {
        let (exit, status) = if ok { ("0", "\"completed\"") } else { ("answer.exit_code ?? 1", "\"failed\"") };
        let counts = if matches!(current.state.kind, StateKind::Agent(_)) { TOKENS } else { "" };
        let result = RESULT.replace("EXIT", exit).replace("STATUS_WORD", status).replace("COUNTS", counts);
        let stored = format!("putPath(states, [STATE], {result})");
        let mut writes = vec![self.store_with("states", &stored, &[], &[current.name()])];
        writes.extend(self.begin_writes(&current.state.name));
        let place = self.b.set(writes, next, None);
        let mark = if ok {
            Mark::End(current.step, Some(self.formula("answer.output")))
        } else {
            Mark::Fail(current.step, self.formula("answer.error"))
        };
        self.b.mark(place, mark)
    }

    /// The slot `failure` becomes a failed answer of a fixed kind.
    pub(super) fn failed_with(&mut self, kind: &str, bad: PlaceId) -> PlaceId {
        let text = format!(r#"{{"error": {{"kind": "{kind}", "message": failure.message}}}}"#);
        self.assign("answer", &text, bad)
    }

    /// The slot `failure` becomes a failed answer: a timeout, or of the kind of a formula.
    pub(super) fn timed_out_or(&mut self, kind: &str, output: &str, bad: PlaceId) -> PlaceId {
        let text = format!(
            r#"{{"output": {output}, "exit_code": failure.kind == "timeout" ? -1 : 1,
                "error": {{"kind": {}, "message": failure.message}}}}"#,
            loops::kind_or(kind),
        );
        self.assign("answer", &text, bad)
    }
}

fn kind_name(what: &StateKind) -> &'static str {
    match what {
        StateKind::Command(_) => "command",
        StateKind::Agent(_) => "agent",
        StateKind::Parallel(_) => "parallel",
        StateKind::Loop(round) => match round.over {
            crate::machine::raw::Repetition::Each(_) => "for_each",
            crate::machine::raw::Repetition::While(_) => "while",
        },
        StateKind::Call(_) => "call_workflow",
        StateKind::Operation(_) => "operation",
        StateKind::Terminal(_) => "terminal",
        StateKind::Unknown => "unknown",
    }
}
