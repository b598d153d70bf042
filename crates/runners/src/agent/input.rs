//! The input of the run of an agent's turn, made from the request of a front-end.

use std::sync::{Arc, LazyLock};

use branchpoint_core::effect::{FieldError, Kind, ModelRequest, Request};
use branchpoint_expr::{Object, Value};

use super::object;
use crate::runner::Call;

/// The limit of turns of an agent whose document sets none.
const MAX_TURNS: u64 = 10;

/// The operator's limits for agents. They apply even if a document allows more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentLimits {
    /// Calls of the model in one turn.
    pub turns: Option<i64>,
    /// Tokens in one turn.
    pub tokens: Option<i64>,
    /// Cost of one turn, in millionths.
    pub cost_micros: Option<i64>,
}

/// Fields of a request that control the turn. All others are sent to the model with every request.
const FOR_THE_TURN: [&str; 12] = [
    "task",
    "tools",
    "subagents",
    "max_turns",
    "token_budget",
    "cost_budget_micros",
    "sequential",
    "stop_when",
    "stop_when_values",
    "uses",
    "optional_uses",
    "subagent_models",
];

/// The parameters of an agent that another agent calls as a tool.
static PARAMETERS: LazyLock<Value> = LazyLock::new(|| {
    let parameters = r#"{"type": "object", "properties": {"message": {"type": "string",
        "description": "What the agent is to do, with everything it needs to know."}},
        "required": ["message"], "additionalProperties": false}"#;
    serde_json::from_str(parameters).expect("the parameters are JSON")
});

/// The input of the agent's program for a call, within the operator's limits.
///
/// # Errors
///
/// The request cannot be read; the error names the field.
///
/// ```
/// use branchpoint_core::effect::Kind;
/// use branchpoint_core::ir::builder::effect;
/// use branchpoint_runners::Call;
/// use branchpoint_runners::agent::{AgentLimits, input};
///
/// let call = Call::first(effect(Kind::Model), [("prompt".into(), "Why?".into())].into_iter().collect::<branchpoint_expr::Object>().into());
/// assert!(input(&call, AgentLimits::default())?.get("request").is_some());
/// # Ok::<(), branchpoint_core::effect::FieldError>(())
/// ```
pub fn input(call: &Call, bounds: AgentLimits) -> Result<Value, FieldError> {
    let Request::Model(turn) = call.request()? else { return Ok(Value::Null) };
    let id = call.step.as_ref().map_or(Value::Null, |step| Value::Str(step.clone()));
    let agent = Agent { root: &id, depth: 1, bounds };
    let fields =
        [("request", request(call)), ("names", Value::from(turn.stop_when_values.clone())), ("id", id.clone())];
    Ok(with_fields(&agent.common(&turn)?, fields))
}

/// The fields that are sent to the model.
fn request(call: &Call) -> Value {
    let fixed = call.definition.fixed.iter().filter(|(name, _)| call.input.get(name).is_none());
    let fields = fixed.chain(call.input.as_object().into_iter().flatten());
    let own = fields.filter(|(name, value)| !FOR_THE_TURN.contains(&&***name) && **value != Value::Null);
    let mut request: Object = own.map(|(name, value)| (name.clone(), value.clone())).collect();
    request.extend(call.response().output_schema.clone().map(|schema| ("schema".into(), schema)));
    Value::from(request)
}

fn with_fields(value: &Value, fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let mut all = value.as_object().cloned().unwrap_or_default();
    all.extend(fields.into_iter().filter(|(_, value)| *value != Value::Null).map(|(key, value)| (key.into(), value)));
    Value::from(all)
}

/// An agent in a tree of agents.
struct Agent<'v> {
    /// The id of the agent at the top, to which all notices belong.
    root: &'v Value,
    /// The depth of its subagents in the tree.
    depth: i64,
    bounds: AgentLimits,
}

impl Agent<'_> {
    /// The fields that agents at every level have: tools, limits and subagents.
    fn common(&self, turn: &ModelRequest) -> Result<Value, FieldError> {
        let bound = |own: Option<u64>, most: Option<i64>| {
            let own = own.map(|own| i64::try_from(own).unwrap_or(i64::MAX));
            own.into_iter().chain(most).min().map_or(Value::Null, Value::Int)
        };
        let mut tools = turn.tools.0.clone();
        let mut below = Object::default();
        for child in &turn.subagents {
            let (name, tool, described) = self.child(child, turn.optional_tools)?;
            below.insert(name, described);
            tools.push(tool);
        }
        Ok(object([
            ("tools", Value::from(tools)),
            ("subagents", if below.is_empty() { Value::Null } else { Value::from(below) }),
            ("max_turns", bound(turn.max_turns.or(Some(MAX_TURNS)), self.bounds.turns)),
            ("token_budget", bound(turn.token_budget, self.bounds.tokens)),
            ("cost_budget_micros", bound(turn.cost_budget_micros, self.bounds.cost_micros)),
            ("sequential", Value::Bool(turn.sequential)),
        ]))
    }

    /// A subagent as a tool: the name of the tool, the tool, and the input of its run. The subagent is a model request with an `id`, a
    /// `name`, and the name of its `tool`. Its tools are optional if those of its parent are, unless its own field says otherwise.
    fn child(&self, child: &Value, optional_tools: bool) -> Result<(Arc<str>, Value, Value), FieldError> {
        let mut fields = child.as_object().cloned().unwrap_or_default();
        let [id, called, tool] = ["id", "name", "tool"].map(|name| fields.shift_remove(name).unwrap_or_default());
        if optional_tools {
            fields.entry("optional_tools".into()).or_insert(Value::Bool(true));
        }
        let Request::Model(turn) = Request::parse(Kind::Model, &fields, &Value::Null)? else {
            return Ok(Default::default());
        };
        let name: Arc<str> = tool.to_string().into();
        let tool = object([
            ("name", Value::Str(name.clone())),
            ("description", Value::from(format!("Asks the agent {called}, and gives its answer."))),
            ("parameters", PARAMETERS.clone()),
        ]);
        let inner = Agent { depth: self.depth + 1, ..*self };
        let common = inner.common(&turn)?;
        fields.retain(|field, value| !FOR_THE_TURN.contains(&&**field) && *value != Value::Null);
        let inputs = with_fields(&common, [("request", Value::from(fields)), ("id", id.clone())]);
        let described = object([
            ("name", called),
            ("id", id),
            ("root", self.root.clone()),
            ("depth", Value::Int(self.depth)),
            ("inputs", inputs),
        ]);
        Ok((name, tool, described))
    }
}
