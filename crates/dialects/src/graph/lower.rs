//! A graph as a program: a driver in the root that waits for answers, and one scope that holds every live line.
//!
//! The driver enters the scope for the run, for each answer and for each deferred node, and looks around when all lines of
//! it have ended. What pauses, fails and waits stands in slots of the root, so that a run shows it at any moment.

mod agents;
mod choices;
mod driver;
mod lines;

use std::collections::BTreeSet;

use branchpoint_core::ir::builder::{Builder, ROOT, ScopeSpec};
use branchpoint_core::ir::{ConditionId, PlaceId, Program, ScopeId, StepId, Write};
use branchpoint_expr::{Condition, Dialect, Object, Severity, Value};

use super::raw::{Graph, What};
use crate::lowering::{self, Names};
use crate::report::{Report, unlowered};

/// The program of a graph, unless something in it is refused.
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
    /// Where a line of it ends.
    end: PlaceId,
    /// Where each node begins.
    entries: Vec<PlaceId>,
    /// Each node as its author sees it.
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
            // Approvals that wait: `{nodeId, previousOutput, front}`; front says whether a person was told that it is current.
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
            // What the run was started with in place of the text of its start.
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
            // What an agent is asked.
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

    /// Compiles the conditions of every `if`, also of those that nothing leads to: what is wrong is refused anyway.
    fn compile_conditions(&mut self, report: &mut Report) {
        for node in &self.own.graph.nodes {
            let What::If(entries) = &node.what else {
                self.own.conditions.push(Vec::new());
                continue;
            };
            let live = self.own.live;
            let compiled = entries.iter().filter_map(|entry| {
                let compile = |options: branchpoint_expr::Options<'_>| Condition::text_match(entry, options);
                report.compiled(self.b.condition_with(live, Dialect::Graph, compile))
            });
            let compiled = compiled.collect();
            self.own.conditions.push(compiled);
        }
    }

    /// All lines that can run. What cannot be reached is not lowered.
    fn lines(&mut self, reached: &BTreeSet<usize>) {
        for node in 0..self.own.graph.nodes.len() {
            if reached.contains(&node) {
                self.node(node);
            } else {
                // Nothing leads there, and every place that was reserved must be something.
                let entry = self.own.entries[node];
                self.b.at(entry).leave(self.own.live, branchpoint_core::ir::Exit::Done(None));
            }
        }
    }

    /// An entry of the log. The formula of its content sees the slots and what is values.
    fn log(&mut self, kind: &str, content: &str, values: &[(&str, Value)]) -> Write {
        let entry = format!("{{timestamp: time, nodeId: id, type: '{kind}', content: {content}}}");
        Write::Push(self.slots["logs"], self.formula_with(&entry, &[], values))
    }

    /// The run has failed, unless it has already.
    fn fail(&mut self, kind: &str, message: &str, values: &[(&str, Value)]) -> [Write; 2] {
        let error = format!("error ?? {{kind: {kind}, message: {message}, nodeId: id}}");
        [self.put_with("error", &error, &[], values), self.put("mode", "'failed'")]
    }

    /// A node's id, as formulas name it.
    fn id(&self, node: usize) -> (&'static str, Value) {
        ("id", Value::Str(self.own.graph.nodes[node].id.clone()))
    }
}
