//! Renumbers places in document order, independent of the order in which the front-end created them.
//!
//! The order of places has a meaning: a jump to an earlier place is a back edge, and a `Meet` does not wait for strands behind back
//! edges. The order is the reverse postorder of the control flow, in which only the edge that closes a cycle leads back.

use std::collections::BTreeSet;

use super::super::{Entries, Index, PlaceId, Program, flow};

/// Renumbers all places. The successors of places in `back` are not followed from there, because they come first. Unreachable places
/// come last, in the order of their creation.
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
    for budget in &mut program.budgets {
        budget.exhausted.iter_mut().for_each(|exhausted| renumber(&mut exhausted.to));
    }
    program.on_cancel.iter_mut().for_each(renumber);
}

fn order(program: &Program, back: &BTreeSet<PlaceId>) -> Vec<PlaceId> {
    let root = program.scope(Program::ROOT);
    let mut walk = Walk { program, back, seen: vec![false; program.places.len()], order: Vec::new() };
    walk.from(flow::entries(root));
    // The handlers of failure and cancellation may lead into the body, and must not become its beginning.
    root.fail.iter().for_each(|fail| walk.from(&[fail.to]));
    program.on_cancel.iter().for_each(|place| walk.from(&[*place]));
    (0..).take(program.places.len()).for_each(|place| walk.from(&[PlaceId(place)]));
    walk.order
}

/// A step of the depth-first search: a place is appended when all its successors are.
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
    /// Appends all new places that are reachable from these beginnings, in reverse postorder.
    fn from(&mut self, beginnings: &[PlaceId]) {
        let first = self.order.len();
        // An explicit stack, because recursion could overflow on long chains.
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
