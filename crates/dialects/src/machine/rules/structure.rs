//! Checks that named states exist, bodies can run, and every state has an exit.

use std::collections::BTreeSet;

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Diagnostic, Kind};

use crate::DocumentKinds as _;
use crate::machine::graph::inside;
use crate::machine::raw::{Document, Findings, Guard, OnFailure, State, StateKind, Text};

pub(super) fn check(document: &Document, findings: &mut Findings) {
    if let Some(initial) = &document.initial {
        check_state_name(document, initial, "the first state", findings);
    }
    let member_states = member_states(document);
    for state in &document.states {
        names(document, state, findings);
        members(document, state, findings);
        if !member_states.contains(&*state.name) {
            check_exits(state, findings);
        }
        for way in after_default(state) {
            findings.warn(
                Kind::UnreachableTransition,
                way,
                "an entry before this one always matches, so it never does",
            );
        }
    }
    check_cycles(document, findings);
    let mut seen = BTreeSet::new();
    for input in &document.inputs {
        if !seen.insert(input.name.text()) {
            let message = format!("the input `{}` is declared twice", input.name.text());
            findings.error(Kind::Conflict, input.name.span(), message);
        }
    }
}

fn check_state_name(document: &Document, name: &Text, role: &str, findings: &mut Findings) {
    if document.state(name.text()).is_none() {
        let message = format!("{role} is `{}`, but there is no such state", name.text());
        let finding = Diagnostic::error(Kind::UnknownState, name.span(), message);
        findings.suggest(finding, name.text(), document.states.iter().map(|state| &*state.name));
    }
}

fn names(document: &Document, state: &State, findings: &mut Findings) {
    let mut check = |name: &Text, role: &str| check_state_name(document, name, role, findings);
    state.on_success.iter().for_each(|name| check(name, "the next state"));
    if let Some(OnFailure::State(name)) = &state.on_failure {
        check(name, "the next state after a failure");
    }
    state.transitions.iter().filter_map(|way| way.target.as_ref()).for_each(|name| check(name, "the target"));
    match &state.kind {
        StateKind::Loop(round) => {
            round.on_complete.iter().for_each(|name| check(name, "the state after the loop"));
            round.body.iter().for_each(|name| check(name, "part of the body"));
        }
        StateKind::Parallel(parallel) => parallel.branches.iter().for_each(|name| check(name, "a branch")),
        StateKind::Agent(agent) => {
            let from = agent.conversation.iter().filter_map(|conversation| conversation.continue_from.as_ref());
            from.for_each(|name| check(name, "the state whose session goes on"));
        }
        _ => {}
    }
}

/// Bodies and branches name a state once; a branch does not end the run.
fn members(document: &Document, state: &State, findings: &mut Findings) {
    let (members, is_parallel) = match &state.kind {
        StateKind::Loop(round) => (&round.body, false),
        StateKind::Parallel(parallel) => (&parallel.branches, true),
        _ => return,
    };
    let mut seen = BTreeSet::new();
    for member in members {
        if !seen.insert(member.text()) {
            let message = format!("the list names the state `{}` twice", member.text());
            findings.error(Kind::DuplicateBody, member.span(), message);
        }
        let ends = document.state(member.text()).is_some_and(|at| document.states[at].is_terminal());
        if is_parallel && ends {
            let message = format!("`{}` ends the run, so it cannot be a branch", member.text());
            findings.error(Kind::BadValue, member.span(), message);
        }
    }
}

/// The states of bodies and branches, which need no exit.
fn member_states(document: &Document) -> BTreeSet<&str> {
    document.states.iter().flat_map(inside).collect()
}

/// Whether a transition always matches: it has no condition, or the condition `true`.
fn always_matches(guard: Option<&Guard>) -> bool {
    guard.is_none_or(|guard| guard.0.text().is_some_and(|text| text.trim() == "true"))
}

fn check_exits(state: &State, findings: &mut Findings) {
    if state.is_terminal() || matches!(state.kind, StateKind::Unknown) {
        return;
    }
    let on_complete = state.as_loop().is_some_and(|round| round.on_complete.is_some());
    let named = state.on_success.is_some() || on_complete;
    if state.transitions.is_empty() && !named {
        let message = format!("nothing says where to go after `{}` has succeeded", state.name);
        let help = "give it `on_success` or `transitions`";
        findings.error(Kind::NoExit, state.span, message).help = Some(help.into());
    } else if !named && state.transitions.iter().all(|way| !always_matches(way.guard.as_ref())) {
        let message = format!("when no condition of `{}` holds, the run has no way on", state.name);
        let help = "end the transitions with an entry without `when`";
        findings.warn(Kind::NoDefault, state.span, message).help = Some(help.into());
    }
}

fn after_default(state: &State) -> impl Iterator<Item = branchpoint_expr::Span> {
    let mut check_exits = state.transitions.iter();
    check_exits.by_ref().find(|way| way.guard.is_none());
    check_exits.map(|way| way.span)
}

/// Reports loops that are in their own body, directly or through other loops and parallel states.
fn check_cycles(document: &Document, findings: &mut Findings) {
    let inner: Vec<Vec<usize>> =
        document.states.iter().map(|state| inside(state).filter_map(|name| document.state(name)).collect()).collect();
    for (at, state) in document.states.iter().enumerate() {
        let mut seen = vec![false; inner.len()];
        let mut next = inner[at].clone();
        while let Some(member) = next.pop() {
            if !std::mem::replace(&mut seen[member], true) {
                next.extend(&inner[member]);
            }
        }
        if seen[at] {
            let message = format!("`{}` runs inside itself, so it could never end", state.name);
            findings.error(Kind::LoopInItself, state.span, message);
        }
    }
}
