//! Executes a strand node by node.

use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use super::size::VALUE_LIMIT;
use super::{Due, End, Flight, Model, Output, Parked, Position, Vars, ms};
use crate::tree::{Block, Node, NodeKind, Test, collect};

impl<'t> Model<'t> {
    /// Executes a strand until it parks or ends.
    pub(super) fn walk(&mut self, no: u64) {
        while !self.ended {
            let Some(strand) = self.strands.get_mut(&no) else { return };
            if strand.parked != Parked::Ready {
                return;
            }
            if let Some(kind) = strand.pending_failure.take() {
                return self.entry_failed(no, kind);
            }
            let position = *strand.spine.last().expect("a strand is somewhere");
            if let Some(node) = position.block.get(position.at) {
                self.node(no, node);
                // Strands that became ready meanwhile run first, including this one if it is among them.
                if self.ready.contains(&no) {
                    return;
                }
            } else if strand.spine.len() > 1 {
                strand.spine.pop();
                strand.spine.last_mut().expect("the strand has a position").at += 1;
            } else {
                self.end_of_block(no);
            }
        }
    }

    /// Handles the end of the outermost block of a strand.
    fn end_of_block(&mut self, no: u64) {
        let strand = &self.strands[&no];
        let frame = &self.frames[&strand.frame];
        let (last, ends_as) = (strand.last.clone(), frame.ends_as);
        match frame.node.map(|node| (node, &node.kind)) {
            None => self.finish(ends_as, End::Value(last)),
            Some((node, NodeKind::While { test, cap, body })) => {
                let rounds = self.vars(no, node.id).rounds;
                if !self.holds(no, *test) {
                    return self.leave(no, Some(last));
                }
                if rounds >= *cap {
                    self.tally("caps reached");
                    return self.leave(no, Some(last));
                }
                self.vars(no, node.id).rounds += 1;
                self.strands.get_mut(&no).expect("the strand runs the loop").spine =
                    vec![Position { block: body, at: 0 }];
            }
            Some(_) => self.leave(no, Some(last)),
        }
    }

    fn node(&mut self, no: u64, node: &'t Node) {
        self.tally(name(&node.kind));
        match &node.kind {
            NodeKind::Effect { .. } => self.perform(no, node),
            NodeKind::Count { scope } => {
                self.vars(no, *scope).count += 1;
                self.step(no);
            }
            NodeKind::If { test, then, other } => {
                let block = if self.holds(no, *test) { then } else { other };
                self.strand(no).spine.push(Position { block, at: 0 });
            }
            NodeKind::Parallel { .. } | NodeKind::Each { .. } | NodeKind::While { .. } | NodeKind::Try { .. } => {
                self.enter(no, node);
            }
            NodeKind::Back { target, max } => self.back(no, node.id, *target, *max),
            NodeKind::Break { scope } => {
                let (frame, _) = self.frame_of(no, *scope);
                let by = self.frames[&frame].by.expect("the root is not broken out of");
                self.drop_frame(frame);
                self.strand(by).parked = Parked::Ready;
                self.resume(by, Value::Int(node.id.into()));
            }
            NodeKind::Join { merge } => {
                let last = self.strands[&no].last.clone();
                let owner = self.owner_of(*merge);
                self.vars(no, owner).edges.insert(node.id, last);
                self.step(no);
            }
            NodeKind::Merge { owner, own } => {
                let last = self.strands[&no].last.clone();
                if *own {
                    self.vars(no, *owner).edges.insert(node.id, last);
                }
                self.strand(no).parked = Parked::Merge;
                self.release_place(no);
            }
            NodeKind::Sleep { delay_ms } => self.wait(no, Some(*delay_ms), None),
            NodeKind::Signal { limit_ms, .. } => {
                let early = self.mailbox.iter().position(|(of, payload)| *of == node.id && accepts(node, *payload));
                match early {
                    Some(at) => {
                        let (_, payload) = self.mailbox.remove(at);
                        self.tally("kept signals accepted");
                        self.strand(no).last = Value::Int(payload);
                        self.step(no);
                    }
                    None => self.wait(no, *limit_ms, None),
                }
            }
            NodeKind::Request { .. } => self.ask(no, node),
            NodeKind::Finish { status } => {
                let last = self.strands[&no].last.clone();
                self.finish(*status, End::Value(last));
            }
            NodeKind::Fail => self.entry_failed(no, format!("fail{}", node.id)),
            NodeKind::Blocked => self.leave(no, None),
        }
    }

    pub(super) fn wait(&mut self, no: u64, limit_ms: Option<u64>, request: Option<u64>) {
        let timer = limit_ms.map(|limit| self.set_timer(self.now + ms(limit), Due::Strand(no)));
        self.strand(no).parked = Parked::Wait { timer, request };
        self.release_place(no);
    }

    fn perform(&mut self, no: u64, node: &'t Node) {
        let input = self.input(no, node);
        if self.is_too_large(&input) {
            self.tally("values too large");
            return self.failed(no, node.handler(), VALUE_LIMIT.into());
        }
        let (most, tokens) = (self.tree.max_effects, self.tree.max_tokens);
        if (most > 0 && self.effects_begun + 1 > most) || (tokens > 0 && self.tokens > tokens) {
            self.tally("budgets exhausted");
            return self.finish(Status::Failed, End::Error("exhausted".into()));
        }
        self.effects_begun += 1;
        let effect = self.number();
        self.outputs.push(Output::Perform { effect, attempt: 1, input: input.clone() });
        self.effects.insert(effect, Flight { strand: no, attempt: 1, input, backoff: None });
        self.strand(no).parked = Parked::Effect(effect);
    }

    /// The input of an effect: the node, the positions of the enclosing items, the counter of the enclosing scope, and the strand's
    /// value.
    fn input(&mut self, no: u64, node: &Node) -> Value {
        let mut positions = Vec::new();
        let mut inner = Some(no);
        while let Some(at) = inner {
            let strand = &self.strands[&at];
            let frame = &self.frames[&strand.frame];
            if matches!(frame.node.map(|node| &node.kind), Some(NodeKind::Each { .. })) {
                positions.push(Value::from(i64::try_from(strand.entry).expect("lists are short")));
            }
            inner = frame.by;
        }
        let scope = self.frames[&self.strands[&no].frame].node.map_or(0, |node| node.id);
        let count = Value::Int(self.vars(no, scope).count);
        let mut input = vec![Value::Int(node.id.into())];
        input.extend(positions.into_iter().rev());
        input.extend([count, self.strands[&no].last.clone()]);
        Value::from(input)
    }

    fn back(&mut self, no: u64, id: u32, target: u32, max: u32) {
        // The strand in the block of the target: this one, or one of its ancestors.
        let mut carrier = no;
        let level = loop {
            let strand = &self.strands[&carrier];
            let level = strand.spine.iter().position(|position| position.block.iter().any(|node| node.id == target));
            match level {
                Some(level) => break level,
                None => carrier = self.frames[&strand.frame].by.expect("the target is around"),
            }
        };
        let scope = self.frames[&self.strands[&carrier].frame].node.map_or(0, |node| node.id);
        let times = self.vars(no, scope).backs.entry(id).or_default();
        *times += 1;
        if *times > max {
            return self.step(no);
        }
        self.tally("jumps back");
        let position = self.strands[&carrier].spine[level];
        let first = position.block.iter().position(|node| node.id == target).expect("the block contains the target");
        self.clear_edges(carrier, &position.block[first..=position.at]);
        if let Parked::Frame(inner) = self.strands[&carrier].parked {
            self.drop_frame(inner);
        }
        let strand = self.strand(carrier);
        strand.spine.truncate(level);
        strand.spine.push(Position { block: position.block, at: first });
        strand.last = Value::Int(id.into());
        strand.parked = Parked::Ready;
        self.ready.push(carrier);
    }

    /// Clears the edges of merges in a repeated region.
    fn clear_edges(&mut self, carrier: u64, region: &[Node]) {
        let mut nodes = Vec::new();
        collect(region, &mut nodes);
        for merge in nodes {
            let NodeKind::Merge { owner, .. } = merge.kind else { continue };
            if self.is_around(carrier, owner) {
                let joins = self.tree.joins(merge.id);
                let edges = &mut self.vars(carrier, owner).edges;
                edges.retain(|edge, _| *edge != merge.id && !joins.contains(edge));
            }
        }
    }

    fn holds(&mut self, no: u64, test: Test) -> bool {
        match test {
            Test::Below { scope, bound } => self.vars(no, scope).count < bound,
            Test::Last(number) => self.strands[&no].last == Value::Int(number),
        }
    }

    /// Resumes a parked strand after its node, with this value.
    pub(super) fn resume(&mut self, no: u64, last: Value) {
        let strand = self.strand(no);
        strand.last = last;
        strand.parked = Parked::Ready;
        self.step(no);
        self.ready.push(no);
    }

    /// Moves a strand to the position after its node.
    fn step(&mut self, no: u64) {
        self.strand(no).spine.last_mut().expect("a strand is somewhere").at += 1;
    }

    pub(super) fn strand(&mut self, no: u64) -> &mut super::Strand<'t> {
        self.strands.get_mut(&no).expect("the strand is alive")
    }

    pub(super) fn node_of(&self, no: u64) -> &'t Node {
        let position = self.strands[&no].spine.last().expect("a strand is somewhere");
        &position.block[position.at]
    }

    /// Passes a failure to its handler, or fails the entry if there is none.
    pub(super) fn failed(&mut self, no: u64, handler: Option<&'t Block>, kind: String) {
        match handler {
            Some(block) => {
                let strand = self.strand(no);
                strand.last = Value::from(kind);
                strand.spine.push(Position { block, at: 0 });
                strand.parked = Parked::Ready;
                self.ready.push(no);
            }
            None => self.entry_failed(no, kind),
        }
    }

    /// The frame and the entry of an enclosing scope of a strand.
    pub(super) fn frame_of(&self, no: u64, scope: u32) -> (u64, usize) {
        let mut strand = &self.strands[&no];
        loop {
            let frame = &self.frames[&strand.frame];
            if frame.node.map_or(0, |node| node.id) == scope {
                return (strand.frame, strand.entry);
            }
            strand = &self.strands[&frame.by.expect("the scope is around")];
        }
    }

    fn is_around(&self, no: u64, scope: u32) -> bool {
        let mut strand = &self.strands[&no];
        loop {
            let frame = &self.frames[&strand.frame];
            if frame.node.map_or(0, |node| node.id) == scope {
                return true;
            }
            let Some(by) = frame.by else { return false };
            strand = &self.strands[&by];
        }
    }

    /// The variables of an enclosing scope of a strand.
    pub(super) fn vars(&mut self, no: u64, scope: u32) -> &mut Vars {
        let (frame, entry) = self.frame_of(no, scope);
        let frame = self.frames.get_mut(&frame).expect("the frame exists");
        match (&frame.node.map(|node| &node.kind), &mut frame.entries[entry]) {
            (Some(NodeKind::Each { .. }), super::Entry::Running { vars, .. }) => vars,
            _ => &mut frame.vars,
        }
    }
}

/// Whether a signal node accepts a payload.
pub(super) fn accepts(node: &Node, payload: i64) -> bool {
    !matches!(node.kind, NodeKind::Signal { picky: true, .. }) || payload % 2 == 0
}

fn name(kind: &NodeKind) -> &'static str {
    match kind {
        NodeKind::Effect { .. } => "effect",
        NodeKind::Count { .. } => "count",
        NodeKind::If { .. } => "if",
        NodeKind::Parallel { .. } => "parallel",
        NodeKind::Each { .. } => "for-each",
        NodeKind::While { .. } => "while",
        NodeKind::Try { .. } => "try",
        NodeKind::Back { .. } => "back",
        NodeKind::Break { .. } => "break",
        NodeKind::Join { .. } => "join",
        NodeKind::Merge { .. } => "merge",
        NodeKind::Sleep { .. } => "sleep",
        NodeKind::Signal { .. } => "signal",
        NodeKind::Request { .. } => "request",
        NodeKind::Finish { .. } => "finish",
        NodeKind::Fail => "fail",
        NodeKind::Blocked => "blocked",
    }
}
