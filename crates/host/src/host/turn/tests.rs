//! Turns of runs that only compute: their cost, and what other processes can do meanwhile. Ops are counted, no time is measured.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use branchpoint_core::Event;
use branchpoint_core::ir::{Mark, Program, Status};
use branchpoint_expr::Value;

use super::{OPS_PER_EVENT, OPS_PER_TURN};
use crate::host::apply::SNAPSHOT_OPS;
use crate::host::testing::{
    Place, answered, calling, open, ops, parent, poll_store, program, save, save_with, spinning, start, started, turns,
    waiting,
};
use crate::host::{Accepted, DrivenRuns, Facts, Host, RunEventKind, Start, Ticket, TurnOutput};
use crate::store::{Filter, Packing, RunNo, Sent};

fn is_completed(output: &TurnOutput) -> bool {
    matches!(output, TurnOutput::Event(event) if matches!(event.kind, RunEventKind::Status(Status::Completed, _)))
}

/// A run that computes without end, with a note for each op.
fn marked() -> Program {
    program(|b, _, _| {
        let (step, again) = (b.step("again", "test", None, (0, 0)), b.reserve());
        b.at(again).set([], again, None);
        b.mark(again, Mark::Begin(step, None));
        vec![again]
    })
}

#[test]
fn another_process_writes_while_a_turn_is_computed() {
    let place = Place::new();
    let file = place.file();
    // A fact is looked up while the turn is computed.
    let facts: Facts = Arc::new(move |_| {
        save(&open(&file), "written meanwhile", &calling());
        Value::Null
    });
    let mut host = place.host(facts);
    let workflow = save(host.store(), "spinning", &spinning());
    start(&mut host, workflow, "run");
    let names: Vec<String> =
        host.store().workflows().expect("they are listed").into_iter().map(|listed| listed.name).collect();
    assert!(names.contains(&"written meanwhile".to_owned()), "{names:?}");
}

#[test]
fn a_turn_is_bounded_and_a_slice_is_one_row() {
    let (_place, mut host, run) = started(&spinning());
    for turns in 2..20 {
        let before = ops(&host, run);
        host.turn(0).expect("the store works");
        assert_eq!(ops(&host, run) - before, OPS_PER_TURN);
        assert!(host.store().journal(run).expect("it reads").len() <= turns + 1, "one row for each slice");
    }
}

#[test]
fn opening_a_run_that_only_computes_repeats_little_of_it() {
    let (_place, mut host, run) = started(&spinning());
    for _ in 0..60 {
        host.turn(0).expect("the store works");
        let newest = host.store().stored_run(run, &Packing::default()).expect("it reads").state.ops();
        assert!(ops(&host, run) - newest <= SNAPSHOT_OPS + OPS_PER_TURN, "the snapshot is {newest} ops old");
    }
}

#[test]
fn runs_that_only_compute_share_turns_and_do_not_delay_others() {
    let place = Place::new();
    let mut host = place.quiet_host();
    let (spinning, calling) = (save(host.store(), "spinning", &spinning()), save(host.store(), "calling", &calling()));
    let runs: Vec<RunNo> = (0..3).map(|number| start(&mut host, spinning, &format!("spin-{number}"))).collect();
    host.start(Start::new(calling, "call".into(), Value::Null), Ticket(1));
    let outputs = host.turn(0).expect("the store works");
    let call = outputs.iter().find_map(|output| match output {
        TurnOutput::Perform { run, call, .. } => Some((*run, call.clone())),
        _ => None,
    });
    let (run, call) = call.expect("a call is an output of the turn that starts the run");
    host.settle(run, &call, branchpoint_runners::Answer::data(Value::Null));
    let outputs = host.turn(0).expect("the store works");
    assert!(outputs.iter().any(is_completed), "{outputs:?}");
    turns(&mut host, 10, 0);
    let spent: Vec<u64> = runs.iter().map(|run| ops(&host, *run)).collect();
    let (least, most) = (spent.iter().min().copied(), spent.iter().max().copied());
    let apart = most.expect("there are three") - least.expect("there are three");
    // The first was alone for two turns, the second had half of one.
    assert!(apart <= 3 * OPS_PER_TURN, "{spent:?}");
    assert!(least.is_some_and(|least| least > 10 * OPS_PER_TURN / 4), "{spent:?}");
}

#[test]
fn many_starts_do_not_make_one_endless_turn() {
    let place = Place::new();
    let mut host = place.quiet_host();
    let workflow = save(host.store(), "spinning", &spinning());
    for number in 0..100 {
        host.start(Start::new(workflow, format!("run-{number}"), Value::Null), Ticket(number));
    }
    let before = host.event_count();
    host.turn(0).expect("the store works");
    let accepted = host.event_count() - before;
    assert!(accepted <= 2 * (OPS_PER_TURN / u64::from(OPS_PER_EVENT)) + 2, "{accepted} events in one turn");
}

#[test]
fn a_run_that_computes_without_end_is_cancelled_from_another_process() {
    let (place, mut host, run) = started(&spinning());
    let other = open(&place.file());
    let item = other.post(run, &Event::Cancel { reason: None }).expect("it can be sent");
    poll_store(&mut host);
    assert_eq!(other.outcome(item, run, Instant::now()).expect("it reads"), Some(Sent::Accepted));
    assert_eq!(other.row(run).expect("it is there").status, Status::Cancelled);
}

#[test]
fn an_event_that_a_process_has_claimed_is_not_removed() {
    let (place, host, run) = started(&spinning());
    let other = open(&place.file());
    let long_ago = Instant::now().checked_sub(Duration::from_mins(5)).expect("the machine is up for longer");
    let [claimed, unclaimed] = [(); 2].map(|()| other.post(run, &Event::Cancel { reason: None }).expect("it is sent"));
    assert!(host.store().claim_item(claimed, host.owner_number()).expect("it can be claimed"));
    assert_eq!(other.outcome(claimed, run, Instant::now()).expect("it reads"), None);
    assert_eq!(other.outcome(claimed, run, long_ago).expect("it reads"), Some(Sent::Pending));
    assert_eq!(other.outcome(unclaimed, run, long_ago).expect("it reads"), Some(Sent::NoResponse));
    assert!(!host.store().claim_item(unclaimed, host.owner_number()).expect("it reads"), "its sender has removed it");
    // The claims of a dead process do not count.
    drop(host);
    assert_eq!(other.outcome(claimed, run, long_ago).expect("it reads"), Some(Sent::Undriven));
}

#[test]
fn an_event_that_its_sender_has_removed_changes_nothing() {
    let (place, mut host, run) = started(&calling());
    let other = open(&place.file());
    let item = other.post(run, &Event::Cancel { reason: None }).expect("it can be sent");
    host.poll_store().expect("the store works");
    let long_ago = Instant::now().checked_sub(Duration::from_mins(5)).expect("the machine is up for longer");
    assert_eq!(other.outcome(item, run, long_ago).expect("it reads"), Some(Sent::NoResponse));
    host.turn(0).expect("the store works");
    assert_eq!(other.row(run).expect("it is there").status, Status::Running);
}

#[test]
fn an_id_that_several_processes_use_at_once_is_started_once() {
    const IDS: usize = 150;
    let place = Place::new();
    let workflow = save(&open(&place.file()), "calling", &calling());
    let starts = |file: PathBuf| {
        move || {
            let mut host =
                Host::new(open(&file), "test", DrivenRuns::Requested, Arc::new(|_| Value::Null), 0).expect("it opens");
            let mut accepted = Vec::new();
            let mut performed = 0;
            for number in 0..IDS {
                host.start(Start::new(workflow, format!("run-{number}"), Value::Null), Ticket(7));
                let mut answer = None;
                while answer.is_none() {
                    let outputs = host.turn(0).expect("the store works");
                    performed += outputs.iter().filter(|output| matches!(output, TurnOutput::Perform { .. })).count();
                    answer = answered(&outputs);
                }
                accepted.push(answer.expect("it was answered").expect("it is accepted"));
            }
            // The hosts stay open, so that the others do not resume the runs of the one that ends first.
            (host, accepted, performed)
        }
    };
    let threads = [(); 3].map(|()| thread::spawn(starts(place.file())));
    let all = threads.map(|thread| thread.join().expect("no thread panics"));
    let performed: usize = all.iter().map(|(_, _, performed)| performed).sum();
    assert_eq!(performed, IDS, "each run makes its call once");
    for number in 0..IDS {
        let of_all = all.iter().map(|(_, accepted, _)| accepted[number]);
        assert_eq!(of_all.clone().filter(|accepted| accepted.new).count(), 1, "run-{number}");
        let runs: std::collections::BTreeSet<RunNo> = of_all.map(|accepted| accepted.run).collect();
        assert_eq!(runs.len(), 1, "all of them name the same run");
    }
    let store = open(&place.file());
    let rows = store.runs(&Filter::default()).expect("they are listed");
    assert_eq!(rows.len(), IDS);
    assert!(
        rows.iter().all(|row| store.journal(row.run).expect("it reads").len() == 1),
        "nothing is left of the others"
    );
}

#[test]
fn a_run_whose_id_is_used_meanwhile_is_discarded_before_it_is_written() {
    let place = Place::new();
    let workflow = save(&open(&place.file()), "spinning", &spinning());
    let faster = Arc::new(std::sync::Mutex::new(None));
    let (mut other, first) = (Some(place.quiet_host()), Arc::clone(&faster));
    let other = std::sync::Mutex::new(other.take());
    // While this host computes its start, another process starts the same run.
    let facts: Facts = Arc::new(move |_| {
        let mut first = first.lock().expect("no thread panics");
        if let Some(mut host) = other.lock().expect("no thread panics").take() {
            let run = start(&mut host, workflow, "run");
            *first = Some((host, run));
        }
        Value::Null
    });
    let mut host = place.host(facts);
    host.start(Start { watched: true, ..Start::new(workflow, "run".into(), Value::Null) }, Ticket(7));
    let outputs = host.turn(0).expect("the store works");
    let (_, run) = faster.lock().expect("no thread panics").take().expect("the other was faster");
    assert_eq!(answered(&outputs), Some(Ok(Accepted { run, new: false })));
    assert!(outputs.iter().all(|output| output.run().is_none()), "no output is about the other run: {outputs:?}");
    assert_eq!(host.next_ms(), None, "and nothing is left to do");
    assert_eq!(
        open(&place.file()).journal(run).expect("it reads").len(),
        2,
        "the start and one slice of the faster one"
    );
}

#[test]
fn a_child_that_a_killed_process_has_not_started_is_started_by_the_next() {
    let place = Place::new();
    let mut host = place.quiet_host();
    let children = BTreeMap::from([("child".into(), calling())]);
    let workflow = save_with(host.store(), "parent", &parent(), &children);
    let run = start(&mut host, workflow, "run");
    assert!(host.store().children(run).expect("they are listed").is_empty(), "it starts in the next turn");
    // As a kill does: nothing is closed.
    drop(host);
    let mut host = place.quiet_host();
    host.resume(run, false, Ticket(1));
    let mut calls = 0;
    while host.next_ms().is_some() {
        let outputs = host.turn(0).expect("the store works");
        calls += outputs.iter().filter(|output| matches!(output, TurnOutput::Perform { .. })).count();
    }
    assert_eq!((host.store().children(run).expect("they are listed").len(), calls), (1, 1));
}

#[test]
fn a_long_run_is_replayed_in_parts() {
    let (place, mut host, run) = started(&marked());
    turns(&mut host, 20, 0);
    let store = open(&place.file());
    let replay = |from: Option<u64>| {
        let mut notes = 0_u64;
        let part = store.replay_part(run, from, 2 * OPS_PER_TURN, &mut |_| notes += 1).expect("it can be replayed");
        (part, notes)
    };
    let (newest, notes) = replay(None);
    assert!(newest.first > 0 && newest.last == newest.view.state.seq() && !newest.is_whole, "{newest:?}");
    assert!((OPS_PER_TURN..=SNAPSHOT_OPS + 3 * OPS_PER_TURN).contains(&notes), "{notes} notes");
    let (mut from, mut all) = (0, 0);
    while from < newest.last {
        let (part, notes) = replay(Some(from));
        assert!(part.first == from && part.last > from, "{part:?}");
        assert!(notes <= 4 * OPS_PER_TURN, "{notes} notes in one part");
        (from, all) = (part.last, all + notes);
    }
    assert_eq!(all, newest.view.state.ops(), "each op has its note, in one of the parts");
}

#[test]
fn many_orders_do_not_delay_timers() {
    let place = Place::new();
    let mut host = place.quiet_host();
    let (spinning, waiting) = (save(host.store(), "spinning", &spinning()), save(host.store(), "waiting", &waiting()));
    let run = start(&mut host, waiting, "waiting");
    for number in 0..100 {
        host.start(Start::new(spinning, format!("run-{number}"), Value::Null), Ticket(number));
    }
    let outputs = host.turn(20).expect("the store works");
    let is_end = |output: &TurnOutput| is_completed(output) && output.run() == Some(run);
    assert!(outputs.iter().any(is_end), "{outputs:?}");
    assert!(host.has_orders(), "there was more to do than fits into a turn");
}
