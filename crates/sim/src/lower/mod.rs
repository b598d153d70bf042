//! Lowers a tree to a program, like a front-end.

mod scopes;
mod waits;

use std::collections::BTreeMap;

use branchpoint_core::effect::Kind;
use branchpoint_core::ir::builder::{Builder, ROOT, ScopeSpec, effect};
use branchpoint_core::ir::{
    Backoff, ConditionId, DecisionId, DecisionKind, Defect, EffectId, Exit, ExprId, Failure, Limits, PlaceId, Program,
    Retry, ScopeId, SlotId, Status, Write,
};
use branchpoint_expr::{Dialect, Value};

use crate::tree::{Block, Node, NodeKind, RetryPolicy, Test, Tree, collect};

/// Lowers a tree.
pub fn lower(tree: &Tree) -> Result<Program, Vec<Defect>> {
    let mut builder = Builder::new();
    builder.fuel(tree.fuel);
    let (effects, tokens, wall_ms) = (tree.max_effects, tree.max_tokens, tree.wall_ms);
    builder.limits(Limits { effects, tokens, wall_ms, value_bytes: tree.value_bytes, ..Limits::default() });
    let mut local = |name: &str| {
        let slot = builder.local(name);
        builder.name(ROOT, &[name], slot);
        slot
    };
    let (v, r, o, err) = (local("v"), local("r"), local("o"), local("err"));
    let places = tree.nodes().into_iter().map(|node| (node.id, builder.reserve())).collect();
    let mut lower = Lower {
        tree,
        b: builder,
        places,
        v,
        r,
        o,
        err,
        edges: BTreeMap::new(),
        afters: BTreeMap::new(),
        named: BTreeMap::new(),
    };
    lower.tree();
    lower.b.finish()
}

struct Lower<'t> {
    tree: &'t Tree,
    b: Builder,
    /// The first place of each node.
    places: BTreeMap<u32, PlaceId>,
    /// The strand's value.
    v: SlotId,
    /// The values of a frame's entries, and their outcomes.
    r: SlotId,
    o: SlotId,
    err: SlotId,
    /// The slot of each join, and of each merge that fills its own edge.
    edges: BTreeMap<u32, SlotId>,
    /// The place after each scope.
    afters: BTreeMap<u32, PlaceId>,
    /// The slots by name.
    named: BTreeMap<String, SlotId>,
}

/// The surroundings of a node.
#[derive(Clone)]
struct Surroundings<'t> {
    /// The enclosing scopes, the root first.
    scopes: Vec<(u32, ScopeId)>,
    /// The enclosing loops over items, the outermost first.
    item_loops: Vec<u32>,
    /// The enclosing blocks with the position in them, and the number of scopes around each.
    blocks: Vec<(&'t [Node], usize, usize)>,
}

impl Surroundings<'_> {
    fn scope(&self) -> ScopeId {
        self.scopes.last().expect("the root is around everything").1
    }

    fn scope_of(&self, id: u32) -> ScopeId {
        self.scopes.iter().find(|(known, _)| *known == id).expect("the scope is around").1
    }
}

impl<'t> Lower<'t> {
    fn tree(&mut self) {
        self.declare_slots(0, ROOT);
        let around = Surroundings { scopes: vec![(0, ROOT)], item_loops: Vec::new(), blocks: Vec::new() };
        let result = self.b.read(self.v);
        let done = self.b.close(Status::Completed, result);
        let body = self.block(&self.tree.body, &around, done);
        let input = self.b.input();
        let input = self.b.read(input);
        let start = self.b.set([Write::Put(self.v, input)], body, None);
        let fail = self.tree.on_failure.as_ref().map(|block| {
            let end = self.b.close(Status::Failed, result);
            self.handler(block, &around, end)
        });
        let (retry, time_limit_ms) = (self.tree.retry.map(policy), self.tree.limit_ms);
        self.b.root(ScopeSpec { fail, retry, time_limit_ms, ..ScopeSpec::default() });
        if let Some(block) = &self.tree.on_cancel {
            let end = self.b.close(Status::Cancelled, result);
            let place = self.block(block, &around, end);
            self.b.on_cancel(place);
        }
        self.b.begin(ROOT, &[start]);
    }

    /// Declares the slots of a scope: its counter, and the edges of merges.
    fn declare_slots(&mut self, id: u32, scope: ScopeId) {
        self.slot(scope, &format!("c{id}"), Some(Value::Int(0)));
        for node in self.tree.nodes() {
            if matches!(node.kind, NodeKind::Merge { owner, .. } if owner == id) {
                for edge in std::iter::once(node.id).chain(self.tree.joins(node.id)) {
                    let slot = self.slot(scope, &format!("e{edge}"), None);
                    self.edges.insert(edge, slot);
                }
            }
        }
    }

    fn slot(&mut self, scope: ScopeId, name: &str, first: Option<Value>) -> SlotId {
        let slot = self.b.slot(scope, name, first);
        self.b.name(scope, &[name], slot);
        self.named.insert(name.to_owned(), slot);
        slot
    }

    /// Lowers a block that continues at `next`, and returns its first place.
    fn block(&mut self, block: &'t Block, around: &Surroundings<'t>, next: PlaceId) -> PlaceId {
        for (at, node) in block.iter().enumerate() {
            let next = block.get(at + 1).map_or(next, |after| self.places[&after.id]);
            let mut around = around.clone();
            around.blocks.push((block, at, around.scopes.len()));
            self.node(node, &around, next);
        }
        block.first().map_or(next, |first| self.places[&first.id])
    }

    fn node(&mut self, node: &'t Node, around: &Surroundings<'t>, next: PlaceId) {
        let place = self.places[&node.id];
        match &node.kind {
            NodeKind::Effect { retry, handler } => {
                let fail = handler.as_ref().map(|block| self.handler(block, around, next));
                let kind = self.effect_of(node.id, *retry);
                let input = self.input(node.id, around);
                self.b.at(place).do_(kind, input, Some(self.v), next, fail);
            }
            NodeKind::Count { scope } => {
                let counter = format!("c{scope}");
                self.set_slot(place, around, &counter, &format!("{counter} + 1"), next);
            }
            NodeKind::If { test, then, other } => {
                let then = self.block(then, around, next);
                let other = self.block(other, around, next);
                let guard = self.test(*test, around, false);
                self.b.at(place).decide([(guard, then)], other, None);
                self.decision(node.id, place, DecisionKind::Branch, &[Some(guard), None]);
            }
            NodeKind::Parallel { .. } | NodeKind::Each { .. } | NodeKind::Try { .. } | NodeKind::While { .. } => {
                self.scope(node, around, next);
            }
            NodeKind::Back { target, max } => self.back(node.id, *target, *max, around, next),
            NodeKind::Break { scope } => {
                let outside = self.set_value(Value::Int(node.id.into()), self.afters[scope]);
                self.b.at(place).leave(around.scope_of(*scope), Exit::Goto(outside));
            }
            NodeKind::Join { .. } => {
                let value = self.b.read(self.v);
                let write = Write::Put(self.edges[&node.id], value);
                self.b.at(place).set([write], next, None);
            }
            NodeKind::Merge { own, .. } => self.merge(node.id, *own, around, next),
            NodeKind::Sleep { .. } | NodeKind::Signal { .. } | NodeKind::Request { .. } => {
                self.wait(node, around, next);
            }
            NodeKind::Finish { status } => {
                let result = self.b.read(self.v);
                self.b.at(place).close(*status, result);
            }
            NodeKind::Fail => {
                let kind = Value::from(format!("fail{}", node.id));
                let error = self.b.value(object([("kind", kind)]));
                self.b.at(place).leave(around.scope(), Exit::Fail(error));
            }
            NodeKind::Blocked => {
                self.b.at(place).leave(around.scope(), Exit::Done(None));
            }
        }
    }

    /// Lowers a failure handler: the kind of the error becomes the strand's value, then the block runs.
    fn handler(&mut self, block: &'t Block, around: &Surroundings<'t>, next: PlaceId) -> Failure {
        let block = self.block(block, around, next);
        let kind = self.expr("err.kind", around);
        let to = self.b.set([Write::Put(self.v, kind)], block, None);
        Failure { to, error: Some(self.err) }
    }

    fn merge(&mut self, id: u32, own: bool, around: &Surroundings<'t>, next: PlaceId) {
        let place = self.places[&id];
        let mut ids = if own { vec![id] } else { Vec::new() };
        ids.extend(self.tree.joins(id));
        let edges: Vec<_> = ids.iter().map(|edge| (self.edges[edge], self.places[edge])).collect();
        let names: Vec<String> = ids.iter().map(|edge| format!("e{edge}")).collect();
        let values = self.expr(&format!("[{}]", names.join(", ")), around);
        let filled = self.b.set([Write::Put(self.v, values)], next, None);
        let empty = self.set_value(Value::from("none"), next);
        let meet = if own { self.b.reserve() } else { place };
        self.b.at(meet).meet(edges, filled, empty);
        let decision = self.decision(id, meet, DecisionKind::Join, &[None, None]);
        self.b.inputs(decision, names);
        if own {
            let value = self.b.read(self.v);
            let write = Write::Put(self.edges[&id], value);
            self.b.at(place).set([write], meet, None);
        }
    }

    /// Declares the decision of a place: a branch for each exit, with its condition if it has one.
    fn decision(&mut self, id: u32, place: PlaceId, kind: DecisionKind, exits: &[Option<ConditionId>]) -> DecisionId {
        let step = self.b.step(&format!("n{id}"), "node", None, (0, 0));
        let decision = self.b.decision(step, kind);
        let exits = exits
            .iter()
            .enumerate()
            .map(|(at, condition)| self.b.branch(decision, &format!("b{at}"), *condition, None));
        let exits: Vec<_> = exits.map(Some).collect();
        self.b.decides(place, decision, exits);
        decision
    }

    /// Lowers a jump back. It counts in the frame of the target, because a jump ends the strand that jumps.
    fn back(&mut self, id: u32, target: u32, max: u32, around: &Surroundings<'t>, next: PlaceId) {
        let here = self.places[&id];
        let enclosing = around.blocks.iter().rev().find(|(block, ..)| block.iter().any(|node| node.id == target));
        let (block, at, depth) = *enclosing.expect("the target is around");
        let scope = around.scopes[depth - 1].1;
        let counter = format!("n{id}");
        self.slot(scope, &counter, Some(Value::Int(0)));
        let first = block.iter().position(|node| node.id == target).expect("the block contains the target");
        let mut writes = self.clear_edges(&block[first..=at], &around.scopes[..depth]);
        writes.push(Write::Put(self.v, self.b.value(Value::Int(id.into()))));
        let again = self.b.set(writes, self.places[&target], None);
        let jump = match around.scopes.get(depth) {
            Some((_, exited)) => self.b.leave(*exited, Exit::Goto(again)),
            None => again,
        };
        let allowed = self.condition(&format!("{counter} <= {max}"), around);
        let decide = self.b.decide([(allowed, jump)], next, None);
        self.set_slot(here, around, &counter, &format!("{counter} + 1"), decide);
    }

    /// Clears the edges of merges in a repeated region. Those of inner frames are dropped with the frames.
    fn clear_edges(&self, region: &[Node], alive: &[(u32, ScopeId)]) -> Vec<Write> {
        let mut nodes = Vec::new();
        collect(region, &mut nodes);
        let mut writes = Vec::new();
        for merge in nodes {
            let NodeKind::Merge { owner, .. } = merge.kind else { continue };
            if alive.iter().any(|(id, _)| *id == owner) {
                let edges = std::iter::once(merge.id).chain(self.tree.joins(merge.id));
                writes.extend(edges.map(|edge| Write::Clear(self.edges[&edge])));
            }
        }
        writes
    }

    fn effect_of(&mut self, id: u32, retry: Option<RetryPolicy>) -> EffectId {
        let fixed = [("tool".into(), Value::from(format!("e{id}")))].into_iter().collect();
        self.b.effect(branchpoint_core::ir::Effect { fixed, retry: retry.map(policy), ..effect(Kind::Tool) })
    }

    fn input(&mut self, id: u32, around: &Surroundings<'t>) -> ExprId {
        let mut parts = vec![id.to_string()];
        parts.extend(around.item_loops.iter().map(|each| format!("i{each}")));
        let scope = around.scopes.last().expect("the root is around everything").0;
        parts.extend([format!("c{scope}"), "v".into()]);
        self.expr(&format!("[{}]", parts.join(", ")), around)
    }

    fn set_value(&mut self, value: Value, next: PlaceId) -> PlaceId {
        let value = self.b.value(value);
        self.b.set([Write::Put(self.v, value)], next, None)
    }

    fn set_expr(&mut self, text: &str, around: &Surroundings<'t>, next: PlaceId) -> PlaceId {
        let value = self.expr(text, around);
        self.b.set([Write::Put(self.v, value)], next, None)
    }

    /// Sets a named slot of an enclosing scope.
    fn set_slot(&mut self, place: PlaceId, around: &Surroundings<'t>, name: &str, text: &str, next: PlaceId) {
        let value = self.expr(text, around);
        let slot = self.named[name];
        self.b.at(place).set([Write::Put(slot, value)], next, None);
    }

    fn test(&mut self, test: Test, around: &Surroundings<'t>, negated: bool) -> ConditionId {
        let text = match test {
            Test::Below { scope, bound } => format!("c{scope} < {bound}"),
            Test::Last(number) => format!("v == {number}"),
        };
        let text = if negated { format!("!({text})") } else { text };
        self.condition(&text, around)
    }

    fn condition(&mut self, text: &str, around: &Surroundings<'t>) -> ConditionId {
        self.b.condition(around.scope(), text, Dialect::Machine).expect("the lowering writes conditions that compile")
    }

    fn expr(&mut self, text: &str, around: &Surroundings<'t>) -> ExprId {
        self.b.expr(around.scope(), text, Dialect::Machine).expect("the lowering writes expressions that compile")
    }
}

fn policy(again: RetryPolicy) -> Retry {
    Retry {
        max_attempts: again.attempts,
        delay_ms: again.delay_ms,
        backoff: if again.linear { Backoff::Linear } else { Backoff::Constant },
        max_delay_ms: 0,
        jitter: 0.0,
    }
}

/// An object with these fields.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let object: branchpoint_expr::Object = fields.into_iter().map(|(key, value)| (key.into(), value)).collect();
    Value::from(object)
}
