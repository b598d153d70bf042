//! The time that steps wait. A step without inner steps waits while its strand does. A step with inner steps waits while one of them
//! waits and none of them works.

use std::collections::BTreeMap;

use super::StepRecord;
use crate::ir::Status;

/// The open records of a run, and what is inside of each.
#[derive(Debug, Default)]
pub(super) struct WaitClock {
    open: BTreeMap<usize, OpenRecord>,
}

#[derive(Debug, Default)]
struct OpenRecord {
    /// The nearest open record that encloses this one.
    around: Option<usize>,
    /// The number of open records directly inside.
    inner: u32,
    /// The strands that wait in the step itself, not in an inner one.
    waits: Tally,
    /// What the record itself adds to its total.
    own: Tally,
    /// What the record and everything inside of it do.
    total: Tally,
    /// The time of the last change of the total.
    since_ms: i64,
}

/// How many strands work or wait.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    working: i64,
    waiting: i64,
    /// The part of `waiting` that waits for people.
    for_people: i64,
}

impl Tally {
    fn of_wait(status: Status) -> Self {
        Self { working: 0, waiting: 1, for_people: (status == Status::WaitingPeople).into() }
    }

    fn of(record: &StepRecord, open: &OpenRecord) -> Self {
        if record.ended_ms.is_some() {
            return Self::default();
        }
        // While strands wait in it or other steps run inside of it, a step only works if it has a call of its own.
        let in_flight = record.attempts.last().is_some_and(|attempt| attempt.ended_ms.is_none());
        let is_alone = open.inner == 0 && open.waits.waiting == 0;
        Self { working: (is_alone || in_flight).into(), ..open.waits }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            working: self.working + other.working,
            waiting: self.waiting + other.waiting,
            for_people: self.for_people + other.for_people,
        }
    }

    fn minus(self, other: Self) -> Self {
        self.plus(Self { working: -other.working, waiting: -other.waiting, for_people: -other.for_people })
    }
}

impl WaitClock {
    /// A record began inside of another one.
    pub(super) fn begin(
        &mut self,
        number: usize,
        around: Option<usize>,
        now_ms: i64,
        list: &mut BTreeMap<usize, StepRecord>,
    ) {
        let around = around.filter(|around| self.is_open(*around));
        self.open.insert(number, OpenRecord { around, since_ms: now_ms, ..OpenRecord::default() });
        self.update(number, now_ms, list);
        self.count_inner(around, 1, now_ms, list);
    }

    pub(super) fn is_open(&self, number: usize) -> bool {
        self.open.contains_key(&number)
    }

    /// A strand begins to wait in a step.
    pub(super) fn wait(&mut self, number: usize, status: Status, now_ms: i64, list: &mut BTreeMap<usize, StepRecord>) {
        if let Some(open) = self.open.get_mut(&number) {
            open.waits = open.waits.plus(Tally::of_wait(status));
            self.update(number, now_ms, list);
        }
    }

    /// A strand does not wait any more in a step. Returns whether others do.
    pub(super) fn wake(
        &mut self,
        number: usize,
        status: Status,
        now_ms: i64,
        list: &mut BTreeMap<usize, StepRecord>,
    ) -> bool {
        let Some(open) = self.open.get_mut(&number) else { return false };
        open.waits = open.waits.minus(Tally::of_wait(status));
        let waits = open.waits.waiting > 0;
        self.update(number, now_ms, list);
        waits
    }

    /// The attempts of a record have changed, or it has ended.
    pub(super) fn update(&mut self, number: usize, now_ms: i64, list: &mut BTreeMap<usize, StepRecord>) {
        let Some((open, record)) = self.open.get_mut(&number).zip(list.get(&number)) else { return };
        let own = Tally::of(record, open);
        let change = own.minus(std::mem::replace(&mut open.own, own));
        self.change(Some(number), change, now_ms, list);
    }

    /// A record has ended, or another run of its step has replaced it. Records that are still open inside of it do not count any more.
    pub(super) fn end(&mut self, number: usize, now_ms: i64, list: &mut BTreeMap<usize, StepRecord>) {
        let Some(OpenRecord { around, total, .. }) = self.open.get(&number) else { return };
        let (around, change) = (*around, Tally::default().minus(*total));
        self.change(Some(number), change, now_ms, list);
        self.open.remove(&number);
        self.count_inner(around, -1, now_ms, list);
    }

    fn count_inner(&mut self, around: Option<usize>, change: i32, now_ms: i64, list: &mut BTreeMap<usize, StepRecord>) {
        let Some((number, open)) = around.and_then(|around| Some((around, self.open.get_mut(&around)?))) else {
            return;
        };
        open.inner = open.inner.saturating_add_signed(change);
        self.update(number, now_ms, list);
    }

    /// Changes the totals of a record and of those that enclose it, after adding the time since their last change.
    fn change(
        &mut self,
        mut number: Option<usize>,
        change: Tally,
        now_ms: i64,
        list: &mut BTreeMap<usize, StepRecord>,
    ) {
        if change == Tally::default() {
            return;
        }
        while let Some((at, open)) = number.and_then(|at| Some((at, self.open.get_mut(&at)?))) {
            if open.total.working == 0
                && open.total.waiting > 0
                && let Some(record) = list.get_mut(&at)
            {
                let waited_ms = now_ms - open.since_ms;
                record.waited_ms += waited_ms;
                record.waited_people_ms += if open.total.for_people > 0 { waited_ms } else { 0 };
            }
            open.total = open.total.plus(change);
            open.since_ms = now_ms;
            number = open.around;
        }
    }
}
