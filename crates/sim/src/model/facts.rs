//! Applies facts to the model.

use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use super::{Due, End, Fact, Frame, Model, Output, Parked, Vars, ms};
use crate::tree::{NodeKind, RetryPolicy};

impl Model<'_> {
    /// Applies a fact and returns the outputs; `None` if it is rejected, which changes nothing.
    pub fn apply(&mut self, fact: Fact, now: i64) -> Option<Vec<Output>> {
        if self.ended {
            return None;
        }
        self.now = now;
        let is_accepted = match fact {
            Fact::Start => self.start(),
            Fact::Settled { effect, attempt, result, tokens } => self.settled(effect, attempt, result, tokens),
            Fact::Timer => self.timer(),
            Fact::Signal { node, payload } => self.signal(node, payload),
            Fact::Vote { payload, .. } | Fact::Delegate { payload, .. } if self.is_too_large(&payload) => false,
            Fact::Vote { request, sent, .. } => self.vote(request, &sent),
            Fact::Delegate { request, from, to, until, .. } => self.delegate(request, &from, to.as_deref(), until),
            Fact::CancelRequest { request } => self.cancel_request(request),
            Fact::Cancel => self.cancel(),
        };
        is_accepted.then(|| {
            self.run();
            std::mem::take(&mut self.outputs)
        })
    }

    fn start(&mut self) -> bool {
        if self.tree.wall_ms > 0 {
            self.set_timer(self.now + ms(self.tree.wall_ms), Due::Wall);
        }
        let root = self.number();
        let deadline = self.tree.limit_ms.map(|limit| self.set_timer(self.now + ms(limit), Due::Deadline(root)));
        let frame = Frame {
            node: None,
            by: None,
            vars: Vars::default(),
            entries: vec![super::Entry::Waiting],
            last: Value::Int(super::INPUT),
            attempt: 1,
            deadline,
            backoff: None,
            failure: None,
            ends_as: Status::Completed,
        };
        self.frames.insert(root, frame);
        self.fill(root);
        true
    }

    /// Runs ready strands, and fires a merge when none is ready.
    fn run(&mut self) {
        while !self.ended {
            match self.ready.pop() {
                Some(strand) => self.walk(strand),
                None if self.fire_a_merge() => {}
                None => break,
            }
        }
    }

    fn settled(
        &mut self,
        effect: u64,
        attempt: u32,
        result: Result<Value, (String, Option<i64>)>,
        tokens: u64,
    ) -> bool {
        let Some(flight) = self.effects.get(&effect) else { return false };
        if flight.attempt != attempt || flight.backoff.is_some() {
            return false;
        }
        self.tokens += tokens;
        let strand = flight.strand;
        match result {
            Ok(value) => {
                self.effects.remove(&effect);
                self.resume(strand, value);
            }
            Err((kind, again)) => self.attempt_failed(effect, kind, again),
        }
        true
    }

    /// Handles a failed attempt. `again` is the minimum delay before a retry, or `None` if a retry makes no sense.
    fn attempt_failed(&mut self, effect: u64, kind: String, again: Option<i64>) {
        let (strand, attempt) = (self.effects[&effect].strand, self.effects[&effect].attempt);
        let node = self.node_of(strand);
        let NodeKind::Effect { retry, .. } = &node.kind else { unreachable!("only effects settle") };
        match (retry, again) {
            (Some(retry), Some(after)) if attempt < retry.attempts => {
                self.tally("effect retries");
                let delay = delay(*retry, attempt).max(after);
                if delay == 0 {
                    return self.next_attempt(effect);
                }
                let timer = self.set_timer(self.now + delay, Due::Attempt(effect));
                self.effects.get_mut(&effect).expect("the effect is in flight").backoff = Some(timer);
            }
            _ => {
                self.effects.remove(&effect);
                self.strands.get_mut(&strand).expect("the strand waits for the effect").parked = Parked::Ready;
                self.failed(strand, node.handler(), kind);
            }
        }
    }

    fn next_attempt(&mut self, effect: u64) {
        if self.tree.max_tokens > 0 && self.tokens > self.tree.max_tokens {
            self.tally("budgets exhausted");
            // The effect is not in flight, so it is not withdrawn.
            let flight = self.effects.remove(&effect).expect("the effect waits for a retry");
            self.strands.get_mut(&flight.strand).expect("the strand waits for the effect").parked = Parked::Ready;
            return self.finish(Status::Failed, End::Error("exhausted".into()));
        }
        let flight = self.effects.get_mut(&effect).expect("the effect is in flight");
        flight.attempt += 1;
        flight.backoff = None;
        let (attempt, input) = (flight.attempt, flight.input.clone());
        self.outputs.push(Output::Perform { effect, attempt, input });
    }

    fn timer(&mut self) -> bool {
        let Some(((at, _), _)) = self.timers.first_key_value() else { return false };
        if *at > self.now {
            return false;
        }
        let (_, due) = self.timers.pop_first().expect("a timer is pending");
        match due {
            Due::Attempt(effect) => self.next_attempt(effect),
            Due::FrameAttempt(frame) => {
                let frame_record = self.frames.get_mut(&frame).expect("a frame in backoff is open");
                frame_record.backoff = None;
                frame_record.attempt += 1;
                // The variables are reset only now, because a handler of a timeout between attempts sees those of the last attempt.
                frame_record.vars = Vars::default();
                self.fill(frame);
                self.close_if_done(frame);
            }
            Due::Deadline(frame) => {
                self.tally("deadlines");
                let frame_record = self.frames.get_mut(&frame).expect("a frame with a deadline is open");
                frame_record.deadline = None;
                frame_record.attempt = u32::MAX;
                if let Some(timer) = frame_record.backoff.take() {
                    self.timers.remove(&timer);
                }
                self.frame_failed(frame, "timeout".into());
            }
            Due::Strand(strand) => {
                let woken = Value::from("time");
                self.stop_waiting(strand);
                self.resume(strand, woken);
            }
            Due::Request(request) => self.request_due(request),
            Due::Wall => self.finish(Status::Failed, End::Error("exhausted".into())),
        }
        true
    }

    fn cancel(&mut self) -> bool {
        let again = std::mem::replace(&mut self.cancelling, true);
        match &self.tree.on_cancel {
            Some(block) if !again => self.restart_root(block, Value::Null, Status::Cancelled),
            _ => self.finish(Status::Cancelled, End::Cancelled),
        }
        true
    }
}

/// The delay after this many attempts.
pub(super) fn delay(again: RetryPolicy, attempt: u32) -> i64 {
    ms(again.delay_ms) * if again.linear { i64::from(attempt) } else { 1 }
}
