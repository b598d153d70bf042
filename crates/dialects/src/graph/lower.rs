//! A graph as a program: a driver in the root that waits for answers, and one scope that holds every live line.
//!
//! The driver enters the scope for the run, for each answer and for each deferred node, and decides what follows when all lines of
//! it have ended. Pauses, failures and pending approvals are in slots of the root, so that a run shows them at any moment.

mod agents;
mod choices;
mod driver;
mod lines;
mod ruled_approval;

use std::collections::BTreeSet;

use branchpoint_core::ir::builder::{Builder, ROOT, ScopeSpec};
use branchpoint_core::ir::{ConditionId, PlaceId, Program, ScopeId, StepId, Write};
use branchpoint_expr::{Condition, Dialect, Object, Severity, Value};

use super::raw::{Graph, NodeData};
use crate::lowering::{self, Names};
use crate::report::{Report, unlowered};

/// The program of a graph, unless it has errors.
pub(super) fn lower(graph: &Graph, report: &mut Report) -> Option<Program> {
    let mut lower = Lower::new(graph);
    lower.compile_conditions(report);
    report.findings.extend_from_slice(lower.b.warnings());
    if report.findings.iter().any(|finding| finding.severity == Severity::Error) {
        return None;
    }
    let start = graph.start()?;
    let reached = graph.reachable(start);
    lower.lines(&reached);
    let beginnings = lower.driver(start, &reached);
    lower.b.begin(ROOT, &beginnings);
    lower.b.finish().map_err(|wrong| report.findings.push(unlowered(&wrong, graph.span))).ok()
}

type Lower<'g> = lowering::Lower<Nodes<'g>>;

struct Nodes<'g> {
    graph: &'g Graph,
    /// The scope that holds every live line.
    live: ScopeId,
    /// The place at which a line ends.
    end: PlaceId,
    /// The place at which each node begins.
    entries: Vec<PlaceId>,
    /// The step of each node in traces.
    steps: Vec<StepId>,
    /// The conditions of each `if`.
    conditions: Vec<Vec<ConditionId>>,
}

impl<'g> Lower<'g> {
    fn new(graph: &'g Graph) -> Self {
        let mut b = Builder::new();
        let mut slots = Names::default();
        let empty = || Some(Value::from(Vec::new()));
        let of_the_run = [
            // `running`, `paused`, `failed` or `completed`.
            ("mode", Some(Value::from("running"))),
            // Outputs by node, `previous_output`, and decisions.
            ("state", Some(Value::from(Object::default()))),
            ("logs", empty()),
            // Approvals that wait: `{nodeId, previousOutput, front}`; `front` is whether it was shown as the current one.
            ("waiting", empty()),
            // Nodes that are still to run: `{nodeId, previousOutput}`.
            ("deferred", empty()),
            // How many nodes have run.
            ("runs", Some(Value::Int(0))),
            ("error", None),
            // Which node the scope is entered for, and how: `run`, `approve` or `reject`.
            ("begin", None),
            // Calls of subagents that have not ended.
            ("calls", empty()),
            // The input of the run, which replaces the text of its start.
            ("started", None),
        ];
        slots.add_to_root(&mut b, of_the_run);
        let of_a_line = [
            // The output that a line carries.
            "prev",
            // Whether the line has not forked yet.
            "clean",
            // Whether the fan-out that the line belongs to was begun by a run that was not paused.
            "under_way",
            // The text of the output, in lower case.
            "text",
            // The prompt of an agent.
            "content",
            // Why a call or a condition failed.
            "failure",
        ];
        slots.add_locals(&mut b, of_a_line);
        slots.add("given", b.input());
        slots.add("time", b.now());
        b.name(ROOT, &["input"], slots["prev"]);
        b.name(ROOT, &["text"], slots["text"]);
        let live = b.scope(ROOT, ScopeSpec::default());
        let end = b.leave(live, branchpoint_core::ir::Exit::Done(None));
        let entries = graph.nodes.iter().map(|_| b.reserve()).collect();
        let steps = graph.nodes.iter().map(|node| b.step(&node.id, node.kind, None, (node.span.start, node.span.end)));
        let steps = steps.collect();
        let nodes = Nodes { graph, live, end, entries, steps, conditions: Vec::new() };
        Self { b, slots, grammar: Dialect::Graph, error_slot: "failure", own: nodes }
    }

    /// Compiles the conditions of every `if`, even of unreachable ones, to report their errors.
    fn compile_conditions(&mut self, report: &mut Report) {
        for node in &self.own.graph.nodes {
            let NodeData::If(entries) = &node.data else {
                self.own.conditions.push(Vec::new());
                continue;
            };
            let live = self.own.live;
            let compiled = entries.iter().filter_map(|entry| {
                let compile = |options: branchpoint_expr::Options<'_>| Condition::text_match(entry, options);
                report.ok_or_report(self.b.condition_with(live, Dialect::Graph, compile))
            });
            let compiled = compiled.collect();
            self.own.conditions.push(compiled);
        }
    }

    /// Lowers all reachable nodes.
    fn lines(&mut self, reached: &BTreeSet<usize>) {
        for node in 0..self.own.graph.nodes.len() {
            if reached.contains(&node) {
                self.node(node);
            } else {
                // The node is unreachable, but every reserved place must be defined.
                let entry = self.own.entries[node];
                self.b.at(entry).leave(self.own.live, branchpoint_core::ir::Exit::Done(None));
            }
        }
    }

    /// An entry of the log. The formula of its content can use the slots and `values`.
    fn log(&mut self, kind: &str, content: &str, values: &[(&str, Value)]) -> Write {
        let entry = format!("{{timestamp: time, nodeId: id, type: '{kind}', content: {content}}}");
        Write::Push(self.slots["logs"], self.formula_with(&entry, &[], values))
    }

    /// Fails the run, unless it has failed already.
    fn fail(&mut self, kind: &str, message: &str, values: &[(&str, Value)]) -> [Write; 2] {
        let error = format!("error ?? {{kind: {kind}, message: {message}, nodeId: id}}");
        [self.store_with("error", &error, &[], values), self.store("mode", "'failed'")]
    }

    /// The id of a node as a constant of formulas.
    fn id(&self, node: usize) -> (&'static str, Value) {
        ("id", Value::Str(self.own.graph.nodes[node].id.clone()))
    }
}
