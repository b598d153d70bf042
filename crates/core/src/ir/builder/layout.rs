//! Lays places out in document order, whatever the order in which they were made.
//!
//! A front-end lowers the end of a chain before its beginning when that is handier, or the other way round. The order of
//! places still has a meaning: a jump to an earlier place is a jump back, which a `Meet` does not wait for. So the builder
//! derives it from the flow: reverse postorder, in which only the edge that closes a cycle leads back.

use std::collections::BTreeSet;

use super::super::{Entries, Index, PlaceId, Program, flow};

/// Renumbers all places. What the places of `back` lead to is not looked for beyond them: it comes before. Those that nothing leads to come last, in the order in which they were made.
pub(super) fn document_order(program: &mut Program, back: &BTreeSet<PlaceId>) {
    let order = order(program, back);
    let mut number = vec![PlaceId(0); order.len()];
    for (new, old) in (0..).zip(&order) {
        number[old.index()] = PlaceId(new);
    }
    let renumber = |place: &mut PlaceId| *place = number[place.index()];

    let mut places: Vec<_> = std::mem::take(&mut program.places).into_iter().map(Some).collect();
    program.places = order.iter().map(|old| places[old.index()].take().expect("the order names each once")).collect();
    program.places.iter_mut().for_each(|place| flow::places_mut(&mut place.op, renumber));
    for (id, scope) in program.scopes.iter_mut().enumerate() {
        if id != Program::ROOT.index() {
            renumber(&mut scope.next);
        }
        scope.fail.iter_mut().for_each(|fail| renumber(&mut fail.to));
        match &mut scope.start {
            Entries::Branches(places) => places.iter_mut().for_each(renumber),
            Entries::Each { place, .. } => renumber(place),
        }
    }
    program.on_cancel.iter_mut().for_each(renumber);
}

fn order(program: &Program, back: &BTreeSet<PlaceId>) -> Vec<PlaceId> {
    let root = program.scope(Program::ROOT);
    let mut walk = Walk { program, back, seen: vec![false; program.places.len()], order: Vec::new() };
    walk.from(flow::entries(root));
    // What handles failure and cancellation of the run may lead into its body, and must not become its beginning.
    root.fail.iter().for_each(|fail| walk.from(&[fail.to]));
    program.on_cancel.iter().for_each(|place| walk.from(&[*place]));
    (0..).take(program.places.len()).for_each(|place| walk.from(&[PlaceId(place)]));
    walk.order
}

/// A place comes into the order when everything that it leads to is there.
enum Visit {
    Open(PlaceId),
    Close(PlaceId),
}

struct Walk<'p> {
    program: &'p Program,
    back: &'p BTreeSet<PlaceId>,
    seen: Vec<bool>,
    order: Vec<PlaceId>,
}

impl Walk<'_> {
    /// Appends everything that can be reached from these beginnings and was not seen, in reverse postorder.
    fn from(&mut self, beginnings: &[PlaceId]) {
        let first = self.order.len();
        // What has yet to be done, the last in the document first. No recursion: chains are long.
        let mut stack: Vec<Visit> = beginnings.iter().copied().map(Visit::Open).collect();
        while let Some(visit) = stack.pop() {
            match visit {
                Visit::Open(place) if self.seen[place.index()] => {}
                Visit::Open(place) => {
                    self.seen[place.index()] = true;
                    stack.push(Visit::Close(place));
                    if !self.back.contains(&place) {
                        let op = &self.program.place(place).op;
                        flow::successors(self.program, op, |next| stack.push(Visit::Open(next)));
                    }
                }
                Visit::Close(place) => self.order.push(place),
            }
        }
        self.order[first..].reverse();
    }
}
