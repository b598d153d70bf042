//! The program of an agent's turn: the model with its tools, its calls, and the model again.
//!
//! Every call of the model and every call of a tool is an effect of the run, so a turn that was interrupted continues after
//! the last one that was answered. An error of the model ends the turn.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use branchpoint_core::effect::{AGENT, AGENT_DEPTH, Kind, SecretText};
use branchpoint_core::ir::builder::{Builder, ROOT, ScopeSpec, effect};
use branchpoint_core::ir::{
    ConditionId, DecisionId, DecisionKind, Effect, Exit, Limits, Mark, OnFail, PlaceId, Program, ScopeId, Status,
    StepId, Unit, Write,
};
use branchpoint_expr::{Condition, Dialect, Located, Object, Problems, Value};

use crate::agent_loop::{self, AgentLoop};
use crate::lowering::{Lower, Names};

/// The number of calls of one reply that run concurrently, and of agents that one reply may call: each makes at least one model call
/// before a shared budget is checked again.
const WIDTH: u32 = 8;

/// The program of agents without `stop_when` and secrets.
static PLAIN: LazyLock<Program> = LazyLock::new(|| {
    build(None, &[]).unwrap_or_else(|problems| panic!("nothing of a document is in the plain program: {problems}"))
});

/// The program for a turn of an agent, unless [`agent_program_for`] gives another.
///
/// ```
/// assert!(!branchpoint_dialects::agent_program().effects.is_empty());
/// ```
pub fn agent_program() -> &'static Program {
    &PLAIN
}

/// The program for an effect with its own end of a turn (`stop_when`) or with secrets; `None` for every other effect, whose turns run
/// [`agent_program`].
///
/// # Errors
///
/// The condition cannot be compiled.
///
/// ```
/// use branchpoint_core::{effect::Kind, ir::builder::effect};
///
/// assert!(branchpoint_dialects::agent_program_for(&effect(Kind::Model))?.is_none());
/// # Ok::<(), branchpoint_expr::Problems>(())
/// ```
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
/// A `stop_when` condition cannot be compiled.
///
/// ```
/// use branchpoint_dialects::{agent_programs, load};
///
/// let loaded = load("name: hello\nsteps:\n  - {id: a, step_type: text, template: Hello}\n", None);
/// assert!(agent_programs(&loaded.program)?.is_empty(), "the workflow calls no model");
/// # Ok::<(), branchpoint_expr::Problems>(())
/// ```
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

/// Builds the program. The `stop_when` condition ends the turn when it is true for a reply; it reads `input`, the reply,
/// and the names that the agent has values for. The secrets are their positions in the model's request:
/// they come from the effect, because all messages of a turn come from outside of the document.
fn build(stop_when: Option<&Value>, secrets: &[SecretText]) -> Result<Program, Problems> {
    let mut b = Builder::new();
    let limits = Limits { depth: AGENT_DEPTH, ..Limits::default() };
    b.limits(limits);
    let mut turn = Turn::new(b);
    let stop = stop_when.map(|written| turn.stop(written)).transpose()?;
    turn.lay_out(stop, secrets);
    let program = turn.b.finish();
    Ok(program.unwrap_or_else(|wrong| panic!("the built-in program of agents is valid, and this is wrong: {wrong:?}")))
}

type Turn = Lower<Steps>;

/// The steps of a turn that traces show.
struct Steps {
    model_step: StepId,
    tool_step: StepId,
}

/// The condition that ends a turn, and the slots that it reads.
struct Stop {
    condition: ConditionId,
    writes: Vec<Write>,
}

/// Tests whether a budget is used up.
const TOKENS_SPENT: &str = "given.token_budget != nil && tokens >= given.token_budget";
const COST_SPENT: &str = "given.cost_budget_micros != nil && cost >= given.cost_budget_micros";

impl Turn {
    fn new(mut b: Builder) -> Self {
        let mut slots = Names { values: vec![("workflow", Value::from(AGENT))], ..Names::default() };
        let zero = || Some(Value::Int(0));
        slots.add("given", b.input());
        let counts = [("turns", zero()), ("tokens", zero()), ("cost", zero()), ("reply", None), ("results", None)];
        slots.add_to_root(&mut b, [("messages", Some(Value::from(Vec::new())))].into_iter().chain(counts));
        // Calls of a reply run at the same time, each with a result and an error of its own.
        slots.add_locals(&mut b, ["result", "error"]);
        let model_step = b.step("agent.model", "model", None, (0, 0));
        let tool_step = b.step("agent.tool", "tool", None, (0, 0));
        Self { b, slots, grammar: Dialect::Session, error_slot: "error", own: Steps { model_step, tool_step } }
    }

    /// Compiles `stop_when` over the latest reply and the values of the agent.
    fn stop(&mut self, written: &Value) -> Result<Stop, Problems> {
        let located = Located::from(written);
        let latest = self.b.slot(ROOT, "latest", None);
        self.b.name(ROOT, &["input"], latest);
        let mut writes = vec![self.store(latest, "reply.text")];
        for path in stop_names(&located)? {
            let (name, path) = (path.join("."), path.iter().map(|part| &**part).collect::<Vec<_>>());
            let slot = self.b.slot(ROOT, &name, None);
            self.b.name(ROOT, &path, slot);
            writes.push(self.store_with(slot, "get(given.names ?? {}, key)", &[], &[("key", Value::from(name))]));
        }
        let condition = self.b.condition_with(ROOT, Dialect::Steps, |options| Condition::targets(&located, options))?;
        Ok(Stop { condition, writes })
    }

    fn lay_out(&mut self, stop: Option<Stop>, secrets: &[SecretText]) {
        let [ask, next] = [(); 2].map(|()| self.b.reserve());
        let done = self.close_turn(Status::Completed, "{status: 'completed', ", "");
        let calls = self.calls(next);
        // The reply that uses up a budget calls no tools: the limits end the turn.
        let exceeded = [TOKENS_SPENT, COST_SPENT].map(|test| (self.test(test), next));
        let calls = self.b.decide(exceeded, calls, None);
        // The model call ends after all decisions about its reply, so that its record includes them.
        let shown = self.formula(agent_loop::REPLY);
        let [stopped, done, calls] =
            [done, done, calls].map(|next| self.b.record(Mark::End(self.own.model_step, Some(shown)), next));
        let has_calls = self.test(agent_loop::HAS_CALLS);
        let work = self.b.decide([(has_calls, calls)], done, None);
        let limits = self.limits(next);
        // Every request has the fields of the call unchanged, followed by the messages since then.
        let input =
            self.formula("putPath(putPath(given.request ?? {}, ['since'], messages), ['tools'], given.tools ?? [])");
        let call = agent_loop::model_call(self.own.model_step, Object::default());
        let mut recorded = agent_loop::record_reply(self, "messages");
        recorded.extend(stop.iter().flat_map(|stop| stop.writes.clone()));
        let broken = stop.as_ref().map(|_| self.failed("error.kind", "error.message"));
        let parts = AgentLoop {
            ask,
            next,
            call: (Effect { secrets: secrets.to_vec(), ..call }, input),
            reply: self.slots["reply"],
            count: self.store("turns", "turns + 1"),
            refused: None,
            shown: Some(self.own.model_step),
            failed: self.failed("error.kind", "error.message"),
            recorded,
            stops: stop.iter().map(|stop| (stop.condition, stopped)).collect(),
            broken: broken.map(|broken| self.fail_to(broken)),
            work,
            limits,
            prepare: None,
        };
        let (_, judge) = parts.build(self);
        if let (Some(stop), Some(broken)) = (stop, broken) {
            let error = self.b.read(self.slots["error"]);
            self.b.mark(broken, Mark::Fail(self.own.model_step, error));
            self.declare_stop(&stop, judge, work);
        }
        self.b.begin(ROOT, &[next]);
    }

    /// The limits that end the turn before another model call.
    fn limits(&mut self, next: PlaceId) -> Vec<(ConditionId, PlaceId)> {
        let limits = [
            ("turns >= (given.max_turns ?? 10)", "max_turns", "turns", "turn", "max_turns", "agent_turns"),
            (TOKENS_SPENT, "token_budget", "tokens", "token", "token_budget", "agent_tokens"),
            (COST_SPENT, "cost_budget", "cost", "millionth", "cost_budget_micros", "agent_cost_micros"),
        ];
        let limits = limits.map(|(test, kind, count, unit, own, operators)| {
            let message = format!(
                "'the agent has used ' + string({count}) + ' {unit}' + ({count} == 1 ? '' : 's') + ' and is not done; `{own}`, or `{operators}` of the \
                 operator, allows no more'"
            );
            (test.to_owned(), kind, message)
        });
        let end =
            |turn: &mut Self, (_, kind, message): &agent_loop::Limit<'_>| turn.failed(&format!("'{kind}'"), message);
        let (arms, error) = agent_loop::limits(self, &limits, end);
        // Only the call itself records that another model call is allowed.
        let decision = self.b.decision(self.own.model_step, DecisionKind::Loop);
        let (rule, reason) = (("limit", "a bound of the agent is reached"), format!("({error}).message"));
        let limit = self.ruled(decision, rule, &reason, &[], Some("the agent fails"));
        self.b.rule_branch(decision, "continue", "no bound of the agent is reached", None);
        let error = self.formula(&error);
        self.b.decision_mut(decision).error = Some(error);
        self.count_turns(decision);
        self.b.decides(next, decision, [Some(limit), Some(limit), Some(limit), None]);
        arms
    }

    fn count_turns(&mut self, decision: DecisionId) {
        let (turn, limit) = (self.b.read(self.slots["turns"]), self.formula("given.max_turns ?? 10"));
        self.b.counts(decision, Unit::Turn, turn, limit);
    }

    /// Declares the decision whether `stop_when` ends the turn. It continues at `work`, the decision whether the reply calls tools.
    fn declare_stop(&mut self, stop: &Stop, judge: PlaceId, work: PlaceId) {
        let decision = self.b.decision(self.own.model_step, DecisionKind::Loop);
        let stops = self.b.branch(decision, "stop", Some(stop.condition), None);
        let continues = self.b.rule_branch(decision, "continue", "the reply calls tools", None);
        let ends = self.b.default_branch(decision, "end", "the reply calls no tool", None);
        self.count_turns(decision);
        self.b.decides(judge, decision, [Some(stops), None]);
        self.b.decides(work, decision, [Some(continues), Some(ends)]);
    }

    /// The calls of a reply, concurrent or sequential as the agent requires.
    fn calls(&mut self, next: PlaceId) -> PlaceId {
        let results = [
            ("messages", "concat(messages, map(results, .message))"),
            ("tokens", "tokens + sum(map(results, .tokens ?? 0))"),
            ("cost", "cost + sum(map(results, .cost ?? 0))"),
        ];
        let results = results.map(|(slot, text)| self.store(slot, text));
        let results = self.b.set(results, next, None);
        let [wide, narrow] = [WIDTH, 1].map(|width| self.each(width, results));
        let sequential = self.test("given.sequential == true");
        self.b.decide([(sequential, narrow)], wide, None)
    }

    fn each(&mut self, width: u32, next: PlaceId) -> PlaceId {
        let on_fail = Some(OnFail::Keep);
        let spec =
            ScopeSpec { width, on_fail, into: Some(self.slots["results"]), next: Some(next), ..Default::default() };
        let scope = self.b.scope(ROOT, spec);
        let outer = self.slots.clone();
        let [call, at] = ["call", "at"].map(|name| self.slots.add(name, self.b.slot(scope, name, None)));
        let end = |turn: &mut Self, outcome: &str| turn.call_ended(scope, outcome, "");
        let tool = (self.own.tool_step, self.own.tool_step);
        let tool = agent_loop::call_tool(self, tool, "find(given.tools, .name == call.name).configuration", end);
        let subagent = self.subagent(scope);
        let unknown =
            "'there is no tool `' + string(call.name) + '`; offered are: ' + join(map(given.tools ?? [], .name), ', ')";
        let many =
            format!("'one reply can call at most {WIDTH} agents, so `' + string(call.name) + '` was not called'");
        let (is_unreadable, unreadable) = agent_loop::UNREADABLE;
        let [unknown, unreadable, many] =
            [unknown, unreadable, &many].map(|message| agent_loop::refuse_call(self, self.own.tool_step, message, end));
        let is_agent = "get(given.subagents ?? {}, call.name) != nil";
        let too_many =
            format!("{is_agent} && len(filter(reply.toolCalls[:at], get(given.subagents, .name) != nil)) >= {WIDTH}");
        let arms = [
            (self.test(is_unreadable), unreadable),
            (self.test(&too_many), many),
            (self.test(is_agent), subagent),
            (self.test("any(given.tools ?? [], .name == call.name)"), tool),
        ];
        let entry = self.b.decide(arms, unknown, None);
        let calls = self.formula("reply.toolCalls");
        self.slots = outer;
        self.b.each(scope, calls, call, at, entry);
        self.b.enter(scope)
    }

    /// An agent as a tool is another run of this program, one level deeper. The rest of a budget is divided among the agents that a
    /// reply calls, because they may run at the same time.
    fn subagent(&mut self, scope: ScopeId) -> PlaceId {
        let fixed = [("workflow".into(), Value::from(AGENT))].into_iter().collect();
        let effect = self.b.effect(Effect { fixed, step: Some(self.own.tool_step), ..effect(Kind::Run) });
        let input = self.formula(&format!(
            "let agent = get(given.subagents, call.name); \
             let message = call.arguments.message ?? call.arguments; \
             let prompt = type(message) == 'string' ? message : toJSON(message); \
             let requested = putPath(putPath(agent.inputs, ['request', 'prompt'], prompt), ['callId'], call.id); \
             let sharing = min(len(filter(reply.toolCalls, get(given.subagents, .name) != nil)), {WIDTH}); \
             let limited = given.token_budget == nil ? requested : putPath(requested, ['token_budget'], \
              min(requested.token_budget ?? given.token_budget, int(max(0, given.token_budget - tokens) / sharing))); \
             let inputs = given.cost_budget_micros == nil ? limited : putPath(limited, ['cost_budget_micros'], \
              min(requested.cost_budget_micros ?? given.cost_budget_micros, int(max(0, given.cost_budget_micros - cost) / sharing))); \
             {NOTICES} {{workflow: workflow, inputs: inputs, notices: notices}}"
        ));
        let used = ", tokens: result.usage.tokens, cost: result.usage.cost_micros";
        let succeeded = self.call_ended(scope, "content: result.output", used);
        let bad = self.call_ended(scope, "error: result.message ?? 'the agent failed'", used);
        let lost = self.call_ended(scope, "error: error.message", "");
        let completed = self.test("result.status == 'completed'");
        let judged = self.b.decide([(completed, succeeded)], bad, None);
        let call = self.b.do_(effect, input, Some(self.slots["result"]), judged, Some(self.fail_to(lost)));
        let failed = [(bad, "{message: result.message ?? 'the agent failed'}"), (lost, "error")];
        agent_loop::show_call(self, self.own.tool_step, call, (succeeded, "result.output"), &failed);
        call
    }

    /// The end of a call: the message for the model, and the tokens and cost of an agent.
    fn call_ended(&mut self, scope: ScopeId, outcome: &str, used: &str) -> PlaceId {
        let close_turn = self.formula(&format!("{{message: {}{used}}}", agent_loop::tool_message(outcome)));
        self.b.leave(scope, Exit::Done(Some(close_turn)))
    }

    fn failed(&mut self, kind: &str, message: &str) -> PlaceId {
        let rest = format!(", kind: {kind}, message: {message}");
        self.close_turn(Status::Failed, "{status: 'failed', ", &rest)
    }

    fn close_turn(&mut self, status: Status, begins: &str, rest: &str) -> PlaceId {
        let result = format!(
            "{begins}output: reply.text, messages: messages, turns: turns, usage: {{tokens: tokens, cost_micros: cost}}{rest}}}"
        );
        self.close_with(status, &result)
    }
}

/// The names that a stop condition reads beside the latest reply, as paths. The agent's step provides their values.
pub(crate) fn stop_names(condition: &Located) -> Result<BTreeSet<Vec<Arc<str>>>, Problems> {
    let references = Condition::targets(condition, branchpoint_expr::Options::dialect(Dialect::Steps))?.references();
    let known = references.iter().filter_map(|reference| {
        let length = match reference.parts.first().map(|root| &**root) {
            Some("step") => 3,
            Some("metadata" | "agent") => 2,
            _ => return None,
        };
        reference.parts.get(..length).map(<[_]>::to_vec)
    });
    Ok(known.collect())
}

/// The notifications of a graph when an agent calls another.
const NOTICES: &str = "let event = {type: 'subagent_call_start', parentNodeId: given.id, subagentNodeId: agent.id, \
     subagentName: agent.name, callId: call.id, parentCallId: given.callId, depth: agent.depth}; \
    let started = {nodeId: agent.root, event: fromPairs(filter(toPairs(event), {#[1] != nil}))}; \
    let notices = {signal: 'subagent', started: started, \
     completed: putPath(started, ['event', 'type'], 'subagent_call_end'), \
     failed: putPath(started, ['event', 'type'], 'subagent_call_error')};";
