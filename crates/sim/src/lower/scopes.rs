//! Lowers scopes: parallel, for-each, try and loops.

use branchpoint_core::ir::builder::ScopeSpec;
use branchpoint_core::ir::{DecisionKind, Exit, Mark, OnFail, PlaceId, ScopeId, Want, Write};
use branchpoint_expr::Value;

use super::{Lower, Surroundings, policy};
use crate::tree::{Block, Gather, Node, NodeKind, Test};

impl<'t> Lower<'t> {
    pub(super) fn scope(&mut self, node: &'t Node, around: &Surroundings<'t>, next: PlaceId) {
        self.afters.insert(node.id, next);
        let many = matches!(node.kind, NodeKind::Parallel { .. } | NodeKind::Each { .. });
        let after = self.set_expr(if many { "[r, o]" } else { "r[0]" }, around, next);
        let fail = node.handler().map(|block| self.handler(block, around, next));
        let mut spec = match &node.kind {
            NodeKind::Parallel { gather, .. } | NodeKind::Each { gather, .. } => gather_spec(*gather),
            NodeKind::Try { limit_ms, retry, .. } => {
                ScopeSpec { time_limit_ms: *limit_ms, retry: retry.map(policy), ..ScopeSpec::default() }
            }
            _ => ScopeSpec::default(),
        };
        (spec.into, spec.outcomes, spec.next, spec.fail) = (Some(self.r), Some(self.o), Some(after), fail);
        let scope = self.b.scope(around.scope(), spec);
        self.declare_slots(node.id, scope);
        let mut inside = around.clone();
        inside.scopes.push((node.id, scope));
        let delivered = self.b.read(self.v);
        let done = self.b.leave(scope, Exit::Done(Some(delivered)));
        match &node.kind {
            NodeKind::Parallel { branches, .. } => {
                let starts: Vec<PlaceId> = branches.iter().map(|branch| self.block(branch, &inside, done)).collect();
                self.b.begin(scope, &starts);
            }
            NodeKind::Each { items, body, .. } => {
                inside.item_loops.push(node.id);
                self.each(node.id, items, body, (scope, &inside), done);
            }
            NodeKind::While { test, cap, body } => {
                self.while_loop(node.id, (*test, *cap), body, (scope, &inside), done);
            }
            NodeKind::Try { body, .. } => {
                let start = self.block(body, &inside, done);
                self.b.begin(scope, &[start]);
            }
            _ => unreachable!("only scopes are lowered here"),
        }
        let place = self.b.at(self.places[&node.id]).enter(scope);
        let joins = matches!(node.kind, NodeKind::Parallel { .. });
        let kind = if joins { DecisionKind::Join } else { DecisionKind::Loop };
        let decision = self.decision(node.id, place, kind, &[None, None]);
        if let NodeKind::Parallel { branches, .. } = &node.kind {
            self.b.inputs(decision, (0..branches.len()).map(|branch| format!("b{branch}")));
        }
    }

    fn each(
        &mut self,
        id: u32,
        items: &[i64],
        body: &'t Block,
        (scope, inside): (ScopeId, &Surroundings<'t>),
        done: PlaceId,
    ) {
        let item = self.slot(scope, &format!("x{id}"), None);
        let index = self.slot(scope, &format!("i{id}"), None);
        let body = self.block(body, inside, done);
        let first = self.b.read(item);
        let start = self.b.set([Write::Put(self.v, first)], body, None);
        let items = self.b.value(Value::from(items.iter().map(|item| Value::Int(*item)).collect::<Vec<_>>()));
        self.b.each(scope, items, item, index, start);
    }

    /// Lowers a loop in its own scope: test, cap, count, body, and back to the test.
    fn while_loop(
        &mut self,
        id: u32,
        (test, cap): (Test, u32),
        body: &'t Block,
        (scope, inside): (ScopeId, &Surroundings<'t>),
        done: PlaceId,
    ) {
        let rounds = format!("w{id}");
        self.slot(scope, &rounds, Some(Value::Int(0)));
        let (start, count) = (self.b.reserve(), self.b.reserve());
        let body = self.block(body, inside, start);
        self.set_slot(count, inside, &rounds, &format!("{rounds} + 1"), body);
        let capped = self.b.set([], done, None);
        let step = self.b.step(&format!("while{id}"), "while", None, (0, 0));
        self.b.mark(capped, Mark::Warn(step, "loop_limit".into()));
        let ended = self.test(test, inside, true);
        let over = self.condition(&format!("{rounds} >= {cap}"), inside);
        self.b.at(start).decide([(ended, done), (over, capped)], count, None);
        self.decision(id, start, DecisionKind::Loop, &[Some(ended), Some(over), None]);
        self.b.begin(scope, &[start]);
    }
}

fn gather_spec(gather: Gather) -> ScopeSpec {
    ScopeSpec {
        width: gather.width,
        want: gather.first.map(Want::First),
        on_fail: gather.keep.then_some(OnFail::Keep),
        ..ScopeSpec::default()
    }
}
