//! The program of an agent's turn: the model with its tools, its calls, and the model again.
//!
//! Every call of the model and every call of a tool is an effect of the run, so a turn that was interrupted continues after
//! the last one that was answered. An error of a tool is reported to the model, which may know what to do; an error of
//! the model ends the turn.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use branchpoint_core::effect::{AGENT, AGENT_DEPTH, Format, Kind, Response, SecretText, Task};
use branchpoint_core::ir::builder::{Builder, ROOT, ScopeSpec, effect};
use branchpoint_core::ir::{
    ConditionId, DecisionId, DecisionKind, Effect, Exit, ExprId, Failure, Limits, Mark, OnFail, PlaceId, Program,
    ScopeId, SlotId, Status, StepId, Unit, Write,
};
use branchpoint_expr::{Condition, Dialect, Located, Problems, Value};

/// How many calls of one reply are made at the same time, and how many agents one reply may call: each makes at least one call of a model
/// before a shared budget is checked again.
const WIDTH: u32 = 8;

/// The dialect of the formulas here; it decides nothing but their grammar.
const GRAMMAR: Dialect = Dialect::Session;

/// The program of every agent whose document has no `stop_when`, and names no secret.
static PLAIN: LazyLock<Program> = LazyLock::new(|| {
    build(None, &[]).unwrap_or_else(|problems| panic!("nothing of a document is in the plain program: {problems}"))
});

/// The program of an agent's turn that is the same for most agents.
pub fn agent_program() -> &'static Program {
    &PLAIN
}

/// The program for an effect with its own end of a turn (`stop_when`) or with secrets; none for any other, which has the plain one.
///
/// # Errors
///
/// The condition cannot be compiled.
pub fn agent_program_for(effect: &Effect) -> Result<Option<Program>, Problems> {
    let stop_when = effect.stop_when();
    if stop_when.is_none() && effect.secrets.is_empty() {
        return Ok(None);
    }
    build(stop_when.as_ref(), &effect.secrets).map(Some)
}

/// The programs that the agents of a workflow need, by the names under which a run calls them.
///
/// # Errors
///
/// A condition by which an agent ends cannot be compiled.
pub fn agent_programs<'p>(
    programs: impl IntoIterator<Item = &'p Program>,
) -> Result<BTreeMap<Arc<str>, Program>, Problems> {
    let mut named = BTreeMap::new();
    let effects = programs.into_iter().flat_map(|program| &program.effects);
    for effect in effects.filter(|effect| effect.kind == Kind::Model) {
        named.entry(AGENT.into()).or_insert_with(|| agent_program().clone());
        if let Some(own) = agent_program_for(effect)? {
            named.insert(effect.agent_program(), own);
        }
    }
    Ok(named)
}

/// Builds the program. The condition, if there is one, ends the turn when it holds for a reply; it reads `input`, the reply,
/// and names that the agent was given values for. The secrets are the places of what the model is asked with where some stand:
/// they come from the effect, because everything that is said in a turn comes from outside.
fn build(stop_when: Option<&Value>, secrets: &[SecretText]) -> Result<Program, Problems> {
    let mut b = Builder::new();
    let limits = Limits { depth: AGENT_DEPTH, ..Limits::default() };
    b.limits(limits);
    let mut turn = Turn::new(b, secrets.to_vec());
    let stop = stop_when.map(|written| turn.stop(written)).transpose()?;
    turn.lay_out(stop.as_ref());
    let program = turn.b.finish();
    Ok(program.unwrap_or_else(|wrong| panic!("the built-in program of agents is valid, and this is wrong: {wrong:?}")))
}

struct Turn {
    b: Builder,
    /// The names of formulas.
    known: Vec<(&'static str, SlotId)>,
    messages: SlotId,
    turns: SlotId,
    tokens: SlotId,
    cost: SlotId,
    reply: SlotId,
    results: SlotId,
    error: SlotId,
    model_step: StepId,
    tool_step: StepId,
    secrets: Vec<SecretText>,
}

/// The condition that ends a turn, and what it reads.
struct Stop {
    condition: ConditionId,
    writes: Vec<Write>,
}

impl Turn {
    fn new(mut b: Builder, secrets: Vec<SecretText>) -> Self {
        let input = b.input();
        let zero = || Some(Value::Int(0));
        let messages = b.slot(ROOT, "messages", Some(Value::from(Vec::new())));
        let turns = b.slot(ROOT, "turns", zero());
        let tokens = b.slot(ROOT, "tokens", zero());
        let cost = b.slot(ROOT, "cost", zero());
        let reply = b.slot(ROOT, "reply", None);
        let results = b.slot(ROOT, "results", None);
        let error = b.slot(ROOT, "error", None);
        let known = vec![
            ("given", input),
            ("messages", messages),
            ("turns", turns),
            ("tokens", tokens),
            ("cost", cost),
            ("reply", reply),
            ("results", results),
            ("error", error),
        ];
        let model_step = b.step("agent.model", "model", None, (0, 0));
        let tool_step = b.step("agent.tool", "tool", None, (0, 0));
        Self { b, known, messages, turns, tokens, cost, reply, results, error, model_step, tool_step, secrets }
    }

    /// Compiles the condition of a document over the latest reply and the values that came with the agent.
    fn stop(&mut self, written: &Value) -> Result<Stop, Problems> {
        let located = Located::from(written);
        let latest = self.b.slot(ROOT, "latest", None);
        self.b.name(ROOT, &["input"], latest);
        let mut writes = vec![self.put(latest, "reply.text")];
        let references = Condition::targets(&located, branchpoint_expr::Options::dialect(Dialect::Steps))?.references();
        let mut seen: Vec<String> = Vec::new();
        for reference in references {
            let parts: Vec<&str> = reference.parts.iter().map(|part| &**part).collect();
            let taken = match parts[..] {
                ["step", _, _, ..] => 3,
                ["metadata" | "agent", _, ..] => 2,
                _ => continue,
            };
            let name = parts[..taken].join(".");
            if seen.contains(&name) {
                continue;
            }
            let slot = self.b.slot(ROOT, &name, None);
            self.b.name(ROOT, &parts[..taken], slot);
            let key = [("key", Value::from(name.as_str()))];
            let value = self.b.formula_with("get(given.names ?? {}, key)", GRAMMAR, &self.known, &key);
            writes.push(Write::Put(slot, value));
            seen.push(name);
        }
        let condition = self.b.condition_with(ROOT, Dialect::Steps, |options| Condition::targets(&located, options))?;
        Ok(Stop { condition, writes })
    }

    fn lay_out(&mut self, stop: Option<&Stop>) {
        let model = self.b.reserve();
        let done = self.ended(Status::Completed, "{status: 'completed', ", "");
        let calls = self.calls(model);
        let replied = self.replied(stop, done, calls);
        self.ask(model, replied);
        self.b.begin(ROOT, &[model]);
    }

    /// One call of the model, unless the turn has used up what it may.
    fn ask(&mut self, model: PlaceId, replied: PlaceId) {
        let failed = self.failed("error.kind", "error.message");
        let bounds = [
            ("turns >= (given.max_turns ?? 10)", "'max_turns'", "turns", "turn", "max_turns", "agent_turns"),
            (
                "given.token_budget != nil && tokens >= given.token_budget",
                "'token_budget'",
                "tokens",
                "token",
                "token_budget",
                "agent_tokens",
            ),
            (
                "given.cost_budget_micros != nil && cost >= given.cost_budget_micros",
                "'cost_budget'",
                "cost",
                "millionth",
                "cost_budget_micros",
                "agent_cost_micros",
            ),
        ];
        let mut error = "nil".to_owned();
        let mut arms: Vec<(ConditionId, PlaceId)> = Vec::new();
        for (test, kind, count, unit, own, operators) in bounds.into_iter().rev() {
            let message = format!(
                "'the agent has used ' + string({count}) + ' {unit}' + ({count} == 1 ? '' : 's') + ' and is not done; `{own}`, or `{operators}` of the \
                 operator, allows no more'"
            );
            let over = self.failed(kind, &message);
            arms.insert(0, (self.test(test), over));
            error = format!("{test} ? {{kind: {kind}, message: {message}}} : {error}");
        }
        self.declare_limit(model, &error);
        // What the call asks with goes to the model as it is in every turn; what was said since comes after it.
        let asked =
            self.formula("putPath(putPath(given.request ?? {}, ['since'], messages), ['tools'], given.tools ?? [])");
        let fixed = [("task".into(), Task::Reply.into())].into_iter().collect();
        let response = Response { format: Format::Reply, ..Response::default() };
        let secrets = std::mem::take(&mut self.secrets);
        let effect =
            self.b.effect(Effect { fixed, response, secrets, step: Some(self.model_step), ..effect(Kind::Model) });
        let fail = Failure { to: failed, error: Some(self.error) };
        let ask = self.b.do_(effect, asked, Some(self.reply), replied, Some(fail));
        let count = self.put(self.turns, "turns + 1");
        let count = self.b.set([count], ask, None);
        self.b.mark(count, Mark::Begin(self.model_step, None));
        let error = self.b.read(self.error);
        self.b.mark(failed, Mark::Fail(self.model_step, error));
        self.b.at(model).decide(arms, count, None);
    }

    /// Declares that the agent fails because a bound is reached, which `error` describes. That it may call the model is recorded
    /// only by the call itself.
    fn declare_limit(&mut self, model: PlaceId, error: &str) {
        let decision = self.b.decision(self.model_step, DecisionKind::Loop);
        let limit = self.b.rule_branch(decision, "limit", "a bound of the agent is reached", Some("the agent fails"));
        self.b.rule_branch(decision, "continue", "no bound of the agent is reached", None);
        let reason = self.formula(&format!("({error}).message"));
        self.b.reason(decision, limit, reason);
        let error = self.formula(error);
        self.b.error(decision, error);
        self.count_turns(decision);
        self.b.decides(model, decision, [Some(limit), Some(limit), Some(limit), None]);
    }

    fn count_turns(&mut self, decision: DecisionId) {
        let (turn, limit) = (self.b.read(self.turns), self.formula("given.max_turns ?? 10"));
        self.b.counts_to(decision, Unit::Turn, turn, limit);
    }

    /// What follows a reply: the end, or its calls.
    fn replied(&mut self, stop: Option<&Stop>, done: PlaceId, calls: PlaceId) -> PlaceId {
        let has_calls = self.test("len(reply.toolCalls ?? []) > 0");
        let told = self.formula(
            "len(reply.toolCalls ?? []) > 0 ? {text: reply.text, calls: map(reply.toolCalls, .name)} : reply.text",
        );
        // The call of the model ends after all decisions about its reply, so that its record has them.
        let [stopped, done, calls] = [done, done, calls].map(|next| {
            let ended = self.b.set([], next, None);
            self.b.mark(ended, Mark::End(self.model_step, Some(told)));
            ended
        });
        let mut next = self.b.decide([(has_calls, calls)], done, None);
        if let Some(stop) = stop {
            next = self.judge(stop, stopped, next);
        }
        let said = self.formula(
            "let plain = {role: 'assistant', content: reply.text ?? '', toolCalls: reply.toolCalls ?? []}; \
             reply.thoughts == nil ? plain : putPath(plain, ['thoughts'], reply.thoughts)",
        );
        let writes = [
            Write::Push(self.messages, said),
            self.put(self.tokens, "tokens + (reply.usage.tokens ?? 0)"),
            self.put(self.cost, "cost + (reply.usage.cost_micros ?? 0)"),
        ];
        self.b.set(writes, next, None)
    }

    /// Evaluates `stop_when` for a reply. `next` is the decision whether the reply calls tools.
    fn judge(&mut self, stop: &Stop, stopped: PlaceId, next: PlaceId) -> PlaceId {
        let broken = self.failed("error.kind", "error.message");
        let error = self.b.read(self.error);
        self.b.mark(broken, Mark::Fail(self.model_step, error));
        let fail = Failure { to: broken, error: Some(self.error) };
        let judge = self.b.decide([(stop.condition, stopped)], next, Some(fail));
        let decision = self.b.decision(self.model_step, DecisionKind::Loop);
        let stops = self.b.branch(decision, "stop", Some(stop.condition), None);
        let continues = self.b.rule_branch(decision, "continue", "the reply calls tools", None);
        let ends = self.b.default_branch(decision, "end", "the reply calls no tool", None);
        self.count_turns(decision);
        self.b.decides(judge, decision, [Some(stops), None]);
        self.b.decides(next, decision, [Some(continues), Some(ends)]);
        self.b.set(stop.writes.clone(), judge, Some(fail))
    }

    /// The calls of a reply, several at a time, or one after the other if the agent wants it so.
    fn calls(&mut self, model: PlaceId) -> PlaceId {
        let told = [
            self.put(self.messages, "concat(messages, map(results, .message))"),
            self.put(self.tokens, "tokens + sum(map(results, .tokens ?? 0))"),
            self.put(self.cost, "cost + sum(map(results, .cost ?? 0))"),
        ];
        let told = self.b.set(told, model, None);
        let [wide, narrow] = [WIDTH, 1].map(|width| self.each(width, told));
        let sequential = self.test("given.sequential == true");
        self.b.decide([(sequential, narrow)], wide, None)
    }

    fn each(&mut self, width: u32, next: PlaceId) -> PlaceId {
        let spec = ScopeSpec {
            width,
            on_fail: Some(OnFail::Keep),
            into: Some(self.results),
            next: Some(next),
            ..Default::default()
        };
        let scope = self.b.scope(ROOT, spec);
        let own = [("call", None), ("at", None), ("result", None), ("failure", None)]
            .map(|(name, first): (&'static str, Option<Value>)| (name, self.b.slot(scope, name, first)));
        let outer = self.known.len();
        self.known.extend(own);
        let [call, at, result, failure] = own.map(|(_, slot)| slot);
        let tool = self.tool(scope, result, failure);
        let subagent = self.subagent(scope, result, failure);
        let unknown = "error: 'there is no tool `' + string(call.name) + '`; offered are: ' + join(map(given.tools ?? [], .name), ', ')";
        let unknown = self.told(scope, unknown, "");
        let unread = "error: 'the arguments of `' + string(call.name) + '` are no JSON object, so it was not called: ' + \
            (type(call.arguments) == 'string' ? call.arguments : toJSON(call.arguments))";
        let unread = self.told(scope, unread, "");
        let many = format!(
            "error: 'one reply can call at most {WIDTH} agents, so `' + string(call.name) + '` was not called'"
        );
        let many = self.told(scope, &many, "");
        let too_many = format!(
            "get(given.subagents ?? {{}}, call.name) != nil && \
             len(filter(reply.toolCalls[:at], get(given.subagents, .name) != nil)) >= {WIDTH}"
        );
        let arms = [
            (self.test("call.arguments != nil && type(call.arguments) != 'map'"), unread),
            (self.test(&too_many), many),
            (self.test("get(given.subagents ?? {}, call.name) != nil"), subagent),
            (self.test("any(given.tools ?? [], .name == call.name)"), tool),
        ];
        let entry = self.b.decide(arms, unknown, None);
        let calls = self.formula("reply.toolCalls");
        self.known.truncate(outer);
        self.b.each(scope, calls, call, at, entry);
        self.b.enter(scope)
    }

    fn tool(&mut self, scope: ScopeId, result: SlotId, failure: SlotId) -> PlaceId {
        let effect = self.b.effect(Effect { step: Some(self.tool_step), ..effect(Kind::Tool) });
        let asked = self.formula(
            "{id: call.id, tool: call.name, arguments: call.arguments, \
             configuration: find(given.tools, .name == call.name).configuration}",
        );
        let good = self.told(scope, "content: result", "");
        let bad = self.told(scope, "error: failure.message", "");
        let call = self.b.do_(effect, asked, Some(result), good, Some(Failure { to: bad, error: Some(failure) }));
        self.traced(call, (good, "result"), &[(bad, "failure.message")]);
        call
    }

    /// An agent as a tool is a run of this program again, one level deeper. What is left of a budget is divided among the agents that a
    /// reply calls, because they may run at the same time.
    fn subagent(&mut self, scope: ScopeId, result: SlotId, failure: SlotId) -> PlaceId {
        let fixed = [("workflow".into(), Value::from(AGENT))].into_iter().collect();
        let effect = self.b.effect(Effect { fixed, step: Some(self.tool_step), ..effect(Kind::Run) });
        let asked = self.formula(
            "let agent = get(given.subagents, call.name); \
             let message = call.arguments.message ?? call.arguments; \
             let prompt = type(message) == 'string' ? message : toJSON(message); \
             let asked = putPath(putPath(agent.inputs, ['request', 'prompt'], prompt), ['callId'], call.id); \
             let sharing = min(len(filter(reply.toolCalls, get(given.subagents, .name) != nil)), 8); \
             let limited = given.token_budget == nil ? asked : putPath(asked, ['token_budget'], \
              min(asked.token_budget ?? given.token_budget, int(max(0, given.token_budget - tokens) / sharing))); \
             let inputs = given.cost_budget_micros == nil ? limited : putPath(limited, ['cost_budget_micros'], \
              min(asked.cost_budget_micros ?? given.cost_budget_micros, int(max(0, given.cost_budget_micros - cost) / sharing))); \
             let event = {type: 'subagent_call_start', parentNodeId: given.id, subagentNodeId: agent.id, \
              subagentName: agent.name, callId: call.id, parentCallId: given.callId, depth: agent.depth}; \
             let started = {nodeId: agent.root, event: fromPairs(filter(toPairs(event), {#[1] != nil}))}; \
             {workflow: workflow, inputs: inputs, notices: {signal: 'subagent', started: started, \
              completed: putPath(started, ['event', 'type'], 'subagent_call_end'), \
              failed: putPath(started, ['event', 'type'], 'subagent_call_error')}}",
        );
        let used = ", tokens: result.usage.tokens, cost: result.usage.cost_micros";
        let good = self.told(scope, "content: result.output", used);
        let bad = self.told(scope, "error: result.message ?? 'the agent failed'", used);
        let lost = self.told(scope, "error: failure.message", "");
        let ended_well = self.test("result.status == 'completed'");
        let judged = self.b.decide([(ended_well, good)], bad, None);
        let call = self.b.do_(effect, asked, Some(result), judged, Some(Failure { to: lost, error: Some(failure) }));
        let wrong = [(bad, "result.message ?? 'the agent failed'"), (lost, "failure.message")];
        self.traced(call, (good, "result.output"), &wrong);
        call
    }

    /// People see each call of a tool with what came of it.
    fn traced(&mut self, call: PlaceId, (good, output): (PlaceId, &str), wrong: &[(PlaceId, &str)]) {
        let asked = self.formula("{tool: call.name, arguments: call.arguments}");
        self.b.mark(call, Mark::Begin(self.tool_step, Some(asked)));
        let told = self.formula(output);
        self.b.mark(good, Mark::End(self.tool_step, Some(told)));
        for (place, message) in wrong {
            let error = self.formula(&format!("{{message: {message}}}"));
            self.b.mark(*place, Mark::Fail(self.tool_step, error));
        }
    }

    /// What came of a call, for the model.
    fn told(&mut self, scope: ScopeId, came: &str, used: &str) -> PlaceId {
        let told = self.formula(&format!("{{message: {{role: 'tool', id: call.id, name: call.name, {came}}}{used}}}"));
        self.b.leave(scope, Exit::Done(Some(told)))
    }

    fn failed(&mut self, kind: &str, message: &str) -> PlaceId {
        let rest = format!(", kind: {kind}, message: {message}");
        self.ended(Status::Failed, "{status: 'failed', ", &rest)
    }

    fn ended(&mut self, status: Status, begins: &str, rest: &str) -> PlaceId {
        let result = format!(
            "{begins}output: reply.text, messages: messages, turns: turns, usage: {{tokens: tokens, cost_micros: cost}}{rest}}}"
        );
        let result = self.formula(&result);
        self.b.close(status, result)
    }

    fn put(&mut self, slot: SlotId, text: &str) -> Write {
        Write::Put(slot, self.formula(text))
    }

    fn formula(&mut self, text: &str) -> ExprId {
        self.b.formula_with(text, GRAMMAR, &self.known, &[("workflow", Value::from(AGENT))])
    }

    fn test(&mut self, text: &str) -> ConditionId {
        self.b.test(text, GRAMMAR, &self.known)
    }
}
