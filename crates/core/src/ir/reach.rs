//! What a `Meet` needs to know: from which places an edge can still be reached, going forward within a frame.
//!
//! Forward means: a jump to an earlier place does not count, nor does a way out of the frame. From inside an inner frame,
//! the `next` and `fail` of its scope count, because the strand that entered it will go on there.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::nesting::{Nesting, homes};
use super::{Exit, Home, Index, Op, PlaceId, Program, ScopeId, flow};

/// Answers for every edge of every `Meet` of a program. Nothing is computed for programs without one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach(BTreeMap<(PlaceId, ScopeId), Box<[u64]>>);

impl Reach {
    /// Looks at a program that was validated.
    pub(crate) fn new(program: &Program) -> Self {
        if !program.places.iter().any(|place| matches!(place.op, Op::Meet { .. })) {
            return Self::default();
        }
        let nesting = Nesting::new(program).expect("a validated program has a tree of scopes");
        Self::of(program, &nesting, &homes(program, |_, _, _| {}))
    }

    pub(super) fn of(program: &Program, nesting: &Nesting, homes: &[Option<ScopeId>]) -> Self {
        let edges: Vec<_> = edges(program).collect();
        if edges.is_empty() {
            return Self::default();
        }
        let graph = Graph::new(program, nesting, homes);
        let mut known = BTreeMap::new();
        for (_, to, within) in edges {
            known.entry((to, within)).or_insert_with(|| graph.before(to, within));
        }
        Self(known)
    }

    /// Whether a strand that stands at `from`, in a frame of `within` or in one inside it, can still come to `to` going
    /// forward within that frame. `to` is the place of an edge, and `within` the scope of its slot.
    pub(crate) fn can(&self, from: PlaceId, to: PlaceId, within: ScopeId) -> bool {
        let places = self.0.get(&(to, within)).expect("only the edges of merges are asked for");
        places.get(from.index() / 64).is_some_and(|word| word >> (from.index() % 64) & 1 == 1)
    }
}

/// Every edge: the place of its `Meet`, the place that fills it, and the scope whose frame holds its slot.
pub(super) fn edges(program: &Program) -> impl Iterator<Item = (PlaceId, PlaceId, ScopeId)> {
    (0..).map(PlaceId).zip(&program.places).flat_map(move |(meet, place)| {
        let edges = match &place.op {
            Op::Meet { edges, .. } => &edges[..],
            _ => &[],
        };
        edges.iter().filter_map(move |(slot, from)| match program.slot(*slot).home {
            Home::Frame(scope, _) => Some((meet, *from, scope)),
            _ => None,
        })
    })
}

/// The forward edges of a program, backwards.
struct Graph<'p> {
    nesting: &'p Nesting,
    homes: &'p [Option<ScopeId>],
    /// By scope: its places.
    places: Vec<Vec<PlaceId>>,
    /// By place: from where it can come next.
    before: Vec<Vec<Before>>,
}

#[derive(Clone, Copy)]
enum Before {
    /// From a place, without leaving a frame.
    Place(PlaceId),
    /// From a place, by leaving that scope.
    Leaving(ScopeId, PlaceId),
    /// From anywhere inside that scope, when its frame closes.
    Inside(ScopeId),
}

impl<'p> Graph<'p> {
    fn new(program: &'p Program, nesting: &'p Nesting, homes: &'p [Option<ScopeId>]) -> Self {
        let mut places = vec![Vec::new(); program.scopes.len()];
        let mut before = vec![Vec::new(); program.places.len()];
        for (from, place) in (0..).map(PlaceId).zip(&program.places) {
            let Some(home) = homes[from.index()] else { continue };
            places[home.index()].push(from);
            let mut add = |to: PlaceId, edge| before[to.index()].push(edge);
            flow::targets(&place.op, |to| {
                if to > from {
                    add(to, Before::Place(from));
                }
            });
            match &place.op {
                Op::Enter(scope) => {
                    for to in flow::entries(program.scope(*scope)) {
                        add(*to, Before::Place(from));
                    }
                    for to in flow::exits(program, *scope).filter(|to| *to > from) {
                        add(to, Before::Place(from));
                        add(to, Before::Inside(*scope));
                    }
                }
                Op::Leave { scope, how: Exit::Goto(to) } if *to > from => add(*to, Before::Leaving(*scope, from)),
                _ => {}
            }
        }
        Self { nesting, homes, places, before }
    }

    /// All places within a scope from which a place can be reached, itself included.
    fn before(&self, to: PlaceId, within: ScopeId) -> Box<[u64]> {
        let mut found = Found { bits: vec![0; self.homes.len().div_ceil(64)].into(), new: Vec::new() };
        let mut closed = vec![false; self.places.len()];
        let inside = |scope| self.nesting.encloses(within, scope);
        if self.homes[to.index()].is_some_and(inside) {
            found.add(to);
        }
        while let Some(place) = found.new.pop() {
            for edge in &self.before[place.index()] {
                match *edge {
                    Before::Place(from) if self.homes[from.index()].is_some_and(inside) => found.add(from),
                    Before::Leaving(scope, from) if scope != within && inside(scope) => found.add(from),
                    Before::Inside(scope) if scope != within && inside(scope) && !closed[scope.index()] => {
                        for scope in self.nesting.within(scope) {
                            // What lies in a scope whose inside was added before is there already.
                            if !std::mem::replace(&mut closed[scope.index()], true) {
                                self.places[scope.index()].iter().for_each(|place| found.add(*place));
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        found.bits
    }
}

/// Places that were found, and those of them that were not looked at yet.
struct Found {
    bits: Box<[u64]>,
    new: Vec<PlaceId>,
}

impl Found {
    fn add(&mut self, place: PlaceId) {
        let (word, bit) = (place.index() / 64, 1 << (place.index() % 64));
        if self.bits[word] & bit == 0 {
            self.bits[word] |= bit;
            self.new.push(place);
        }
    }
}
