//! A deterministic world: one virtual clock, several runs, a host whose disk loses what was not flushed, effects and people
//! that misbehave. First everything goes wrong; then faults stop, and every run must end or wait for a named thing.

mod audit;
mod check;
mod outside;
mod run;
mod tables;

use std::collections::BTreeMap;

use branchpoint_core::{Command, Event, Stamp};

use crate::journal::Journal;
use crate::lower::lower;
use crate::model::Fact;
use crate::rng::Rng;
use crate::tree::Tree;
use outside::Delivery;
use run::{Run, Taken};

/// What was seen, by name.
pub type Seen = BTreeMap<&'static str, u64>;

/// When faults stop, in virtual milliseconds.
const HEAL_MS: i64 = 12_000;

/// So many times people look at what waits for them, after faults have stopped.
const PATIENCE: u32 = 3_000;

const CRASH: &str = "fault: crash";

/// Runs these workflows in the world of a seed. The error says which promise was broken.
pub fn simulate(seed: u64, trees: &[Tree]) -> Result<Seen, String> {
    lived(seed, trees)?.finish()
}

/// The journals of these workflows in the world of a seed, as the host has them at the end.
pub fn record(seed: u64, trees: &[Tree]) -> Result<Vec<Journal>, String> {
    lived(seed, trees)?.runs.iter().map(Run::to_journal).collect()
}

/// The world of a seed after everything in it has happened.
fn lived(seed: u64, trees: &[Tree]) -> Result<World<'_>, String> {
    let mut runs = Vec::new();
    for tree in trees {
        let program = lower(tree).map_err(|wrong| format!("the validator refuses: {wrong:?}"))?;
        runs.push(Run::new(tree, program));
    }
    let mut rng = Rng::new(seed ^ 0x5eed_0f0f_5eed);
    let silent = rng.percent(10);
    let faults = Faults { crashes: rng.percent(60), late: rng.percent(60), twice: rng.percent(60), silent };
    let mut world = World { rng, runs, now: 0, numbers: 0, queue: BTreeMap::new(), faults, seen: Seen::new() };
    world.live()?;
    Ok(world)
}

/// Which faults this world has.
#[expect(clippy::struct_excessive_bools, reason = "each is drawn on its own")]
#[derive(Clone, Copy, Debug)]
struct Faults {
    crashes: bool,
    late: bool,
    twice: bool,
    /// Nobody answers after faults have stopped.
    silent: bool,
}

struct World<'t> {
    rng: Rng,
    runs: Vec<Run<'t>>,
    now: i64,
    numbers: u64,
    queue: BTreeMap<(i64, u64), Delivery>,
    faults: Faults,
    seen: Seen,
}

impl World<'_> {
    fn live(&mut self) -> Result<(), String> {
        for run in 0..self.runs.len() {
            let begins = self.rng.below(200);
            self.schedule(begins, Delivery::Start { run });
            self.schedule(begins + 1, Delivery::People { run, looks: 0 });
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

    /// Before anything is handed in: a run that was cut off between two calls goes on, and timers that are due fire, in the
    /// order of due time and id, each stamped with its due time. What is said about the run afterwards still holds when the
    /// event is handed in.
    fn prepare(&mut self, run: usize) -> Result<(), String> {
        loop {
            while self.runs[run].tables.more {
                let at = self.runs[run].newest_ms;
                self.write(run, at, &Event::Continue, None)?;
            }
            let due = self.runs[run].tables.timers.iter().map(|(timer, at)| (*at, *timer)).min();
            let Some((at, timer)) = due.filter(|(at, _)| *at <= self.now) else { return Ok(()) };
            let crashes = self.seen.get(CRASH).copied();
            let taken = self.write(run, at, &Event::TimerFired(timer), Some(Fact::Timer))?;
            if !taken {
                return Err(format!("a due timer was refused: {timer:?}"));
            }
            self.count("timers fired");
            // A crash may have undone it, and then the second is the first.
            let undone = self.seen.get(CRASH).copied() != crashes;
            if self.faulty() && self.faults.twice && !undone && self.rng.percent(10) {
                self.count("fault: timer fired twice");
                if self.write(run, self.now, &Event::TimerFired(timer), None)? {
                    return Err(format!("a timer fired twice: {timer:?}"));
                }
            }
        }
    }

    /// One event and as many continuations as its fuel makes of it; the host may crash between any two writes.
    fn write(&mut self, run: usize, at: i64, event: &Event, fact: Option<Fact>) -> Result<bool, String> {
        // However much fuel the host grants, the run does the same.
        let fuel = *self.rng.pick(&[0, 0, 1, 3, 1_000]);
        let stamp = Stamp { now_ms: at, seed: self.rng.draw(), offsets_s: vec![], fuel, record: false };
        let Taken::Yes(mut outcome) = self.runs[run].hand(&stamp, event, fact, &mut self.rng)? else {
            self.count("events refused");
            return Ok(false);
        };
        self.count("events taken");
        while outcome.more {
            if self.between_writes()? {
                return Ok(true);
            }
            self.count("continues");
            let next = self.runs[run].hand(&stamp, &Event::Continue, None, &mut self.rng)?;
            let Taken::Yes(next) = next else { return Err("a continuation was refused".into()) };
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

    /// Whether the host crashed here.
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

    /// The host falls over and comes back: effects that have not settled are performed again, runs go on.
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
            Command::Ask { .. } => {
                let soon = self.rng.below(900);
                self.schedule(soon, Delivery::Vote { run });
            }
            _ => {}
        }
    }
}
