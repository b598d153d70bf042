//! What the run of an agent's turn is started with, from whatever a front-end asks an agent with.

use branchpoint_expr::{Object, Value};

use super::object;
use crate::runner::Call;

/// How many turns an agent may make whose document does not say.
const MAX_TURNS: i64 = 10;

/// The most that an agent may use, whatever its document says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Calls of the model in one turn.
    pub turns: Option<i64>,
    /// Tokens in one turn.
    pub tokens: Option<i64>,
    /// Cost of one turn, in millionths.
    pub cost_micros: Option<i64>,
}

/// Whether tools are offered: a list that is not empty, or flags of which one is set, or agents below.
pub(super) fn has_tools(input: &Value) -> bool {
    let below = input.get("subagents").and_then(Value::as_list).is_some_and(|below| !below.is_empty());
    let offered = match input.get("tools") {
        Some(Value::List(tools)) => !tools.is_empty(),
        Some(Value::Object(flags)) => flags.iter().any(|(name, value)| is_tool_flag(name, value)),
        _ => false,
    };
    below || offered
}

/// `{web_search: true}` offers a tool of that name; `subagents` only allows the agents below.
fn is_tool_flag(name: &str, value: &Value) -> bool {
    name != "subagents" && *value == Value::Bool(true)
}

/// Fields of a call that are for the turn. All others are for the model, which is asked with them in every turn as it would be
/// without tools.
const FOR_THE_TURN: [&str; 7] =
    ["tools", "subagents", "max_turns", "token_budget", "cost_budget_micros", "sequential", "stop_when_names"];

/// The input of the program for a call, within bounds.
pub fn input(call: &Call, bounds: Bounds) -> Value {
    let names = call.definition.fixed.get("toolNames");
    let node = call.step.as_ref().map_or(Value::Null, |step| Value::Str(step.clone()));
    let agent = Agent { root: &node, names, depth: 1, bounds };
    let fields = [
        ("request", request(call)),
        ("names", filled(&call.input, "stop_when_names").cloned().unwrap_or_default()),
        ("nodeId", node.clone()),
    ];
    with_fields(&agent.common(&call.input), fields)
}

/// What the model is asked with.
fn request(call: &Call) -> Value {
    let fields = call.input.as_object().into_iter().flatten();
    let own = fields.filter(|(name, value)| !FOR_THE_TURN.contains(&&***name) && **value != Value::Null);
    let mut request: Object = own.map(|(name, value)| (name.clone(), value.clone())).collect();
    // What came into a step is its prompt only if it has no other; a journal need not hold it again for every turn.
    if ["prompt", "prompt_template", "userContent"].iter().any(|prompt| request.contains_key(*prompt)) {
        request.shift_remove("input");
    }
    request.extend(call.response().output_schema.clone().map(|schema| ("output_schema".into(), schema)));
    Value::from(request)
}

fn filled<'v>(input: &'v Value, name: &str) -> Option<&'v Value> {
    input.get(name).filter(|value| **value != Value::Null)
}

fn with_fields(value: &Value, fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let mut all = value.as_object().cloned().unwrap_or_default();
    all.extend(fields.into_iter().filter(|(_, value)| *value != Value::Null).map(|(key, value)| (key.into(), value)));
    Value::from(all)
}

/// An agent in a tree of agents.
struct Agent<'v> {
    /// The agent at the top, on whose node everything is told.
    root: &'v Value,
    /// By node, what a model calls the tool that an agent is.
    names: Option<&'v Value>,
    /// How deep the agents below are.
    depth: i64,
    bounds: Bounds,
}

impl Agent<'_> {
    /// What agents at every level have: tools, bounds, and agents below.
    fn common(&self, input: &Value) -> Value {
        let take = |name: &str| filled(input, name).cloned().unwrap_or_default();
        let bound = |name: &str, usual: Option<i64>, most: Option<i64>| match (
            filled(input, name).cloned().or(usual.map(Value::Int)),
            most,
        ) {
            (Some(Value::Int(own)), Some(most)) => Value::Int(own.min(most)),
            (own, most) => own.or(most.map(Value::Int)).unwrap_or_default(),
        };
        let mut tools = tools(input);
        let mut below = Object::default();
        for child in input.get("subagents").and_then(Value::as_list).unwrap_or_default() {
            let (name, tool, described) = self.child(child);
            below.insert(name.into(), described);
            tools.push(tool);
        }
        object([
            ("tools", Value::from(tools)),
            ("subagents", if below.is_empty() { Value::Null } else { Value::from(below) }),
            ("max_turns", bound("max_turns", Some(MAX_TURNS), self.bounds.turns)),
            ("token_budget", bound("token_budget", None, self.bounds.tokens)),
            ("cost_budget_micros", bound("cost_budget_micros", None, self.bounds.cost_micros)),
            ("sequential", take("sequential")),
        ])
    }

    /// An agent below: the name of the tool it is, the tool, and what a run of it begins with.
    fn child(&self, child: &Value) -> (String, Value, Value) {
        let take = |name: &str| filled(child, name).cloned().unwrap_or_default();
        let node = take("nodeId");
        let called = take("agentName");
        let name = self.names.and_then(|names| names.get(node.as_str()?)).and_then(Value::as_str);
        let name = name.map_or_else(|| format!("subagent_{node}"), str::to_owned);
        let message = object([
            ("type", Value::from("string")),
            ("description", Value::from("What the agent is to do, with everything it needs to know.")),
        ]);
        let parameters = object([
            ("type", Value::from("object")),
            ("properties", object([("message", message)])),
            ("required", Value::from(vec![Value::from("message")])),
            ("additionalProperties", Value::Bool(false)),
        ]);
        let tool = object([
            ("name", Value::from(name.as_str())),
            ("description", Value::from(format!("Asks the agent {called}, and gives its answer."))),
            ("parameters", parameters),
        ]);
        let inner = Agent { root: self.root, names: self.names, depth: self.depth + 1, bounds: self.bounds };
        let request = object([
            ("systemPrompt", take("systemPrompt")),
            ("model", take("model")),
            ("reasoningEffort", take("reasoningEffort")),
        ]);
        let inputs = with_fields(&inner.common(child), [("request", request), ("nodeId", node.clone())]);
        let described = object([
            ("name", called),
            ("nodeId", node),
            ("rootId", self.root.clone()),
            ("depth", Value::Int(self.depth)),
            ("inputs", inputs),
        ]);
        (name, tool, described)
    }
}

/// Tools as objects that have a name, whichever way they are written.
fn tools(input: &Value) -> Vec<Value> {
    let named = |name: &str| object([("name", Value::from(name))]);
    match input.get("tools") {
        Some(Value::List(tools)) => {
            let tool = |tool: &Value| match tool.as_str() {
                Some(name) => Some(named(name)),
                None => tool.get("name").and_then(Value::as_str).map(|_| tool.clone()),
            };
            tools.iter().filter_map(tool).collect()
        }
        Some(Value::Object(flags)) => {
            flags.iter().filter(|(name, value)| is_tool_flag(name, value)).map(|(name, _)| named(name)).collect()
        }
        _ => Vec::new(),
    }
}
