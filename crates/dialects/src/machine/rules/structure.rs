//! Names that must be there, bodies that can be gone through, ways on that every state has.

use std::collections::BTreeSet;

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Diagnostic, Kind};

use crate::DocumentKinds as _;
use crate::machine::graph::inside;
use crate::machine::raw::{Document, Findings, Guard, OnFailure, State, Text, What};

pub(super) fn check(document: &Document, found: &mut Findings) {
    if let Some(initial) = &document.initial {
        known(document, initial, "the first state", found);
    }
    let held = held(document);
    for state in &document.states {
        names(document, state, found);
        members(document, state, found);
        if !held.contains(&*state.name) {
            ways(state, found);
        }
        for way in after_default(state) {
            found.warn(Kind::UnreachableTransition, way, "an entry before this one always matches, so it never does");
        }
    }
    circles(document, found);
    let mut seen = BTreeSet::new();
    for input in &document.inputs {
        if !seen.insert(input.name.text()) {
            let message = format!("the input `{}` is declared twice", input.name.text());
            found.error(Kind::Conflict, input.name.span(), message);
        }
    }
}

fn known(document: &Document, name: &Text, role: &str, found: &mut Findings) {
    if document.state(name.text()).is_none() {
        let message = format!("{role} is `{}`, but there is no such state", name.text());
        let finding = Diagnostic::error(Kind::UnknownState, name.span(), message);
        found.suggest(finding, name.text(), document.states.iter().map(|state| &*state.name));
    }
}

fn names(document: &Document, state: &State, found: &mut Findings) {
    let mut check = |name: &Text, role: &str| known(document, name, role, found);
    state.on_success.iter().for_each(|name| check(name, "the next state"));
    if let Some(OnFailure::State(name)) = &state.on_failure {
        check(name, "the next state after a failure");
    }
    state.transitions.iter().filter_map(|way| way.target.as_ref()).for_each(|name| check(name, "the target"));
    match &state.what {
        What::Loop(round) => {
            round.on_complete.iter().for_each(|name| check(name, "the state after the loop"));
            round.body.iter().for_each(|name| check(name, "part of the body"));
        }
        What::Parallel(parallel) => parallel.branches.iter().for_each(|name| check(name, "a branch")),
        What::Agent(agent) => {
            let from = agent.conversation.iter().filter_map(|conversation| conversation.continue_from.as_ref());
            from.for_each(|name| check(name, "the state whose session goes on"));
        }
        _ => {}
    }
}

/// Bodies and branches name a state once; a branch does not end the run.
fn members(document: &Document, state: &State, found: &mut Findings) {
    let (members, is_parallel) = match &state.what {
        What::Loop(round) => (&round.body, false),
        What::Parallel(parallel) => (&parallel.branches, true),
        _ => return,
    };
    let mut seen = BTreeSet::new();
    for member in members {
        if !seen.insert(member.text()) {
            let message = format!("the list names the state `{}` twice", member.text());
            found.error(Kind::DuplicateBody, member.span(), message);
        }
        let ends = document.state(member.text()).is_some_and(|at| document.states[at].is_terminal());
        if is_parallel && ends {
            let message = format!("`{}` ends the run, so it cannot be a branch", member.text());
            found.error(Kind::BadValue, member.span(), message);
        }
    }
}

/// The states of bodies and branches: they need no way on.
fn held(document: &Document) -> BTreeSet<&str> {
    document.states.iter().flat_map(inside).collect()
}

/// Whether a way is open whatever happens: without a condition, or with the one that is written as `true`.
fn always(guard: Option<&Guard>) -> bool {
    guard.is_none_or(|guard| guard.0.text().is_some_and(|text| text.trim() == "true"))
}

fn ways(state: &State, found: &mut Findings) {
    if state.is_terminal() || matches!(state.what, What::Unknown) {
        return;
    }
    let on_complete = state.as_loop().is_some_and(|round| round.on_complete.is_some());
    let named = state.on_success.is_some() || on_complete;
    if state.transitions.is_empty() && !named {
        let message = format!("nothing says where to go after `{}` has succeeded", state.name);
        let help = "give it `on_success` or `transitions`";
        found.error(Kind::NoExit, state.span, message).help = Some(help.into());
    } else if !named && state.transitions.iter().all(|way| !always(way.guard.as_ref())) {
        let message = format!("when no condition of `{}` holds, the run has no way on", state.name);
        let help = "end the transitions with an entry without `when`";
        found.warn(Kind::NoDefault, state.span, message).help = Some(help.into());
    }
}

fn after_default(state: &State) -> impl Iterator<Item = branchpoint_expr::Span> {
    let mut ways = state.transitions.iter();
    ways.by_ref().find(|way| way.guard.is_none());
    ways.map(|way| way.span)
}

/// A loop in its own body, directly or through others, would have no end; parallel states count as others.
fn circles(document: &Document, found: &mut Findings) {
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
            found.error(Kind::LoopInItself, state.span, message);
        }
    }
}
