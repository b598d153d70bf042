//! The timers of an open run, by number and by due time.

use std::collections::{BTreeMap, BTreeSet};

use branchpoint_core::TimerNo;

#[derive(Debug, Default)]
pub(super) struct Timers {
    due_ms: BTreeMap<TimerNo, i64>,
    in_order: BTreeSet<(i64, TimerNo)>,
}

impl Timers {
    pub(super) fn set(&mut self, timer: TimerNo, due_ms: i64) {
        self.clear(timer);
        self.due_ms.insert(timer, due_ms);
        self.in_order.insert((due_ms, timer));
    }

    /// Clears a timer. Returns when it was due, if it was set.
    pub(super) fn clear(&mut self, timer: TimerNo) -> Option<i64> {
        let due_ms = self.due_ms.remove(&timer)?;
        self.in_order.remove(&(due_ms, timer));
        Some(due_ms)
    }

    pub(super) fn first(&self) -> Option<(i64, TimerNo)> {
        self.in_order.first().copied()
    }

    pub(super) fn in_order(&self) -> impl Iterator<Item = (i64, TimerNo)> {
        self.in_order.iter().copied()
    }
}

impl FromIterator<(TimerNo, i64)> for Timers {
    fn from_iter<I: IntoIterator<Item = (TimerNo, i64)>>(timers: I) -> Self {
        let due_ms: BTreeMap<TimerNo, i64> = timers.into_iter().collect();
        let in_order = due_ms.iter().map(|(timer, due_ms)| (*due_ms, *timer)).collect();
        Self { due_ms, in_order }
    }
}
