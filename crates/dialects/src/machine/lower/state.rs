//! One state in one context: it begins, does its work, its result is stored, and the next state is chosen.

use branchpoint_core::ir::{Mark, PlaceId, StepId, Write};
use branchpoint_expr::Value;

use super::context::ContextId;
use super::{Lower, loops};
use crate::machine::raw::{State, What};

/// Where the work of a state leads. The slot `answer` holds what came of it.
#[derive(Clone, Copy)]
pub(super) struct Outcomes {
    pub(super) ok: PlaceId,
    pub(super) bad: PlaceId,
    /// A text could not be expanded; the slot `failure` says why.
    pub(super) unexpanded: PlaceId,
}

/// A state that is being lowered.
#[derive(Clone, Copy)]
pub(super) struct Here<'d> {
    pub(super) context: ContextId,
    pub(super) at: usize,
    pub(super) state: &'d State,
    pub(super) step: StepId,
}

impl Here<'_> {
    /// The name of the state as the constant `STATE` of formulas.
    pub(super) fn name(self) -> (&'static str, Value) {
        ("STATE", Value::from(&*self.state.name))
    }
}

/// What a state leaves behind, by what came of it.
pub(super) const RESULT: &str = r#"{"Output": answer.output ?? "", "Stderr": answer.stderr ?? "", "ExitCode": EXIT,
    "Status": STATUS_WORD, "Response": answer.response, "TokensUsed": answer.tokens ?? 0COUNTS}"#;

/// What an agent leaves behind beside it.
pub(super) const TOKENS: &str = r#", "TokensInput": answer.input_tokens ?? 0, "TokensOutput": answer.output_tokens ?? 0,
    "TokensEstimated": answer.tokens_estimated ?? false"#;

impl<'d> Lower<'d> {
    /// Where a state begins in a context. Whoever asks makes it part of the program.
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
        let step = self.b.step(&state.name, kind_name(&state.what), parent, (state.span.start, state.span.end));
        self.own.steps.insert((context, at), step);
        step
    }

    pub(super) fn state(&mut self, context: ContextId, at: usize) {
        let document = self.own.document;
        let state = &document.states[at];
        let here = Here { context, at, state, step: self.step(context, at) };
        let place = self.own.places[&(context, at)];
        if let What::Terminal(terminal) = &state.what {
            return self.terminal(here, terminal, place);
        }
        let outcomes = self.outcomes(here);
        let work = self.work(here, outcomes);
        let hooked = self.hooks(context, &state.pre, here.step, work, None);
        let mut writes = self.begin_writes(&state.name);
        let nothing = self.b.value(Value::Null);
        writes.push(Write::Put(self.slots["error"], nothing));
        self.b.at(place).set(writes, hooked, None);
        self.b.mark(place, Mark::Begin(here.step, None));
    }

    fn work(&mut self, here: Here<'d>, outcomes: Outcomes) -> PlaceId {
        match &here.state.what {
            What::Command(command) => self.command(here, command, outcomes),
            What::Agent(agent) if agent.converses => self.conversation(here, agent, outcomes),
            What::Agent(agent) => self.agent(here, agent, outcomes),
            What::Parallel(parallel) => self.parallel(here, parallel, outcomes),
            What::Loop(round) => self.looped(here, round, outcomes),
            What::Call(call) => self.call(here, call, outcomes),
            What::Operation(operation) => self.operation(here, operation, outcomes),
            What::Terminal(_) | What::Unknown => outcomes.ok,
        }
    }

    /// What `workflow` says from here on.
    pub(super) fn begin_writes(&mut self, state: &str) -> Vec<Write> {
        if !self.own.uses.workflow {
            return Vec::new();
        }
        let name = self.own.document.name.as_ref().map_or("", |name| name.text().as_ref());
        let text = r#"{"ID": facts.run_id, "Name": NAME, "CurrentState": STATE,
            "Duration": elapsedText(started, instantMs(now))}"#;
        let constants = [("NAME", Value::from(name)), ("STATE", Value::from(state))];
        vec![self.put_with("workflow", text, &[], &constants)]
    }

    /// Stores the result, runs the hooks after it, and chooses the next state.
    fn outcomes(&mut self, here: Here<'d>) -> Outcomes {
        let next = self.after(here, true);
        let next = self.hooks(here.context, &here.state.post, here.step, next, None);
        let ok = self.stored(here, true, next);

        let chosen = self.after(here, false);
        let error = r#"{"Message": answer.error.message, "State": STATE, "ExitCode": answer.exit_code ?? 1,
            "Type": answer.error.kind}"#;
        let told = self.assign_with("error", error, &[], &[here.name()], chosen);
        let told = self.hooks(here.context, &here.state.post, here.step, told, None);
        let bad = self.stored(here, false, told);
        let unexpanded = self.not_retried(here, bad);
        let unexpanded = self.failed_with("template", unexpanded);
        Outcomes { ok, bad, unexpanded }
    }

    fn stored(&mut self, here: Here<'d>, ok: bool, next: PlaceId) -> PlaceId {
        let (exit, status) = if ok { ("0", "\"completed\"") } else { ("answer.exit_code ?? 1", "\"failed\"") };
        let counts = if matches!(here.state.what, What::Agent(_)) { TOKENS } else { "" };
        let result = RESULT.replace("EXIT", exit).replace("STATUS_WORD", status).replace("COUNTS", counts);
        let stored = format!("putPath(states, [STATE], {result})");
        let mut writes = vec![self.put_with("states", &stored, &[], &[here.name()])];
        writes.extend(self.begin_writes(&here.state.name));
        let place = self.b.set(writes, next, None);
        let mark = if ok {
            Mark::End(here.step, Some(self.formula("answer.output")))
        } else {
            Mark::Fail(here.step, self.formula("answer.error"))
        };
        self.b.mark(place, mark)
    }

    /// The slot `failure` becomes an answer that failed, of a kind that is known here.
    pub(super) fn failed_with(&mut self, kind: &str, bad: PlaceId) -> PlaceId {
        let text = format!(r#"{{"error": {{"kind": "{kind}", "message": failure.message}}}}"#);
        self.assign("answer", &text, bad)
    }

    /// The slot `failure` becomes an answer that failed: a timeout, or of the kind that a formula gives.
    pub(super) fn timed_out_or(&mut self, kind: &str, output: &str, bad: PlaceId) -> PlaceId {
        let text = format!(
            r#"{{"output": {output}, "exit_code": failure.kind == "timeout" ? -1 : 1,
                "error": {{"kind": {}, "message": failure.message}}}}"#,
            loops::kind_or(kind),
        );
        self.assign("answer", &text, bad)
    }
}

fn kind_name(what: &What) -> &'static str {
    match what {
        What::Command(_) => "command",
        What::Agent(_) => "agent",
        What::Parallel(_) => "parallel",
        What::Loop(round) => match round.over {
            crate::machine::raw::Times::Each(_) => "for_each",
            crate::machine::raw::Times::While(_) => "while",
        },
        What::Call(_) => "call_workflow",
        What::Operation(_) => "operation",
        What::Terminal(_) => "terminal",
        What::Unknown => "unknown",
    }
}
