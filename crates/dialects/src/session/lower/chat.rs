//! A chat turn: the message, the model with the tools offered now, its calls one after the other, and the model again.
//!
//! Each call is checked just before it is performed, because the previous one may have changed the offered tools.

use std::sync::Arc;

use branchpoint_core::ir::{ConditionId, DecisionKind, Mark, PlaceId, StepId, Unit, Write};
use branchpoint_expr::{Object, Value};

use super::super::raw::{Agent, Policy, Step, Template};
use super::{Lower, personas};
use crate::agent_loop::{self, AgentLoop};

/// The slots of a turn beside those of the session.
pub(super) fn slots() -> Vec<(&'static str, Option<Value>)> {
    let empty = || Some(Value::from(Vec::new()));
    let zero = || Some(Value::Int(0));
    vec![
        // All messages.
        ("chat", empty()),
        // The positions of the user's messages in it, and the one where this turn began.
        ("users", empty()),
        ("from", None),
        // The number of model calls of this turn.
        ("made", zero()),
        ("reply", None),
        // The position in the reply's calls, and the call there.
        ("at", None),
        ("call", None),
        ("result", None),
        ("error", None),
        ("tokens", zero()),
        ("cost", zero()),
        // The tokens and the cost before this turn.
        ("used_before", None),
        // The operator's limits of a turn: `{turns, tokens, cost_micros}`.
        ("limits", None),
        ("outcome", None),
    ]
}

/// The slots of a turn that a reset clears.
pub(super) const FORGOTTEN: [&str; 3] = ["chat", "users", "outcome"];

impl Lower<'_, '_> {
    /// The event that begins a turn.
    pub(super) fn on_turn(&mut self) -> PlaceId {
        let message = self.formula("{role: 'user', content: got.text}");
        let position = self.formula("len(chat)");
        let mut writes = self.begin("turn");
        writes.extend([
            self.store("message", "got.text"),
            Write::Put(self.slots["from"], position),
            Write::Push(self.slots["users"], position),
            Write::Push(self.slots["chat"], message),
        ]);
        writes.extend(["made", "reply", "outcome"].map(|slot| Write::Clear(self.slots[slot])));
        writes.push(self.store("used_before", "{tokens: tokens, cost: cost}"));
        self.b.set(writes, self.own.evaluate, None)
    }

    /// Continues after the evaluation of an event, when no tool is left to record.
    pub(super) fn after_evaluation(&mut self) -> PlaceId {
        let Some(template) = &self.own.agent.template else { return self.own.rest };
        let step = self.b.step(&template.agent_id, "agent", None, (0, 0));
        for (name, slot) in [("turn", "outcome"), ("chat", "chat"), ("tokens", "tokens")] {
            let value = self.b.read(self.slots[slot]);
            self.b.view(name, value);
        }
        let [next, each] = [(); 2].map(|()| self.b.reserve());
        self.model_loop(template, step, next, each);
        self.each_call(template, step, next, each);
        let arms = [(self.test("back == 'turn'"), next), (self.test("back == 'call'"), each)];
        self.b.decide(arms, self.own.rest, None)
    }

    /// The model calls of a turn. `each` performs the tool calls of a reply and leads to `next`.
    fn model_loop(&mut self, template: &Template, step: StepId, next: PlaceId, each: PlaceId) {
        let ended = self.end_turn("{text: reply.text ?? '', warnings: []}");
        let has_calls = self.test(agent_loop::HAS_CALLS);
        let work = self.b.decide([(has_calls, each)], ended, None);
        let mut recorded = agent_loop::record_reply(self, "chat");
        recorded.push(self.store("at", "0"));
        let own = personas::model_fields(self.own.agent, &sampling(template));
        let input = format!(
            "{{system: system + (get(notes, active) ?? ''), messages: {}, tools: {OFFERED}{own}}}",
            sent_messages(template.chat.policy)
        );
        let input = self.formula(&input);
        let (limits, reached) = self.limits(step);
        let exits = limits.len();
        let parts = AgentLoop {
            ask: self.b.reserve(),
            next,
            call: (agent_loop::model_call(step, fixed(self.own.agent, template)), input),
            reply: self.slots["reply"],
            count: self.store("made", "made + 1"),
            refused: None,
            shown: Some(step),
            failed: self.end_turn("{text: reply.text ?? '', warnings: [], error: error}"),
            recorded,
            stops: Vec::new(),
            broken: None,
            work,
            limits,
            prepare: None,
        };
        let (replied, _) = parts.build(self);
        let shown = self.formula(agent_loop::REPLY);
        self.b.mark(replied, Mark::End(step, Some(shown)));
        let decision = self.b.decision(step, DecisionKind::Loop);
        let end = self.b.rule_branch(decision, "end", "the model replied without tool calls", None);
        let limit = format!("maxSteps {} is reached", template.max_steps);
        let limit = self.ruled(decision, ("limit", &limit), &format!("({reached}).message"), &[], None);
        let again = self.b.rule_branch(decision, "continue", "no limit of the turn is reached", None);
        let model_calls = self.b.read(self.slots["made"]);
        let most = self.b.value(template.max_steps);
        self.b.counts(decision, Unit::Round, model_calls, most);
        self.b.decides(work, decision, [None, Some(end)]);
        let exits: Vec<_> = std::iter::repeat_n(Some(limit), exits).chain([Some(again)]).collect();
        self.b.decides(next, decision, exits);
    }

    /// The limits that end a turn with a warning before another model call.
    fn limits(&mut self, step: StepId) -> (Vec<(ConditionId, PlaceId)>, String) {
        let of_the_operator = [
            ("turns", "made", "max_steps"),
            ("tokens", "tokens - used_before.tokens", "token_budget"),
            ("cost_micros", "cost - used_before.cost", "cost_budget"),
        ];
        let of_the_operator = of_the_operator.map(|(name, used, warning)| {
            let message = format!("'agent_{name} ' + string(limits.{name}) + ' is reached'");
            (format!("limits.{name} != nil && {used} >= limits.{name}"), warning, message)
        });
        let own = ("made >= most".to_owned(), "max_steps", "'maxSteps ' + string(most) + ' is reached'".to_owned());
        let limits: Vec<_> = [own].into_iter().chain(of_the_operator).collect();
        agent_loop::limits(self, &limits, |lower, (_, warning, _)| {
            let end = lower.end_turn(&format!("{{text: reply.text ?? '', warnings: ['{warning}']}}"));
            lower.b.mark(end, Mark::Warn(step, (*warning).into()));
            end
        })
    }

    fn end_turn(&mut self, outcome: &str) -> PlaceId {
        self.assign("outcome", outcome, self.own.rest)
    }

    /// The calls of a reply, in its order: one that is not offered at that moment is not performed.
    fn each_call(&mut self, template: &Template, step: StepId, next: PlaceId, each: PlaceId) {
        // Traces show each call as a step, whether it is performed or not.
        let shown = self.b.step(&format!("{}.tool", template.agent_id), "tool", None, (0, 0));
        let refused = format!("'this tool is not offered now; offered are: ' + join({OFFERED}, ', ')");
        let (is_unreadable, unreadable) = agent_loop::UNREADABLE;
        let [refused, unreadable] = [&*refused, unreadable].map(|message| {
            agent_loop::refuse_call(self, shown, message, |lower, came| {
                let writes = lower.call_ended(came);
                lower.b.set(writes, each, None)
            })
        });
        // A performed call counts as used, regardless of its result.
        let used = self.use_tool();
        let call = agent_loop::call_tool(self, (step, shown), "get(configurations, call.name)", |lower, came| {
            let mut writes = lower.call_ended(came).to_vec();
            writes.extend([lower.store("used", "call.name"), lower.store("back", "'call'")]);
            lower.b.set(writes, used, None)
        });
        let is_unreadable = self.test(is_unreadable);
        let offered = self.b.decide([(is_unreadable, unreadable)], call, None);
        let is_offered = self.test(&format!("call.name in {OFFERED}"));
        let gate = self.b.decide([(is_offered, offered)], refused, None);
        let decision = self.b.decision(shown, DecisionKind::Gate);
        let [passed, blocked] = [("passed", "offers"), ("blocked", "does not offer")].map(|(name, verb)| {
            let named = format!(
                "(active in names ? 'step `' + active + '`' : 'the session without an active step') + ' {verb} tool `' \
                 + string(call.name) + '`'"
            );
            self.ruled(decision, (name, &format!("the active step {verb} the tool")), &named, &[], None)
        });
        self.b.decides(gate, decision, [Some(passed), Some(blocked)]);
        let call = self.assign("call", "reply.toolCalls[at]", gate);
        let is_last = self.test("at >= len(reply.toolCalls)");
        self.b.at(each).decide([(is_last, next)], call, None);
    }

    /// The writes after every call: the message for the model, and the position of the next call.
    fn call_ended(&mut self, came: &str) -> [Write; 2] {
        let message = self.formula(&agent_loop::tool_message(came));
        [Write::Push(self.slots["chat"], message), self.store("at", "at + 1")]
    }
}

/// The fixed fields of model calls: the target, and the tools that are checked before the first turn.
fn fixed(agent: &Agent<'_>, template: &Template) -> Object {
    let provider = template.model.as_ref().and_then(|node| node.strip_prefix("llm.")).map(Value::from);
    let model = settings(template).and_then(|settings| settings.get("model")).filter(|model| model.as_str().is_some());
    let uses = Value::from(template.tools.iter().cloned().map(Value::Str).collect::<Vec<_>>());
    let others = personas::models(agent);
    let fields = [("provider", provider), ("model", model.cloned()), ("uses", Some(uses)), ("subagent_models", others)];
    fields.into_iter().filter_map(|(key, value)| Some((key.into(), value?))).collect()
}

/// The settings of the model.
fn settings(template: &Template) -> Option<&Value> {
    template.configurations.get(template.model.as_ref()?)
}

/// The sampling options among the settings of the model.
fn sampling(template: &Template) -> Object {
    agent_loop::sampling(|name| settings(template)?.get(name).cloned())
}

/// The offered tools, as in the view of the session.
const OFFERED: &str = "offeredTools(given ?? own, get(rules, active), index)";

/// The formula of the messages that are sent.
fn sent_messages(policy: Policy) -> String {
    match policy {
        Policy::All => "chat".to_owned(),
        Policy::None => "chat[from:]".to_owned(),
        Policy::Last(count) => format!("chat[(len(users) > {count} ? users[len(users) - {count}] : 0):]"),
    }
}

/// Values of a template, by the names that formulas use.
pub(super) fn template_values(agent: &Agent<'_>) -> Vec<(&'static str, Value)> {
    let Some(template) = &agent.template else { return Vec::new() };
    let note = |step: &Step<'_>| {
        let prompt = step.persona.as_ref().and_then(|persona| persona.prompt.as_ref());
        let prompt = prompt.map(|prompt| format!("\n\n{prompt}")).unwrap_or_default();
        (step.name.clone(), Value::from(format!("{prompt}\n\nActive step: {}", line(step))))
    };
    let notes = agent.steps.iter().map(note);
    let mut system = template.personality.clone();
    if template.detailed && !agent.steps.is_empty() {
        let purpose = agent.description.iter().map(|description| format!("\n{description}"));
        let steps = agent.steps.iter().map(|step| format!("\n- {}", line(step)));
        system.push_str("\n\nThe work has these steps; each offers tools of its own:");
        system.extend(purpose.chain(steps));
    }
    vec![
        ("system", Value::from(system)),
        ("notes", Value::from(notes.collect::<Object>())),
        ("most", Value::Int(template.max_steps)),
        ("configurations", template.configurations.clone()),
        ("sampling", Value::from(sampling(template))),
        ("models", personas::models_by_step(agent)),
        ("options", personas::options_by_step(agent)),
    ]
}

fn line(step: &Step<'_>) -> String {
    match &step.description {
        Some(description) => format!("{}: {description}", step.name),
        None => step.name.to_string(),
    }
}

/// The description of a template for clients.
pub(super) fn describe(template: &Template) -> Vec<(Arc<str>, Value)> {
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
