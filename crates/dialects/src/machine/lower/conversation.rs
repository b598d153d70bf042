//! Conversations with agents: turns until a stop condition is true, the limit is reached, or the user sends nothing.

use branchpoint_core::ir::builder::ScopeSpec;
use branchpoint_core::ir::{Arm, ConditionId, DecisionKind, Exit, OnEarly, PlaceId, ScopeId, Unit, Write};
use branchpoint_expr::{Condition, Dialect, Options, Value};

use super::Lower;
use super::agents::{SESSION, agent_effect, continued_from, earlier_session, system_of};
use super::commands::retry;
use super::state::{CurrentState, Outcomes, RESULT, TOKENS};
use crate::agent_loop::AgentLoop;
use crate::machine::raw::Agent;

/// A reply with the tokens of all turns.
const COUNTED: &str = r#"fromPairs(concat(toPairs(answer), toPairs({"tokens": tokens, "input_tokens": input_tokens,
    "output_tokens": tokens - input_tokens, "tokens_estimated": estimated})))"#;

/// The default limit of turns.
const MAX_TURNS: i64 = 10;

impl<'d> Lower<'d> {
    pub(super) fn conversation(&mut self, current: CurrentState<'d>, agent: &'d Agent, outcomes: Outcomes) -> PlaceId {
        let answered = self.assign("answer", "got[0]", outcomes.ok);
        let failed = self.timed_out_or("failure.kind", "failure.output", outcomes.bad);
        let spec = ScopeSpec {
            into: Some(self.slots["got"]),
            retry: retry(current.state),
            time_limit_ms: current.state.timeout_ms,
            next: Some(answered),
            fail: Some(self.fail_to(failed)),
            ..ScopeSpec::default()
        };
        let scope = self.b.scope(self.scope(current.context), spec);
        let around = self.slots.clone();
        self.add_slots(current, scope);
        let start = self.turns(current, agent, scope, outcomes.bad);
        self.slots = around;
        self.b.begin(scope, &[start]);
        let enter = self.b.enter(scope);
        if retry(current.state).is_some() {
            // The policy records every attempt under the decision of the place.
            let decision = self.b.decision(current.step, DecisionKind::Retry);
            let fail = self.b.rule_branch(decision, "fail", "no attempt is left", Some("the step fails"));
            self.b.decides(enter, decision, [None, Some(fail)]);
        }
        let enter = self.need_session(agent, enter, outcomes);
        self.expand_request(current, agent, enter, outcomes)
    }

    /// The slots of a conversation. Stop conditions read `loop`, `inputs.response` and `inputs.turn_count`.
    fn add_slots(&mut self, current: CurrentState<'d>, scope: ScopeId) {
        let zero = || Some(Value::Int(0));
        let slots = [
            ("turn", "turn", zero()),
            // The tokens of all turns.
            ("tokens", "tokens", zero()),
            ("input_tokens", "input_tokens", zero()),
            ("estimated", "estimated", Some(Value::Bool(false))),
            ("message", "message", None),
            ("session", "session", None),
            ("round", "loop", None),
            ("response", "response", None),
            ("count", "turn_count", None),
        ];
        for (name, slot, first) in slots {
            self.slots.add(name, self.b.slot(scope, slot, first));
        }
        let paths =
            [("round", &["loop"][..]), ("response", &["inputs", "response"]), ("count", &["inputs", "turn_count"])];
        for (name, path) in paths {
            self.b.name(scope, path, self.slots[name]);
        }
        self.loop_around(current.context).map(|outer| self.slots.add("outer", outer));
    }

    /// The turns. Returns the place at which the first begins.
    fn turns(&mut self, current: CurrentState<'d>, agent: &'d Agent, scope: ScopeId, bad: PlaceId) -> PlaceId {
        let [ask, next] = [(); 2].map(|()| self.b.reserve());
        let answer = self.b.read(self.slots["answer"]);
        let done = self.b.leave(scope, Exit::Done(Some(answer)));
        let recorded = self.record_reply(current, agent, scope);
        // The next message is the user's line, or the prompt with the injected context.
        let again = self.prompt_again(current, agent, scope, ask, bad);
        self.b.fact("user_attached");
        let line = self.user_line(current, ask, done);
        let attached = self.test("facts.user_attached == true");
        let more = self.b.decide([(attached, line)], again, None);
        let errors = [
            r#"{"kind": answer.error.kind, "message": answer.error.message, "output": response ?? answer.output}"#,
            r#"{"kind": "agent", "message": failure.message, "output": response}"#,
            r#"{"kind": "condition", "message": failure.message, "output": response}"#,
        ];
        let [refused, failed, broken] = errors.map(|error| {
            let error = self.formula(error);
            self.b.leave(scope, Exit::Fail(error))
        });
        let conversation = agent.conversation.as_ref();
        let stops = conversation.map_or(&[][..], |conversation| &conversation.stops);
        let guards: Vec<ConditionId> = stops.iter().map(|stop| self.guard(scope, stop)).collect();
        let most = conversation.and_then(|conversation| conversation.max_turns).unwrap_or(MAX_TURNS);
        let mut effect = agent_effect(self.own.document, current, agent);
        // A retry repeats the whole conversation, not one of its turns.
        effect.response.report = Some(1);
        let parts = AgentLoop {
            ask,
            next,
            call: (effect, self.agent_input(agent, "message", "session")),
            reply: self.slots["answer"],
            count: self.store("turn", "turn + 1"),
            refused: Some((self.test("answer.error != nil"), refused)),
            shown: None,
            failed,
            recorded,
            stops: guards.iter().map(|guard| (*guard, done)).collect(),
            broken: Some(self.fail_to(broken)),
            work: next,
            limits: vec![(self.test(&format!("turn >= {most}")), done)],
            prepare: Some(more),
        };
        let (_, judge) = parts.build(self);
        let decision = self.b.decision(current.step, DecisionKind::Loop);
        let branches = guards.iter().enumerate().map(|(at, guard)| {
            let name = if stops.len() == 1 { "stop".to_owned() } else { format!("stop-{at}") };
            Some(self.b.branch(decision, &name, Some(*guard), None))
        });
        let exits: Vec<_> = branches.chain([None]).collect();
        let limit = self.b.rule_branch(decision, "limit", &format!("max_turns {most} is reached"), None);
        let more = self.b.default_branch(decision, "continue", "max_turns is not reached", None);
        let turn = self.b.read(self.slots["turn"]);
        let most = self.b.value(most);
        self.b.counts(decision, Unit::Turn, turn, most);
        if judge != next {
            self.b.decides(judge, decision, exits);
        }
        self.b.decides(next, decision, [Some(limit), Some(more)]);
        let earlier = self.store_with("session", earlier_session(agent), &[], &[continued_from(agent)]);
        let first = [self.store("message", "request.prompt"), earlier];
        self.b.set(first, ask, None)
    }

    /// A reply is the state's output at once, because stop conditions read it there.
    fn record_reply(&mut self, current: CurrentState<'d>, agent: &Agent, scope: ScopeId) -> Vec<Write> {
        let parent = if self.loop_around(current.context).is_some() { "outer" } else { "nil" };
        let round = format!(
            r#"{{"Index": turn - 1, "Index1": turn, "Item": nil, "Length": -1, "First": turn == 1, "Last": false,
                "Parent": {parent}}}"#
        );
        let result = RESULT.replace("EXIT", "0").replace("STATUS_WORD", r#""completed""#).replace("COUNTS", TOKENS);
        let states = &format!("putPath(states, [STATE], {result})");
        let session = SESSION
            .replace("SYSTEM_OF", &system_of(agent, "session"))
            .replace("HISTORY", "(session ?? {})")
            .replace("MESSAGE", "message");
        let writes = [
            ("tokens", "tokens + (answer.tokens ?? 0)"),
            ("input_tokens", "input_tokens + (answer.input_tokens ?? 0)"),
            ("estimated", "estimated || (answer.tokens_estimated ?? false)"),
            ("answer", COUNTED),
            ("count", "turn"),
            ("response", "answer.output"),
            ("round", &round),
            ("states", states),
            ("session", &session),
            ("sessions", "putPath(sessions, [STATE], session)"),
        ];
        let mut writes: Vec<_> =
            writes.into_iter().map(|(slot, text)| self.store_with(slot, text, &[], &[current.name()])).collect();
        if reads_all_inputs(agent) {
            // The inputs as conditions read them, and beside them the reply as it is: text that looks like a number is text.
            let inputs = self.b.slot(scope, "inputs", None);
            self.b.name_coerced(scope, &["inputs"], inputs);
            let coerced = self.b.expr(self.scope(current.context), "inputs", Dialect::Machine);
            let coerced = self.compiled(coerced);
            let text = r#"putPath(putPath(all, ["response"], response), ["turn_count"], turn)"#;
            writes.extend([Write::Put(inputs, coerced), self.store_with(inputs, text, &[("all", inputs)], &[])]);
        }
        writes
    }

    fn prompt_again(
        &mut self,
        current: CurrentState<'d>,
        agent: &Agent,
        scope: ScopeId,
        ask: PlaceId,
        bad: PlaceId,
    ) -> PlaceId {
        let injected = agent.conversation.as_ref().and_then(|conversation| conversation.inject_context.as_ref());
        let Some(injected) = injected else {
            return self.assign("message", "request.prompt", ask);
        };
        // A prompt that names secrets is a list of parts.
        let text = r#"type(request.prompt) == "array" ? concat(request.prompt, ["\n\n", line])
            : string(request.prompt) + "\n\n" + string(line)"#;
        let message = self.assign("message", text, ask);
        let unexpanded = self.leave_unexpanded(current, scope, bad);
        self.expand(scope, &injected.0, self.slots["line"], message, unexpanded)
    }

    fn user_line(&mut self, current: CurrentState<'d>, ask: PlaceId, done: PlaceId) -> PlaceId {
        let signal = *self.own.line.get_or_insert_with(|| self.b.signal("line", OnEarly::Reject));
        // A line is always text: only the document defines where secrets are.
        let next_message = self.assign("message", "string(line)", ask);
        let blank = self.test(r#"line == nil || trim(string(line)) == """#);
        let judged = self.b.decide([(blank, done)], next_message, None);
        let decision = self.b.decision(current.step, DecisionKind::Wait);
        let reason = r#"line == nil ? "the input has ended" : trim(string(line)) == "" ? "the line is blank" : nil"#;
        let rule = ("end", "the line is blank, or the input has ended");
        let end = self.ruled(decision, rule, reason, &[], None);
        let line = self.b.rule_branch(decision, "continue", "the user wrote a line", None);
        self.b.decides(judged, decision, [Some(end), Some(line)]);
        self.b.wait([Arm::Signal { signal, check: None, into: Some(self.slots["line"]), next: judged }], None)
    }

    /// A text cannot be expanded, and a retry would not help: the conversation is left without a failure, because one that
    /// fails is retried. The outcome is passed in an outer slot.
    fn leave_unexpanded(&mut self, current: CurrentState<'d>, scope: ScopeId, bad: PlaceId) -> PlaceId {
        let left = self.b.slot(self.scope(current.context), &format!("{}.unexpanded", current.state.name), None);
        let left_result = self.assign_with("answer", "left", &[("left", left)], &[], bad);
        let leave = self.b.leave(scope, Exit::Goto(left_result));
        let text = r#"{"output": response, "error": {"kind": "template", "message": failure.message}}"#;
        self.assign(left, text, leave)
    }
}

/// Whether a stop condition reads `inputs` as a whole, or by a key that is known only in the run.
fn reads_all_inputs(agent: &Agent) -> bool {
    let stops = agent.conversation.iter().flat_map(|conversation| &conversation.stops);
    stops.into_iter().any(|stop| {
        let compiled = Condition::if_key(&stop.0, Options::dialect(Dialect::Machine));
        let references = compiled.map(|condition| condition.references()).unwrap_or_default();
        references.iter().any(|reference| matches!(&reference.parts[..], [root] if &**root == "inputs"))
    })
}
