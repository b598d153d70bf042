//! Which state may come after which.

use std::collections::VecDeque;

use super::raw::{Document, OnFailure, State, What};

/// Ways between states, by position in the document.
#[derive(Debug)]
pub(super) struct Graph {
    edges: Vec<Vec<usize>>,
}

impl Graph {
    /// Every edge that the document names: ways on, bodies, branches.
    pub(super) fn named(document: &Document) -> Self {
        let edges = document.states.iter().map(|state| {
            let names = targets(state).into_iter().chain(inside(state));
            names.filter_map(|name| document.state(name)).collect()
        });
        Self { edges: edges.collect() }
    }

    /// As [`Self::named`], and the ways that loops and branches take without naming them: a body goes round and back to
    /// its loop, a branch ends where its siblings and its parallel state go on.
    pub(super) fn taken(document: &Document) -> Self {
        let mut graph = Self::named(document);
        for (at, state) in document.states.iter().enumerate() {
            let members: Vec<usize> = inside(state).filter_map(|name| document.state(name)).collect();
            for member in &members {
                graph.edges[*member].push(at);
                graph.edges[*member].extend(members.iter().filter(|other| *other != member));
            }
            if matches!(state.what, What::Loop(_)) {
                for member in &members {
                    graph.edges[*member].push(*member);
                }
            }
        }
        graph
    }

    /// Everything that can be reached from a state by at least one way.
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

/// The states that a state may go on to by name.
pub(super) fn targets(state: &State) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    names.extend(state.on_success.iter().map(|name| &**name.text()));
    if let Some(OnFailure::State(name)) = &state.on_failure {
        names.push(name.text());
    }
    names.extend(state.transitions.iter().filter_map(|way| Some(&**way.target.as_ref()?.text())));
    names.extend(state.as_loop().and_then(|round| Some(&**round.on_complete.as_ref()?.text())));
    names
}

/// The states that run inside a state: the body of a loop, the branches of a parallel state.
pub(super) fn inside(state: &State) -> impl Iterator<Item = &str> {
    let names = match &state.what {
        What::Loop(round) => round.body.as_slice(),
        What::Parallel(parallel) => parallel.branches.as_slice(),
        _ => &[],
    };
    names.iter().map(|name| &**name.text())
}
