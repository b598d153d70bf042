//! Votes of many people from several processes, while those processes and the worker that drives the run are killed.

use std::collections::BTreeSet;
use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use branchpoint_core::Event;
use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use super::{PATIENCE, Place, kill, opened, pause};

const VOTERS: u32 = 200;

/// The threads that start processes which vote.
const SENDERS: u32 = 4;

/// Every vote is needed: the quorum is met exactly when all are counted.
const WORKFLOW: &str = "
name: votes
steps:
  - id: ask
    step_type: human_in_the_loop
    prompt_template: Agree?
    need: {left: 100, right: 100}
    form: {type: object, properties: {number: {type: integer}}, required: [number]}
  - {id: after, step_type: command, command: 'echo $BRANCHPOINT_KEY >> settled'}
";

fn settings() -> String {
    let group =
        |from: u32| (from..from + VOTERS / 2).map(|voter| format!("\"v{voter}\"")).collect::<Vec<_>>().join(", ");
    format!("[groups]\nleft = [{}]\nright = [{}]\n", group(0), group(VOTERS / 2))
}

#[test]
fn no_acknowledged_vote_is_lost_and_no_quorum_is_counted_twice() {
    let place = Place::new("votes.yaml", WORKFLOW);
    place.write("branchpoint.toml", &settings());
    let started = place.program(&["run", "votes.yaml", "--detach", "--id", "v"]).wait().expect("it was started");
    assert!(started.success());
    let (next, acknowledged, kills) = (AtomicU32::new(0), Mutex::new(BTreeSet::new()), AtomicU32::new(0));
    let worker = Mutex::new(place.program(&["work"]));
    wait_for_approval(&place);
    thread::scope(|scope| {
        for _ in 0..SENDERS {
            scope.spawn(|| {
                loop {
                    let voter = next.fetch_add(1, Ordering::Relaxed);
                    if voter >= VOTERS {
                        break;
                    }
                    cast(&place, voter, &acknowledged, &kills);
                }
            });
        }
        scope.spawn(|| {
            let mut round = 0;
            while next.load(Ordering::Relaxed) < VOTERS {
                pause(round, 700);
                round += 1;
                let mut worker = worker.lock().expect("no thread has panicked");
                kill(&mut worker);
                *worker = place.program(&["work"]);
            }
        });
    });
    kill(&mut worker.into_inner().expect("no thread has panicked"));
    place.finish();
    let acknowledged = acknowledged.into_inner().expect("no thread has panicked");
    assert!(kills.load(Ordering::Relaxed) > 10, "some voters are killed");
    check(&place, &acknowledged);
}

fn wait_for_approval(place: &Place) {
    let begin = Instant::now();
    while opened(&place.store())
        .is_none_or(|store| store.open_approvals().expect("the store can be read").open.is_empty())
    {
        assert!(begin.elapsed() < PATIENCE, "the run does not ask");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Votes until the vote is recorded. One vote in four is killed first, and may be recorded or not.
fn cast(place: &Place, voter: u32, acknowledged: &Mutex<BTreeSet<u32>>, kills: &AtomicU32) {
    let (user, form) = (format!("v{voter}"), format!("number={voter}"));
    let arguments = ["approvals", "vote", "v", "approve", "--as", &user, "--form", &form];
    if voter % 4 == 3 {
        let mut killed: Child = place.program(&arguments);
        pause(voter, 250);
        kills.fetch_add(1, Ordering::Relaxed);
        kill(&mut killed);
    }
    let begin = Instant::now();
    loop {
        assert!(begin.elapsed() < PATIENCE, "the vote of {user} is not recorded");
        let output =
            place.command(&arguments).stderr(std::process::Stdio::piped()).output().expect("the program starts");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() || message.contains("has already voted") || message.contains("no open approval") {
            if output.status.success() {
                acknowledged.lock().expect("no thread has panicked").insert(voter);
            }
            return;
        }
        // The worker was killed, or another process is writing.
        thread::sleep(Duration::from_millis(20));
    }
}

fn check(place: &Place, acknowledged: &BTreeSet<u32>) {
    let journals = place.journals();
    let (status, journal) = &journals["v"];
    assert_eq!(*status, Status::Completed);
    let votes: Vec<String> = journal
        .iter()
        .filter_map(|(_, event, _)| match event {
            Event::Signal { name, sender, .. } if &**name == "vote" => sender.as_ref().map(ToString::to_string),
            _ => None,
        })
        .collect();
    let voters: BTreeSet<&String> = votes.iter().collect();
    assert_eq!((votes.len(), voters.len()), (VOTERS as usize, VOTERS as usize), "each vote is recorded once");
    for voter in acknowledged {
        assert!(voters.contains(&format!("v{voter}")), "the vote of v{voter} was acknowledged, and it is gone");
    }
    let store = opened(&place.store()).expect("there is a store");
    let run = store.run("v").expect("the store can be read").expect("the run is there").run;
    let look = store.load(run).expect("the run can be read");
    assert!(look.state.result().is_some());
    let settled = journal.iter().filter(|(_, event, _)| matches!(event, Event::Settled { result: Ok(_), .. })).count();
    assert_eq!(settled, 1, "the approval was settled once");
    let written = std::fs::read_to_string(place.0.path().join("settled")).expect("the step after the approval has run");
    let keys: BTreeSet<&str> = written.lines().collect();
    assert_eq!(keys.len(), 1, "one call follows, under one key: {keys:?}");
    let mut notes = Vec::new();
    store.replay_part(run, None, u64::MAX, &mut |note| notes.push(note)).expect("the journal can be replayed");
    let outcomes: Vec<&Value> = notes
        .iter()
        .filter_map(|note| match &note.kind {
            branchpoint_core::NoteKind::Resolved(output) => Some(output),
            _ => None,
        })
        .collect();
    assert_eq!(outcomes.len(), 1);
    assert_eq!(outcomes[0].get("settled_by"), Some(&Value::from("quorum")));
    assert_eq!(outcomes[0].get("votes").and_then(Value::as_list).map(<[_]>::len), Some(VOTERS as usize));
}
