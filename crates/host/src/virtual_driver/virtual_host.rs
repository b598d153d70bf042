//! What a virtual driver needs of a host.

use std::path::Path;
use std::sync::Arc;

use branchpoint_core::{Event, JournalRow, State, TimerUse};
use branchpoint_expr::Value;
use branchpoint_runners::{Answer, Call};

use crate::host::{DrivenRuns, Host, Start, Ticket, TurnOutput};
use crate::store::{Durability, RunNo, Store, Workflow, WorkflowNo};

/// A host under a virtual clock, whose caller passes the time and performs the calls.
pub trait VirtualHost {
    /// Saves a workflow.
    fn save(&mut self, workflow: Workflow<'_>, now_ms: i64) -> WorkflowNo;

    /// Sets the most ops that a run may execute; 0 means no limit.
    fn set_max_ops(&mut self, max_ops: u64);

    /// Queues the start of a run.
    fn start(&mut self, start: Start);

    /// Queues an event for a run.
    fn send(&mut self, run: RunNo, event: Event);

    /// Queues the answer of a call.
    fn settle(&mut self, run: RunNo, call: &Call, answer: Answer);

    /// Executes queued orders and due timers. The outcome of a queued start or event is one of the outputs.
    fn turn(&mut self, now_ms: i64) -> Vec<TurnOutput>;

    /// When the next turn has work: now, at a time, or `None` until something is queued.
    fn next_ms(&self) -> Option<i64>;

    /// The timers of all runs in the order of their due times, and their use.
    fn timers(&self) -> Vec<(i64, Option<TimerUse>)>;

    /// The state of a run in memory.
    fn state(&self, run: RunNo) -> Option<&State>;

    /// The stored state of a run.
    fn stored_state(&self, run: RunNo) -> State;

    /// The accepted events of a run.
    fn journal(&self, run: RunNo) -> Vec<JournalRow>;

    /// Queues the unloading of a run, which is loaded again for its next event.
    fn unload(&mut self, run: RunNo);

    /// The store, if the host has one.
    fn store(&self) -> Option<&Store>;

    /// Drops everything that is not stored, as a crash does, and resumes the run. Returns false if there is nothing to resume.
    fn crash(&mut self, run: RunNo, now_ms: i64) -> bool;
}

impl VirtualHost for Host {
    fn save(&mut self, workflow: Workflow<'_>, now_ms: i64) -> WorkflowNo {
        Self::store(self).save(workflow, now_ms).expect("the program can be stored")
    }

    fn set_max_ops(&mut self, max_ops: u64) {
        Self::set_max_ops(self, max_ops);
    }

    fn start(&mut self, start: Start) {
        Self::start(self, start, Ticket::default());
    }

    fn send(&mut self, run: RunNo, event: Event) {
        Self::send(self, run, event, Ticket::default());
    }

    fn settle(&mut self, run: RunNo, call: &Call, answer: Answer) {
        Self::settle(self, run, call, answer);
    }

    fn turn(&mut self, now_ms: i64) -> Vec<TurnOutput> {
        Self::turn(self, now_ms).expect("the store can be written")
    }

    fn next_ms(&self) -> Option<i64> {
        Self::next_ms(self)
    }

    fn timers(&self) -> Vec<(i64, Option<TimerUse>)> {
        Self::timers(self).collect()
    }

    fn state(&self, run: RunNo) -> Option<&State> {
        self.state_in_memory(run)
    }

    fn stored_state(&self, run: RunNo) -> State {
        self.load(run).expect("stored data can be read").state
    }

    fn journal(&self, run: RunNo) -> Vec<JournalRow> {
        Self::store(self).journal(run).expect("stored data can be read")
    }

    fn unload(&mut self, run: RunNo) {
        Self::unload(self, run);
    }

    fn store(&self) -> Option<&Store> {
        Some(Self::store(self))
    }

    fn crash(&mut self, run: RunNo, now_ms: i64) -> bool {
        let file = Self::store(self).path().map(Path::to_path_buf);
        let Some(file) = file.filter(|_| self.event_count() > 0) else { return false };
        // The old host is dropped first, because it holds the lock of its owner.
        *self = host(Store::in_memory().expect("there is memory for a small database"), now_ms);
        *self = host(open(&file), now_ms);
        self.resume(run, true, Ticket::default());
        true
    }
}

pub(super) fn host(store: Store, now_ms: i64) -> Host {
    let host = Host::new(store, "dry run", DrivenRuns::Requested, Arc::new(|_| Value::Null), now_ms);
    host.expect("the store can be used").deterministic()
}

/// Opens a store without syncing, because a loss of power is not simulated.
pub(super) fn open(file: &Path) -> Store {
    Store::open(file, Durability::Normal).expect("the store can be opened")
}
