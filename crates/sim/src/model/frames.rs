//! Open scopes: their entries begin, end, deliver and fail.

use std::collections::BTreeMap;

use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use super::facts::delay;
use super::size::VALUE_LIMIT;
use super::{Due, End, Entry, Frame, Model, Output, Parked, Position, Strand, Vars, ms};
use crate::tree::{Block, Gather, Node, NodeKind};

impl<'t> Model<'t> {
    pub(super) fn enter(&mut self, no: u64, node: &'t Node) {
        let count = match &node.kind {
            NodeKind::Parallel { branches, .. } => branches.len(),
            NodeKind::Each { items, .. } => items.len(),
            _ => 1,
        };
        let frame = self.number();
        let limit = if let NodeKind::Try { limit_ms, .. } = &node.kind { *limit_ms } else { None };
        let deadline = limit.map(|limit| self.set_timer(self.now + ms(limit), Due::Deadline(frame)));
        let opened = Frame {
            node: Some(node),
            by: Some(no),
            vars: Vars::default(),
            entries: vec![Entry::Waiting; count],
            last: self.strands[&no].last.clone(),
            attempt: 1,
            deadline,
            backoff: None,
            failure: None,
            ends_as: Status::Completed,
        };
        self.frames.insert(frame, opened);
        self.strand(no).parked = Parked::Frame(frame);
        self.fill(frame);
        self.close_if_done(frame);
    }

    /// Begins entries in order while the width allows it.
    pub(super) fn fill(&mut self, no: u64) {
        let mut begun = Vec::new();
        while let Some(entry) = self.next_entry(no) {
            let frame = &self.frames[&no];
            let (block, last) = match frame.node.map(|node| &node.kind) {
                None => (&self.tree.body, frame.last.clone()),
                Some(NodeKind::Parallel { branches, .. }) => (&branches[entry], frame.last.clone()),
                Some(NodeKind::Each { items, body, .. }) => (body, Value::Int(items[entry])),
                Some(NodeKind::While { body, .. } | NodeKind::Try { body, .. }) => (body, frame.last.clone()),
                Some(_) => unreachable!("only scopes have frames"),
            };
            // A loop begins with its test, like after a round.
            let looping = matches!(frame.node.map(|node| &node.kind), Some(NodeKind::While { .. }));
            let spine = vec![Position { block, at: if looping { block.len() } else { 0 } }];
            begun.push(self.begin(no, entry, spine, last));
        }
        self.ready.extend(begun.into_iter().rev());
    }

    fn begin(&mut self, frame: u64, entry: usize, spine: Vec<Position<'t>>, last: Value) -> u64 {
        let strand = self.number();
        self.strands.insert(strand, Strand { frame, entry, spine, last, parked: Parked::Ready, pending_failure: None });
        let running = Entry::Running { strand, vars: Vars::default() };
        self.frames.get_mut(&frame).expect("the frame is open").entries[entry] = running;
        strand
    }

    fn next_entry(&self, no: u64) -> Option<usize> {
        let frame = self.frames.get(&no)?;
        let next = frame.entries.iter().position(|entry| matches!(entry, Entry::Waiting))?;
        (frame.backoff.is_none() && self.has_room(frame)).then_some(next)
    }

    fn has_room(&self, frame: &Frame<'_>) -> bool {
        let width = gather(frame.node).width as usize;
        let is_each = frame.node.is_some_and(|node| matches!(node.kind, NodeKind::Each { .. }));
        let has_place = |entry: &&Entry| if is_each { self.keeps_its_place(entry) } else { self.works(entry) };
        width == 0 || frame.entries.iter().filter(has_place).count() < width
    }

    /// Whether a branch is working. One that only waits for a merge, a signal or people does not count toward the width.
    fn works(&self, entry: &Entry) -> bool {
        let Entry::Running { strand, .. } = entry else { return false };
        match &self.strands[strand].parked {
            Parked::Merge | Parked::Wait { .. } => false,
            Parked::Ready | Parked::Effect(_) => true,
            Parked::Frame(inner) => {
                let frame = &self.frames[inner];
                let waiting = frame.entries.iter().any(|entry| matches!(entry, Entry::Waiting));
                let begins = waiting && self.has_room(frame);
                frame.backoff.is_some() || begins || frame.entries.iter().any(|entry| self.works(entry))
            }
        }
    }

    /// Whether an item counts toward the width: all but those that wait only for merges.
    fn keeps_its_place(&self, entry: &Entry) -> bool {
        let Entry::Running { strand, .. } = entry else { return false };
        match &self.strands[strand].parked {
            Parked::Merge => false,
            Parked::Ready | Parked::Effect(_) | Parked::Wait { .. } => true,
            Parked::Frame(inner) => {
                let frame = &self.frames[inner];
                let waiting = frame.entries.iter().any(|entry| matches!(entry, Entry::Waiting));
                frame.backoff.is_some() || waiting || frame.entries.iter().any(|entry| self.keeps_its_place(entry))
            }
        }
    }

    /// Begins entries in the frames around a strand that stopped working.
    pub(super) fn release_place(&mut self, no: u64) {
        let mut next = self.strands.get(&no).map(|strand| strand.frame);
        while let Some(frame) = next {
            next = self.frames[&frame].by.and_then(|by| self.strands.get(&by)).map(|strand| strand.frame);
            self.fill(frame);
        }
    }

    /// Ends a strand, with a value or without.
    pub(super) fn leave(&mut self, no: u64, value: Option<Value>) {
        let strand = self.strands.remove(&no).expect("the strand is alive");
        let frame = self.frames.get_mut(&strand.frame).expect("the strand runs in a frame");
        frame.entries[strand.entry] = value.map_or(Entry::Nothing, Entry::Done);
        self.entry_ended(strand.frame);
    }

    pub(super) fn entry_failed(&mut self, no: u64, kind: String) {
        let (frame, entry) = (self.strands[&no].frame, self.strands[&no].entry);
        if !gather(self.frames[&frame].node).keep {
            return self.frame_failed(frame, kind);
        }
        self.drop_strand(no);
        let record = self.frames.get_mut(&frame).expect("the frame is open");
        record.entries[entry] = Entry::Failed;
        record.failure.get_or_insert(kind);
        self.entry_ended(frame);
    }

    fn entry_ended(&mut self, frame: u64) {
        if !self.close_if_done(frame) {
            self.fill(frame);
            if let Some(by) = self.frames[&frame].by {
                self.release_place(by);
            }
        }
    }

    pub(super) fn close_if_done(&mut self, no: u64) -> bool {
        let Some(frame) = self.frames.get(&no) else { return true };
        let open = frame.entries.iter().any(|entry| matches!(entry, Entry::Waiting | Entry::Running { .. }));
        let delivered = frame.entries.iter().filter(|entry| matches!(entry, Entry::Done(_))).count();
        let wanted = gather(frame.node).first.map(|first| first as usize);
        let enough = wanted.is_some_and(|wanted| delivered >= wanted);
        if open && !enough {
            return false;
        }
        match frame.failure.clone() {
            Some(kind) if wanted.is_some() && !enough => self.frame_failed(no, kind),
            _ => self.close(no),
        }
        true
    }

    fn close(&mut self, no: u64) {
        let entries = self.frames[&no].entries.clone();
        let (node, by) = (self.frames[&no].node, self.frames[&no].by);
        self.drop_frame(no);
        let Some((node, by)) = node.zip(by) else {
            let cancelled = (Status::Cancelled, End::Cancelled);
            let completed = (Status::Completed, End::Value(Value::Null));
            let (status, end) = if self.cancelling { cancelled } else { completed };
            return self.finish(status, end);
        };
        let value = |entry: &Entry| if let Entry::Done(value) = entry { value.clone() } else { Value::Null };
        let values = Value::from(entries.iter().map(value).collect::<Vec<_>>());
        if self.is_too_large(&values) {
            self.tally("values too large");
            self.strand(by).parked = Parked::Ready;
            return self.failed(by, node.handler(), VALUE_LIMIT.into());
        }
        match &node.kind {
            NodeKind::Parallel { .. } | NodeKind::Each { .. } => {
                let outcomes: Vec<Value> = entries.iter().map(outcome).collect();
                self.resume_with_new_value(by, Value::from(vec![values, Value::from(outcomes)]));
            }
            _ => self.resume(by, value(&entries[0])),
        }
    }

    pub(super) fn frame_failed(&mut self, no: u64, kind: String) {
        let frame = &self.frames[&no];
        let (node, by, attempt) = (frame.node, frame.by, frame.attempt);
        let retry = match node.map(|node| &node.kind) {
            None => self.tree.retry,
            Some(NodeKind::Try { retry, .. }) => *retry,
            Some(_) => None,
        };
        if let Some(retry) = retry.filter(|retry| attempt < retry.attempts) {
            self.tally("scope retries");
            self.drop_entries(no);
            let timer = self.set_timer(self.now + delay(retry, attempt), Due::FrameAttempt(no));
            let frame = self.frames.get_mut(&no).expect("the frame is open");
            let entries = vec![Entry::Waiting; frame.entries.len()];
            (frame.entries, frame.failure) = (entries, None);
            frame.backoff = Some(timer);
            return;
        }
        let Some(by) = by else { return self.run_failed(kind) };
        self.drop_frame(no);
        let handler = node.and_then(Node::handler);
        self.strand(by).parked = Parked::Ready;
        self.failed(by, handler, kind);
    }

    fn run_failed(&mut self, kind: String) {
        match &self.tree.on_failure {
            Some(block) if !self.root_failed && !self.cancelling => {
                self.root_failed = true;
                self.restart_root(block, Value::from(kind), Status::Failed);
            }
            _ if self.cancelling => self.finish(Status::Cancelled, End::Cancelled),
            _ => self.finish(Status::Failed, End::Error(kind)),
        }
    }

    /// Withdraws everything and continues the root with a block. The root keeps its variables.
    pub(super) fn restart_root(&mut self, block: &'t Block, last: Value, ends_as: Status) {
        let root =
            self.frames.iter().find(|(_, frame)| frame.by.is_none()).map(|(no, _)| *no).expect("the frame is open");
        self.drop_entries(root);
        let frame = self.frames.get_mut(&root).expect("the frame is open");
        frame.ends_as = ends_as;
        // The handler is not retried.
        frame.attempt = u32::MAX;
        if let Some(timer) = frame.backoff.take() {
            self.timers.remove(&timer);
        }
        let strand = self.begin(root, 0, vec![Position { block, at: 0 }], last);
        self.ready.push(strand);
    }

    pub(super) fn drop_frame(&mut self, no: u64) {
        self.drop_entries(no);
        let Some(frame) = self.frames.remove(&no) else { return };
        for timer in [frame.deadline, frame.backoff].into_iter().flatten() {
            self.timers.remove(&timer);
        }
    }

    fn drop_entries(&mut self, no: u64) {
        let entries = self.frames.get(&no).map(|frame| frame.entries.clone()).unwrap_or_default();
        for entry in entries {
            if let Entry::Running { strand, .. } = entry {
                self.drop_strand(strand);
            }
        }
    }

    /// Drops a strand and withdraws everything that it waits for.
    fn drop_strand(&mut self, no: u64) {
        let Some(strand) = self.strands.get(&no) else { return };
        match strand.parked.clone() {
            Parked::Ready | Parked::Merge => {}
            Parked::Wait { .. } => self.stop_waiting(no),
            Parked::Frame(frame) => self.drop_frame(frame),
            Parked::Effect(effect) => match self.effects.remove(&effect).and_then(|flight| flight.backoff) {
                Some(timer) => {
                    self.timers.remove(&timer);
                }
                None => self.outputs.push(Output::Withdraw(effect)),
            },
        }
        self.strands.remove(&no);
        self.ready.retain(|ready| *ready != no);
    }
}

fn outcome(entry: &Entry) -> Value {
    Value::from(match entry {
        Entry::Waiting | Entry::Running { .. } => "withdrawn",
        Entry::Done(_) => "done",
        Entry::Nothing => "none",
        Entry::Failed => "failed",
    })
}

fn gather(node: Option<&Node>) -> Gather {
    match node.map(|node| &node.kind) {
        Some(NodeKind::Parallel { gather, .. } | NodeKind::Each { gather, .. }) => *gather,
        _ => Gather { first: None, keep: false, width: 0 },
    }
}

impl Vars {
    /// The filled edges.
    pub(super) fn edges(&self) -> &BTreeMap<u32, Value> {
        &self.edges
    }
}
