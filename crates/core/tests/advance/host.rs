//! A minimal host for tests, and helpers for building programs.

use std::collections::BTreeMap;

use branchpoint_core::codec::encode_state;
use branchpoint_core::effect::Kind;
use branchpoint_core::ir::builder::{self, Builder, ROOT, ScopeSpec};
use branchpoint_core::ir::{Effect, Exit, Failure, PlaceId, Program, Retry, ScopeId, SlotId, Status, Write};
use branchpoint_core::{
    AttemptError, Command, EffectNo, Event, Outcome, Rejected, RequestNo, RetryHint, Stamp, State, TimerNo, Usage,
    advance,
};
use branchpoint_expr::{Dialect, Object, Value};

/// A run, a clock, and the commands of the run.
pub(crate) struct Host {
    pub(crate) program: Program,
    pub(crate) state: State,
    pub(crate) now_ms: i64,
    pub(crate) seed: u64,
    /// Attempts in flight: the kind of the effect and the attempt.
    pub(crate) flights: BTreeMap<EffectNo, (String, u32)>,
    pub(crate) timers: BTreeMap<TimerNo, i64>,
    pub(crate) asks: Vec<RequestNo>,
    pub(crate) withdrawn: Vec<String>,
    pub(crate) reminded: Vec<Vec<String>>,
    pub(crate) escalated: Vec<Vec<String>>,
    /// The input of every attempt, in order.
    pub(crate) inputs: Vec<String>,
    pub(crate) more: bool,
    pub(crate) end: Option<(Status, Value)>,
}

impl Host {
    /// Starts a run at time 1000.
    pub(crate) fn start(program: Program) -> Self {
        Self::start_with(
            program,
            Event::Start {
                input: Value::from("input"),
                facts: Object::default(),
                depth: 0,
                max_ops: 0,
                budget: branchpoint_core::ir::BudgetLimits::default(),
            },
        )
    }

    pub(crate) fn start_with(program: Program, start: Event) -> Self {
        let mut host = Self {
            program,
            state: State::new(),
            now_ms: 1_000,
            seed: 7,
            flights: BTreeMap::new(),
            timers: BTreeMap::new(),
            asks: Vec::new(),
            withdrawn: Vec::new(),
            reminded: Vec::new(),
            escalated: Vec::new(),
            inputs: Vec::new(),
            more: false,
            end: None,
        };
        host.hand(start).expect("a run can start");
        host
    }

    pub(crate) fn hand(&mut self, event: Event) -> Result<Outcome, Rejected> {
        let stamp = Stamp { now_ms: self.now_ms, seed: self.seed, offsets_s: vec![], fuel: 0, record: true };
        let gone = match &event {
            Event::Settled { effect, .. } => Some(*effect),
            _ => None,
        };
        let before = encode_state(&self.state).unwrap();
        let outcome = advance(&self.program, &mut self.state, &stamp, event);
        let Ok(outcome) = outcome else {
            assert_eq!(encode_state(&self.state).unwrap(), before, "a rejected event changes nothing");
            return outcome;
        };
        gone.map(|effect| self.flights.remove(&effect));
        self.more = outcome.more;
        self.take(&outcome.commands);
        Ok(outcome)
    }

    /// Executes the commands of an event.
    pub(crate) fn take(&mut self, commands: &[Command]) {
        for command in commands {
            self.execute(command);
        }
    }

    fn execute(&mut self, command: &Command) {
        match command {
            Command::Perform { effect, attempt, effect_id, input, .. } => {
                let kind = name(&self.program.effects[effect_id.0 as usize]);
                self.inputs.push(format!("{kind} {input:?}"));
                assert!(self.flights.insert(*effect, (kind, *attempt)).is_none(), "one attempt at a time");
            }
            Command::Withdraw { effect } => {
                let (kind, _) = self.flights.remove(effect).expect("only what is in flight is withdrawn");
                self.withdrawn.push(kind);
            }
            Command::SetTimer { timer, at_ms } => {
                self.timers.insert(*timer, *at_ms);
            }
            Command::ClearTimer { timer } => {
                self.timers.remove(timer).expect("only timers that are set are cleared");
            }
            Command::Ask { request, .. } => self.asks.push(*request),
            Command::Retract { request } => self.asks.retain(|known| known != request),
            Command::Remind { users, .. } => self.reminded.push(users.iter().map(ToString::to_string).collect()),
            Command::Escalate { users, .. } => self.escalated.push(users.iter().map(ToString::to_string).collect()),
            Command::Finish { status, result } => {
                assert!(self.flights.is_empty() && self.timers.is_empty() && self.asks.is_empty(), "all is withdrawn");
                self.end = Some((*status, result.clone()));
            }
        }
    }

    /// The kinds of effects in flight, in the order in which they began.
    pub(crate) fn flying(&self) -> Vec<&str> {
        self.flights.values().map(|(kind, _)| kind.as_str()).collect()
    }

    pub(crate) fn find(&self, kind: &str) -> (EffectNo, u32) {
        let flight = self.flights.iter().find(|(_, (other, _))| other == kind);
        let (effect, (_, attempt)) = flight.unwrap_or_else(|| panic!("{kind} is not in flight: {:?}", self.flights));
        (*effect, *attempt)
    }

    /// Settles the effect of this kind with a value.
    #[track_caller]
    pub(crate) fn answer(&mut self, kind: &str, value: impl Into<Value>) {
        let (effect, attempt) = self.find(kind);
        let result = Ok(value.into());
        self.hand(Event::Settled { effect, attempt, result, usage: Usage::default() }).expect("it is in flight");
    }

    /// Settles the effect of this kind with a value, and with the tokens that it has used.
    #[track_caller]
    pub(crate) fn answer_using(&mut self, kind: &str, tokens: u64) {
        let (effect, attempt) = self.find(kind);
        let (result, usage) = (Ok(Value::from(kind)), Usage { tokens, cost_micros: tokens * 1_000 });
        self.hand(Event::Settled { effect, attempt, result, usage }).expect("it is in flight");
    }

    /// Fails the effect of this kind, with the tokens that it has used.
    #[track_caller]
    pub(crate) fn fail_using(&mut self, kind: &str, again: bool, tokens: u64) {
        let (effect, attempt) = self.find(kind);
        let failed =
            AttemptError { kind: "boom".into(), message: "it broke".into(), retry: again.into(), answered: true };
        let usage = Usage { tokens, cost_micros: tokens * 1_000 };
        self.hand(Event::Settled { effect, attempt, result: Err(failed), usage }).expect("it is in flight");
    }

    /// Fails the effect of this kind, with or without a retry.
    #[track_caller]
    pub(crate) fn fail(&mut self, kind: &str, again: impl Into<RetryHint>) {
        let (effect, attempt) = self.find(kind);
        let again = again.into();
        let result =
            Err(AttemptError { kind: "boom".into(), message: "it broke".into(), retry: again, answered: true });
        self.hand(Event::Settled { effect, attempt, result, usage: Usage::default() }).expect("it is in flight");
    }

    /// Advances the clock. Timers fire in order, each at its time.
    pub(crate) fn pass(&mut self, ms: i64) {
        let until = self.now_ms + ms;
        while let Some((at, timer)) = self.timers.iter().map(|(timer, at)| (*at, *timer)).min() {
            if at > until {
                break;
            }
            self.now_ms = at;
            self.timers.remove(&timer);
            self.hand(Event::TimerFired(timer)).expect("a due timer is taken");
        }
        self.now_ms = until;
    }

    pub(crate) fn signal(&mut self, name: &str, payload: impl Into<Value>) -> Result<Outcome, Rejected> {
        self.hand(Event::Signal { name: name.into(), payload: payload.into(), sender: None, key: None })
    }

    pub(crate) fn vote(&mut self, user: &str, choice: &str) -> Result<Outcome, Rejected> {
        let request = self.asks.first().map_or(0, |request| i64::try_from(request.0).expect("numbers are small"));
        let payload = object([("request", Value::Int(request)), ("choice", Value::from(choice))]);
        self.hand(Event::Signal { name: "vote".into(), payload, sender: Some(user.into()), key: None })
    }

    #[track_caller]
    pub(crate) fn completed_with(&self, result: &str) {
        let (status, value) = self.end.as_ref().expect("the run has ended");
        assert_eq!((*status, format!("{value:?}").as_str()), (Status::Completed, result));
    }

    #[track_caller]
    pub(crate) fn failed_with(&self, kind: &str) {
        let (status, value) = self.end.as_ref().expect("the run has ended");
        assert_eq!((*status, value.get("kind").and_then(Value::as_str)), (Status::Failed, Some(kind)));
    }
}

pub(crate) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let object: Object = fields.into_iter().map(|(key, value)| (key.into(), value)).collect();
    Value::from(object)
}

/// A builder with a local `v`, a slot `r` of the root, and an end with the result `r`.
pub(crate) struct Make {
    pub(crate) b: Builder,
    pub(crate) v: SlotId,
    pub(crate) r: SlotId,
    pub(crate) end: PlaceId,
}

impl Make {
    pub(crate) fn new() -> Self {
        let mut b = Builder::new();
        let v = b.local("v");
        b.name(ROOT, &["v"], v);
        let r = b.slot(ROOT, "r", None);
        b.name(ROOT, &["r"], r);
        let result = b.read(r);
        let end = b.close(Status::Completed, result);
        Self { b, v, r, end }
    }

    /// An effect whose result becomes `v`.
    #[track_caller]
    pub(crate) fn effect(&mut self, kind: &str, next: PlaceId) -> PlaceId {
        self.effect_with(effect(kind), next, None)
    }

    #[track_caller]
    pub(crate) fn effect_with(&mut self, effect: Effect, next: PlaceId, fail: Option<Failure>) -> PlaceId {
        let input = self.b.read(self.v);
        let effect = self.b.effect(effect);
        self.b.do_(effect, input, Some(self.v), next, fail)
    }

    /// Sets a slot to an expression.
    #[track_caller]
    pub(crate) fn set(&mut self, scope: ScopeId, slot: SlotId, text: &str, next: PlaceId) -> PlaceId {
        let value = self.b.expr(scope, text, Dialect::Machine).unwrap();
        self.b.set([Write::Put(slot, value)], next, None)
    }

    /// A scope in the root whose values go into `r` and which ends the run.
    #[track_caller]
    pub(crate) fn scope(&mut self, spec: ScopeSpec) -> ScopeId {
        self.b.scope(ROOT, ScopeSpec { into: Some(self.r), next: Some(self.end), ..spec })
    }

    /// A branch: one effect, whose result it delivers.
    #[track_caller]
    pub(crate) fn branch(&mut self, scope: ScopeId, kind: &str) -> PlaceId {
        let done = self.done(scope);
        self.effect(kind, done)
    }

    #[track_caller]
    pub(crate) fn done(&mut self, scope: ScopeId) -> PlaceId {
        let value = self.b.read(self.v);
        self.b.leave(scope, Exit::Done(Some(value)))
    }

    #[track_caller]
    pub(crate) fn run(self, start: PlaceId) -> Host {
        Host::start(self.program(start))
    }

    #[track_caller]
    pub(crate) fn program(mut self, start: PlaceId) -> Program {
        self.b.begin(ROOT, &[start]);
        self.b.finish().unwrap()
    }

    /// Enters a scope of these branches.
    #[track_caller]
    pub(crate) fn run_branches(mut self, scope: ScopeId, branches: &[PlaceId]) -> Host {
        self.b.begin(scope, branches);
        let enter = self.b.enter(scope);
        self.run(enter)
    }
}

/// A retry policy with a constant delay.
pub(crate) fn retry(max_attempts: u32, delay_ms: u64) -> Retry {
    let backoff = branchpoint_core::ir::Backoff::Constant;
    Retry { max_attempts, delay_ms, backoff, max_delay_ms: 0, jitter: 0.0 }
}

/// An effect by its kind, or a tool of that name.
pub(crate) fn effect(name: &str) -> Effect {
    let Some(kind) = Kind::named(name) else {
        let fixed = [("tool".into(), Value::from(name))].into_iter().collect();
        return Effect { fixed, ..builder::effect(Kind::Tool) };
    };
    builder::effect(kind)
}

/// A call of a model, with a name for tests.
pub(crate) fn model(name: &str) -> Effect {
    let fixed = [("prompt".into(), Value::from(name))].into_iter().collect();
    Effect { fixed, ..builder::effect(Kind::Model) }
}

fn name(effect: &Effect) -> String {
    effect.fixed.get("tool").or(effect.fixed.get("prompt")).map_or_else(|| effect.kind.to_string(), ToString::to_string)
}
