//! Checks which states can be reached from the first state.

use branchpoint_expr::Kind;

use crate::DocumentKinds as _;
use crate::machine::graph::Graph;
use crate::machine::raw::{Document, Findings, OnFailure, State, StateKind};

pub(super) fn check(document: &Document, findings: &mut Findings) {
    let ends = |state: &State| state.is_terminal() || matches!(state.on_failure, Some(OnFailure::Inline { .. }));
    // A state whose kind is unknown may end the run, or lead anywhere.
    let unknown = document.states.iter().any(|state| matches!(state.kind, StateKind::Unknown));
    if document.states.is_empty() || unknown {
        return;
    }
    if !document.states.iter().any(ends) {
        findings.error(Kind::NoTerminal, document.span, "no state is terminal, so the run could never end");
        return;
    }
    let Some(initial) = document.initial.as_ref().and_then(|name| document.state(name.text())) else { return };
    let mut reached = Graph::explicit(document).after(initial);
    reached[initial] = true;
    let states = || document.states.iter().zip(&reached);
    // The targets of unknown states are unknown, too.
    let whole = findings.0.iter().all(|finding| finding.kind != Kind::UnknownState);
    if whole && !states().any(|(state, reached)| *reached && ends(state)) {
        let span = document.states[initial].span;
        findings.error(
            Kind::NoTerminal,
            span,
            "no terminal state can be reached from here, so the run could never end",
        );
    }
    for (state, _) in states().filter(|(_, reached)| !**reached) {
        let (kind, message) = if state.is_terminal() {
            (Kind::UnreachableTerminal, format!("no path leads to the terminal state `{}`", state.name))
        } else {
            (Kind::Unreachable, format!("no path leads to `{}`, so it never runs", state.name))
        };
        findings.warn(kind, state.span, message);
    }
}
