//! Turns: claim, compute, write.
//!
//! 1. **Claim.** A short transaction claims what other processes could change: the runs that this process drives, the items of the
//!    inbox that it applies, the numbers of new runs ([`super::claim`]).
//! 2. **Compute.** Runs are advanced and rows prepared outside of any transaction. This is sound because only the process that drives a
//!    run writes its rows, and all data that is read here belongs to claimed runs or never changes (programs, journals, rows of ended
//!    runs).
//! 3. **Write.** One transaction writes the rows of the whole turn and commits. Only then are its outputs returned. If another process
//!    holds the lock for long, the next call writes the same turn; if the write fails, the host must be discarded.
//!
//! Only the id of a new run is decided at the write: if another process has used it meanwhile, the run is discarded before any of it was
//! written or performed.
//!
//! Orders, ops and runs limit the work of a turn, never time. Unfinished runs get slices of fuel one after the other, and the write lock
//! is free while a turn computes.

use std::collections::VecDeque;

use super::{Accepted, Host, Order, RunNo, TurnOutput};
use crate::store::StoreError;

/// The most orders of a turn: enough to share a commit, few enough to keep the turn short.
pub(super) const ORDERS_PER_TURN: usize = 4_096;

/// The ops that a turn spends on orders, on timers and on unfinished runs each, before it leaves the rest to the next turn: enough for one
/// commit, few enough to keep the turn short.
const OPS_PER_TURN: u64 = 20_000;

/// The most ops that a run executes for one event before other runs continue.
pub(super) const OPS_PER_EVENT: u32 = 5_000;

/// The smallest slice of an unfinished run. Smaller slices would cost more than their work.
const MIN_SLICE: u32 = 1_000;

impl Host {
    /// Executes queued orders and due timers, and stores the results. Nothing is acknowledged or performed before this returns.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// host.start(Start::new(workflow, "r-1".into(), Value::from("hello")), Ticket(7));
    /// let outputs = host.turn(1).unwrap();
    /// let ends = |output: &TurnOutput| matches!(output, TurnOutput::Event(event) if matches!(&event.kind, RunEventKind::Status(Status::Completed, _)));
    /// assert!(outputs.iter().any(ends));
    /// ```
    pub fn turn(&mut self, now_ms: i64) -> Result<Vec<TurnOutput>, StoreError> {
        if !self.current.unwritten {
            if self.next_ms().is_none_or(|at_ms| at_ms > now_ms) {
                return Ok(Vec::new());
            }
            self.counters.turns += 1;
            self.current.now_ms = now_ms;
            // A response of this turn may contain a named secret that was stored since the last one.
            self.refresh_named_secrets()?;
            match self.claim(now_ms) {
                // Another process holds the write lock. Nothing was begun, so the next turn does it.
                Err(error) if error.is_busy() => return Ok(Vec::new()),
                claimed => claimed?,
            }
            self.compute(now_ms)?;
            self.current.unwritten = true;
        }
        self.write()
    }

    fn compute(&mut self, now_ms: i64) -> Result<(), StoreError> {
        self.current.ops = 0;
        self.begin_admitted()?;
        // Orders that are queued while runs are opened are claimed in the next turn.
        for _ in 0..self.claims.orders {
            if self.current.ops >= OPS_PER_TURN {
                break;
            }
            let Some(order) = self.schedule.queue.pop_front() else { break };
            self.execute_order(order, now_ms)?;
        }
        self.fire_timers(now_ms)?;
        self.end_child_attempts(now_ms)?;
        self.continue_runs()?;
        self.answer_requests(now_ms)?;
        self.unload_idle()?;
        self.write_rows()
    }

    /// Fires the due timers of open runs in the order of their due times. An unfinished run does not delay those of other runs. Timers
    /// have their own share of ops, so that many orders do not delay them.
    fn fire_timers(&mut self, now_ms: i64) -> Result<(), StoreError> {
        let until = self.current.ops.saturating_add(OPS_PER_TURN);
        let due = self.schedule.timers.iter().take_while(|(due_ms, ..)| *due_ms <= now_ms).take(ORDERS_PER_TURN);
        let due: Vec<RunNo> = due.map(|(_, run, _)| *run).collect();
        for run in due {
            if self.current.ops >= until {
                break;
            }
            self.fire_due(run, now_ms)?;
        }
        Ok(())
    }

    /// Continues unfinished runs one after the other, each with a share of the ops of this turn. Runs that get no share are first in the
    /// next turn.
    fn continue_runs(&mut self) -> Result<(), StoreError> {
        let runs = u64::try_from(self.schedule.unfinished.len()).unwrap_or(u64::MAX).max(1);
        let slice = u32::try_from(OPS_PER_TURN / runs).unwrap_or(u32::MAX).max(MIN_SLICE);
        let until = self.current.ops.saturating_add(OPS_PER_TURN);
        for _ in 0..self.schedule.unfinished.len() {
            if self.current.ops >= until {
                break;
            }
            let Some(run) = self.schedule.unfinished.pop_front() else { break };
            self.continue_run(run, slice)?;
        }
        Ok(())
    }

    /// Writes the computed turn, and returns its outputs.
    fn write(&mut self) -> Result<Vec<TurnOutput>, StoreError> {
        let posted = if self.store.has_writes() {
            match self.store.begin() {
                // Another process holds the write lock; the next call writes this turn.
                Err(error) if error.is_busy() => return Ok(Vec::new()),
                begun => begun?,
            }
            let written = self.write_in_order().and_then(|posted| self.store.commit().map(|()| posted));
            if written.is_err() {
                self.store.roll_back();
            }
            written?
        } else {
            Vec::new()
        };
        self.current.unwritten = false;
        self.current.new_ids.clear();
        for ((run, event), item) in std::mem::take(&mut self.current.posts).into_iter().zip(posted) {
            if let Some(item) = item {
                self.queue_sent(item, run, event);
            }
        }
        // Ended runs leave the memory.
        for run in std::mem::take(&mut self.current.ended) {
            self.index_later(run);
            let Some(ended) = self.open.remove(&run) else { continue };
            self.slots.remove(run);
            // Each sender of a waiting event gets an outcome.
            self.schedule
                .queue
                .extend(ended.waiting.into_iter().map(|(event, requester)| Order::Deliver(run, event, requester)));
            self.drop_script(ended.script);
        }
        Ok(std::mem::take(&mut self.current.outputs))
    }

    pub(super) fn write_in_order(&mut self) -> Result<Vec<Option<i64>>, StoreError> {
        for run in self.store.write_new_runs()? {
            self.discard_duplicate(run)?;
        }
        self.store.write_posts(self.owner.number)
    }

    /// Discards a new run, because another process has started a run of the same id meanwhile.
    fn discard_duplicate(&mut self, run: RunNo) -> Result<(), StoreError> {
        let id =
            self.current.new_ids.iter().find(|(_, new)| **new == run).map(|(id, _)| id.clone()).unwrap_or_default();
        let first = self.store.run(&id)?.ok_or_else(|| StoreError::Missing(format!("run `{id}`")))?;
        self.store.discard_unwritten(run);
        self.schedule.queue.retain(|order| !matches!(order, Order::Child(of, _) | Order::ChildEnded(of) if *of == run));
        self.current.outputs.retain(|output| output.run() != Some(run));
        for output in &mut self.current.outputs {
            if let TurnOutput::OrderDone { outcome: Ok(accepted), .. } = output
                && accepted.run == run
            {
                *accepted = Accepted { run: first.run, new: false };
            }
        }
        let parent = self.drop_open(run).and_then(|open| open.parent);
        let flight = parent.and_then(|parent| {
            let effect = branchpoint_core::EffectNo(parent.effect);
            Some((parent.run, self.open.get_mut(&parent.run)?.flights.get_mut(&effect)?))
        });
        // Its parent finds the other run when it calls again.
        if let Some((parent, flight)) = flight
            && let Some((_, call)) = flight.child.take()
        {
            self.schedule.queue.push_back(Order::Child(parent, call));
        }
        Ok(())
    }
}

/// Numbers that are reserved for new runs.
pub(super) type Numbers = VecDeque<i64>;

#[cfg(test)]
mod tests;
