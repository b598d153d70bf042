//! The tree of scopes, and the scope in which each place runs.

use super::{Entries, Exit, Index, Op, PlaceId, Program, ScopeId, flow};

/// The tree of scopes, with constant-time ancestor queries.
#[derive(Clone, Debug)]
pub(crate) struct Nesting {
    /// The span of the subtree of each scope in a walk of the tree.
    spans: Vec<(u32, u32)>,
    /// The scopes in the order of that walk.
    walk: Vec<ScopeId>,
}

impl Nesting {
    /// Builds the tree. The error lists the scopes outside of the root: those without a parent, and those that enclose themselves.
    pub(crate) fn new(program: &Program) -> Result<Self, Vec<ScopeId>> {
        let count = program.scopes.len();
        let mut children: Vec<Vec<ScopeId>> = vec![Vec::new(); count];
        for (id, scope) in (0..).map(ScopeId).zip(&program.scopes) {
            if let (Some(parent), true) = (scope.parent, id != Program::ROOT) {
                children[parent.index()].push(id);
            }
        }
        let mut spans = vec![(0, 0); count];
        let mut walk = Vec::with_capacity(count);
        let mut stack = vec![(Program::ROOT, false)];
        while let Some((scope, done)) = stack.pop() {
            if done {
                spans[scope.index()].1 = position(&walk);
                continue;
            }
            spans[scope.index()].0 = position(&walk);
            walk.push(scope);
            stack.push((scope, true));
            stack.extend(children[scope.index()].iter().rev().map(|child| (*child, false)));
        }
        if walk.len() == count && program.scope(Program::ROOT).parent.is_none() {
            return Ok(Self { spans, walk });
        }
        let outside = (0..).map(ScopeId).take(count).filter(|scope| spans[scope.index()].1 == 0);
        Err(outside.chain(program.scope(Program::ROOT).parent.map(|_| Program::ROOT)).collect())
    }

    /// Whether `outer` is `inner` or encloses it.
    pub(crate) fn encloses(&self, outer: ScopeId, inner: ScopeId) -> bool {
        let ((start, end), (at, _)) = (self.spans[outer.index()], self.spans[inner.index()]);
        (start..end).contains(&at)
    }

    /// A scope and all scopes inside it.
    pub(crate) fn within(&self, scope: ScopeId) -> &[ScopeId] {
        let (start, end) = self.spans[scope.index()];
        &self.walk[start as usize..end as usize]
    }
}

fn position(walk: &[ScopeId]) -> u32 {
    u32::try_from(walk.len()).expect("scopes are numbered in 32 bits")
}

/// The scope in which each place runs; none for unreachable places. Calls `conflict` for places that run in two scopes.
pub(crate) fn homes(program: &Program, mut conflict: impl FnMut(PlaceId, ScopeId, ScopeId)) -> Vec<Option<ScopeId>> {
    let mut homes: Vec<Option<ScopeId>> = vec![None; program.places.len()];
    let root = program.scope(Program::ROOT);
    let mut stack: Vec<(PlaceId, ScopeId)> = Vec::new();
    stack.extend(flow::entries(root).iter().map(|place| (*place, Program::ROOT)));
    stack.extend(root.fail.map(|fail| (fail.to, Program::ROOT)));
    stack.extend(program.on_cancel.map(|place| (place, Program::ROOT)));
    while let Some((place, scope)) = stack.pop() {
        match homes[place.index()] {
            Some(known) if known == scope => continue,
            Some(known) => {
                conflict(place, known, scope);
                continue;
            }
            None => homes[place.index()] = Some(scope),
        }
        let op = &program.place(place).op;
        flow::targets(op, |to| stack.push((to, scope)));
        match op {
            Op::Enter(inner) if *inner != Program::ROOT => {
                let record = program.scope(*inner);
                stack.extend(flow::exits(program, *inner).map(|to| (to, scope)));
                match &record.start {
                    Entries::Branches(places) => stack.extend(places.iter().map(|to| (*to, *inner))),
                    Entries::Each { place, .. } => stack.push((*place, *inner)),
                }
            }
            Op::Leave { scope: left, how: Exit::Goto(to) } => {
                stack.extend(program.scope(*left).parent.map(|parent| (*to, parent)));
            }
            _ => {}
        }
    }
    homes
}
