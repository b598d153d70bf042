//! Subagents: edges that make an agent a tool of another. Checks the edges and builds their trees.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_expr::{Kind, Object, Value};

use super::raw::{Agent, Connection, Graph, NodeData};
use crate::DocumentKinds as _;
use crate::report::Report;

/// How deep agents may be nested as tools. A deeper tree exceeds the depth of values.
const MAX_DEPTH: usize = 64;

/// Checks every subagent edge of a graph.
pub(super) fn check(graph: &Graph, report: &mut Report) {
    let execution = graph.connections.iter().filter(|edge| !edge.is_subagent());
    let in_execution: BTreeSet<_> = execution.flat_map(|edge| [edge.source, edge.target]).collect();
    let mut parents = BTreeSet::new();
    for edge in graph.connections.iter().filter(|edge| edge.is_subagent()) {
        check_edge(graph, edge, report);
        if !parents.insert(edge.target) {
            let message = format!("`{}` is a subagent already", graph.nodes[edge.target].id);
            report.error(
                Kind::SubagentMultipleParents,
                edge.span,
                message,
                "a subagent belongs to one agent, by one edge",
            );
        }
        if in_execution.contains(&edge.target) {
            let message = format!("`{}` is a subagent and a step of the run", graph.nodes[edge.target].id);
            report.error(Kind::SubagentInExecution, edge.span, message, "make a second node of it, one for each use");
        }
    }
    check_cycles(graph, report);
}

fn check_edge(graph: &Graph, edge: &Connection, report: &mut Report) {
    let (source, target) = (&graph.nodes[edge.source], &graph.nodes[edge.target]);
    match &source.data {
        NodeData::Agent(agent) if agent.uses_subagents() => {}
        NodeData::Agent(_) => {
            let message = format!("`{}` may not use subagents", source.id);
            report.error(Kind::SubagentToolDisabled, edge.span, message, "set `tools.subagents` of that agent to true");
        }
        _ => {
            let message = format!("`{}` is not an agent, so it cannot have subagents", source.id);
            report.error(Kind::SubagentSourceNotAgent, edge.span, message, "only an agent can have subagents");
        }
    }
    if !matches!(target.data, NodeData::Agent(_)) {
        let message = format!("`{}` is not an agent, so it cannot be a subagent", target.id);
        report.error(Kind::SubagentTargetNotAgent, edge.span, message, "only an agent can be a subagent");
    }
    if edge.into.as_deref().is_some_and(|handle| handle != "input") {
        let help = "leave `targetHandle` out, or write `input`";
        report.error(Kind::SubagentTargetHandle, edge.span, "a subagent is connected at its input", help);
    }
    if edge.source == edge.target {
        let message = format!("`{}` is its own subagent", source.id);
        report.error(Kind::SubagentSelf, edge.span, message, "take this connection out");
    }
}

/// Agents that are subagents of each other, and trees that are too deep. Each node is walked once.
fn check_cycles(graph: &Graph, report: &mut Report) {
    let mut done = vec![false; graph.nodes.len()];
    for start in 0..graph.nodes.len() {
        // The nodes on the path, each with the children that are not yet visited.
        let mut path: Vec<(usize, Vec<&Connection>)> = Vec::new();
        if !done[start] {
            path.push((start, children(graph, start)));
        }
        while let Some((node, open)) = path.last_mut() {
            let Some(edge) = open.pop() else {
                done[*node] = true;
                path.pop();
                continue;
            };
            if edge.source != edge.target && path.iter().any(|(above, _)| *above == edge.target) {
                let message = format!("`{}` is a subagent of its own subagent", graph.nodes[edge.target].id);
                report.error(Kind::SubagentCycle, edge.span, message, "take one connection of the cycle out");
            } else if !done[edge.target] && edge.source != edge.target {
                let below = children(graph, edge.target);
                path.push((edge.target, below));
            }
            if path.len() > MAX_DEPTH {
                let message = format!("subagents are nested more than {MAX_DEPTH} levels deep");
                let span = path.last().map_or(graph.span, |(node, _)| graph.nodes[*node].span);
                return report.error(Kind::DepthLimit, span, message, "make the tree flatter");
            }
        }
    }
}

fn children(graph: &Graph, node: usize) -> Vec<&Connection> {
    graph.leaving(node).filter(|edge| edge.is_subagent()).collect()
}

/// The subagents of an agent as a call carries them, or none. Models that are left to the installation are null.
pub(super) fn tree(graph: &Graph, node: usize) -> Option<Value> {
    let NodeData::Agent(parent) = &graph.nodes[node].data else { return None };
    let optional = has_optional_tools(graph, parent);
    let children = children(graph, node).into_iter().filter_map(|edge| subagent_value(graph, edge.target, optional));
    let children: Vec<_> = children.collect();
    (!children.is_empty()).then(|| Value::from(children))
}

/// The value of a subagent. Whether its tools are optional is included only if it differs from the parent's `of_parent`.
fn subagent_value(graph: &Graph, node: usize, of_parent: bool) -> Option<Value> {
    let NodeData::Agent(agent) = &graph.nodes[node].data else { return None };
    let fields = [
        ("id", Value::Str(graph.nodes[node].id.clone())),
        ("name", Value::Str(agent.name.clone())),
        ("tool", Value::from(tool_name(graph, node, agent))),
        ("system", Value::Str(agent.system.clone())),
        ("model", optional(agent.model.as_ref())),
        ("reasoning_effort", optional(agent.effort.as_ref())),
    ];
    let mut subagent_value: Object = fields.map(|(key, value)| (Arc::from(key), value)).into_iter().collect();
    subagent_value.extend(agent.tools.clone().map(|tools| (Arc::from("tools"), tools)));
    let own = has_optional_tools(graph, agent);
    subagent_value.extend((own != of_parent).then(|| (Arc::from("optional_tools"), Value::Bool(own))));
    subagent_value.extend(tree(graph, node).map(|below| (Arc::from("subagents"), below)));
    Some(Value::from(subagent_value))
}

/// An agent and those below it that are agents, each once, a subagent behind the one that it belongs to.
fn with_subagents(graph: &Graph, node: usize) -> Vec<(usize, &Agent)> {
    let (mut agents, mut seen, mut open) = (Vec::new(), BTreeSet::new(), vec![node]);
    while let Some(node) = open.pop() {
        if !seen.insert(node) {
            continue;
        }
        if let NodeData::Agent(agent) = &graph.nodes[node].data {
            agents.push((node, agent));
        }
        open.extend(children(graph, node).iter().rev().map(|edge| edge.target));
    }
    agents
}

/// Whether an agent runs without tools that are not configured.
pub(super) fn has_optional_tools(graph: &Graph, agent: &Agent) -> bool {
    !agent.strict_tools.unwrap_or(graph.strict_tools)
}

/// The tools that an agent and those below it may use, apart from each other: of the agents that run without tools that are not configured,
/// or of the others.
pub(super) fn used(graph: &Graph, node: usize, optional: bool) -> Vec<Value> {
    let agents = with_subagents(graph, node).into_iter();
    let agents = agents.filter(|(_, agent)| has_optional_tools(graph, agent) == optional);
    let flags = agents.flat_map(|(_, agent)| agent.tools.as_ref().and_then(Value::as_object).into_iter().flatten());
    let used = flags.filter(|(name, value)| &***name != "subagents" && **value == Value::Bool(true));
    each_once(used.map(|(name, _)| name))
}

/// The models that the document names for the subagents of an agent, at any depth: they are checked before the run starts.
pub(super) fn models(graph: &Graph, node: usize) -> Vec<Value> {
    each_once(below(graph, node).filter_map(|(_, agent)| agent.model.as_ref()))
}

/// The name of the tool that a subagent is.
fn tool_name(graph: &Graph, node: usize, agent: &Agent) -> String {
    format!("subagent_{}_{}", slug(&agent.name), slug(&graph.nodes[node].id))
}

fn below(graph: &Graph, node: usize) -> impl Iterator<Item = (usize, &Agent)> {
    with_subagents(graph, node).into_iter().filter(move |(agent, _)| *agent != node)
}

/// The texts in their order, each where it comes first.
fn each_once<'t>(texts: impl Iterator<Item = &'t Arc<str>>) -> Vec<Value> {
    let mut seen = BTreeSet::new();
    texts.filter(|text| seen.insert(*text)).map(|text| Value::Str(text.clone())).collect()
}

/// The text in lower case, with one `_` for each sequence of characters that tool names cannot have.
fn slug(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

fn optional(text: Option<&Arc<str>>) -> Value {
    text.map_or(Value::Null, |text| Value::Str(text.clone()))
}
