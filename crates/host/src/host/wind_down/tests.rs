use std::collections::BTreeMap;

use branchpoint_core::effect::Kind;
use branchpoint_core::ir::builder::{ROOT, effect};
use branchpoint_core::ir::{Effect, Program, Status};
use branchpoint_core::{Event, Usage};
use branchpoint_expr::{Object, Value};
use branchpoint_runners::{Answer, Call, Secrets};

use crate::host::testing::{Place, call, calling, child_call, program, save, save_with, start, turns};
use crate::host::{Host, Start, Ticket, TurnOutput};
use crate::store::{RunNo, WorkflowNo};

/// More turns than winding down may need.
const TURNS: usize = 20;

/// Makes the same call again and again.
fn repeating(definition: Effect) -> Program {
    program(|b, null, _| {
        let (effect, again) = (b.effect(definition), b.reserve());
        vec![b.at(again).do_(effect, null, None, again, None)]
    })
}

/// Ends at once.
fn ending() -> Program {
    program(|_, _, end| vec![end])
}

/// One strand makes a call, the other computes for more than a turn; then the run ends.
fn calling_while_computing() -> Program {
    program(|b, null, end| {
        let done = b.leave(ROOT, branchpoint_core::ir::Exit::Done(None));
        let computing = (0..40_000).fold(done, |next, _| b.set([], next, None));
        vec![call(b, effect(Kind::Tool), null, end), computing]
    })
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

fn calls(outputs: Vec<TurnOutput>) -> impl Iterator<Item = (RunNo, Call)> {
    outputs.into_iter().filter_map(|output| match output {
        TurnOutput::Perform { run, call, .. } => Some((run, call)),
        _ => None,
    })
}

/// The calls of a host until it is idle.
fn all_calls(host: &mut Host) -> Vec<(RunNo, Call)> {
    let mut all = Vec::new();
    while host.next_ms().is_some() {
        all.extend(calls(host.turn(0).expect("the store works")));
    }
    all
}

/// Starts a run whose first turn makes a call.
fn only_call(host: &mut Host, workflow: WorkflowNo) -> (RunNo, Call) {
    host.start(Start::new(workflow, "run".into(), Value::Null), Ticket(1));
    calls(host.turn(0).expect("the store works")).next().expect("one call")
}

#[test]
fn a_scripted_run_that_never_ends_does_not_keep_a_host_from_closing() {
    let place = Place::new();
    let mut host = place.quiet_host();
    let workflow = save(host.store(), "loop", &repeating(effect(Kind::Tool)));
    let scripted = Start { script: Some(script()), ..Start::new(workflow, "run".into(), Value::Null) };
    host.start(scripted, Ticket(1));
    turns(&mut host, 3, 0);
    assert!(host.has_orders(), "the script answers each call in the turn that makes it");
    host.wind_down();
    turns_until_drained(&mut host);
    host.close().expect("it closes");
    // The next host continues at the same answer.
    let mut host = place.quiet_host();
    let run = host.store().run("run").expect("it reads").expect("it is there");
    host.resume(run.run, false, Ticket(2));
    turns(&mut host, 5, 0);
    assert!(host.store().row(run.run).expect("it is there").seq > run.seq + 2, "its script continues to answer");
}

#[test]
fn a_loop_over_child_runs_does_not_keep_a_host_from_closing() {
    let place = Place::new();
    let mut host = place.quiet_host();
    let children = BTreeMap::from([("child".into(), ending())]);
    let workflow = save_with(host.store(), "parent", &repeating(child_call()), &children);
    let run = start(&mut host, workflow, "run");
    turns(&mut host, 5, 0);
    assert!(host.has_orders(), "the end of each child starts the next");
    host.wind_down();
    turns_until_drained(&mut host);
    host.close().expect("it closes");
    let mut host = place.quiet_host();
    let before = host.store().children(run).expect("they are listed").len();
    host.resume(run, false, Ticket(2));
    turns(&mut host, 8, 0);
    assert!(host.store().children(run).expect("they are listed").len() > before, "the next host continues the loop");
}

#[test]
fn a_response_that_its_run_cannot_accept_yet_is_recorded_and_its_call_is_not_repeated() {
    let place = Place::new();
    let mut host = place.quiet_host();
    let workflow = save(host.store(), "both", &calling_while_computing());
    let (run, call) = only_call(&mut host, workflow);
    host.settle(run, &call, Answer::data(Value::from("done once")));
    host.wind_down();
    host.close().expect("it closes");
    let mut host = place.quiet_host();
    assert_eq!(host.store().row(run).expect("it is there").status, Status::Running, "it is still computing");
    host.resume(run, false, Ticket(2));
    let repeated = all_calls(&mut host);
    assert!(repeated.is_empty(), "{repeated:?}");
    assert_eq!(host.store().row(run).expect("it is there").status, Status::Completed);
    let left: i64 = host.store().value("SELECT count(*) FROM inbox", []).expect("it reads");
    assert_eq!(left, 0, "the recorded response is removed when the run has it");
}

#[test]
fn a_late_response_in_the_inbox_is_removed() {
    let place = Place::new();
    let mut host = place.quiet_host();
    let workflow = save(host.store(), "calling", &calling());
    let (run, call) = only_call(&mut host, workflow);
    host.close().expect("it closes");
    let mut host = place.quiet_host();
    let (effect, attempt) = (call.effect, call.attempt + 1);
    let late = Event::Settled { effect, attempt, result: Ok(Value::Null), usage: Usage::default() };
    host.store().post(run, &late).expect("it is stored");
    host.resume(run, false, Ticket(2));
    let again = all_calls(&mut host);
    assert_eq!(again.len(), 1, "the attempt that the run waits for is performed");
    assert_eq!(host.store().value::<i64>("SELECT count(*) FROM inbox", []).expect("it reads"), 0);
}

#[test]
fn a_recorded_response_contains_no_secret_of_the_environment() {
    let place = Place::new();
    let secret = "canary-of-the-environment-17";
    let mut host = place.quiet_host().with_env_secrets(&Secrets::from_values([secret.to_owned()]));
    let workflow = save(host.store(), "both", &calling_while_computing());
    let (run, call) = only_call(&mut host, workflow);
    host.settle(run, &call, Answer::data(Value::from(format!("the key is {secret}"))));
    host.close().expect("it closes");
    let others = rusqlite::Connection::open(place.file()).expect("it opens");
    let bytes: Vec<u8> = others.query_row("SELECT bytes FROM inbox", [], |row| row.get(0)).expect("it is there");
    assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
}
