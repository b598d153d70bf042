//! Reachability for `Meet`: the places from which an edge can be reached forward within a frame.
//!
//! Jumps to an earlier place and exits from the frame do not count. From inside an inner frame, the `next` and `fail` of its scope
//! count, because the strand that entered the frame continues there.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::nesting::{Nesting, homes};
use super::{Exit, Home, Index, Op, PlaceId, Program, ScopeId, flow};

/// The reachability of every edge of every `Meet` of a program; empty for programs without a `Meet`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reachability(BTreeMap<(PlaceId, ScopeId), Places>);

impl Reachability {
    /// Analyses a validated program.
    pub(crate) fn new(program: &Program) -> Self {
        if !program.places.iter().any(|place| matches!(place.op, Op::Meet { .. })) {
            return Self::default();
        }
        let nesting = Nesting::new(program).expect("a validated program has a tree of scopes");
        Self::of(program, &nesting, &homes(program, |_, _, _| {}))
    }

    pub(super) fn of(program: &Program, nesting: &Nesting, homes: &[Option<ScopeId>]) -> Self {
        let mut edges = edges(program).peekable();
        let mut reachable = BTreeMap::new();
        if edges.peek().is_some() {
            let graph = Graph::new(program, nesting, homes);
            let mut search = Search::new(program);
            for (_, to, within) in edges {
                reachable.entry((to, within)).or_insert_with(|| graph.before(to, within, &mut search));
            }
        }
        Self(reachable)
    }

    /// Whether a strand at `from`, in a frame of `within` or in a frame inside, can reach `to` forward within the frame of `within`. `to` is
    /// the place of an edge, and `within` the scope of its slot.
    pub(crate) fn can_reach(&self, from: PlaceId, to: PlaceId, within: ScopeId) -> bool {
        self.places(to, within).contains(from)
    }

    /// Whether a strand that entered a frame at `enter` can reach `to` after the frame has closed.
    pub(crate) fn can_reach_after(&self, program: &Program, enter: PlaceId, to: PlaceId, within: ScopeId) -> bool {
        let Op::Enter(scope) = program.place(enter).op else { return false };
        flow::exits(program, scope).any(|next| next > enter && self.can_reach(next, to, within))
    }

    /// Merges with an edge that a strand can reach only through the back edge of a loop, each with a place in the loop that parks. While the
    /// strand parks there, the edge seems unreachable, so such a loop needs a scope of its own. A back edge that a strand can avoid is a
    /// repetition and not a loop; its second round does not count.
    pub(super) fn behind_loops(
        &self,
        program: &Program,
        nesting: &Nesting,
        homes: &[Option<ScopeId>],
    ) -> Vec<(PlaceId, PlaceId)> {
        let (graph, backs) = (Graph::new(program, nesting, homes), back_edges(program, homes));
        let mut search = Search::new(program);
        let mut behind = Vec::new();
        for (meet, edge, within) in edges(program) {
            for (from, to) in backs.iter().filter(|(from, to)| *from < edge && self.can_reach(*to, edge, within)) {
                let round = graph.before(*from, within, &mut search);
                let parks = (to.0..=from.0).map(PlaceId).filter(|place| parks(&program.place(*place).op));
                let mut lost = parks.filter(|place| {
                    round.contains(*place) && !self.can_reach(*place, edge, within) && !can_leave(program, *place)
                });
                behind.extend(lost.next().map(|place| (meet, place)));
            }
        }
        behind
    }

    /// All places from which an edge can be reached.
    pub(super) fn places(&self, to: PlaceId, within: ScopeId) -> &Places {
        self.0.get(&(to, within)).expect("every edge of a merge is analysed")
    }
}

/// A set of places as a bitmap. Places of one frame have similar numbers, so only the used range is stored.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    first: usize,
    words: Box<[u64]>,
}

impl Places {
    fn new(places: &[PlaceId]) -> Self {
        let word = |place: &PlaceId| place.index() / 64;
        let (Some(first), Some(last)) = (places.iter().map(word).min(), places.iter().map(word).max()) else {
            return Self::default();
        };
        let mut words = vec![0_u64; last - first + 1];
        for place in places {
            words[word(place) - first] |= 1 << (place.index() % 64);
        }
        Self { first, words: words.into() }
    }

    fn contains(&self, place: PlaceId) -> bool {
        let word = (place.index() / 64).checked_sub(self.first).and_then(|word| self.words.get(word));
        word.is_some_and(|word| word >> (place.index() % 64) & 1 == 1)
    }

    /// The places of a sorted list that are in the set. Only the range of the set is searched.
    pub(super) fn among<'a>(&self, sorted: &'a [PlaceId]) -> impl Iterator<Item = PlaceId> + use<'_, 'a> {
        let start = sorted.partition_point(|place| place.index() < self.first * 64);
        let end = (self.first + self.words.len()) * 64;
        sorted[start..]
            .iter()
            .copied()
            .take_while(move |place| place.index() < end)
            .filter(|place| self.contains(*place))
    }
}

fn parks(op: &Op) -> bool {
    matches!(op, Op::Do { .. } | Op::Wait { .. } | Op::Enter(_) | Op::Meet { .. })
}

/// Whether a strand that continues from here without a failure can leave its frame without a jump to an earlier place.
fn can_leave(program: &Program, from: PlaceId) -> bool {
    let (mut seen, mut next) = (BTreeSet::from([from]), vec![from]);
    while let Some(place) = next.pop() {
        let op = &program.place(place).op;
        if matches!(op, Op::Leave { how, .. } if !matches!(how, Exit::Goto(to) if *to <= place)) {
            return true;
        }
        let mut visit = |to: PlaceId| {
            if to > place && seen.insert(to) {
                next.push(to);
            }
        };
        match op {
            Op::Enter(scope) => visit(program.scope(*scope).next),
            _ => flow::successes(op, visit),
        }
    }
    false
}

/// Jumps to an earlier place of the same frame.
fn back_edges(program: &Program, homes: &[Option<ScopeId>]) -> Vec<(PlaceId, PlaceId)> {
    let mut backs = Vec::new();
    for (from, place) in (0..).map(PlaceId).zip(&program.places) {
        if homes[from.index()].is_some() {
            flow::targets(&place.op, |to| backs.extend((to <= from).then_some((from, to))));
        }
    }
    backs
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

/// The forward edges of a program in reverse direction.
struct Graph<'p> {
    nesting: &'p Nesting,
    homes: &'p [Option<ScopeId>],
    /// The places of each scope.
    places: Vec<Vec<PlaceId>>,
    /// The reversed edges of each place.
    before: Vec<Vec<Before>>,
}

#[derive(Clone, Copy)]
enum Before {
    /// From a place, without leaving a frame.
    Place(PlaceId),
    /// From a place, by leaving the scope.
    Leaving(ScopeId, PlaceId),
    /// From any place inside the scope, when its frame closes.
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
    fn before(&self, to: PlaceId, within: ScopeId, search: &mut Search) -> Places {
        search.clear();
        let inside = |scope| self.nesting.encloses(within, scope);
        if self.homes[to.index()].is_some_and(inside) {
            search.add(to);
        }
        let mut next = 0;
        while let Some(place) = search.places.get(next).copied() {
            next += 1;
            for edge in &self.before[place.index()] {
                match *edge {
                    Before::Place(from) if self.homes[from.index()].is_some_and(inside) => search.add(from),
                    Before::Leaving(scope, from) if scope != within && inside(scope) => search.add(from),
                    Before::Inside(scope) if scope != within && inside(scope) && search.close(scope) => {
                        for inner in self.nesting.within(scope) {
                            // The places of a scope that was closed before are already included.
                            if *inner == scope || search.close(*inner) {
                                self.places[inner.index()].iter().for_each(|place| search.add(*place));
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        Places::new(&search.places)
    }
}

/// The state of a search. There are many small searches, so each resets only what it has changed.
struct Search {
    places: Vec<PlaceId>,
    seen: Vec<bool>,
    /// Scopes whose places were all added.
    closed: Vec<ScopeId>,
    is_closed: Vec<bool>,
}

impl Search {
    fn new(program: &Program) -> Self {
        let (seen, is_closed) = (vec![false; program.places.len()], vec![false; program.scopes.len()]);
        Self { places: Vec::new(), seen, closed: Vec::new(), is_closed }
    }

    fn add(&mut self, place: PlaceId) {
        if !std::mem::replace(&mut self.seen[place.index()], true) {
            self.places.push(place);
        }
    }

    /// Marks a scope as added, and returns whether it was new.
    fn close(&mut self, scope: ScopeId) -> bool {
        let first = !std::mem::replace(&mut self.is_closed[scope.index()], true);
        if first {
            self.closed.push(scope);
        }
        first
    }

    fn clear(&mut self) {
        self.places.drain(..).for_each(|place| self.seen[place.index()] = false);
        self.closed.drain(..).for_each(|scope| self.is_closed[scope.index()] = false);
    }
}
