//! The dialect `graph`: grammar and rules, after `docs/spec/graph.md`.
//!
//! `raw` is the document as written, `wiring` the branches and reachable nodes, `subagents` the trees of agents that are tools,
//! `preflight` the checks of an editor, `lower` builds the program: a driver that waits for answers, and one scope that holds
//! every live line.
//!
//! | rule | how it is lowered | pinned by the vector |
//! |---|---|---|
//! | a node runs once for each arriving edge | `Fork`, and no merge | `diamond_runs_the_join_node_per_arrival` |
//! | the first condition that matches wins | a chain of `Decide`s | `deferred_if_uses_the_output_it_was_reached_with` |
//! | a paused run starts nothing new | every node tests the slot `mode` first | `siblings_after_an_approval_are_all_deferred_in_order` |
//! | a fan-out under way lets approvals wait | the local `live` | `three_parallel_approvals_mixed_decisions` |
//! | answers after the pause defer their successors | `live` is set when the answer comes | `in_flight_successor_approval_is_deferred` |
//! | deferred nodes run one after the other | the driver enters the scope for each | `two_successors_deferred` |
//! | an agent's error lets other calls finish | `mode`, and nothing is withdrawn | `parallel_one_branch_fails_other_finishes_and_keeps_state` |
//! | `previous_output` stops at a fork | the local `clean` | `slow_agent_longer_than_other_branch_chain` |
//! | an answer is rejected or accepted as a whole | the check of the signal `resume` | `bad_answer_refused_then_good_answer_accepted` |

mod lower;
mod picture;
mod preflight;
mod raw;
mod schema;
mod subagents;
mod wiring;

use branchpoint_core::ir::Program;
use branchpoint_expr::{Diagnostic, Located, Severity};

pub(crate) use picture::picture;
pub(crate) use schema::schema;

use crate::fields::Generator;
use crate::report::Report;
use raw::Graph;
use raw::tables::{DATA, TYPES};

/// The ids of the nodes that are tools of agents.
pub(crate) fn subagents_of(document: &Located) -> Vec<&str> {
    let connections = document.get("connections").and_then(Located::items).unwrap_or_default().iter();
    let text = |connection: &'_ Located, key: &str| connection.get(key).and_then(Located::text).cloned();
    let tools = connections.filter(|connection| text(connection, "sourceHandle").as_deref() == Some(raw::SUBAGENT));
    tools.filter_map(|connection| connection.get("target")?.text().map(|id| &**id)).collect()
}

/// The types of nodes: the name, the description and the JSON Schema of the data. Older names are left out.
pub(crate) fn node_types() -> impl Iterator<Item = (&'static str, &'static str, serde_json::Value)> {
    let current = TYPES.iter().filter(|(name, ..)| *name != "input");
    current.map(|(name, about, table)| (*name, *about, Generator(DATA).object(&[table])))
}

/// The program of a document, and the findings.
pub(crate) fn load(document: &Located) -> (Option<Program>, Vec<Diagnostic>) {
    let (graph, mut report) = read(document);
    let Some(graph) = graph else { return (None, report.findings) };
    // Broken parts are not connected, which is not reported again.
    if report.findings.iter().all(|finding| finding.severity == Severity::Warning) {
        wiring::warn(&graph, &mut report);
        // An editor rejects these graphs; here they run, so these are warnings.
        let findings = preflight::check(&graph).into_iter();
        report.findings.extend(findings.map(|finding| Diagnostic { severity: Severity::Warning, ..finding }));
    }
    let program = lower::lower(&graph, &mut report);
    (program, report.findings)
}

/// The findings that prevent an editor from running a graph: all errors first, then probable
/// mistakes.
pub(crate) fn preflight(document: &Located) -> Vec<Diagnostic> {
    let (program, mut findings) = load(document);
    findings.retain(|finding| finding.severity == Severity::Error);
    findings.sort_by_key(|finding| finding.span.start);
    if program.is_some() {
        findings.extend(read(document).0.iter().flat_map(preflight::check));
    }
    findings
}

fn read(document: &Located) -> (Option<Graph>, Report) {
    let mut report = Report::default();
    let graph = Graph::read(document, &mut report);
    if let Some(graph) = &graph {
        wiring::check_start(graph, &mut report);
        subagents::check(graph, &mut report);
    }
    (graph, report)
}
