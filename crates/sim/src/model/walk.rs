//! What a strand does at each node.

use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use super::size::VALUE_LIMIT;
use super::{Act, Due, End, Flight, Model, Parked, Spot, Vars, ms};
use crate::tree::{Block, Node, Test, What, collect};

impl<'t> Model<'t> {
    /// Walks until the strand parks or is no more.
    pub(super) fn walk(&mut self, no: u64) {
        while !self.ended {
            let Some(strand) = self.strands.get_mut(&no) else { return };
            if strand.parked != Parked::Ready {
                return;
            }
            if let Some(kind) = strand.doomed.take() {
                return self.entry_failed(no, kind);
            }
            let spot = *strand.spine.last().expect("a strand is somewhere");
            if let Some(node) = spot.block.get(spot.at) {
                self.node(no, node);
                // Whoever was made ready meanwhile goes first, and this strand with them if it is among them.
                if self.ready.contains(&no) {
                    return;
                }
            } else if strand.spine.len() > 1 {
                strand.spine.pop();
                strand.spine.last_mut().expect("one is left").at += 1;
            } else {
                self.end_of_block(no);
            }
        }
    }

    /// The end of the outermost block of a strand.
    fn end_of_block(&mut self, no: u64) {
        let strand = &self.strands[&no];
        let frame = &self.frames[&strand.frame];
        let (last, ends_as) = (strand.last.clone(), frame.ends_as);
        match frame.node.map(|node| (node, &node.what)) {
            None => self.finish(ends_as, End::Value(last)),
            Some((node, What::While { test, cap, body })) => {
                let rounds = self.vars(no, node.id).rounds;
                if !self.holds(no, *test) {
                    return self.leave(no, Some(last));
                }
                if rounds >= *cap {
                    self.tally("caps reached");
                    return self.leave(no, Some(last));
                }
                self.vars(no, node.id).rounds += 1;
                self.strands.get_mut(&no).expect("it loops").spine = vec![Spot { block: body, at: 0 }];
            }
            Some(_) => self.leave(no, Some(last)),
        }
    }

    fn node(&mut self, no: u64, node: &'t Node) {
        self.tally(name(&node.what));
        match &node.what {
            What::Effect { .. } => self.perform(no, node),
            What::Count { scope } => {
                self.vars(no, *scope).count += 1;
                self.step(no);
            }
            What::If { test, then, other } => {
                let block = if self.holds(no, *test) { then } else { other };
                self.strand(no).spine.push(Spot { block, at: 0 });
            }
            What::Parallel { .. } | What::Each { .. } | What::While { .. } | What::Try { .. } => self.enter(no, node),
            What::Back { target, max } => self.back(no, node.id, *target, *max),
            What::Break { scope } => {
                let (frame, _) = self.frame_of(no, *scope);
                let by = self.frames[&frame].by.expect("the root is not broken out of");
                self.drop_frame(frame);
                self.strand(by).parked = Parked::Ready;
                self.go_on(by, Value::Int(node.id.into()));
            }
            What::Join { merge } => {
                let last = self.strands[&no].last.clone();
                let owner = self.owner_of(*merge);
                self.vars(no, owner).edges.insert(node.id, last);
                self.step(no);
            }
            What::Merge { owner, own } => {
                let last = self.strands[&no].last.clone();
                if *own {
                    self.vars(no, *owner).edges.insert(node.id, last);
                }
                self.strand(no).parked = Parked::Merge;
                self.gave_up_its_place(no);
            }
            What::Sleep { delay_ms } => self.wait(no, Some(*delay_ms), None),
            What::Signal { limit_ms, .. } => {
                let kept = self.mailbox.iter().position(|(of, payload)| *of == node.id && accepts(node, *payload));
                match kept {
                    Some(at) => {
                        let (_, payload) = self.mailbox.remove(at);
                        self.tally("kept signals taken");
                        self.strand(no).last = Value::Int(payload);
                        self.step(no);
                    }
                    None => self.wait(no, *limit_ms, None),
                }
            }
            What::Request { .. } => self.ask(no, node),
            What::Finish { status } => {
                let last = self.strands[&no].last.clone();
                self.finish(*status, End::Value(last));
            }
            What::Fail => self.entry_failed(no, format!("fail{}", node.id)),
            What::Blocked => self.leave(no, None),
        }
    }

    pub(super) fn wait(&mut self, no: u64, limit_ms: Option<u64>, ask: Option<u64>) {
        let timer = limit_ms.map(|limit| self.set_timer(self.now + ms(limit), Due::Strand(no)));
        self.strand(no).parked = Parked::Wait { timer, ask };
        self.gave_up_its_place(no);
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
        self.acts.push(Act::Perform { effect, attempt: 1, input: input.clone() });
        self.effects.insert(effect, Flight { strand: no, attempt: 1, input, backoff: None });
        self.strand(no).parked = Parked::Effect(effect);
    }

    /// The node, the positions of the items around it, the counter of the scope around it, and the strand's value.
    fn input(&mut self, no: u64, node: &Node) -> Value {
        let mut positions = Vec::new();
        let mut inner = Some(no);
        while let Some(at) = inner {
            let strand = &self.strands[&at];
            let frame = &self.frames[&strand.frame];
            if matches!(frame.node.map(|node| &node.what), Some(What::Each { .. })) {
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
        // The strand that stands in the block of the target: this one, or one of those it runs in.
        let mut carrier = no;
        let level = loop {
            let strand = &self.strands[&carrier];
            let level = strand.spine.iter().position(|spot| spot.block.iter().any(|node| node.id == target));
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
        let spot = self.strands[&carrier].spine[level];
        let first = spot.block.iter().position(|node| node.id == target).expect("it was just found");
        self.clear_edges(carrier, &spot.block[first..=spot.at]);
        if let Parked::Frame(inner) = self.strands[&carrier].parked {
            self.drop_frame(inner);
        }
        let strand = self.strand(carrier);
        strand.spine.truncate(level);
        strand.spine.push(Spot { block: spot.block, at: first });
        strand.last = Value::Int(id.into());
        strand.parked = Parked::Ready;
        self.ready.push(carrier);
    }

    /// What is done again begins with merges that are not filled.
    fn clear_edges(&mut self, carrier: u64, region: &[Node]) {
        let mut nodes = Vec::new();
        collect(region, &mut nodes);
        for merge in nodes {
            let What::Merge { owner, .. } = merge.what else { continue };
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

    /// A strand that was parked goes on behind its node, with that value.
    pub(super) fn go_on(&mut self, no: u64, last: Value) {
        let strand = self.strand(no);
        strand.last = last;
        strand.parked = Parked::Ready;
        self.step(no);
        self.ready.push(no);
    }

    /// Behind the node.
    fn step(&mut self, no: u64) {
        self.strand(no).spine.last_mut().expect("a strand is somewhere").at += 1;
    }

    pub(super) fn strand(&mut self, no: u64) -> &mut super::Strand<'t> {
        self.strands.get_mut(&no).expect("the strand is alive")
    }

    pub(super) fn node_of(&self, no: u64) -> &'t Node {
        let spot = self.strands[&no].spine.last().expect("a strand is somewhere");
        &spot.block[spot.at]
    }

    /// A failure goes to its handler, or it is that of the entry.
    pub(super) fn failed(&mut self, no: u64, handler: Option<&'t Block>, kind: String) {
        match handler {
            Some(block) => {
                let strand = self.strand(no);
                strand.last = Value::from(kind);
                strand.spine.push(Spot { block, at: 0 });
                strand.parked = Parked::Ready;
                self.ready.push(no);
            }
            None => self.entry_failed(no, kind),
        }
    }

    /// The frame of a scope around a strand, and the entry of it.
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

    /// What a scope around a strand keeps.
    pub(super) fn vars(&mut self, no: u64, scope: u32) -> &mut Vars {
        let (frame, entry) = self.frame_of(no, scope);
        let frame = self.frames.get_mut(&frame).expect("it was just found");
        match (&frame.node.map(|node| &node.what), &mut frame.entries[entry]) {
            (Some(What::Each { .. }), super::Entry::Running { vars, .. }) => vars,
            _ => &mut frame.vars,
        }
    }
}

/// Whether a signal's node accepts that payload.
pub(super) fn accepts(node: &Node, payload: i64) -> bool {
    !matches!(node.what, What::Signal { picky: true, .. }) || payload % 2 == 0
}

fn name(what: &What) -> &'static str {
    match what {
        What::Effect { .. } => "effect",
        What::Count { .. } => "count",
        What::If { .. } => "if",
        What::Parallel { .. } => "parallel",
        What::Each { .. } => "for-each",
        What::While { .. } => "while",
        What::Try { .. } => "try",
        What::Back { .. } => "back",
        What::Break { .. } => "break",
        What::Join { .. } => "join",
        What::Merge { .. } => "merge",
        What::Sleep { .. } => "sleep",
        What::Signal { .. } => "signal",
        What::Request { .. } => "request",
        What::Finish { .. } => "finish",
        What::Fail => "fail",
        What::Blocked => "blocked",
    }
}
