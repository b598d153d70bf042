//! The real program, killed at random moments. `make test` kills it 50 times; more with `BRANCHPOINT_KILLS=2000`.
//!
//! What must hold however often that happens: every run whose start was acknowledged reaches its end; what was recorded stays as it was
//! recorded; and no result is recorded twice.

mod agent;
mod budgets;
mod knowledge;
#[path = "../../../runners/tests/tools/peer.rs"]
mod peer;
mod policies;
#[path = "../../../runners/tests/provider/mod.rs"]
mod provider;
mod votes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use branchpoint_core::ir::Status;
use branchpoint_core::{Event, Stamp};
use branchpoint_host::store::{Durability, Filter, Store};

/// Commands that write down the key of their call, one after the other, at the same time, and in rounds.
const WORKFLOW: &str = r#"
name: crash
states:
  initial: first
  first: {type: command, command: "echo $BRANCHPOINT_KEY >> keys", on_success: both}
  both: {type: parallel, parallel: [left, right], strategy: all_succeed, on_success: rounds}
  left: {type: command, command: "sleep 0.01; echo $BRANCHPOINT_KEY >> keys"}
  right: {type: command, command: "echo $BRANCHPOINT_KEY >> keys"}
  rounds: {type: while, while: "true", max_iterations: 3, body: [again], on_complete: done}
  again: {type: command, command: "echo $BRANCHPOINT_KEY >> keys", on_success: rounds}
  done: {type: terminal}
"#;

/// How long the last worker may take for what the killed ones have left.
const PATIENCE: Duration = Duration::from_mins(2);

type Journal = Vec<(Stamp, Event, u32)>;

#[test]
fn whatever_is_killed_nothing_acknowledged_is_lost_and_nothing_recorded_is_done_again() {
    let kills: u32 = std::env::var("BRANCHPOINT_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(50);
    let place = Place::new("crash.yaml", WORKFLOW);
    let (mut acknowledged, mut known, mut ended) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
    for round in 0..kills {
        let id = format!("run-{round}");
        let mut starter = place.program(&["run", "crash.yaml", "--detach", "--id", &id]);
        let mut worker = place.program(&["work"]);
        if round % 5 == 4 {
            // A start that was not acknowledged may have happened or not.
            pause(round, 30);
            kill(&mut starter);
        } else if starter.wait().expect("it was started").success() {
            acknowledged.insert(id);
        }
        pause(round, 90);
        kill(&mut worker);
        place.compare(&mut known, &mut ended);
    }
    assert!(!acknowledged.is_empty(), "some starts were acknowledged");
    place.finish();
    place.compare(&mut known, &mut BTreeSet::new());
    for id in &acknowledged {
        assert!(known.contains_key(id), "the start of `{id}` was acknowledged, and it is gone");
    }
    place.check_results(&known);
}

/// A folder with a workflow and a store.
struct Place(tempfile::TempDir);

impl Place {
    fn new(name: &str, workflow: &str) -> Self {
        let place = Self(tempfile::tempdir().expect("a temporary folder can be made"));
        place.write(name, workflow);
        place
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).expect("there is room");
    }

    fn store(&self) -> PathBuf {
        self.0.path().join("store.db")
    }

    fn program(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().expect("the program starts")
    }

    /// The program, to be started by somebody who changes something about it.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_branchpoint"));
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env("BRANCHPOINT_STORE", self.store())
            .env("SHELL", "/bin/sh");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn journals(&self) -> BTreeMap<String, (Status, Journal)> {
        self.journals_without(&BTreeSet::new())
    }

    fn journals_without(&self, ended: &BTreeSet<String>) -> BTreeMap<String, (Status, Journal)> {
        let Some(store) = opened(&self.store()) else { return BTreeMap::new() };
        let mut runs = store.runs(&Filter { children: true, ..Filter::default() }).expect("the store can be read");
        runs.retain(|run| !ended.contains(&run.id));
        let journal = |run: branchpoint_host::store::Run| {
            let journal = store.journal(run.run).expect("what was written can be read");
            (run.id, (run.status, journal))
        };
        runs.into_iter().map(journal).collect()
    }

    /// What was there before is there now, to the letter; there may be more. Those that have ended are left out from then on, so that
    /// thousands of rounds do not read all of them each time.
    fn compare(&self, known: &mut BTreeMap<String, Journal>, ended: &mut BTreeSet<String>) {
        let now = self.journals_without(ended);
        for (id, before) in known.iter().filter(|(id, _)| !ended.contains(*id)) {
            let (_, after) = now.get(id).unwrap_or_else(|| panic!("run `{id}` is gone"));
            assert_eq!(after.get(..before.len()), Some(before.as_slice()), "the journal of `{id}` was changed");
        }
        ended.extend(now.iter().filter(|(_, (status, _))| status.is_final()).map(|(id, _)| id.clone()));
        known.extend(now.into_iter().map(|(id, (_, journal))| (id, journal)));
    }

    /// A worker that is not killed ends everything.
    fn finish(&self) {
        let mut worker = self.program(&["work"]);
        let begin = Instant::now();
        let store = opened(&self.store()).expect("there is a store");
        let is_final = |word: &str| ["completed", "failed", "cancelled"].contains(&word);
        while !store.counts().expect("the store can be read").iter().all(|(status, _)| is_final(status)) {
            assert!(begin.elapsed() < PATIENCE, "runs do not end: {:?}", self.journals());
            thread::sleep(Duration::from_millis(50));
        }
        kill(&mut worker);
    }

    /// Each result is recorded once, every run has completed, and every recorded result was really worked for.
    fn check_results(&self, known: &BTreeMap<String, Journal>) {
        let written = std::fs::read_to_string(self.0.path().join("keys")).expect("something was done");
        let written: BTreeSet<&str> = written.lines().collect();
        for (id, (status, journal)) in self.journals() {
            assert_eq!(status, Status::Completed, "run `{id}`");
            let settled = journal.iter().filter_map(|(_, event, _)| match event {
                Event::Settled { effect, attempt, result: Ok(_), .. } => Some((effect.0, *attempt)),
                _ => None,
            });
            let settled: Vec<_> = settled.collect();
            let once: BTreeSet<_> = settled.iter().copied().collect();
            assert_eq!(once.len(), settled.len(), "a result of `{id}` is recorded twice");
            assert_eq!(settled.len(), 6, "run `{id}` has six results");
            for (effect, _) in settled {
                let key = format!("{id}/{effect}/0");
                assert!(written.contains(key.as_str()), "`{key}` is recorded and was never done");
            }
        }
        assert!(!known.is_empty());
    }
}

/// The store, once somebody has made it.
fn opened(path: &Path) -> Option<Store> {
    path.exists().then(|| Store::open(path, Durability::Normal).expect("the store opens after every kill"))
}

/// SIGKILL, and nothing of the process is left.
fn kill(child: &mut Child) {
    child.kill().expect("it can be killed");
    child.wait().expect("it is gone");
}

/// Some time up to that, other in every round.
fn pause(round: u32, most_ms: u64) {
    let mixed = u64::from(round).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(std::process::id());
    thread::sleep(Duration::from_millis((mixed >> 17) % most_ms));
}
