use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use branchpoint_core::Event;
use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use crate::host::testing::{Place, open, poll_store, save, spinning, start, started, turns, waiting};
use crate::host::{Host, Ticket, TurnOutput};
use crate::store::{RunNo, Sent};

/// A run that two hosts compete for: the first has claimed a cancellation for it and lost the run to the second.
struct Scene {
    place: Place,
    first: Host,
    second: Host,
    run: RunNo,
    item: i64,
}

impl Scene {
    fn new() -> Self {
        let (place, mut first, run) = started(&waiting());
        let item = open(&place.file()).post(run, &Event::Cancel { reason: None }).expect("it can be sent");
        // The run is unloaded before the cancellation is applied.
        first.unload(run);
        poll_store(&mut first);
        assert_eq!(first.store().row(run).expect("it is there").owner, None, "the first host has released the run");
        let mut second = place.quiet_host();
        second.resume(run, false, Ticket(1));
        second.turn(0).expect("the store works");
        let owner = second.store().row(run).expect("it is there").owner;
        assert_eq!(owner, Some(second.owner_number()), "the second host drives the run");
        Self { place, first, second, run, item }
    }

    fn outcome(&self) -> Option<Sent> {
        open(&self.place.file()).outcome(self.item, self.run, Instant::now()).expect("it reads")
    }
}

#[test]
fn an_event_for_a_run_that_another_process_drives_is_left_to_that_process() {
    let mut scene = Scene::new();
    turns(&mut scene.first, 3, 0);
    assert_eq!(scene.outcome(), None, "the first host does not answer");
    scene.second.poll_store().expect("the store works");
    turns(&mut scene.second, 3, 0);
    assert_eq!(scene.outcome(), Some(Sent::Accepted));
    assert_eq!(scene.second.store().row(scene.run).expect("it is there").status, Status::Cancelled);
}

#[test]
fn an_event_that_a_living_process_has_claimed_stays_with_it() {
    let mut scene = Scene::new();
    turns(&mut scene.second, 3, 0);
    assert_eq!(scene.outcome(), None, "the second host waits until the first has released its claim");
    turns(&mut scene.first, 3, 0);
    scene.second.poll_store().expect("the store works");
    turns(&mut scene.second, 3, 0);
    assert_eq!(scene.outcome(), Some(Sent::Accepted));
}

#[test]
fn an_event_that_a_dead_process_had_claimed_is_taken_over() {
    let Scene { place, first, mut second, run, item } = Scene::new();
    turns(&mut second, 3, 0);
    drop(first);
    second.release_dead_owners().expect("the store works");
    turns(&mut second, 3, 0);
    let outcome = open(&place.file()).outcome(item, run, Instant::now()).expect("it reads");
    assert_eq!(outcome, Some(Sent::Accepted));
}

#[test]
fn a_sender_does_not_wait_without_end_for_a_process_that_has_claimed_its_event() {
    let scene = Scene::new();
    let long_ago = Instant::now().checked_sub(Duration::from_mins(5)).expect("the machine is up for longer");
    let sender = open(&scene.place.file());
    for _ in 0..2 {
        let outcome = sender.outcome(scene.item, scene.run, long_ago).expect("it reads");
        assert_eq!(outcome, Some(Sent::Pending), "the event is not removed");
    }
}

#[test]
fn an_event_that_waits_for_a_busy_run_is_answered_when_the_run_is_cancelled() {
    let place = Place::new();
    let mut host = place.quiet_host();
    let spinning = save(host.store(), "spinning", &spinning());
    // More runs than continue in one turn.
    let runs: Vec<RunNo> = (0..60).map(|number| start(&mut host, spinning, &format!("run-{number}"))).collect();
    let cancelled: Vec<RunNo> = runs.into_iter().step_by(2).collect();
    for (number, run) in cancelled.iter().enumerate() {
        host.send(*run, signal(), Ticket(number as u64));
    }
    host.turn(0).expect("the store works");
    for run in &cancelled {
        host.send(*run, Event::Cancel { reason: None }, Ticket(1_000));
    }
    let mut answered = BTreeSet::new();
    for _ in 0..10 {
        for output in host.turn(0).expect("the store works") {
            if let TurnOutput::OrderDone { ticket, .. } = output {
                answered.insert(ticket.0);
            }
        }
    }
    assert_eq!(answered.len(), cancelled.len() + 1, "each sender is answered");
}

fn signal() -> Event {
    Event::Signal { name: "go".into(), payload: Value::Null, sender: None, key: None }
}
