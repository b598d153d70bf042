//! Agents that are talked to: turns until a stop condition holds, the turns are used up, or the user has nothing to say.

use branchpoint_core::ir::builder::ScopeSpec;
use branchpoint_core::ir::{Arm, DecisionKind, Early, Exit, PlaceId, ScopeId, SlotId, Unit, Write};
use branchpoint_expr::{Condition, Dialect, Options, Value};

use super::Lower;
use super::agents::{SESSION, agent_effect, continued_from, earlier_session};
use super::commands::retry;
use super::state::{Here, Outcomes};
use crate::machine::raw::Agent;

/// The turns of a conversation that does not say.
const MAX_TURNS: i64 = 10;

/// The slots of a conversation, in its scope.
#[derive(Clone, Copy)]
struct Talk {
    scope: ScopeId,
    turn: SlotId,
    /// What all turns have used up.
    tokens: SlotId,
    message: SlotId,
    session: SlotId,
    /// What stop conditions call `loop`, `inputs.response` and `inputs.turn_count`.
    round: SlotId,
    response: SlotId,
    count: SlotId,
    /// What they call `inputs`, if one of them reads more of it than its parts.
    inputs: Option<SlotId>,
}

impl Talk {
    fn names(self) -> [(&'static str, SlotId); 6] {
        [
            ("turn", self.turn),
            ("tokens", self.tokens),
            ("message", self.message),
            ("session", self.session),
            ("response", self.response),
            ("round", self.round),
        ]
    }
}

impl<'d> Lower<'d> {
    pub(super) fn conversation(&mut self, here: Here<'d>, agent: &'d Agent, outcomes: Outcomes) -> PlaceId {
        let heard = self.put(self.slots.answer, "got[0]", &[]);
        let heard = self.then(vec![heard], outcomes.ok);
        let failed = self.timed_out_or("failure.kind", "failure.output", outcomes.bad);
        let spec = ScopeSpec {
            into: Some(self.slots.got),
            retry: retry(here.state),
            time_limit_ms: here.state.timeout_ms,
            next: Some(heard),
            fail: Some(self.fail_to(failed)),
            ..ScopeSpec::default()
        };
        let scope = self.b.scope(self.scope(here.context), spec);
        let talk = self.talk(scope, agent);
        let start = self.turns(here, agent, talk, outcomes.bad);
        self.b.begin(scope, &[start]);
        let enter = self.b.enter(scope);
        if retry(here.state).is_some() {
            // The policy records every attempt under the decision of the place.
            let decision = self.b.decision(here.step, DecisionKind::Retry);
            let fail = self.b.rule_branch(decision, "fail", "no attempt is left", Some("the step fails"));
            self.b.decides(enter, decision, [None, Some(fail)]);
        }
        let enter = self.need_session(agent, enter, outcomes);
        self.asked(here, agent, enter, outcomes)
    }

    fn talk(&mut self, scope: ScopeId, agent: &Agent) -> Talk {
        let inputs = reads_all_inputs(agent).then(|| self.b.slot(scope, "inputs", None));
        let talk = Talk {
            scope,
            turn: self.b.slot(scope, "turn", Some(Value::Int(0))),
            tokens: self.b.slot(scope, "tokens", Some(Value::Int(0))),
            message: self.b.slot(scope, "message", None),
            session: self.b.slot(scope, "session", None),
            round: self.b.slot(scope, "loop", None),
            response: self.b.slot(scope, "response", None),
            count: self.b.slot(scope, "turn_count", None),
            inputs,
        };
        self.b.name(scope, &["loop"], talk.round);
        self.b.name(scope, &["inputs", "response"], talk.response);
        self.b.name(scope, &["inputs", "turn_count"], talk.count);
        if let Some(inputs) = inputs {
            self.b.name_coerced(scope, &["inputs"], inputs);
        }
        talk
    }

    /// One turn leads to the next; gives the place where the first begins.
    fn turns(&mut self, here: Here<'d>, agent: &'d Agent, talk: Talk, bad: PlaceId) -> PlaceId {
        let ask = self.b.reserve();
        let answer = self.b.read(self.slots.answer);
        let done = self.b.leave(talk.scope, Exit::Done(Some(answer)));
        let more = self.next_message(here, agent, talk, (ask, done, bad));
        let stops = self.stops(here, agent, talk, (done, more));
        let stored = self.reply(here, talk, stops);

        let error =
            r#"{"kind": answer.error.kind, "message": answer.error.message, "output": response ?? answer.output}"#;
        let failed = self.talk_failed(talk, error);
        let unheard = self.talk_failed(talk, r#"{"kind": "agent", "message": failure.message, "output": response}"#);
        let error = self.test("answer.error != nil", &[]);
        let judged = self.b.decide([(error, failed)], stored, None);
        let mut effect = agent_effect(here, agent);
        // The whole conversation is tried again, not one of its turns.
        effect.response.report = Some(1);
        let what = self.b.effect(effect);
        let input = self.agent_input(agent, "message", "session", &talk.names());
        let fail = Some(self.fail_to(unheard));
        self.b.at(ask).do_(what, input, Some(self.slots.answer), judged, fail);

        let earlier = self.put_with(talk.session, earlier_session(agent), &talk.names(), &[continued_from(agent)]);
        let first = vec![self.put(talk.message, "request.prompt", &[]), earlier];
        self.then(first, ask)
    }

    /// A reply is the state's output at once, because stop conditions read it there.
    fn reply(&mut self, here: Here<'d>, talk: Talk, next: PlaceId) -> PlaceId {
        let outer = self.loop_around(here.context);
        let parent = if outer.is_some() { "outer" } else { "nil" };
        let mut names = talk.names().to_vec();
        names.extend(outer.map(|outer| ("outer", outer)));
        let round = format!(
            r#"{{"Index": turn - 1, "Index1": turn, "Item": nil, "Length": -1, "First": turn == 1, "Last": false,
                "Parent": {parent}}}"#
        );
        let states = r#"putPath(states, [STATE], {"Output": answer.output, "Stderr": "", "ExitCode": 0, "Status": "completed",
            "Response": answer.response, "TokensUsed": tokens})"#;
        let session = SESSION.replace("HISTORY", "(session ?? {})").replace("MESSAGE", "message");
        let mut writes = vec![
            self.put(talk.turn, "turn + 1", &names),
            self.put(talk.tokens, "tokens + (answer.tokens ?? 0)", &names),
            self.put(self.slots.answer, r#"putPath(answer, ["tokens"], tokens)"#, &names),
            self.put(talk.count, "turn", &names),
            self.put(talk.response, "answer.output", &names),
            self.put(talk.round, &round, &names),
            self.put_with(self.slots.states, states, &names, &[here.name()]),
            self.put(talk.session, &session, &names),
            self.put_with(self.slots.sessions, "putPath(sessions, [STATE], session)", &names, &[here.name()]),
        ];
        writes.extend(talk.inputs.into_iter().flat_map(|inputs| self.inputs_of_turn(here, talk, inputs)));
        self.then(writes, next)
    }

    /// The inputs as conditions read them, and beside them the reply as it is: text that looks like a number is text.
    fn inputs_of_turn(&mut self, here: Here<'d>, talk: Talk, inputs: SlotId) -> [Write; 2] {
        let coerced = self.b.expr(self.scope(here.context), "inputs", Dialect::Machine);
        let coerced = self.compiled(coerced);
        let names = [("all", inputs), ("response", talk.response), ("turn", talk.turn)];
        let text = r#"putPath(putPath(all, ["response"], response), ["turn_count"], turn)"#;
        [Write::Put(inputs, coerced), self.put(inputs, text, &names)]
    }

    fn stops(&mut self, here: Here<'d>, agent: &Agent, talk: Talk, (done, more): (PlaceId, PlaceId)) -> PlaceId {
        let conversation = agent.conversation.as_ref();
        let decision = self.b.decision(here.step, DecisionKind::Loop);
        let (mut arms, mut exits) = (Vec::new(), Vec::new());
        let stops = conversation.map_or(&[][..], |conversation| &conversation.stops);
        for (at, stop) in stops.iter().enumerate() {
            let guard = self.guard(talk.scope, stop);
            let name = if stops.len() == 1 { "stop".to_owned() } else { format!("stop-{at}") };
            exits.push(Some(self.b.branch(decision, &name, Some(guard), None)));
            arms.push((guard, done));
        }
        let most = conversation.and_then(|conversation| conversation.max_turns).unwrap_or(MAX_TURNS);
        arms.push((self.test(&format!("turn >= {most}"), &talk.names()), done));
        let limit = format!("max_turns {most} is reached");
        exits.push(Some(self.b.rule_branch(decision, "limit", &limit, None)));
        exits.push(Some(self.b.default_branch(decision, "continue", "max_turns is not reached", None)));
        let turn = self.b.read(talk.turn);
        self.b.counts(decision, Unit::Turn, turn, u64::try_from(most).ok());
        let error = self.talk_failed(talk, r#"{"kind": "condition", "message": failure.message, "output": response}"#);
        let fail = Some(self.fail_to(error));
        let decide = self.b.decide(arms, more, fail);
        self.b.decides(decide, decision, exits);
        decide
    }

    /// The user's line, or the prompt again with the context that is injected.
    fn next_message(
        &mut self,
        here: Here<'d>,
        agent: &'d Agent,
        talk: Talk,
        (ask, done, bad): (PlaceId, PlaceId, PlaceId),
    ) -> PlaceId {
        let again = self.prompt_again(here, agent, talk, (ask, bad));
        self.b.fact("user_attached");
        let line = self.user_line(here, talk, ask, done);
        let attached = self.test("facts.user_attached == true", &[]);
        self.b.decide([(attached, line)], again, None)
    }

    fn prompt_again(
        &mut self,
        here: Here<'d>,
        agent: &'d Agent,
        talk: Talk,
        (ask, bad): (PlaceId, PlaceId),
    ) -> PlaceId {
        let injected = agent.conversation.as_ref().and_then(|conversation| conversation.inject_context.as_ref());
        let Some(injected) = injected else {
            let message = self.put(talk.message, "request.prompt", &talk.names());
            return self.then(vec![message], ask);
        };
        // A prompt that names secrets is a list of parts.
        let text = r#"type(request.prompt) == "array" ? concat(request.prompt, ["\n\n", line])
            : string(request.prompt) + "\n\n" + string(line)"#;
        let message = self.put(talk.message, text, &talk.names());
        let message = self.then(vec![message], ask);
        let unexpanded = self.out_of_talk(here, talk, bad);
        self.expand(talk.scope, &injected.0, self.slots.line, message, unexpanded)
    }

    fn user_line(&mut self, here: Here<'d>, talk: Talk, ask: PlaceId, done: PlaceId) -> PlaceId {
        let signal = match self.line {
            Some(signal) => signal,
            None => self.b.signal("line", Early::Refuse),
        };
        self.line = Some(signal);
        // A line is text, whatever was sent: only the document says where secrets stand.
        let message = self.put(talk.message, "string(line)", &talk.names());
        let said = self.then(vec![message], ask);
        let blank = self.test(r#"line == nil || trim(string(line)) == """#, &[]);
        let judged = self.b.decide([(blank, done)], said, None);
        let decision = self.b.decision(here.step, DecisionKind::Wait);
        let end = self.b.rule_branch(decision, "end", "the line is blank, or the input has ended", None);
        let reason = r#"line == nil ? "the input has ended" : trim(string(line)) == "" ? "the line is blank" : nil"#;
        let reason = self.formula(reason, &[]);
        self.b.reason(decision, end, reason);
        let line = self.b.rule_branch(decision, "continue", "the user wrote a line", None);
        self.b.decides(judged, decision, [Some(end), Some(line)]);
        self.b.wait([Arm::Signal { signal, check: None, into: Some(self.slots.line), next: judged }], None)
    }

    /// A text could not be expanded, and would not be the next time: the conversation is left, not failed, because one that
    /// fails is tried again. What came of it crosses in a slot outside.
    fn out_of_talk(&mut self, here: Here<'d>, talk: Talk, bad: PlaceId) -> PlaceId {
        let left = self.b.slot(self.scope(here.context), &format!("{}.unexpanded", here.state.name), None);
        let answer = self.put(self.slots.answer, "left", &[("left", left)]);
        let outside = self.then(vec![answer], bad);
        let leave = self.b.leave(talk.scope, Exit::Goto(outside));
        let text = r#"{"output": response, "error": {"kind": "template", "message": failure.message}}"#;
        let kept = self.put(left, text, &talk.names());
        self.then(vec![kept], leave)
    }

    fn talk_failed(&mut self, talk: Talk, error: &str) -> PlaceId {
        let error = self.formula(error, &talk.names());
        self.b.leave(talk.scope, Exit::Fail(error))
    }
}

/// Whether a stop condition reads `inputs` as a whole, or by a key that is known only in the run.
fn reads_all_inputs(agent: &Agent) -> bool {
    let stops = agent.conversation.iter().flat_map(|conversation| &conversation.stops);
    stops.into_iter().any(|stop| {
        let compiled = Condition::under_if(&stop.0, Options::dialect(Dialect::Machine));
        let references = compiled.map(|condition| condition.references()).unwrap_or_default();
        references.iter().any(|reference| matches!(&reference.parts[..], [root] if &**root == "inputs"))
    })
}
