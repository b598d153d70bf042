//! Checks of merges: their edges are valid, and merges do not wait for each other.

use super::super::nesting::Nesting;
use super::super::reachability::{Reachability, edges};
use super::super::{Home, Index, Op, Place, PlaceId, Program, ScopeId, SlotId, Write};
use super::{Defect, DefectKind};

pub(super) fn check(program: &Program, nesting: &Nesting, homes: &[Option<ScopeId>]) -> Vec<Defect> {
    let mut wrong = Vec::new();
    let mut has_merge = false;
    for (id, place) in (0..).map(PlaceId).zip(&program.places) {
        let Op::Meet { edges, .. } = &place.op else { continue };
        has_merge = true;
        let complaints = edges.iter().filter_map(|(slot, from)| complaint(program, nesting, homes, *slot, *from));
        wrong.extend(complaints.map(|message| Defect::new(DefectKind::Edge, Some(id), message)));
    }
    // The analysis of waits is expensive, and most programs have no merge.
    if wrong.is_empty() && has_merge {
        wrong = cycles(program, nesting, homes);
    }
    wrong
}

/// The problem of an edge, if it has one.
fn complaint(
    program: &Program,
    nesting: &Nesting,
    homes: &[Option<ScopeId>],
    slot: SlotId,
    from: PlaceId,
) -> Option<String> {
    let record = program.slot(slot);
    let name = &record.name;
    let Home::Frame(scope, _) = record.home else {
        return Some(format!("the edge `{name}` is not a slot of a frame, so no other strand can fill it"));
    };
    if record.first.is_some() {
        return Some(format!("the edge `{name}` has a first value, so it is always filled"));
    }
    if !fills(program.place(from), slot) {
        return Some(format!("the edge `{name}` is not filled at p{}", from.0));
    }
    // An unreachable place fills no edge, and no merge waits for it.
    let outside = homes[from.index()].is_some_and(|home| !nesting.encloses(scope, home));
    outside.then(|| format!("p{} fills the edge `{name}` from outside its frame", from.0))
}

fn fills(place: &Place, slot: SlotId) -> bool {
    match &place.op {
        Op::Set { writes, .. } => {
            writes.iter().any(|write| matches!(write, Write::Put(to, _) | Write::Push(to, _) if *to == slot))
        }
        Op::Do { into, .. } => *into == Some(slot),
        _ => false,
    }
}

/// A merge waits for every other merge from which one of its edges can still be reached.
fn cycles(program: &Program, nesting: &Nesting, homes: &[Option<ScopeId>]) -> Vec<Defect> {
    let reach = Reachability::of(program, nesting, homes);
    let live = |(id, place): &(PlaceId, &Place)| matches!(place.op, Op::Meet { .. }) && homes[id.index()].is_some();
    let meets: Vec<_> = (0..).map(PlaceId).zip(&program.places).filter(live).map(|(id, _)| id).collect();
    let enters = enters(program, homes);
    let mut wrong = Vec::new();
    let mut waits: Vec<(PlaceId, PlaceId)> = Vec::new();
    for (meet, to, within) in edges(program) {
        let others = reach.places(to, within).among(&meets).filter(|other| *other != meet);
        waits.extend(others.map(|other| (meet, other)));
        // Frames between the merge and its edge close only after the merge, so the merge must not wait for places after them.
        let mut scope = homes[meet.index()].filter(|home| *home != within);
        while let Some(inner) = scope {
            if enters[inner.index()].iter().any(|enter| reach.can_reach_after(program, *enter, to, within)) {
                let message = format!("the merge waits for p{}, which is after the enclosing scope s{}", to.0, inner.0);
                wrong.push(Defect::new(DefectKind::MeetCycle, Some(meet), message));
            }
            scope = program.scope(inner).parent.filter(|parent| *parent != within);
        }
    }
    for (meet, parks) in reach.behind_loops(program, nesting, homes) {
        let message = format!(
            "the merge cannot wait for a strand that parks at p{}; the enclosing loop needs a scope of its own",
            parks.0
        );
        wrong.push(Defect::new(DefectKind::LoopWithoutScope, Some(meet), message));
    }
    waits.sort_unstable();
    waits.dedup();
    let stuck = stuck(program.places.len(), &meets, &waits);
    if let Some(first) = stuck.first() {
        let names: Vec<_> = stuck.iter().map(|meet| format!("p{}", meet.0)).collect();
        let message = format!("these merges wait for each other, or for one that does: {}", names.join(", "));
        wrong.push(Defect::new(DefectKind::MeetCycle, Some(*first), message));
    }
    wrong
}

/// The places that enter each scope.
fn enters(program: &Program, homes: &[Option<ScopeId>]) -> Vec<Vec<PlaceId>> {
    let mut enters = vec![Vec::new(); program.scopes.len()];
    for (id, place) in (0..).map(PlaceId).zip(&program.places) {
        if let (Op::Enter(scope), Some(_)) = (&place.op, homes[id.index()]) {
            enters[scope.index()].push(id);
        }
    }
    enters
}

/// The merges in a cycle of waits, or that wait for such a merge. Repeatedly removes merges that wait for no other merge.
fn stuck(places: usize, meets: &[PlaceId], waits: &[(PlaceId, PlaceId)]) -> Vec<PlaceId> {
    let mut waiting_for = vec![0_usize; places];
    let mut awaited_by: Vec<Vec<PlaceId>> = vec![Vec::new(); places];
    for (meet, other) in waits {
        waiting_for[meet.index()] += 1;
        awaited_by[other.index()].push(*meet);
    }
    let mut free: Vec<_> = meets.iter().copied().filter(|meet| waiting_for[meet.index()] == 0).collect();
    while let Some(meet) = free.pop() {
        for waiter in &awaited_by[meet.index()] {
            waiting_for[waiter.index()] -= 1;
            if waiting_for[waiter.index()] == 0 {
                free.push(*waiter);
            }
        }
    }
    meets.iter().copied().filter(|meet| waiting_for[meet.index()] > 0).collect()
}
