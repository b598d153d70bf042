//! Deliveries to runs: answers, votes, signals, cancellations and invalid events; on time, late or duplicated.

use branchpoint_core::{AttemptError, EffectNo, Event, Offer, RetryHint, Stamp, TimerNo, Usage, advance, offers};
use branchpoint_expr::{Object, Value};

use super::{MAX_CHECKS, World};
use crate::model::{Fact, INPUT, Sent};
use crate::tree::NodeKind;

/// A scheduled delivery.
#[derive(Clone, Debug)]
pub(super) enum Delivery {
    Start {
        run: usize,
    },
    Settle {
        run: usize,
        effect: EffectNo,
        attempt: u32,
        result: Result<Value, AttemptError>,
        tokens: u64,
    },
    /// Due timers fire.
    Sweep {
        run: usize,
    },
    Vote {
        run: usize,
    },
    /// People check the run for open requests.
    People {
        run: usize,
        checks: u32,
    },
    Cancel {
        run: usize,
    },
    Flush,
    Crash,
}

impl World<'_> {
    pub(super) fn deliver(&mut self, delivery: Delivery) -> Result<(), String> {
        match delivery {
            Delivery::Start { run } => self.start(run),
            Delivery::Settle { run, effect, attempt, result, tokens } => {
                self.settle(run, effect, attempt, result, tokens)
            }
            Delivery::Sweep { run } => self.prepare(run),
            Delivery::Vote { run } => self.vote(run),
            Delivery::People { run, checks } => self.people(run, checks),
            Delivery::Cancel { run } => self.cancel(run),
            Delivery::Flush => self.flush(),
            Delivery::Crash => self.crash(),
        }
    }

    fn start(&mut self, run: usize) -> Result<(), String> {
        let event = Event::Start {
            input: Value::Int(INPUT),
            facts: Object::default(),
            depth: 0,
            max_ops: 0,
            budget: branchpoint_core::ir::BudgetLimits::default(),
        };
        self.prepare(run)?;
        let fact = self.runs[run].journal.is_empty().then_some(Fact::Start);
        self.write(run, self.now, &event, fact)?;
        Ok(())
    }

    /// Performs an attempt, and schedules its answer, perhaps twice.
    pub(super) fn perform(&mut self, run: usize, effect: EffectNo, attempt: u32) {
        self.count("attempts");
        let slow = self.faulty() && self.faults.late && self.rng.percent(10);
        if slow {
            self.count("fault: slow answer");
        }
        let twice = self.faulty() && self.faults.twice && self.rng.percent(15);
        if twice {
            self.count("fault: answer twice");
        }
        for _ in 0..=u8::from(twice) {
            let result = self.answer();
            let tokens = self.rng.below(10);
            let after = if slow { self.rng.below(6_000) } else { self.rng.below(600) };
            self.schedule(after, Delivery::Settle { run, effect, attempt, result, tokens });
        }
    }

    fn answer(&mut self) -> Result<Value, AttemptError> {
        if self.rng.percent(72) {
            return Ok(Value::Int(self.rng.int(5)));
        }
        let kind = *self.rng.pick(&["boom", "odd"]);
        let (again, answered) = (self.rng.percent(75), self.rng.percent(50));
        let again = if again && self.rng.percent(20) { RetryHint::After(self.rng.below(2_000)) } else { again.into() };
        Err(AttemptError { kind: kind.into(), message: "the call failed".into(), retry: again, answered })
    }

    fn settle(
        &mut self,
        run: usize,
        effect: EffectNo,
        attempt: u32,
        result: Result<Value, AttemptError>,
        tokens: u64,
    ) -> Result<(), String> {
        self.prepare(run)?;
        let known = self.runs[run].audit.effects.get(&effect).copied().unwrap_or(0);
        let model_result = result.clone().map_err(|failed| {
            let after_ms = i64::try_from(failed.retry.min_delay_ms()).expect("generated times are small");
            (failed.kind.to_string(), failed.retry.allows_retry().then_some(after_ms))
        });
        let usage = Usage { tokens, cost_micros: 0 };
        let event = Event::Settled { effect, attempt, result, usage };
        let fact = Fact::Settled { effect: known, attempt, result: model_result, tokens };
        if !self.write(run, self.now, &event, Some(fact))? {
            self.count("late answers rejected");
        }
        Ok(())
    }

    /// Schedules a check of timers when they are due, or later.
    pub(super) fn watch(&mut self, run: usize, at_ms: i64) {
        let late = self.faulty() && self.faults.late && self.rng.percent(20);
        let lateness = if late { self.rng.below(2_000) } else { 0 };
        if late {
            self.count("fault: late timer");
        }
        let after = u64::try_from(at_ms - self.now).unwrap_or(0);
        self.schedule(after + lateness, Delivery::Sweep { run });
    }

    fn cancel(&mut self, run: usize) -> Result<(), String> {
        if self.runs[run].journal.is_empty() {
            return Ok(());
        }
        self.prepare(run)?;
        if self.write(run, self.now, &Event::Cancel { reason: Some("enough".into()) }, Some(Fact::Cancel))? {
            self.count("cancellations accepted");
        }
        if self.rng.percent(40) {
            let soon = self.rng.below(500);
            self.schedule(soon, Delivery::Cancel { run });
        }
        Ok(())
    }

    /// People check a run periodically until it ends.
    fn people(&mut self, run: usize, checks: u32) -> Result<(), String> {
        if self.runs[run].tables.finished {
            return Ok(());
        }
        let healed = !self.faulty();
        if healed && self.faults.silent {
            return Ok(());
        }
        if healed && checks > MAX_CHECKS {
            return Err(format!("run {run} does not end: {:?}", self.runs[run].tables));
        }
        let pause = if healed { 400 } else { 100 + self.rng.below(900) };
        self.schedule(pause, Delivery::People { run, checks: checks + u32::from(healed) });
        self.prepare(run)?;
        if healed {
            return self.answer_offers(run);
        }
        match self.rng.below(10) {
            0..5 => self.send_random_signal(run),
            5..8 => self.vote(run),
            8 => self.cancel_request(run),
            _ => self.send_invalid_event(run),
        }
    }

    fn answer_offers(&mut self, run: usize) -> Result<(), String> {
        for offer in offers(&self.runs[run].program, &self.runs[run].state) {
            self.prepare(run)?;
            match offer {
                Offer::Signal { name, .. } => {
                    let node = name[1..].parse().expect("signals are named after their node");
                    self.send(run, node, 2 * self.rng.clone().int(3))?;
                }
                Offer::Vote { request, details } => {
                    let voted = |user: &str| details.votes.iter().any(|vote| &**vote.recipient() == user);
                    if let Some(user) = details.recipients.iter().find(|user| !voted(user)) {
                        let choice = *self.rng.pick(&["yes", "no"]);
                        // A run with a small limit on values accepts no vote with a form.
                        let has_form = choice == "yes" && self.has_form(run, request);
                        let form = has_form.then(|| Value::from(Object::default()));
                        let sent = Sent { user: user.to_string(), choice: choice.into(), form, saw_it: None };
                        self.cast(run, request, sent)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn send_random_signal(&mut self, run: usize) -> Result<(), String> {
        let nodes = self.runs[run].tree.nodes();
        let signals = nodes.iter().filter(|node| matches!(node.kind, NodeKind::Signal { .. })).map(|node| node.id);
        let signals: Vec<u32> = signals.collect();
        if signals.is_empty() {
            return Ok(());
        }
        let (node, payload) = (*self.rng.pick(&signals), self.rng.int(4));
        self.send(run, node, payload)
    }

    fn send(&mut self, run: usize, node: u32, payload: i64) -> Result<(), String> {
        let event =
            Event::Signal { name: format!("s{node}").into(), payload: Value::Int(payload), sender: None, key: None };
        let started = !self.runs[run].journal.is_empty();
        let is_accepted = self.write(run, self.now, &event, started.then_some(Fact::Signal { node, payload }))?;
        self.count(if is_accepted { "signals sent" } else { "signals rejected" });
        Ok(())
    }

    /// Sends an invalid event, which must be rejected without any change.
    fn send_invalid_event(&mut self, run: usize) -> Result<(), String> {
        if self.runs[run].journal.is_empty() {
            return Ok(());
        }
        let future = self.runs[run].tables.timers.iter().find(|(_, at)| **at > self.now).map(|(timer, _)| *timer);
        let unknown = EffectNo(self.rng.below(1_000) * 1_000_003);
        let event = match self.rng.below(6) {
            0 => Event::Continue,
            1 => Event::Start {
                input: Value::Null,
                facts: Object::default(),
                depth: 0,
                max_ops: 0,
                budget: branchpoint_core::ir::BudgetLimits::default(),
            },
            2 => Event::TimerFired(future.unwrap_or(TimerNo(u64::MAX))),
            3 => Event::Signal { name: "unknown".into(), payload: Value::Null, sender: None, key: None },
            4 => Event::Signal { name: "vote".into(), payload: Value::from("nonsense"), sender: None, key: None },
            _ => Event::Settled { effect: unknown, attempt: 1, result: Ok(Value::Null), usage: Usage::default() },
        };
        self.count("fault: invalid event");
        if self.write(run, self.now, &event, None)? {
            return Err(format!("an invalid event was accepted: {event:?}"));
        }
        let back = Stamp { now_ms: -1, ..Stamp::default() };
        let mut twin = self.runs[run].state.clone();
        match advance(&self.runs[run].program, &mut twin, &back, Event::Cancel { reason: None }) {
            Ok(_) => Err("the run accepted an event although time went back".into()),
            Err(_) => Ok(()),
        }
    }
}
