//! The smallest host: one run in memory, under a virtual clock.
//!
//! It keeps what the core asks of a host: events one at a time, time that never goes back, every timer due by t before an
//! event of t, in the order of due time and number, each stamped with its due time.

mod calls;
mod children;

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::ir::{Program, Status, ViewId};
use branchpoint_core::{
    Command, Event, Note, Rejected, RequestNo, Stamp, State, TimerNo, TimerUse, advance, codec, status, view,
};
use branchpoint_expr::{Object, Value};

use crate::judge::judge;
use crate::runner::{Answer, Call, Runner};
use crate::zones::offsets_s;
use calls::{Calls, Working};
use children::Children;

/// The id of the run: there is only one.
const RUN: &str = "run";

/// One run and everything it has asked for.
#[derive(Debug)]
pub struct Memory<'p> {
    program: &'p Program,
    state: State,
    now_ms: i64,
    journal: Vec<(Stamp, Event, u32)>,
    notes: Vec<Note>,
    calls: Calls,
    timers: BTreeMap<TimerNo, i64>,
    questions: Vec<Question>,
    children: Children<'p>,
    /// Whether the fuel of the last event was spent before everything was done.
    more: bool,
}

/// A question that the run has put to people.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Its number.
    pub request: RequestNo,
    /// What was asked.
    pub spec: Value,
    /// When.
    pub asked_ms: i64,
    /// When people were reminded.
    pub reminded_ms: Vec<i64>,
    /// Whether it is still to be answered.
    pub open: bool,
}

impl<'p> Memory<'p> {
    /// A run that has not begun, at that time.
    pub fn new(program: &'p Program, now_ms: i64) -> Self {
        Self {
            program,
            state: State::new(),
            now_ms,
            journal: Vec::new(),
            notes: Vec::new(),
            calls: Calls::default(),
            timers: BTreeMap::new(),
            questions: Vec::new(),
            children: Children::default(),
            more: false,
        }
    }

    /// Begins the run. Nothing is performed before [`Self::go_on`].
    pub fn start(&mut self, input: Value, facts: Object) -> Result<(), Rejected> {
        self.children.facts.clone_from(&facts);
        self.hand(Event::Start { input, facts, depth: 0 })
    }

    /// Goes on until nothing can run by itself: calls are performed one after the other, in order, and pauses before
    /// another attempt pass. Waits and questions stay until somebody moves the clock.
    pub fn go_on(&mut self, runner: &mut dyn Runner) {
        loop {
            if self.more {
                self.must_take(Event::Continue);
            } else if self.first_timer().is_some_and(|(due_ms, _)| due_ms <= self.now_ms) {
                self.move_to(self.now_ms);
            } else if let Some(call) = self.calls.next() {
                self.perform(call, runner);
            } else if let Some(at_ms) = self.next_by_itself() {
                self.move_to(at_ms);
            } else {
                break;
            }
        }
    }

    /// Moves the clock on. Timers fire at their own times on the way, and the run goes on between them.
    pub fn advance_clock(&mut self, ms: i64, runner: &mut dyn Runner) {
        self.until(self.now_ms.saturating_add(ms), runner);
    }

    /// Moves the clock to a time, as [`Self::advance_clock`] does. Time never goes back.
    pub fn until(&mut self, at_ms: i64, runner: &mut dyn Runner) {
        loop {
            self.go_on(runner);
            match self.first_timer() {
                Some((due_ms, _)) if due_ms <= at_ms => self.move_to(due_ms),
                _ => break,
            }
        }
        self.now_ms = self.now_ms.max(at_ms);
    }

    /// When the first timer is due: how far to move the clock for something to happen.
    pub fn next_timer_ms(&self) -> Option<i64> {
        self.first_timer().map(|(due_ms, _)| due_ms)
    }

    /// Hands in a signal, and leaves it to [`Self::go_on`] what follows.
    pub fn signal(&mut self, name: &str, payload: Value, sender: Option<&str>) -> Result<(), Rejected> {
        self.hand(Event::Signal { name: name.into(), payload, sender: sender.map(Into::into), key: None })
    }

    /// A vote on a question.
    pub fn vote(
        &mut self,
        request: RequestNo,
        user: &str,
        choice: &str,
        comment: Option<&str>,
    ) -> Result<(), Rejected> {
        let mut vote = of_request(request);
        vote.insert("choice".into(), Value::from(choice));
        vote.extend(comment.map(|comment| (Arc::from("comment"), Value::from(comment))));
        self.signal("vote", Value::from(vote), Some(user))
    }

    /// An operator calls a question off.
    pub fn call_off(&mut self, request: RequestNo, reason: Option<&str>) -> Result<(), Rejected> {
        let mut order = of_request(request);
        order.extend(reason.map(|reason| (Arc::from("reason"), Value::from(reason))));
        self.signal("cancel_request", Value::from(order), None)
    }

    /// Cancels the run.
    pub fn cancel(&mut self, reason: Option<&str>) -> Result<(), Rejected> {
        self.hand(Event::Cancel { reason: reason.map(Into::into) })
    }

    /// How the run stands.
    pub fn status(&self) -> Status {
        status(self.program, &self.state)
    }

    /// The result object of a run that has ended.
    pub fn result(&self) -> Option<&Value> {
        self.state.result().map(|(_, result)| result)
    }

    /// A pure read of the run, by name; none if there is no such view or it cannot be read.
    pub fn view(&self, name: &str) -> Option<Value> {
        let id = self.program.views.iter().position(|view| &*view.name == name)?;
        view(self.program, &self.state, ViewId(u32::try_from(id).ok()?)).ok()
    }

    /// Throws the run away and loads it from its stored bytes, as a host does that was stopped in between.
    pub fn reload(&mut self) -> Result<(), codec::CodecError> {
        self.state = codec::decode_state(&codec::encode_state(&self.state)?)?;
        Ok(())
    }

    /// Everything that was told, in order.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// All questions that were asked, in order; those that were settled are not open.
    pub fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// The state of the run.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The events that were taken.
    pub fn journal(&self) -> &[(Stamp, Event, u32)] {
        &self.journal
    }

    /// The time.
    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn perform(&mut self, call: Call, runner: &mut dyn Runner) {
        match self.child(&call, runner).unwrap_or_else(|| runner.perform(&call)) {
            Answer::Never => self.calls.hang(call, self.now_ms),
            answer => {
                let duration_ms = runner.duration_ms(&call);
                if call.attempt_limit_ms.is_some_and(|limit_ms| limit_ms < duration_ms) {
                    return self.calls.hang(call, self.now_ms);
                }
                let ends_ms = self.now_ms.saturating_add(i64::try_from(duration_ms).unwrap_or(i64::MAX));
                let working = Working { ends_ms, reports: runner.reports(&call), answer, call };
                if duration_ms == 0 { self.ended(working) } else { self.calls.work(working) }
            }
        }
    }

    /// What a call told while it went on comes before its answer. The run may not want to hear it.
    fn ended(&mut self, working: Working) {
        for (name, payload) in working.reports {
            drop(self.signal(&name, payload, None));
            while self.more {
                self.must_take(Event::Continue);
            }
        }
        self.settle(&working.call, working.answer);
    }

    fn settle(&mut self, call: &Call, answer: Answer) {
        let usage = answer.usage();
        let result = judge(call, answer);
        self.must_take(Event::Settled { effect: call.effect, attempt: call.attempt, result, usage });
    }

    /// When the run goes on without anybody's doing: after the pause before an attempt, or when a call that hangs has
    /// taken too long, be it by its own limit or by that of a part of the run around it.
    fn next_by_itself(&self) -> Option<i64> {
        let hangs = self.calls.hangs();
        let timers = self.timers.iter().filter(|(timer, _)| match self.state.timer_use(**timer) {
            Some(TimerUse::Retry) => true,
            Some(TimerUse::Deadline | TimerUse::Wall) => hangs,
            _ => false,
        });
        let calls = self.calls.first_limit_ms().into_iter().chain(self.calls.first_end_ms());
        timers.map(|(_, at_ms)| *at_ms).chain(calls).min()
    }

    fn first_timer(&self) -> Option<(i64, TimerNo)> {
        self.timers.iter().map(|(timer, at_ms)| (*at_ms, *timer)).min()
    }

    /// Moves the clock to the first thing that is due by then, and lets it happen.
    fn move_to(&mut self, at_ms: i64) {
        if let Some((due_ms, timer)) = self.first_timer().filter(|(due_ms, _)| *due_ms <= at_ms) {
            self.now_ms = self.now_ms.max(due_ms);
            self.timers.remove(&timer);
            self.must_take(Event::TimerFired(timer));
            return;
        }
        self.now_ms = self.now_ms.max(at_ms);
        if let Some(working) = self.calls.take_ended(self.now_ms) {
            return self.ended(working);
        }
        if let Some(call) = self.calls.take_over_limit(self.now_ms) {
            self.settle(&call, Answer::Never);
        }
    }

    /// An event that the run itself has asked for.
    fn must_take(&mut self, event: Event) {
        let taken = self.hand(event);
        assert!(taken.is_ok(), "a run takes what it has asked for, and it said: {taken:?}");
    }

    fn hand(&mut self, event: Event) -> Result<(), Rejected> {
        let (now_ms, offsets_s) = (self.now_ms, offsets_s(&self.program.zones, self.now_ms));
        let stamp = Stamp { now_ms, seed: self.journal.len() as u64, offsets_s, record: true };
        let outcome = advance(self.program, &mut self.state, &stamp, event.clone())?;
        self.journal.push((stamp, event, outcome.check));
        self.more = outcome.more;
        for command in outcome.commands {
            self.carry_out(command);
        }
        self.notes.extend(outcome.trace);
        Ok(())
    }

    fn carry_out(&mut self, command: Command) {
        match command {
            command @ Command::Perform { .. } => {
                Call::of(self.program, &RUN.into(), command).into_iter().for_each(|call| self.calls.push(call));
            }
            Command::Withdraw { effect } => self.calls.withdraw(effect),
            Command::SetTimer { timer, at_ms } => {
                self.timers.insert(timer, at_ms);
            }
            Command::ClearTimer { timer } => {
                self.timers.remove(&timer);
            }
            Command::Ask { request, spec } => {
                let question = Question { request, spec, asked_ms: self.now_ms, reminded_ms: Vec::new(), open: true };
                self.questions.push(question);
            }
            Command::Remind { request, .. } => {
                let now_ms = self.now_ms;
                self.question(request).into_iter().for_each(|question| question.reminded_ms.push(now_ms));
            }
            Command::Retract { request } => {
                self.question(request).into_iter().for_each(|question| question.open = false);
            }
            Command::Finish { .. } => {}
        }
    }

    fn question(&mut self, request: RequestNo) -> Option<&mut Question> {
        self.questions.iter_mut().find(|question| question.request == request)
    }
}

/// `{request}`: signals to one question among several name it.
fn of_request(request: RequestNo) -> Object {
    let number = i64::try_from(request.0).unwrap_or(i64::MAX);
    [(Arc::from("request"), Value::Int(number))].into_iter().collect()
}
