//! A chat turn: the message, the model with the tools offered now, its calls one after the other, and the model again.
//!
//! Each call is looked at when its turn comes, because the one before may have changed what is offered.

use std::sync::Arc;

use branchpoint_core::effect::{Format, Kind, Response, Task};
use branchpoint_core::ir::builder::{ROOT, effect};
use branchpoint_core::ir::{
    ConditionId, DecisionKind, Effect, EffectId, Failure, Mark, PlaceId, SlotId, StepId, Unit, Write,
};
use branchpoint_expr::Value;

use super::super::raw::{Agent, Policy, Step, Template};
use super::Lower;

/// What a turn remembers beside the session. Empty slots where there is no template, and so no turn.
struct Turn {
    /// Everything that was said.
    chat: SlotId,
    /// The positions of the user's messages in it.
    users: SlotId,
    /// The position where this turn began.
    from: SlotId,
    /// How many model calls this turn has made.
    made: SlotId,
    reply: SlotId,
    /// The position in the reply's calls.
    at: SlotId,
    result: SlotId,
    error: SlotId,
    tokens: SlotId,
    cost: SlotId,
    /// The tokens and the cost before this turn.
    used_before: SlotId,
    /// What the operator allows a turn: `{turns, tokens, cost_micros}`.
    limits: SlotId,
    outcome: SlotId,
}

/// The slots that a reset forgets, by name.
const FORGOTTEN: [&str; 3] = ["chat", "users", "outcome"];

impl Lower<'_, '_> {
    /// The event that begins a turn.
    pub(super) fn on_turn(&mut self) -> PlaceId {
        let turn = self.turn_slots();
        let said = self.formula("{role: 'user', content: got.text}");
        let position = self.formula("len(chat)");
        let mut writes = self.begin("turn");
        writes.extend([
            self.put(self.slots.message, "got.text"),
            Write::Put(turn.from, position),
            Write::Push(turn.users, position),
            Write::Push(turn.chat, said),
            Write::Clear(turn.made),
            Write::Clear(turn.reply),
            Write::Clear(turn.outcome),
            self.put(turn.used_before, "{tokens: tokens, cost: cost}"),
        ]);
        self.b.set(writes, self.evaluate, None)
    }

    /// Where evaluation leads when no tool is left to record: back to who began.
    pub(super) fn went_on(&mut self) -> PlaceId {
        let Some(template) = &self.agent.template else { return self.rest };
        let turn = self.turn_slots();
        let step = self.b.step(&template.agent_id, "agent", None, (0, 0));
        let [model, each] = [(); 2].map(|()| self.b.reserve());
        for (name, slot) in [("turn", turn.outcome), ("chat", turn.chat), ("tokens", turn.tokens)] {
            let value = self.b.read(slot);
            self.b.view(name, value);
        }
        self.ask_model(&turn, template, step, model, each);
        self.each_call(&turn, template, step, model, each);
        let arms = [(self.test("back == 'turn'"), model), (self.test("back == 'call'"), each)];
        let rest = self.rest;
        self.b.decide(arms, rest, None)
    }

    /// What a reset clears beside the session's own slots.
    pub(super) fn forget_chat(&mut self) -> Vec<Write> {
        if self.agent.template.is_none() {
            return Vec::new();
        }
        self.turn_slots();
        let forgotten = self.known.iter().filter(|(name, _)| FORGOTTEN.contains(name));
        forgotten.map(|(_, slot)| Write::Clear(*slot)).collect()
    }

    /// The slots of a turn, made when they are asked for first.
    fn turn_slots(&mut self) -> Turn {
        let empty = || Some(Value::from(Vec::new()));
        let mut slot = |name: &'static str, first: Option<Value>| {
            if let Some((_, known)) = self.known.iter().find(|(known, _)| *known == name) {
                return *known;
            }
            let slot = self.b.slot(ROOT, name, first);
            self.known.push((name, slot));
            slot
        };
        Turn {
            chat: slot("chat", empty()),
            users: slot("users", empty()),
            from: slot("from", None),
            made: slot("made", Some(Value::Int(0))),
            reply: slot("reply", None),
            at: slot("at", None),
            result: slot("result", None),
            error: slot("error", None),
            tokens: slot("tokens", Some(Value::Int(0))),
            cost: slot("cost", Some(Value::Int(0))),
            used_before: slot("used_before", None),
            limits: slot("limits", None),
            outcome: slot("outcome", None),
        }
    }

    /// Keeps the limits of the operator that a session was opened with.
    pub(super) fn keep_limits(&mut self) -> Option<Write> {
        self.agent.template.as_ref()?;
        let limits = self.turn_slots().limits;
        Some(self.put(limits, "input.limits"))
    }

    /// The limits of a turn in their order: what is tested, the warning, and why the turn ends.
    fn turn_limits(&mut self, turn: &Turn, step: StepId) -> (Vec<(ConditionId, PlaceId)>, String) {
        let limits = [
            ("made >= most", "max_steps", "'maxSteps ' + string(most)"),
            ("limits.turns != nil && made >= limits.turns", "max_steps", "'agent_turns ' + string(limits.turns)"),
            (
                "limits.tokens != nil && tokens - used_before.tokens >= limits.tokens",
                "token_budget",
                "'agent_tokens ' + string(limits.tokens)",
            ),
            (
                "limits.cost_micros != nil && cost - used_before.cost >= limits.cost_micros",
                "cost_budget",
                "'agent_cost_micros ' + string(limits.cost_micros)",
            ),
        ];
        let (mut arms, mut reason) = (Vec::new(), "nil".to_owned());
        for (test, warning, limit) in limits.into_iter().rev() {
            let over = self.end_turn(turn, &format!("{{text: reply.text ?? '', warnings: ['{warning}']}}"));
            self.b.mark(over, Mark::Warn(step, warning.into()));
            arms.insert(0, (self.test(test), over));
            reason = format!("{test} ? {limit} + ' is reached' : {reason}");
        }
        (arms, reason)
    }

    /// One model call, unless the turn has made all it may.
    fn ask_model(&mut self, turn: &Turn, template: &Template, step: StepId, model: PlaceId, each: PlaceId) {
        let ended = self.end_turn(turn, "{text: reply.text ?? '', warnings: []}");
        let broken = self.end_turn(turn, "{text: reply.text ?? '', warnings: [], error: error}");
        let has_calls = self.test("len(reply.toolCalls ?? []) > 0");
        let after = self.b.decide([(has_calls, each)], ended, None);
        let said = self.formula("{role: 'assistant', content: reply.text ?? '', toolCalls: reply.toolCalls ?? []}");
        let replied = [
            Write::Push(turn.chat, said),
            Write::Clear(turn.at),
            self.put(turn.at, "0"),
            self.put(turn.tokens, "tokens + (reply.usage.tokens ?? 0)"),
            self.put(turn.cost, "cost + (reply.usage.cost_micros ?? 0)"),
        ];
        let replied = self.b.set(replied, after, None);
        let told = self.formula(
            "len(reply.toolCalls ?? []) > 0 ? {text: reply.text, calls: map(reply.toolCalls, .name)} : reply.text",
        );
        self.b.mark(replied, Mark::End(step, Some(told)));
        let error = self.b.read(turn.error);
        self.b.mark(broken, Mark::Fail(step, error));
        let (offered, sent) = (OFFERED, sent(template.chat.policy));
        let sampling =
            sampling(template).keys().map(|name| format!(", {name}: sampling.{name}")).collect::<Vec<_>>().concat();
        let input =
            format!("{{system: system + (get(notes, active) ?? ''), messages: {sent}, tools: {offered}{sampling}}}");
        let input = self.formula(&input);
        let chat = self.chat_effect(template, step);
        let fail = Failure { to: broken, error: Some(turn.error) };
        let ask = self.b.do_(chat, input, Some(turn.reply), replied, Some(fail));
        let count = self.set(&[(turn.made, "made + 1")], ask);
        self.b.mark(count, Mark::Begin(step, None));
        let (limits, reached) = self.turn_limits(turn, step);
        let count_of_limits = limits.len();
        self.b.at(model).decide(limits, count, None);
        let decision = self.b.decision(step, DecisionKind::Loop);
        let end = self.b.rule_branch(decision, "end", "the model replied without tool calls", None);
        let limit = format!("maxSteps {} is reached", template.max_steps);
        let limit = self.b.rule_branch(decision, "limit", &limit, None);
        let reached = self.formula(&reached);
        self.b.reason(decision, limit, reached);
        let again = self.b.rule_branch(decision, "continue", "no limit of the turn is reached", None);
        let made = self.b.read(turn.made);
        self.b.counts(decision, Unit::Round, made, u64::try_from(template.max_steps).ok());
        self.b.decides(after, decision, [None, Some(end)]);
        let mut exits = vec![Some(limit); count_of_limits];
        exits.push(Some(again));
        self.b.decides(model, decision, exits);
    }

    fn end_turn(&mut self, turn: &Turn, outcome: &str) -> PlaceId {
        self.set(&[(turn.outcome, outcome)], self.rest)
    }

    /// The calls of a reply, in its order: one that is not offered at that moment is not run.
    fn each_call(&mut self, turn: &Turn, template: &Template, step: StepId, model: PlaceId, each: PlaceId) {
        let refusal = format!(
            "{{role: 'tool', id: reply.toolCalls[at].id, name: reply.toolCalls[at].name, \
             error: 'this tool is not offered now; offered are: ' + join({OFFERED}, ', ')}}"
        );
        let refused = self.formula(&refusal);
        let refuse = [Write::Push(turn.chat, refused), self.put(turn.at, "at + 1")];
        let refuse = self.b.set(refuse, each, None);
        // A call is a step of its own for people, whether it runs or not.
        let tool = self.b.step(&format!("{}.tool", template.agent_id), "tool", None, (0, 0));
        let asked = self.formula("{tool: reply.toolCalls[at].name, arguments: reply.toolCalls[at].arguments}");
        let error = self.formula("{message: 'this tool is not offered now'}");
        self.b.mark(refuse, Mark::Begin(tool, Some(asked)));
        self.b.mark(refuse, Mark::Fail(tool, error));
        let run = self.run_call(turn, (step, tool));
        self.b.mark(run, Mark::Begin(tool, Some(asked)));
        let arms = [
            (self.test("at >= len(reply.toolCalls)"), model),
            (self.test(&format!("reply.toolCalls[at].name in {OFFERED}")), run),
        ];
        let gate = self.b.at(each).decide(arms, refuse, None);
        let decision = self.b.decision(tool, DecisionKind::Gate);
        let [passed, blocked] = [("passed", "offers"), ("blocked", "does not offer")].map(|(name, verb)| {
            let branch = self.b.rule_branch(decision, name, &format!("the active step {verb} the tool"), None);
            let named = format!(
                "(active in names ? 'step `' + active + '`' : 'the session without an active step') + ' {verb} tool `' \
                 + string(reply.toolCalls[at].name) + '`'"
            );
            let reason = self.formula(&named);
            self.b.reason(decision, branch, reason);
            branch
        });
        self.b.decides(gate, decision, [None, Some(passed), Some(blocked)]);
    }

    /// A call that ran counts as used, whatever came back.
    fn run_call(&mut self, turn: &Turn, (step, shown): (StepId, StepId)) -> PlaceId {
        let next = self.use_tool();
        let ran = self.call_done(turn, "content: result", next);
        let failed = self.call_done(turn, "error: error.message", next);
        let (result, error) = (self.b.read(turn.result), self.b.read(turn.error));
        self.b.mark(ran, Mark::End(shown, Some(result)));
        self.b.mark(failed, Mark::Fail(shown, error));
        let tool = self.b.effect(Effect { step: Some(step), ..effect(Kind::Tool) });
        let input = self.formula(
            "let call = reply.toolCalls[at]; \
             {id: call.id, tool: call.name, arguments: call.arguments, configuration: get(configurations, call.name)}",
        );
        self.b.do_(tool, input, Some(turn.result), ran, Some(Failure { to: failed, error: Some(turn.error) }))
    }

    fn call_done(&mut self, turn: &Turn, came: &str, next: PlaceId) -> PlaceId {
        let said = self
            .formula(&format!("{{role: 'tool', id: reply.toolCalls[at].id, name: reply.toolCalls[at].name, {came}}}"));
        let back = self.b.value("call");
        let writes = [
            Write::Push(turn.chat, said),
            self.put(self.slots.used, "reply.toolCalls[at].name"),
            self.put(turn.at, "at + 1"),
            Write::Put(self.slots.back, back),
        ];
        self.b.set(writes, next, None)
    }

    fn chat_effect(&mut self, template: &Template, step: StepId) -> EffectId {
        let provider = template.model.as_ref().and_then(|node| node.strip_prefix("llm.")).map(Value::from);
        let model =
            settings(template).and_then(|settings| settings.get("model")).filter(|model| model.as_str().is_some());
        // Its tools are looked for before the first turn.
        let uses = Value::from(template.tools.iter().cloned().map(Value::Str).collect::<Vec<_>>());
        let optional = [("provider", provider), ("model", model.cloned())];
        let fixed = optional.into_iter().filter_map(|(key, value)| Some((key.into(), value?)));
        let fixed = fixed.chain([("task".into(), Task::Reply.into()), ("uses".into(), uses)]).collect();
        let response = Response { format: Format::Reply, ..Response::default() };
        self.b.effect(Effect { fixed, response, step: Some(step), ..effect(Kind::Model) })
    }
}

/// The settings of the model.
fn settings(template: &Template) -> Option<&Value> {
    template.configurations.get(template.model.as_ref()?)
}

/// The sampling options among the settings of the model, by the names that requests have for them.
fn sampling(template: &Template) -> branchpoint_expr::Object {
    let names = [
        ("temperature", "temperature"),
        ("topP", "top_p"),
        ("top_p", "top_p"),
        ("maxTokens", "max_tokens"),
        ("max_tokens", "max_tokens"),
        ("seed", "seed"),
        ("stop", "stop"),
        ("reasoningEffort", "reasoning_effort"),
        ("reasoning_effort", "reasoning_effort"),
    ];
    let given = names.into_iter().filter_map(|(own, name)| Some((name.into(), settings(template)?.get(own)?.clone())));
    given.collect()
}

/// The tools offered now, as the session's view tells them.
const OFFERED: &str = "offeredTools(given ?? own, get(rules, active), index)";

/// How much of what was said is sent.
fn sent(policy: Policy) -> String {
    match policy {
        Policy::All => "chat".to_owned(),
        Policy::None => "chat[from:]".to_owned(),
        Policy::Last(count) => format!("chat[(len(users) > {count} ? users[len(users) - {count}] : 0):]"),
    }
}

/// What a template says, by the names that formulas use.
pub(super) fn said(agent: &Agent<'_>) -> Vec<(&'static str, Value)> {
    let Some(template) = &agent.template else { return Vec::new() };
    let notes =
        agent.steps.iter().map(|step| (step.name.clone(), Value::from(format!("\n\nActive step: {}", line(step)))));
    let mut system = template.personality.clone();
    if template.detailed && !agent.steps.is_empty() {
        let purpose = agent.description.iter().map(|description| format!("\n{description}"));
        let steps = agent.steps.iter().map(|step| format!("\n- {}", line(step)));
        system.push_str("\n\nThe work has these steps; each offers tools of its own:");
        system.extend(purpose.chain(steps));
    }
    vec![
        ("system", Value::from(system)),
        ("notes", Value::from(notes.collect::<branchpoint_expr::Object>())),
        ("most", Value::Int(template.max_steps)),
        ("configurations", template.configurations.clone()),
        ("sampling", Value::from(sampling(template))),
    ]
}

fn line(step: &Step<'_>) -> String {
    match &step.description {
        Some(description) => format!("{}: {description}", step.name),
        None => step.name.to_string(),
    }
}

/// What a client may want to know of a template.
pub(super) fn described(template: &Template) -> Vec<(Arc<str>, Value)> {
    let texts = |list: &[Arc<str>]| Value::from(list.iter().cloned().map(Value::Str).collect::<Vec<_>>());
    let optional = |text: &Option<Arc<str>>| text.clone().map_or(Value::Null, Value::Str);
    let (policy, length) = match template.chat.policy {
        Policy::None => ("none", Value::Null),
        Policy::Last(count) => ("lastN", Value::Int(count)),
        Policy::All => ("all", Value::Null),
    };
    [
        ("agentId", Value::Str(template.agent_id.clone())),
        ("name", Value::Str(template.name.clone())),
        ("personality", Value::from(template.personality.clone())),
        ("model", optional(&template.model)),
        ("tools", texts(&template.tools)),
        ("maxSteps", Value::Int(template.max_steps)),
        ("maxConcurrency", template.max_concurrency.clone()),
        ("initialMessages", texts(&template.chat.initial)),
        ("chatPrompts", texts(&template.chat.prompts)),
        ("placeholderText", optional(&template.chat.placeholder)),
        ("historyPolicy", Value::from(policy)),
        ("historyLength", length),
    ]
    .map(|(key, value)| (Arc::from(key), value))
    .into()
}
