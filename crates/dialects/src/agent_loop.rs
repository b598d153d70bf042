//! The loop of every agent: a model call, its reply, the stop conditions, the work that the reply requests, and the limits before
//! the next call. An agent's turn, a chat turn and a conversation differ in what they record, where they end, and how tools are gated.

use branchpoint_core::effect::{Format, Kind, Response, Task};
use branchpoint_core::ir::builder::effect;
use branchpoint_core::ir::{ConditionId, Effect, ExprId, Failure, Mark, PlaceId, SlotId, StepId, Write};
use branchpoint_expr::{Object, Value};

use crate::lowering::Lower;

/// The parts of a loop. Its places are reserved by the front-end, because the parts lead to each other.
pub(crate) struct AgentLoop {
    /// The place of the model call.
    pub(crate) ask: PlaceId,
    /// The place of the limit checks, after the work of a reply.
    pub(crate) next: PlaceId,
    /// The model call and its input.
    pub(crate) call: (Effect, ExprId),
    /// The slot of the reply.
    pub(crate) reply: SlotId,
    /// Counts the calls.
    pub(crate) count: Write,
    /// The test whether a reply is an error, and the place after it.
    pub(crate) refused: Option<(ConditionId, PlaceId)>,
    /// The step of each call in traces, if it is shown as one.
    pub(crate) shown: Option<StepId>,
    /// The place after a failed call. The error is in the error slot.
    pub(crate) failed: PlaceId,
    /// The writes that record a reply.
    pub(crate) recorded: Vec<Write>,
    /// The stop conditions with the places after them, and the place for a condition that cannot be evaluated.
    pub(crate) stops: Vec<(ConditionId, PlaceId)>,
    pub(crate) broken: Option<Failure>,
    /// The place after a reply without a stop. It leads to `next`.
    pub(crate) work: PlaceId,
    /// The limits and the places at which the loop ends.
    pub(crate) limits: Vec<(ConditionId, PlaceId)>,
    /// The place between the limits and the call. It leads to `ask`.
    pub(crate) prepare: Option<PlaceId>,
}

impl AgentLoop {
    /// Builds the loop. Returns the place that records a reply and the place that evaluates the stop conditions.
    pub(crate) fn build<D>(self, lower: &mut Lower<D>) -> (PlaceId, PlaceId) {
        let fail = lower.fail_to(self.failed);
        let error = fail.error;
        let b = &mut lower.b;
        let stops = if self.stops.is_empty() { self.work } else { b.decide(self.stops, self.work, self.broken) };
        let replied = b.set(self.recorded, stops, None);
        let judged = self.refused.map_or(replied, |refused| b.decide([refused], replied, None));
        let call = b.effect(self.call.0);
        let call = b.do_(call, self.call.1, Some(self.reply), judged, Some(fail));
        b.at(self.ask).set([self.count], call, None);
        if let (Some(step), Some(error)) = (self.shown, error) {
            let error = b.read(error);
            b.mark(self.ask, Mark::Begin(step, None));
            b.mark(self.failed, Mark::Fail(step, error));
        }
        b.at(self.next).decide(self.limits, self.prepare.unwrap_or(self.ask), None);
        (replied, stops)
    }
}

/// A limit of a loop: its test, the kind of its error or warning, and the formula of the message.
pub(crate) type Limit<'l> = (String, &'l str, String);

/// The arms that check limits in order, and the formula of `{kind, message}` of the first one reached. `end` returns the place where a loop
/// ends at a limit.
pub(crate) fn limits<D>(
    lower: &mut Lower<D>,
    limits: &[Limit<'_>],
    mut end: impl FnMut(&mut Lower<D>, &Limit<'_>) -> PlaceId,
) -> (Vec<(ConditionId, PlaceId)>, String) {
    let arms = limits.iter().map(|limit| (lower.test(&limit.0), end(lower, limit))).collect();
    let choose = |rest: String, (test, kind, message): &Limit<'_>| {
        format!("{test} ? {{kind: '{kind}', message: {message}}} : {rest}")
    };
    (arms, limits.iter().rev().fold("nil".to_owned(), choose))
}

/// A call of a model whose reply may call tools.
pub(crate) fn model_call(step: StepId, mut fixed: Object) -> Effect {
    fixed.insert("task".into(), Task::Reply.into());
    let response = Response { format: Format::Reply, ..Response::default() };
    Effect { fixed, response, step: Some(step), ..effect(Kind::Model) }
}

/// The sampling options of a document, in any of their spellings, under the names in requests.
pub(crate) fn sampling(given: impl Fn(&str) -> Option<Value>) -> Object {
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
    names.into_iter().filter_map(|(own, name)| Some((name.into(), given(own)?))).collect()
}

/// Whether a reply calls tools.
pub(crate) const HAS_CALLS: &str = "len(reply.toolCalls ?? []) > 0";

/// The part of a reply that traces show.
pub(crate) const REPLY: &str =
    "len(reply.toolCalls ?? []) > 0 ? {text: reply.text, calls: map(reply.toolCalls, .name)} : reply.text";

/// Records a reply: its message, tokens and cost.
pub(crate) fn record_reply<D>(lower: &mut Lower<D>, messages: &str) -> Vec<Write> {
    let message = lower.formula(
        "let plain = {role: 'assistant', content: reply.text ?? '', toolCalls: reply.toolCalls ?? []}; \
         reply.thoughts == nil ? plain : putPath(plain, ['thoughts'], reply.thoughts)",
    );
    vec![
        Write::Push(lower.slots[messages], message),
        lower.store("tokens", "tokens + (reply.usage.tokens ?? 0)"),
        lower.store("cost", "cost + (reply.usage.cost_micros ?? 0)"),
    ]
}

/// The formula of the message to the model with the outcome of the call in the slot `call`.
pub(crate) fn tool_message(outcome: &str) -> String {
    format!("{{role: 'tool', id: call.id, name: call.name, {outcome}}}")
}

/// The test for invalid arguments of a call, and the formula of the message about them.
pub(crate) const UNREADABLE: (&str, &str) = (
    "call.arguments != nil && type(call.arguments) != 'map'",
    "'the arguments of `' + string(call.name) + '` are not a JSON object, so it was not called: ' + \
     (type(call.arguments) == 'string' ? call.arguments : toJSON(call.arguments))",
);

/// Performs the call in the slot `call` for a step, with its result in the slot `result`. `end` returns the place after it, for the part of
/// the model's message with the outcome. An error of a tool is reported to the model, which can react to it.
pub(crate) fn call_tool<D>(
    lower: &mut Lower<D>,
    (step, shown): (StepId, StepId),
    configuration: &str,
    mut end: impl FnMut(&mut Lower<D>, &str) -> PlaceId,
) -> PlaceId {
    let input = "{id: call.id, tool: call.name, arguments: call.arguments, configuration: CONFIGURATION}";
    let input = lower.formula(&input.replace("CONFIGURATION", configuration));
    let (succeeded, bad) = (end(lower, "content: result"), end(lower, "error: error.message"));
    let (result, fail) = (lower.slots["result"], lower.fail_to(bad));
    let tool = lower.b.effect(Effect { step: Some(step), ..effect(Kind::Tool) });
    let call = lower.b.do_(tool, input, Some(result), succeeded, Some(fail));
    show_call(lower, shown, call, (succeeded, "result"), &[(bad, "error")]);
    call
}

/// Records a tool call and its outcome in the trace.
pub(crate) fn show_call<D>(
    lower: &mut Lower<D>,
    shown: StepId,
    call: PlaceId,
    (succeeded, output): (PlaceId, &str),
    bad: &[(PlaceId, &str)],
) {
    begin_call(lower, shown, call);
    let output = lower.formula(output);
    lower.b.mark(succeeded, Mark::End(shown, Some(output)));
    for (place, error) in bad {
        let error = lower.formula(error);
        lower.b.mark(*place, Mark::Fail(shown, error));
    }
}

/// Rejects a call: the model and the trace get the message. `end` is as for [`call_tool`].
pub(crate) fn refuse_call<D>(
    lower: &mut Lower<D>,
    shown: StepId,
    message: &str,
    mut end: impl FnMut(&mut Lower<D>, &str) -> PlaceId,
) -> PlaceId {
    let refused = end(lower, &format!("error: {message}"));
    let error = lower.formula(&format!("{{message: {message}}}"));
    begin_call(lower, shown, refused);
    lower.b.mark(refused, Mark::Fail(shown, error));
    refused
}

fn begin_call<D>(lower: &mut Lower<D>, shown: StepId, place: PlaceId) {
    let called = lower.formula("{tool: call.name, arguments: call.arguments}");
    lower.b.mark(place, Mark::Begin(shown, Some(called)));
}
