//! A host for one run under the real clock: every call is made on a thread of its own, child runs included.
//!
//! Nothing is kept beyond the run. It is what runs a workflow in front of a person, and what vectors with real commands run
//! on; a run that must survive its process belongs to another host.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, Scope};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use branchpoint_core::ir::{Effect, Program, Status};
use branchpoint_core::{
    Command, EffectNo, Event, Note, Offer, Rejected, Stamp, State, TimerNo, advance, offers, status,
};
use branchpoint_expr::{Object, Value};

use crate::judge::judge;
use crate::outside::Outside;
use crate::runner::{Answer, Call};
use crate::stop::Stop;
use crate::zones::offsets_s;

/// How long the host sleeps at most before it looks whether it was told to stop.
const NAP: Duration = Duration::from_millis(10);

/// The signal that brings a line of the user.
const LINE: &str = "line";

/// A program and the programs that it calls by name.
#[derive(Clone, Copy, Debug)]
pub struct Programs<'p> {
    /// What runs.
    pub root: &'p Program,
    /// What it calls, and what they call.
    pub children: &'p BTreeMap<Arc<str>, Program>,
}

/// A run that has ended, or that nothing moves any more.
#[derive(Clone, Debug)]
pub struct Ran {
    /// How it stands.
    pub status: Status,
    /// Its result object.
    pub result: Value,
    /// Everything that was told, in order.
    pub notes: Vec<Note>,
    /// The events that were taken.
    pub journal: Vec<(Stamp, Event)>,
}

impl Programs<'_> {
    /// Runs to the end.
    ///
    /// # Errors
    ///
    /// The run does not take what it is started with.
    pub fn run(self, input: Value, outside: &dyn Outside, stop: &Stop) -> Result<Ran, Rejected> {
        self.run_at(input, outside, stop, 0)
    }

    fn run_at(self, input: Value, outside: &dyn Outside, stop: &Stop, depth: u32) -> Result<Ran, Rejected> {
        thread::scope(|scope| {
            let (told, heard) = channel();
            let mut live = Live {
                programs: self,
                outside,
                stop,
                depth,
                scope,
                state: State::new(),
                journal: Vec::new(),
                notes: Vec::new(),
                timers: BTreeSet::new(),
                flights: BTreeMap::new(),
                more: false,
                told,
            };
            let facts: Object = self.root.facts.iter().map(|name| (name.clone(), outside.fact(name))).collect();
            live.hand(Event::Start { input, facts, depth }, now_ms())?;
            live.go_on(&heard);
            live.flights.values().for_each(|(_, stop)| stop.set());
            let status = status(self.root, &live.state);
            let result = live.state.result().map(|(_, result)| result.clone()).unwrap_or_default();
            Ok(Ran { status, result, notes: live.notes, journal: live.journal })
        })
    }
}

struct Live<'s, 'e> {
    programs: Programs<'e>,
    outside: &'e dyn Outside,
    stop: &'e Stop,
    depth: u32,
    scope: &'s Scope<'s, 'e>,
    state: State,
    journal: Vec<(Stamp, Event)>,
    notes: Vec<Note>,
    timers: BTreeSet<(i64, TimerNo)>,
    /// Calls that somebody waits for, by their attempt, and the word that would end them.
    flights: BTreeMap<EffectNo, (u32, Stop)>,
    more: bool,
    told: Sender<(Call, Answer)>,
}

impl Live<'_, '_> {
    fn go_on(&mut self, heard: &Receiver<(Call, Answer)>) {
        let mut cancelled = false;
        while self.state.result().is_none() {
            if self.stop.is_set() && !cancelled {
                cancelled = true;
                self.must_take(Event::Cancel { reason: None }, now_ms());
            } else if self.more {
                // What was begun is finished at its own time, before anything else comes.
                self.must_take(Event::Continue, i64::MIN);
            } else if let Some((due_ms, timer)) = self.timers.first().copied().filter(|(due, _)| *due <= now_ms()) {
                self.timers.remove(&(due_ms, timer));
                self.must_take(Event::TimerFired(timer), due_ms);
            } else if !self.wait(heard) {
                break;
            }
        }
    }

    /// Waits for the next thing to happen. False: nothing can.
    fn wait(&mut self, heard: &Receiver<(Call, Answer)>) -> bool {
        if self.flights.is_empty() && self.user_speaks() {
            return true;
        }
        if self.flights.is_empty() && self.timers.is_empty() {
            return false;
        }
        match heard.recv_timeout(NAP) {
            Ok((call, answer)) => self.settle(&call, answer),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        true
    }

    /// A run that waits for the user gets the user's next line, or hears that there is none.
    fn user_speaks(&mut self) -> bool {
        let asks = |offer: &Offer| matches!(offer, Offer::Signal { name, .. } if &**name == LINE);
        if !offers(self.programs.root, &self.state).iter().any(asks) {
            return false;
        }
        let payload = self.outside.line().map_or(Value::Null, Value::from);
        let signal = Event::Signal { name: LINE.into(), payload, sender: None, key: None };
        self.must_take(signal, now_ms());
        true
    }

    fn settle(&mut self, call: &Call, answer: Answer) {
        // Nobody waits for what was withdrawn, nor for an attempt that was given up.
        if self.flights.get(&call.effect).is_none_or(|(attempt, _)| *attempt != call.attempt) {
            return;
        }
        self.flights.remove(&call.effect);
        let usage = answer.usage();
        let result = judge(call, answer);
        self.must_take(Event::Settled { effect: call.effect, attempt: call.attempt, result, usage }, now_ms());
    }

    fn must_take(&mut self, event: Event, at_ms: i64) {
        let taken = self.hand(event, at_ms);
        assert!(taken.is_ok(), "a run takes what it has asked for, and it said: {taken:?}");
    }

    fn hand(&mut self, event: Event, at_ms: i64) -> Result<(), Rejected> {
        let last_ms = self.journal.last().map_or(i64::MIN, |(stamp, _)| stamp.now_ms);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seed = u64::from(since.subsec_nanos()) ^ self.journal.len() as u64;
        let now_ms = at_ms.max(last_ms);
        let stamp = Stamp { now_ms, seed, offsets_s: offsets_s(&self.programs.root.zones, now_ms), record: true };
        let outcome = advance(self.programs.root, &mut self.state, &stamp, event.clone())?;
        self.journal.push((stamp, event));
        self.more = outcome.more;
        for command in outcome.commands {
            self.carry_out(command);
        }
        self.notes.extend(outcome.trace);
        Ok(())
    }

    fn carry_out(&mut self, command: Command) {
        match command {
            Command::Perform { effect, attempt, what, input, answers, path } => {
                let what = &self.programs.root.effects[what.0 as usize];
                self.perform(Call {
                    run: "run".into(),
                    folder: "".into(),
                    effect,
                    attempt,
                    answers,
                    kind: what.kind.clone(),
                    spec: what.spec.clone(),
                    input,
                    attempt_limit_ms: what.attempt_limit_ms,
                    step: what.step.map(|step| self.programs.root.steps[step.0 as usize].id.clone()),
                    path,
                });
            }
            Command::Withdraw { effect } => {
                if let Some((_, stop)) = self.flights.remove(&effect) {
                    stop.set();
                }
            }
            Command::SetTimer { timer, at_ms } => {
                self.timers.insert((at_ms, timer));
            }
            Command::ClearTimer { timer } => self.timers.retain(|(_, known)| *known != timer),
            Command::Ask { .. } | Command::Remind { .. } | Command::Retract { .. } | Command::Finish { .. } => {}
        }
    }

    fn perform(&mut self, call: Call) {
        let stop = self.stop.inside(None);
        self.flights.insert(call.effect, (call.attempt, stop.clone()));
        let (programs, outside, depth, told) = (self.programs, self.outside, self.depth, self.told.clone());
        self.scope.spawn(move || {
            let answer = if &*call.kind == Effect::CHILD_RUN {
                programs.child(&call, outside, &stop, depth)
            } else {
                outside.perform(&call, &stop)
            };
            // The run may have ended meanwhile; then nobody listens.
            let _ = told.send((call, answer));
        });
    }
}

impl Programs<'_> {
    /// A call of another workflow is a run of its own, one level deeper.
    fn child(self, call: &Call, outside: &dyn Outside, stop: &Stop, depth: u32) -> Answer {
        let name = call.spec.get("workflow").and_then(Value::as_str).unwrap_or_default();
        let Some(program) = self.children.get(name) else {
            return Answer::failed("child", format!("there is no workflow `{name}`"));
        };
        let limit = call.attempt_limit_ms.map(Duration::from_millis);
        let stop = stop.inside(limit.map(|limit| Instant::now() + limit));
        let inputs = call.input.get("inputs").cloned().unwrap_or_default();
        match (Programs { root: program, ..self }).run_at(inputs, outside, &stop, depth + 1) {
            // Whatever the child says after its time is over, nobody waited for it.
            Ok(_) if stop.is_set() => Answer::Never,
            Ok(ran) => Answer::data(ran.result),
            Err(rejected) => Answer::failed("child", rejected.to_string()),
        }
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
