//! Calls that are runs of their own: other workflows, and turns of agents that use tools. Every host starts and settles them by the same
//! rules.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::Usage;
use branchpoint_core::effect::{FieldError, Kind, Request};
use branchpoint_core::ir::Effect;
use branchpoint_expr::Value;

use crate::agent::{self, AgentLimits};
use crate::runner::{Answer, Call};

/// The program of the workflow that a call runs, by the definition of its effect and its input; `None` if a runner performs the call. A
/// turn of an agent with tools is one that is built in.
///
/// ```
/// use branchpoint_core::{effect::Kind, ir::builder::effect};
/// use branchpoint_runners::child_run;
///
/// assert_eq!(child_run::part(&effect(Kind::Mail), &branchpoint_expr::Value::Null), None);
/// ```
pub fn part(definition: &Effect, input: &Value) -> Option<Arc<str>> {
    if definition.kind != Kind::Run {
        let is_turn = Request::is_agent_turn(definition.kind, &definition.fixed, input);
        return is_turn.then(|| definition.agent_program());
    }
    let Ok(Request::Run(request)) = definition.request() else { return None };
    request.workflow.filter(|name| !name.is_empty()).map(|name| Arc::from(&*name))
}

/// The input of a child run, and its facts in addition to those of the host.
///
/// ```
/// use branchpoint_core::{effect::Kind, ir::builder::effect};
/// use branchpoint_runners::{Call, child_run};
///
/// let call = Call::first(effect(Kind::Run), branchpoint_expr::Value::Null);
/// let (input, facts) = child_run::start(&call, Default::default()).unwrap();
/// assert!(facts.is_empty());
/// ```
pub fn start(call: &Call, agents: AgentLimits) -> Result<(Value, BTreeMap<String, Value>), FieldError> {
    match call.request()? {
        Request::Run(request) => {
            let facts = request.facts.into_iter().map(|(name, fact)| (name.to_string(), fact));
            Ok((request.inputs, facts.collect()))
        }
        _ => Ok((agent::input(call, agents)?, BTreeMap::new())),
    }
}

/// The result of a child run as the answer of its call.
///
/// ```
/// use branchpoint_core::{effect::Kind, ir::builder::effect};
/// use branchpoint_runners::{Answer, Call, child_run};
///
/// let call = Call::first(effect(Kind::Run), branchpoint_expr::Value::Null);
/// assert_eq!(child_run::answer(&call, 7.into(), Default::default()), Answer::data(7));
/// ```
pub fn answer(call: &Call, result: Value, usage: Usage) -> Answer {
    if call.kind() == Kind::Run { Answer::data(result) } else { agent::answer(&result, usage) }
}

/// The id of the child run for an attempt of a call of a run.
///
/// ```
/// assert_eq!(branchpoint_runners::child_run::id("r-1", 4, 1), "r-1.4.1");
/// ```
pub fn id(parent: &str, effect: u64, attempt: u32) -> String {
    format!("{parent}.{effect}.{attempt}")
}
