//! The graph of states: which state may follow which.

use std::collections::VecDeque;

use super::raw::{Document, OnFailure, State, StateKind};

/// Edges between states, by position in the document.
#[derive(Debug)]
pub(super) struct Graph {
    edges: Vec<Vec<usize>>,
}

impl Graph {
    /// The edges that the document names: transitions, bodies and branches.
    pub(super) fn explicit(document: &Document) -> Self {
        let edges = document.states.iter().map(|state| {
            let names = targets(state).into_iter().chain(inside(state));
            names.filter_map(|name| document.state(name)).collect()
        });
        Self { edges: edges.collect() }
    }

    /// Like [`Self::explicit`], with the edges that loops and branches imply: a body repeats and returns to
    /// its loop, a branch ends where its siblings and its parallel state continue.
    pub(super) fn with_implicit_edges(document: &Document) -> Self {
        let mut graph = Self::explicit(document);
        for (at, state) in document.states.iter().enumerate() {
            let members: Vec<usize> = inside(state).filter_map(|name| document.state(name)).collect();
            for member in &members {
                graph.edges[*member].push(at);
                graph.edges[*member].extend(members.iter().filter(|other| *other != member));
            }
            if matches!(state.kind, StateKind::Loop(_)) {
                for member in &members {
                    graph.edges[*member].push(*member);
                }
            }
        }
        graph
    }

    /// The states that can be reached from a state by at least one edge.
    pub(super) fn after(&self, from: usize) -> Vec<bool> {
        let mut reached = vec![false; self.edges.len()];
        let mut next = VecDeque::from([from]);
        while let Some(at) = next.pop_front() {
            for to in &self.edges[at] {
                if !std::mem::replace(&mut reached[*to], true) {
                    next.push_back(*to);
                }
            }
        }
        reached
    }
}

/// The states that a state names as the next one.
pub(super) fn targets(state: &State) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    names.extend(state.on_success.iter().map(|name| &**name.text()));
    if let Some(OnFailure::State(name)) = &state.on_failure {
        names.push(name.text());
    }
    names.extend(state.transitions.iter().filter_map(|transition| Some(&**transition.target.as_ref()?.text())));
    names.extend(state.as_loop().and_then(|round| Some(&**round.on_complete.as_ref()?.text())));
    names
}

/// The states that run inside a state: the body of a loop, the branches of a parallel state.
pub(super) fn inside(state: &State) -> impl Iterator<Item = &str> {
    let names = match &state.kind {
        StateKind::Loop(round) => round.body.as_slice(),
        StateKind::Parallel(parallel) => parallel.branches.as_slice(),
        _ => &[],
    };
    names.iter().map(|name| &**name.text())
}
