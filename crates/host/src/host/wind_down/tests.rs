use std::collections::BTreeMap;

use branchpoint_core::effect::Kind;
use branchpoint_core::ir::builder::{Builder, ROOT, effect};
use branchpoint_core::ir::{Effect, Program, Status};
use branchpoint_core::{Event, Usage};
use branchpoint_expr::{Object, Value};
use branchpoint_runners::{Answer, Call, Secrets};

use crate::host::testing::{Place, calling, save, save_with, start};
use crate::host::{Act, Host, Start, Ticket};
use crate::store::RunNo;

/// More turns than winding down may need.
const TURNS: usize = 20;

/// Makes the same call again and again.
fn repeating(call: Effect) -> Program {
    let mut b = Builder::new();
    let null = b.value(Value::Null);
    let what = b.effect(call);
    let again = b.reserve();
    b.at(again).do_(what, null, None, again, None);
    b.begin(ROOT, &[again]);
    b.finish().expect("the program is valid")
}

/// Calls another workflow.
fn child_call() -> Effect {
    let fixed = serde_json::from_str(r#"{"workflow": "child"}"#).expect("this is JSON");
    Effect { fixed, ..effect(Kind::Run) }
}

/// Ends at once.
fn ending() -> Program {
    let mut b = Builder::new();
    let null = b.value(Value::Null);
    let end = b.close(Status::Completed, null);
    b.begin(ROOT, &[end]);
    b.finish().expect("the program is valid")
}

/// One strand makes a call, the other computes for more than a turn; then the run ends.
fn calling_while_computing() -> Program {
    let mut b = Builder::new();
    let null = b.value(Value::Null);
    let mut computing = b.leave(ROOT, branchpoint_core::ir::Exit::Done(None));
    let end = b.close(Status::Completed, null);
    for _ in 0..40_000 {
        computing = b.set([], computing, None);
    }
    let what = b.effect(effect(Kind::Tool));
    let call = b.do_(what, null, None, end, None);
    b.begin(ROOT, &[call, computing]);
    b.finish().expect("the program is valid")
}

fn script() -> Value {
    Value::from(Object::from_iter([("tool".into(), Value::from(vec![Value::from("again")]))]))
}

fn turns_until_drained(host: &mut Host) -> usize {
    (1..=TURNS)
        .find(|_| {
            host.turn(0).expect("the store works");
            !host.has_orders()
        })
        .expect("the host begins nothing more, so that its queue drains")
}

fn calls(acts: Vec<Act>) -> Vec<(RunNo, Call)> {
    let calls = acts.into_iter().filter_map(|act| match act {
        Act::Perform { run, call, .. } => Some((run, call)),
        _ => None,
    });
    calls.collect()
}

#[test]
fn a_scripted_run_that_never_ends_does_not_keep_a_host_from_leaving() {
    let place = Place::new();
    let mut host = place.quiet_host();
    let workflow = save(host.store(), "loop", &repeating(effect(Kind::Tool)));
    let scripted = Start { script: Some(script()), ..Start::new(workflow, "run".into(), Value::Null) };
    host.start(scripted, Ticket(1));
    for _ in 0..3 {
        host.turn(0).expect("the store works");
    }
    assert!(host.has_orders(), "the script answers each call in the turn that makes it");
    host.wind_down();
    turns_until_drained(&mut host);
    host.close().expect("it closes");
    // The next host continues at the same answer.
    let mut host = place.quiet_host();
    let run = host.store().run("run").expect("it reads").expect("it is there");
    host.wake(run.run, false, Ticket(2));
    for _ in 0..5 {
        host.turn(0).expect("the store works");
    }
    assert!(host.store().row(run.run).expect("it is there").seq > run.seq + 2, "its script goes on answering");
}

#[test]
fn a_loop_over_child_runs_does_not_keep_a_host_from_leaving() {
    let place = Place::new();
    let mut host = place.quiet_host();
    let children = BTreeMap::from([("child".into(), ending())]);
    let workflow = save_with(host.store(), "parent", &repeating(child_call()), &children);
    let run = start(&mut host, workflow, "run");
    for _ in 0..5 {
        host.turn(0).expect("the store works");
    }
    assert!(host.has_orders(), "the end of each child starts the next");
    host.wind_down();
    turns_until_drained(&mut host);
    host.close().expect("it closes");
    let mut host = place.quiet_host();
    let before = host.store().children(run).expect("they are listed").len();
    host.wake(run, false, Ticket(2));
    for _ in 0..8 {
        host.turn(0).expect("the store works");
    }
    assert!(host.store().children(run).expect("they are listed").len() > before, "the next host continues the loop");
}

#[test]
fn a_response_that_its_run_cannot_take_yet_is_recorded_and_its_call_is_not_repeated() {
    let place = Place::new();
    let mut host = place.quiet_host();
    let workflow = save(host.store(), "both", &calling_while_computing());
    host.start(Start::new(workflow, "run".into(), Value::Null), Ticket(1));
    let [(run, call)] = <[_; 1]>::try_from(calls(host.turn(0).expect("the store works"))).expect("one call");
    host.settle(run, &call, Answer::data(Value::from("done once")));
    host.wind_down();
    host.close().expect("it closes");
    let mut host = place.quiet_host();
    assert_eq!(host.store().row(run).expect("it is there").status, Status::Running, "it is still computing");
    host.wake(run, false, Ticket(2));
    let mut repeated = Vec::new();
    while host.next_ms().is_some() {
        repeated.extend(calls(host.turn(0).expect("the store works")));
    }
    assert!(repeated.is_empty(), "{repeated:?}");
    assert_eq!(host.store().row(run).expect("it is there").status, Status::Completed);
    let others = rusqlite::Connection::open(place.file()).expect("it opens");
    let left: i64 = others.query_row("SELECT count(*) FROM inbox", [], |row| row.get(0)).expect("it reads");
    assert_eq!(left, 0, "the recorded response is removed when the run has it");
}

#[test]
fn a_late_response_in_the_inbox_is_removed() {
    let place = Place::new();
    let mut host = place.quiet_host();
    let workflow = save(host.store(), "calling", &calling());
    host.start(Start::new(workflow, "run".into(), Value::Null), Ticket(1));
    let [(run, call)] = <[_; 1]>::try_from(calls(host.turn(0).expect("the store works"))).expect("one call");
    host.close().expect("it closes");
    let mut host = place.quiet_host();
    let (effect, attempt) = (call.effect, call.attempt + 1);
    let late = Event::Settled { effect, attempt, result: Ok(Value::Null), usage: Usage::default() };
    host.store().post(run, &late).expect("it is stored");
    host.wake(run, false, Ticket(2));
    let mut again = Vec::new();
    while host.next_ms().is_some() {
        again.extend(calls(host.turn(0).expect("the store works")));
    }
    assert_eq!(again.len(), 1, "the attempt that the run waits for is performed");
    let others = rusqlite::Connection::open(place.file()).expect("it opens");
    let left: i64 = others.query_row("SELECT count(*) FROM inbox", [], |row| row.get(0)).expect("it reads");
    assert_eq!(left, 0);
}

#[test]
fn a_recorded_response_holds_no_secret_of_the_environment() {
    let place = Place::new();
    let secret = "canary-of-the-environment-17";
    let mut host = place.quiet_host().keeping_private(&Secrets::from_values([secret.to_owned()]));
    let workflow = save(host.store(), "both", &calling_while_computing());
    host.start(Start::new(workflow, "run".into(), Value::Null), Ticket(1));
    let [(run, call)] = <[_; 1]>::try_from(calls(host.turn(0).expect("the store works"))).expect("one call");
    host.settle(run, &call, Answer::data(Value::from(format!("the key is {secret}"))));
    host.close().expect("it closes");
    let others = rusqlite::Connection::open(place.file()).expect("it opens");
    let bytes: Vec<u8> = others.query_row("SELECT bytes FROM inbox", [], |row| row.get(0)).expect("it is there");
    assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
}
