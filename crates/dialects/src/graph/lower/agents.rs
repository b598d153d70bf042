//! Agents: one call, its answer or its error, and notices of calls of subagents meanwhile.

use branchpoint_core::effect::{self, Response};
use branchpoint_core::ir::builder::effect;
use branchpoint_core::ir::{Arm, Effect, ExprId, Mark, OnEarly, PlaceId, Write};
use branchpoint_expr::{Object, Value};

use super::super::raw::{Agent, NodeData};
use super::super::subagents;
use super::super::wiring::NodeBranch;
use super::Lower;

/// The placeholder for the output of the previous node.
pub(super) const TOKEN: &str = "{{PREVIOUS_OUTPUT}}";

/// The keys of the event in a notice of a call of a subagent.
const CALL_KEYS: [&str; 8] =
    ["type", "parentNodeId", "subagentNodeId", "subagentName", "callId", "parentCallId", "depth", "message"];

impl Lower<'_> {
    pub(super) fn agent(&mut self, node: usize, agent: &Agent) -> PlaceId {
        let answered = self.answered(node);
        let failed = self.call_failed(node);
        let input = self.request(node, agent);
        // A model that the document names is checked before the run starts; null leaves it to the installation.
        let model = agent.model.clone().map(|model| ("model".into(), Value::Str(model)));
        // The models of its subagents and its tools are checked, too. A missing tool is an error only if the document requires it.
        let there = |name: &str, list: Vec<Value>| (!list.is_empty()).then(|| (name.into(), Value::from(list)));
        let below = there("subagent_models", subagents::models(self.own.graph, node));
        let uses = there("uses", subagents::used(self.own.graph, node, false));
        let optional = there("optional_uses", subagents::used(self.own.graph, node, true));
        let optional_tools = agent.tools.is_some() && subagents::has_optional_tools(self.own.graph, agent);
        let optional_tools = optional_tools.then(|| ("optional_tools".into(), Value::Bool(true)));
        let parts = model.into_iter().chain(below).chain(uses).chain(optional).chain(optional_tools);
        let fixed = parts.collect::<Object>();
        let response = Response { missing_runner_kind: Some("no_llm".into()), ..Response::default() };
        let effect =
            self.b.effect(Effect { fixed, response, step: Some(self.own.steps[node]), ..effect(effect::Kind::Model) });
        let ask = self.b.do_(effect, input, Some(self.slots["prev"]), answered, Some(self.fail_to(failed)));
        let values = [
            self.id(node),
            ("prompt", agent.prompt.clone().map_or(Value::Null, Value::Str)),
            ("token", Value::from(TOKEN)),
        ];
        let content = match agent.prompt {
            Some(_) => "replace(prompt, token, string(prev ?? ''))",
            None => "string(prev ?? '')",
        };
        let writes = [
            self.begin_log(node),
            self.store_with("content", content, &[], &values),
            self.log("start_prompt", "content", &values),
        ];
        let place = self.b.set(writes, ask, None);
        self.begin_mark(node, place)
    }

    /// The request of the call. The installation chooses models that the document omits.
    fn request(&mut self, node: usize, agent: &Agent) -> ExprId {
        let tree = subagents::tree(self.own.graph, node);
        let optional = |text: &Option<std::sync::Arc<str>>| text.clone().map_or(Value::Null, Value::Str);
        let values = [
            ("system", Value::Str(agent.system.clone())),
            ("model", optional(&agent.model)),
            ("effort", optional(&agent.effort)),
            ("tools", agent.tools.clone().unwrap_or_default()),
            ("tree", tree.clone().unwrap_or_default()),
        ];
        let defaults = "{model: given.model ?? 'gpt-5', reasoning_effort: given.reasoningEffort ?? 'low'}";
        let tools = if agent.tools.is_some() { ", tools: tools" } else { "" };
        let tree = if tree.is_some() { ", subagents: filledIn(tree, defaults)" } else { "" };
        let request = format!(
            "let defaults = {defaults}; {{system: system, prompt: content, model: model ?? defaults.model, \
             reasoning_effort: effort ?? defaults.reasoning_effort{tools}{tree}}}"
        );
        self.formula_with(&request, &[], &values)
    }

    /// An answer is stored even if the run has failed meanwhile; then nothing follows it. On a paused run, the nodes that
    /// follow are deferred.
    fn answered(&mut self, node: usize) -> PlaceId {
        let values = [self.id(node)];
        let next = self.follow(node, &NodeBranch::Every);
        let failed = self.test("mode == 'failed'");
        let next = self.b.decide([(failed, self.own.end)], next, None);
        let mut writes = vec![self.log("llm_response", "string(prev ?? '')", &values)];
        writes.extend(self.keep_output(node));
        writes.push(self.store("under_way", "mode == 'running'"));
        writes.push(self.store_with("calls", "filter(calls, .nodeId != id)", &[], &values));
        let place = self.b.set(writes, next, None);
        let output = self.b.read(self.slots["prev"]);
        self.b.mark(place, Mark::End(self.own.steps[node], Some(output)))
    }

    /// Calls of subagents that are open when their agent fails have failed with it.
    fn call_failed(&mut self, node: usize) -> PlaceId {
        let values = [self.id(node), ("keys", keys())];
        let open = "map(filter(calls, .nodeId == id), ({timestamp: time, nodeId: id, type: 'subagent_call_error', \
                    content: toJSON(pick(callFailed(.event, failure.message), keys))}))";
        let mut writes = vec![
            self.store_with("logs", &format!("any(calls, .nodeId == id) ? concat(logs, {open}) : logs"), &[], &values),
            self.store_with("calls", "filter(calls, .nodeId != id)", &[], &values),
            self.log("llm_error", "failure.message", &values),
        ];
        writes.extend(self.fail("failure.kind == 'no_llm' ? 'no_llm' : 'llm_error'", "failure.message", &values));
        let place = self.b.set(writes, self.own.end, None);
        let error = self.b.read(self.slots["failure"]);
        self.b.mark(place, Mark::Fail(self.own.steps[node], error))
    }

    /// A strand of its own receives notices of subagents: they may come at any moment of a call.
    pub(super) fn listener(&mut self) -> PlaceId {
        let agents = self.own.graph.nodes.iter().filter(|node| matches!(node.data, NodeData::Agent(_)));
        let agents = Value::from(agents.map(|node| Value::Str(node.id.clone())).collect::<Vec<_>>());
        let payload = self.b.payload();
        let check = self.test_with(
            "payload.nodeId in agents && payload.event.type in ['subagent_call_start', 'subagent_call_end', \
             'subagent_call_error']",
            &[("payload", payload)],
            &[("agents", agents)],
        );
        self.slots.add_to_root(&mut self.b, [("notice", None)]);
        let values = [("keys", keys())];
        let entry = self.formula_with(
            "let event = notice.message == nil ? notice.event : putPath(notice.event, ['message'], notice.message); \
             {timestamp: time, nodeId: notice.nodeId, type: event.type, content: toJSON(pick(event, keys))}",
            &[],
            &values,
        );
        let open = "notice.event.type == 'subagent_call_start' ? concat(calls, [notice]) : \
                    filter(calls, .nodeId != notice.nodeId || .event.callId != notice.event.callId)";
        let wait = self.b.reserve();
        let writes = [Write::Push(self.slots["logs"], entry), self.store("calls", open)];
        let next = self.b.set(writes, wait, None);
        let signal = self.b.signal("subagent", OnEarly::Reject);
        self.b.at(wait).wait([Arm::Signal { signal, check: Some(check), into: Some(self.slots["notice"]), next }], None)
    }
}

fn keys() -> Value {
    Value::from(CALL_KEYS.map(Value::from).to_vec())
}
