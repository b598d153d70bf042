//! Hands recorded events to the new program.

use std::collections::{BTreeMap, VecDeque};

use branchpoint_expr::Value;

use super::calls::{Answered, Calls, EventUse, Recorded, RecordedEvent, nowhere, waiting_steps};
use super::same_future::has_same_future;
use super::{CallName, Cause, Continued, Difference, Revision, ended};
use crate::advance::{Rejected, advance_noting};
use crate::event::{Event, Stamp};
use crate::fold::{JournalRow, Pending};
use crate::state::{EffectNo, RequestNo, State, TimerNo};
use crate::trace::Records;

/// The number of ops that the new program may execute beyond a multiple of those of the old one.
const OPS: u64 = 1_000_000;

/// A run on its new program, while it is replayed.
pub(super) struct Replay<'r> {
    revision: &'r Revision<'r>,
    recorded: &'r Recorded,
    rows: Vec<JournalRow>,
    state: State,
    pending: Pending,
    calls: Calls,
    records: Records,
    /// Recorded results of calls that the new program has not made yet, by name and attempt.
    early: BTreeMap<(CallName, u32), &'r RecordedEvent>,
    /// Recorded answers to requests that the new program has not opened yet.
    early_answers: BTreeMap<RequestNo, VecDeque<&'r RecordedEvent>>,
    /// Approvals that people must answer again, with the number of void votes.
    void: BTreeMap<CallName, usize>,
    /// Whether the last event is finished later, as in the recorded run.
    more: bool,
}

impl<'r> Replay<'r> {
    pub(super) fn new(revision: &'r Revision<'r>, recorded: &'r Recorded) -> Self {
        Self {
            revision,
            recorded,
            rows: Vec::new(),
            state: State::new(),
            pending: Pending::default(),
            calls: Calls::default(),
            records: Records::of(revision.new),
            early: BTreeMap::new(),
            early_answers: BTreeMap::new(),
            void: BTreeMap::new(),
            more: false,
        }
    }

    pub(super) fn run(mut self) -> Result<Continued, Difference> {
        for event in &self.recorded.events {
            self.replay(event)?;
            self.settle_early()?;
        }
        if self.more && !self.recorded.state.is_unfinished() {
            self.finish()?;
            self.settle_early()?;
        }
        self.require_all_used()?;
        let old = &self.recorded.calls;
        let mut new_calls = Vec::new();
        for (_, call) in self.calls.pending() {
            let is_in_flight = old.pending_call(&call.name).is_some_and(|(_, made)| made.attempt == call.attempt);
            match old.call(&call.name) {
                Some(_) if is_in_flight => {}
                Some(made) if made.attempt >= call.attempt => {
                    return Err(Difference { at: call.name.clone(), cause: Cause::Abandoned });
                }
                _ => new_calls.push((call.name.clone(), call.input.clone())),
            }
        }
        let waiting = waiting_steps(self.revision.new, &self.state, self.records);
        Ok(Continued {
            rows: self.rows,
            state: self.state,
            pending: self.pending,
            in_flight: old.pending().map(|(_, call)| call.name.clone()).collect(),
            new_calls,
            void_votes: self.void.into_iter().collect(),
            waiting: [self.recorded.waiting.clone(), waiting],
            last_no: self.recorded.state.last_no,
        })
    }

    fn replay(&mut self, recorded: &'r RecordedEvent) -> Result<(), Difference> {
        let stamp = &recorded.stamp;
        match &recorded.what {
            // The recorded run stopped at the same operation, if both programs are the same.
            EventUse::Continue if self.more => return self.hand(stamp, Event::Continue),
            EventUse::Continue => return Ok(()),
            EventUse::Cancel(event) => {
                let cancelled = ended(&self.state).is_none();
                return if cancelled { self.hand(stamp, event.clone()) } else { Ok(()) };
            }
            _ => self.finish()?,
        }
        match &recorded.what {
            EventUse::Start(event) => self.start(stamp, event),
            EventUse::Timer => {
                // One timer for each recorded one, so that each has the seed of its own event.
                self.fire_first_due(stamp)?;
                Ok(())
            }
            EventUse::Settled { .. } => {
                self.fire_due(stamp)?;
                self.settle(recorded)
            }
            EventUse::Answer { event, request } => {
                self.fire_due(stamp)?;
                self.answer(recorded, event, *request)
            }
            EventUse::Signal { event, approval } => {
                self.fire_due(stamp)?;
                self.signal(stamp, event, approval.as_ref())
            }
            EventUse::SkipNumbers(last_no) => {
                let adopted = crate::advance::with_numbers_after(&self.state, *last_no);
                if adopted.last_no == self.state.last_no || ended(&self.state).is_some() {
                    return Ok(());
                }
                self.hand(stamp, Event::Adopt(Box::new(adopted)))
            }
            EventUse::Continue | EventUse::Cancel(_) => Ok(()),
        }
    }

    fn start(&mut self, stamp: &Stamp, event: &Event) -> Result<(), Difference> {
        let Event::Start { input, facts, depth, max_ops, budget } = event else { return Ok(()) };
        let mut facts = facts.clone();
        for name in &self.revision.new.facts {
            if !facts.contains_key(name) {
                facts.insert(name.clone(), (self.revision.fact)(name));
            }
        }
        let (depth, max_ops, budget) = (*depth, *max_ops, *budget);
        let start = Event::Start { input: input.clone(), facts, depth, max_ops, budget };
        let rejected = |rejected: &Rejected| Cause::Start { rejected: rejected.to_string() };
        self.try_hand(stamp, start)?.map_err(|error| Difference { at: nowhere(), cause: rejected(&error) })
    }

    /// Hands the recorded result of a call to the new program, now or when it makes the call.
    fn settle(&mut self, recorded: &'r RecordedEvent) -> Result<(), Difference> {
        let EventUse::Settled { call: name, attempt, .. } = &recorded.what else { return Ok(()) };
        if let Some((effect, _)) = self.calls.pending_call(name).filter(|(_, call)| call.attempt == *attempt) {
            return self.settle_now(recorded, effect);
        }
        self.early.insert((name.clone(), *attempt), recorded);
        Ok(())
    }

    fn settle_now(&mut self, recorded: &RecordedEvent, effect: EffectNo) -> Result<(), Difference> {
        let EventUse::Settled { call: name, attempt, result, usage, effect: old } = &recorded.what else {
            return Ok(());
        };
        let (new_call, old_call) = (&self.calls.effects[&effect], &self.recorded.calls.effects[old]);
        let fields = old_call.differing_fields(new_call);
        if !fields.is_empty() {
            return Err(Difference { at: name.clone(), cause: Cause::OtherRequest { fields } });
        }
        if !(self.revision.has_same_child)(&old_call.definition, &old_call.input) {
            return Err(Difference { at: name.clone(), cause: Cause::OtherChild });
        }
        self.calls.settled(effect);
        let settled = Event::Settled { effect, attempt: *attempt, result: result.clone(), usage: *usage };
        self.hand(&recorded.stamp, settled)
    }

    /// Hands over the results and answers that arrived before the new program asked for them.
    fn settle_early(&mut self) -> Result<(), Difference> {
        loop {
            if self.early.is_empty() && self.early_answers.is_empty()
                || self.more && self.recorded.state.is_unfinished()
            {
                return Ok(());
            }
            let early = self.calls.pending().find_map(|(effect, call)| {
                let recorded = self.early.get(&(call.name.clone(), call.attempt))?;
                Some((effect, (call.name.clone(), call.attempt), *recorded))
            });
            if let Some((effect, key, recorded)) = early {
                self.finish()?;
                self.early.remove(&key);
                self.settle_now(recorded, effect)?;
                continue;
            }
            let open = self.early_answers.keys().copied().find(|old| {
                let name = &self.recorded.calls.requests[old].name;
                self.calls.open_request(name).is_some()
            });
            let Some(old) = open else { return Ok(()) };
            let Some(recorded) = self.early_answers.get_mut(&old).and_then(VecDeque::pop_front) else {
                self.early_answers.remove(&old);
                continue;
            };
            self.finish()?;
            if let EventUse::Answer { event, request } = &recorded.what {
                self.answer_now(&recorded.stamp, event, *request)?;
            }
        }
    }

    fn answer(&mut self, recorded: &'r RecordedEvent, event: &Event, request: RequestNo) -> Result<(), Difference> {
        let name = &self.recorded.calls.requests[&request].name;
        if self.calls.open_request(name).is_none() && !self.void.contains_key(name) {
            self.early_answers.entry(request).or_default().push_back(recorded);
            return Ok(());
        }
        self.answer_now(&recorded.stamp, event, request)
    }

    /// Hands an answer to the request of the same name. It is void if people would now see another request, or if something else
    /// would follow.
    fn answer_now(&mut self, stamp: &Stamp, event: &Event, request: RequestNo) -> Result<(), Difference> {
        let old = &self.recorded.calls.requests[&request];
        let mapped = self.calls.open_request(&old.name).and_then(|(number, new)| {
            let is_same = without_hash(&old.spec) == without_hash(&new.spec)
                && has_same_future(
                    (self.revision.old, old.place?, &old.scopes),
                    (self.revision.new, new.place?, &new.scopes),
                );
            is_same.then(|| with_request(event, number))
        });
        let accepted = match mapped {
            Some(event) if !self.void.contains_key(&old.name) => self.try_hand(stamp, event)?.is_ok(),
            _ => false,
        };
        if !accepted {
            *self.void.entry(old.name.clone()).or_default() += 1;
        }
        Ok(())
    }

    fn signal(&mut self, stamp: &Stamp, event: &Event, approval: Option<&Answered>) -> Result<(), Difference> {
        let Event::Signal { name, payload, .. } = event else { return Ok(()) };
        let step = approval.map_or_else(|| name.clone(), |approval| approval.step.clone());
        let at = CallName { step, path: Vec::new(), count: 1 };
        if let Some(old) = approval {
            let now = Answered::find(self.revision.new, &self.state, name, payload);
            let is_same = now.is_some_and(|new| {
                new.step == old.step
                    && new.prompt == old.prompt
                    && old.place.zip(new.place).is_some_and(|(old_place, new_place)| {
                        has_same_future(
                            (self.revision.old, old_place, &old.scopes),
                            (self.revision.new, new_place, &new.scopes),
                        )
                    })
            });
            if !is_same || self.void.contains_key(&at) {
                *self.void.entry(at).or_default() += 1;
                return Ok(());
            }
        }
        let rejected = self.try_hand(stamp, event.clone())?.err();
        match rejected {
            None => Ok(()),
            Some(rejected) => Err(Difference { at, cause: Cause::Signal { rejected: rejected.to_string() } }),
        }
    }

    /// Every recorded result must have been used.
    fn require_all_used(&self) -> Result<(), Difference> {
        let first = self.recorded.events.iter().find_map(|event| match &event.what {
            EventUse::Settled { call, attempt, .. } if self.early.contains_key(&(call.clone(), *attempt)) => {
                Some(call.clone())
            }
            EventUse::Answer { request, .. } if self.early_answers.contains_key(request) => {
                Some(self.recorded.calls.requests[request].name.clone())
            }
            _ => None,
        });
        let Some(at) = first else { return Ok(()) };
        // Work after an approval is missing because people must answer it again.
        if let Some(approval) = self.void.keys().next() {
            return Err(Difference { at: approval.clone(), cause: Cause::OpenAgain });
        }
        let is_new = |name: &CallName| self.recorded.calls.call(name).is_none();
        let instead = self.calls.pending().map(|(_, call)| call.name.clone()).find(is_new);
        Err(Difference { at, cause: Cause::NotCalled { instead } })
    }

    /// Fires every timer that is due by a time.
    fn fire_due(&mut self, stamp: &Stamp) -> Result<(), Difference> {
        while self.fire_first_due(stamp)? {
            self.finish()?;
            self.settle_early()?;
        }
        Ok(())
    }

    fn fire_first_due(&mut self, stamp: &Stamp) -> Result<bool, Difference> {
        let first = self.state.timers().map(|(timer, due_ms)| (due_ms, timer)).min();
        let Some((due_ms, timer)): Option<(i64, TimerNo)> = first.filter(|(due_ms, _)| *due_ms <= stamp.now_ms) else {
            return Ok(false);
        };
        self.hand(&Stamp { now_ms: due_ms, ..stamp.clone() }, Event::TimerFired(timer))?;
        Ok(true)
    }

    /// Continues until the last event is finished.
    fn finish(&mut self) -> Result<(), Difference> {
        while self.more {
            let stamp = Stamp { now_ms: self.state.now_ms, fuel: 0, ..self.last_stamp() };
            self.hand(&stamp, Event::Continue)?;
        }
        Ok(())
    }

    fn last_stamp(&self) -> Stamp {
        self.rows.last().map(|(stamp, _, _)| stamp.clone()).unwrap_or_default()
    }

    /// Hands over an event that the new program accepts.
    fn hand(&mut self, stamp: &Stamp, event: Event) -> Result<(), Difference> {
        let cause = |rejected: &Rejected| Cause::Signal { rejected: rejected.to_string() };
        self.try_hand(stamp, event)?.map_err(|rejected| Difference { at: nowhere(), cause: cause(&rejected) })
    }

    /// Hands over an event. The inner error is a rejection, after which nothing has changed.
    fn try_hand(&mut self, stamp: &Stamp, event: Event) -> Result<Result<(), Rejected>, Difference> {
        let new = self.revision.new;
        let now_ms = stamp.now_ms.max(self.state.now_ms);
        let offsets_s = if new.zones == self.revision.old.zones && now_ms == stamp.now_ms {
            stamp.offsets_s.clone()
        } else {
            (self.revision.offsets_s)(&new.zones, now_ms)
        };
        let stamp = Stamp { now_ms, offsets_s, record: false, ..stamp.clone() };
        let recording = Stamp { record: true, ..stamp.clone() };
        let records = &mut self.records;
        let mut note = |note| {
            records.add(&note);
        };
        let outcome = match advance_noting(new, &mut self.state, &recording, event.clone(), &mut note) {
            Ok(outcome) => outcome,
            Err(rejected) => return Ok(Err(rejected)),
        };
        if self.state.ops() > self.recorded.state.ops().saturating_mul(4).saturating_add(OPS) {
            return Err(Difference { at: nowhere(), cause: Cause::TooLong });
        }
        self.pending.add(&event, &outcome.commands, now_ms);
        self.calls.add(new, &self.state, &outcome.commands);
        self.more = outcome.more;
        self.rows.push((stamp, event, outcome.check));
        Ok(Ok(()))
    }
}

/// A request without the hash of what is shown, which covers the whole program.
fn without_hash(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Value::Object(fields) = &mut spec {
        fields.edit(|fields| {
            fields.shift_remove("shown_hash");
        });
    }
    spec
}

/// A signal about another request. The hash that the voter saw names the old program, and what it covers is the same.
fn with_request(event: &Event, request: RequestNo) -> Event {
    let mut event = event.clone();
    if let Event::Signal { payload: Value::Object(fields), .. } = &mut event {
        let number = Value::Int(i64::try_from(request.0).unwrap_or(i64::MAX));
        fields.edit(|fields| {
            fields.insert("request".into(), number);
            fields.shift_remove("shown_hash");
        });
    }
    event
}
