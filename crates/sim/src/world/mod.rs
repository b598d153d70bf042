//! A deterministic simulation: one virtual clock, several runs, a host whose disk loses unflushed writes, and effects and people
//! that misbehave. Faults stop at some time, after which every run must end or wait for an offer.

mod audit;
mod check;
mod deliveries;
mod people;
mod run;
mod tables;

use std::collections::BTreeMap;

use branchpoint_core::{Command, Event, Stamp};

use crate::journal::Journal;
use crate::lower::lower;
use crate::model::Fact;
use crate::rng::Rng;
use crate::tree::Tree;
use deliveries::Delivery;
use run::{Applied, Run};

/// Counts of events and faults, by name.
pub type Coverage = BTreeMap<&'static str, u64>;

/// The time at which faults stop, in virtual milliseconds.
const HEAL_MS: i64 = 12_000;

/// The maximum number of times that people check a run after faults have stopped.
const MAX_CHECKS: u32 = 3_000;

const CRASH: &str = "fault: crash";

/// Simulates these workflows with a seed. The error names the violated invariant.
pub fn simulate(seed: u64, trees: &[Tree]) -> Result<Coverage, String> {
    run_world(seed, trees)?.finish()
}

/// Simulates these workflows with a seed and returns their journals.
pub fn record(seed: u64, trees: &[Tree]) -> Result<Vec<Journal>, String> {
    run_world(seed, trees)?.runs.iter().map(Run::to_journal).collect()
}

/// Simulates these workflows to the end.
fn run_world(seed: u64, trees: &[Tree]) -> Result<World<'_>, String> {
    let mut runs = Vec::new();
    for tree in trees {
        let program = lower(tree).map_err(|wrong| format!("the validator rejects: {wrong:?}"))?;
        runs.push(Run::new(tree, program));
    }
    let mut rng = Rng::new(seed ^ 0x5eed_0f0f_5eed);
    let silent = rng.percent(10);
    let faults = Faults { crashes: rng.percent(60), late: rng.percent(60), twice: rng.percent(60), silent };
    let mut world = World { rng, runs, now: 0, numbers: 0, queue: BTreeMap::new(), faults, seen: Coverage::new() };
    world.run()?;
    Ok(world)
}

/// The enabled faults.
#[expect(clippy::struct_excessive_bools, reason = "each is drawn on its own")]
#[derive(Clone, Copy, Debug)]
struct Faults {
    crashes: bool,
    late: bool,
    twice: bool,
    /// People do not answer after faults have stopped.
    silent: bool,
}

struct World<'t> {
    rng: Rng,
    runs: Vec<Run<'t>>,
    now: i64,
    numbers: u64,
    queue: BTreeMap<(i64, u64), Delivery>,
    faults: Faults,
    seen: Coverage,
}

impl World<'_> {
    fn run(&mut self) -> Result<(), String> {
        for run in 0..self.runs.len() {
            let begins = self.rng.below(200);
            self.schedule(begins, Delivery::Start { run });
            self.schedule(begins + 1, Delivery::People { run, checks: 0 });
            if self.rng.percent(12) {
                let when = self.rng.below(15_000);
                self.schedule(when, Delivery::Cancel { run });
            }
        }
        if self.faults.crashes {
            for _ in 0..self.rng.index(5) {
                let when = self.rng.below(HEAL_MS.unsigned_abs());
                self.schedule(when, Delivery::Crash);
            }
        }
        while let Some(((at, _), delivery)) = self.queue.pop_first() {
            self.now = self.now.max(at);
            self.deliver(delivery)?;
        }
        Ok(())
    }

    fn faulty(&self) -> bool {
        self.now < HEAL_MS
    }

    fn schedule(&mut self, after_ms: u64, delivery: Delivery) {
        self.numbers += 1;
        let at = self.now + i64::try_from(after_ms).expect("virtual times are small");
        self.queue.insert((at, self.numbers), delivery);
    }

    fn count(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    /// Prepares a run for an event: continues it if it was interrupted between two calls, and fires due timers in the order of due
    /// time and id, each stamped with its due time.
    fn prepare(&mut self, run: usize) -> Result<(), String> {
        loop {
            while self.runs[run].tables.more {
                let at = self.runs[run].newest_ms;
                self.write(run, at, &Event::Continue, None)?;
            }
            let due = self.runs[run].tables.timers.iter().map(|(timer, at)| (*at, *timer)).min();
            let Some((at, timer)) = due.filter(|(at, _)| *at <= self.now) else { return Ok(()) };
            let crashes = self.seen.get(CRASH).copied();
            let is_accepted = self.write(run, at, &Event::TimerFired(timer), Some(Fact::Timer))?;
            if !is_accepted {
                return Err(format!("a due timer was rejected: {timer:?}"));
            }
            self.count("timers fired");
            // A crash may have undone the event, and then it may fire again.
            let undone = self.seen.get(CRASH).copied() != crashes;
            if self.faulty() && self.faults.twice && !undone && self.rng.percent(10) {
                self.count("fault: timer fired twice");
                if self.write(run, self.now, &Event::TimerFired(timer), None)? {
                    return Err(format!("a timer fired twice: {timer:?}"));
                }
            }
        }
    }

    /// Writes an event and its continuations. The host may crash between any two writes.
    fn write(&mut self, run: usize, at: i64, event: &Event, fact: Option<Fact>) -> Result<bool, String> {
        // The fuel of the host must not change the behaviour of the run.
        let fuel = *self.rng.pick(&[0, 0, 1, 3, 1_000]);
        let stamp = Stamp { now_ms: at, seed: self.rng.draw(), offsets_s: vec![], fuel, record: false };
        let Applied::Accepted(mut outcome) = self.runs[run].apply(&stamp, event, fact, &mut self.rng)? else {
            self.count("events rejected");
            return Ok(false);
        };
        self.count("events accepted");
        while outcome.more {
            if self.between_writes()? {
                return Ok(true);
            }
            self.count("continues");
            let next = self.runs[run].apply(&stamp, &Event::Continue, None, &mut self.rng)?;
            let Applied::Accepted(next) = next else { return Err("a continuation was rejected".into()) };
            outcome = next;
        }
        if !self.between_writes()? {
            if self.faulty() && self.faults.crashes && self.rng.percent(15) {
                let soon = self.rng.below(30);
                self.schedule(soon, Delivery::Flush);
            } else {
                self.flush()?;
            }
        }
        Ok(true)
    }

    /// May crash the host, and returns whether it did.
    fn between_writes(&mut self) -> Result<bool, String> {
        if !self.faulty() || !self.faults.crashes {
            return Ok(false);
        }
        if self.rng.percent(10) {
            self.flush()?;
        }
        let crashes = self.rng.percent(1);
        if crashes {
            self.crash()?;
        }
        Ok(crashes)
    }

    fn flush(&mut self) -> Result<(), String> {
        for run in 0..self.runs.len() {
            let snapshot = self.rng.percent(15);
            for command in self.runs[run].flush(snapshot)? {
                self.carry_out(run, &command);
            }
        }
        Ok(())
    }

    /// Crashes and restarts the host: pending effects are performed again, and runs continue.
    fn crash(&mut self) -> Result<(), String> {
        self.count(CRASH);
        for run in 0..self.runs.len() {
            let from_snapshot = self.rng.percent(50);
            self.runs[run].crash(from_snapshot)?;
            let tables = self.runs[run].tables.clone();
            for (effect, row) in &tables.outbox {
                self.perform(run, *effect, row.no);
            }
            for at in tables.timers.values() {
                self.watch(run, *at);
            }
            if self.runs[run].journal.is_empty() {
                let soon = self.rng.below(50);
                self.schedule(soon, Delivery::Start { run });
            }
            if tables.more {
                self.schedule(0, Delivery::Sweep { run });
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, run: usize, command: &Command) {
        match command {
            Command::Perform { effect, attempt, .. } => self.perform(run, *effect, *attempt),
            Command::SetTimer { at_ms, .. } => self.watch(run, *at_ms),
            Command::Ask { spec, .. } => {
                let soon = self.rng.below(900);
                self.schedule(soon, Delivery::Vote { run });
                // Approvals with rules need more votes.
                let has_rules = spec.get("shown_hash").is_some();
                for turn in (1..=6).filter(|_| has_rules) {
                    self.schedule(soon + turn * 150, Delivery::Vote { run });
                }
            }
            _ => {}
        }
    }
}
