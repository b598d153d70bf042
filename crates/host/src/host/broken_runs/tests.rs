use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use branchpoint_core::Event;
use branchpoint_core::effect::Kind;
use branchpoint_core::ir::builder::effect;
use branchpoint_core::ir::{Program, Status};
use branchpoint_expr::Value;
use branchpoint_runners::Secrets;
use rusqlite::params;

use super::RETRY_MS;
use crate::host::testing::{
    Place, answered, call, calling, open, parent, poll_store, program, save, save_with, start, started, turns, wait,
    waiting,
};
use crate::host::{CallSource, DrivenRuns, Host, Rejection, RunEventKind, Start, Ticket, TurnOutput};
use crate::store::{RunNo, Sent, Store};

fn worker(place: &Place) -> Host {
    Host::new(open(&place.file()), "worker", DrivenRuns::All, Arc::new(|_| Value::Null), 0).expect("it can be driven")
}

fn is_broken(output: &TurnOutput) -> bool {
    matches!(output, TurnOutput::Event(event) if matches!(event.kind, RunEventKind::Broken(_)))
}

/// Adds runs whose snapshot cannot be read, as copies of a run.
fn add_damaged(store: &Store, run: RunNo, count: usize, due_ms: Option<i64>) {
    store.db.execute_batch("BEGIN").expect("the store works");
    for number in 0..count {
        let sql = "INSERT INTO runs (id, workflow, part, semantics, status, seq, folder, started_ms, touched_ms)
            SELECT ?2, workflow, part, semantics, status, seq, folder, started_ms, touched_ms FROM runs WHERE run = ?1";
        store.db.execute(sql, params![run.0, format!("damaged-{number}")]).expect("it is written");
        let damaged = store.db.last_insert_rowid();
        let sql = "INSERT INTO snapshots (run, seq, packed, bytes) VALUES (?1, 1, 0, x'00')";
        store.db.execute(sql, [damaged]).expect("it is written");
        if let Some(due_ms) = due_ms {
            let sql = "INSERT INTO timers (due_ms, run, timer) VALUES (?1, ?2, 1)";
            store.db.execute(sql, [due_ms, damaged]).expect("it is written");
        }
    }
    store.db.execute_batch("COMMIT").expect("the store works");
}

fn performs(outputs: &[TurnOutput], run: RunNo) -> bool {
    outputs.iter().any(|output| matches!(output, TurnOutput::Perform { run: of, .. } if *of == run))
}

#[test]
fn many_damaged_runs_do_not_keep_a_healthy_one_from_continuing() {
    let (place, host, first) = started(&calling());
    let workflow = host.store().row(first).expect("it is there").workflow;
    host.close().expect("it closes");
    add_damaged(&open(&place.file()), first, 1_500, None);
    let mut host = place.quiet_host();
    let healthy = start(&mut host, workflow, "healthy");
    host.close().expect("it closes");
    let mut host = worker(&place);
    let continued = (0..10).any(|_| {
        host.poll_store().expect("the store works");
        performs(&host.turn(0).expect("the store works"), healthy)
    });
    assert!(continued, "the healthy run is opened after the damaged ones");
}

#[test]
fn timers_of_damaged_runs_do_not_delay_those_of_healthy_ones() {
    let (place, host, healthy) = started(&waiting());
    host.close().expect("it closes");
    // More than are opened in one turn, and all of them due before the healthy one.
    add_damaged(&open(&place.file()), healthy, 600, Some(1));
    let mut host = worker(&place);
    turns(&mut host, 6, 20);
    assert_eq!(host.store().row(healthy).expect("it is there").status, Status::Completed);
}

/// Starts a run with a sealed secret, and hides the key of the store.
fn without_key(place: &Place, program: &Program) -> (RunNo, PathBuf, PathBuf) {
    let mut host = place.quiet_host();
    let workflow = save(host.store(), "sealed", program);
    let secrets = Secrets::from_values(["canary-17".to_owned()]);
    let sealed = Start { secrets, ..Start::new(workflow, "sealed".into(), Value::from("canary-17")) };
    host.start(sealed, Ticket(1));
    let run = answered(&host.turn(0).expect("the store works")).expect("it is answered").expect("it starts").run;
    host.close().expect("it closes");
    let key = open(&place.file()).key_path().expect("it has one");
    let hidden = key.with_extension("hidden");
    fs::rename(&key, &hidden).expect("there is a key");
    (run, key, hidden)
}

#[test]
fn a_run_whose_key_is_back_is_continued_and_reported_once_before() {
    let place = Place::new();
    let (run, key, hidden) = without_key(&place, &calling());
    let mut host = worker(&place);
    let mut reports = 0;
    let mut turn = |host: &mut Host, now_ms: i64| {
        host.poll_store().expect("the store works");
        let outputs = host.turn(now_ms).expect("the store works");
        reports += outputs.iter().filter(|output| is_broken(output)).count();
        performs(&outputs, run)
    };
    for now_ms in [0, 1, RETRY_MS, RETRY_MS + 1] {
        assert!(!turn(&mut host, now_ms), "its key is missing");
    }
    fs::rename(&hidden, &key).expect("the key is there");
    assert!(!turn(&mut host, 2 * RETRY_MS - 10), "it is retried now and then, not all the time");
    assert!(host.next_ms().is_some_and(|at_ms| at_ms <= 2 * RETRY_MS + 1), "{:?}", host.next_ms());
    assert!(turn(&mut host, 2 * RETRY_MS + 1), "the run continues");
    assert_eq!(reports, 1);
    assert_eq!(host.next_ms(), None, "nothing is retried any more");
}

#[test]
fn a_damaged_event_in_the_inbox_is_rejected_and_does_not_stop_the_host() {
    let (place, mut host, run) = started(&waiting());
    let sender = open(&place.file());
    let [damaged, intact] = [(); 2].map(|()| sender.post(run, &Event::Cancel { reason: None }).expect("it is sent"));
    sender.db.execute("UPDATE inbox SET bytes = x'00' WHERE item = ?1", [damaged]).expect("it is written");
    poll_store(&mut host);
    let outcome = |item| sender.outcome(item, run, Instant::now()).expect("it reads");
    assert!(matches!(outcome(damaged), Some(Sent::Rejection(_))));
    assert_eq!(outcome(intact), Some(Sent::Accepted));
}

#[test]
fn a_parent_whose_child_run_is_missing_fails_and_the_host_continues() {
    let place = Place::new();
    let mut host = place.quiet_host();
    let children = BTreeMap::from([("child".into(), waiting())]);
    let workflow = save_with(host.store(), "parent", &parent(), &children);
    let run = start(&mut host, workflow, "run");
    host.turn(0).expect("the store works");
    let child = host.store().children(run).expect("they are listed")[0].run;
    host.unload(child);
    host.turn(0).expect("the store works");
    let other = open(&place.file());
    other.db.execute("DELETE FROM runs WHERE run = ?1", [child.0]).expect("it is written");
    (0..4).for_each(|_| poll_store(&mut host));
    assert_eq!(host.store().row(run).expect("it is there").status, Status::Failed);
}

#[test]
fn forking_a_run_without_its_key_is_refused() {
    let place = Place::new();
    let (run, ..) = without_key(&place, &calling());
    let mut host = place.quiet_host();
    host.fork((run, 1), "fork".into(), false, CallSource::Script, Ticket(1));
    let outputs = host.turn(0).expect("the host continues");
    assert!(matches!(answered(&outputs), Some(Err(Rejection::Broken(_)))), "{outputs:?}");
    assert!(host.store().run("fork").expect("it reads").is_none());
}

#[test]
fn forking_a_damaged_run_is_refused_and_leaves_nothing() {
    let (_place, mut host, run) = started(&waiting());
    host.store().db.execute("UPDATE events SET mark = mark + 1", []).expect("it is written");
    host.fork((run, 1), "fork".into(), false, CallSource::Script, Ticket(1));
    let outputs = host.turn(0).expect("the host continues");
    assert!(matches!(answered(&outputs), Some(Err(Rejection::Broken(_)))), "{outputs:?}");
    assert!(host.store().run("fork").expect("it reads").is_none());
    let events: i64 = host.store().db.query_row("SELECT count(*) FROM events", [], |row| row.get(0)).expect("it reads");
    assert_eq!(events, 1, "the events of the fork are discarded");
}

#[test]
fn a_new_script_for_a_run_without_its_key_is_refused() {
    let place = Place::new();
    let (run, ..) = without_key(&place, &calling());
    let mut host = place.quiet_host();
    let script = serde_json::from_str(r#"{"tool": ["again"]}"#).expect("this is JSON");
    host.resume_with(run, false, CallSource::NewScript(script), Ticket(1));
    let outputs = host.turn(0).expect("the host continues");
    assert!(matches!(answered(&outputs), Some(Err(Rejection::Broken(_)))), "{outputs:?}");
}

/// Waits for a time; when it is cancelled, it makes a call.
fn cleaning_up() -> Program {
    program(|b, null, end| {
        let clean_up = call(b, effect(Kind::Tool), null, end);
        b.on_cancel(clean_up);
        vec![wait(b, end)]
    })
}

#[test]
fn cancelling_a_run_without_its_key_leaves_nothing_of_it_in_the_host() {
    let place = Place::new();
    let (run, ..) = without_key(&place, &cleaning_up());
    let mut host = worker(&place);
    host.send(run, Event::Cancel { reason: None }, Ticket(1));
    let outputs = host.turn(0).expect("the store works");
    assert!(matches!(answered(&outputs), Some(Ok(_))), "{outputs:?}");
    let row = host.store().row(run).expect("it is there");
    assert_eq!((row.status, row.owner), (Status::Cancelled, None));
    assert!(!performs(&outputs, run), "nothing is performed without its secrets");
    for _ in 0..3 {
        host.poll_store().expect("the store works");
        assert!(host.turn(1_000_000).expect("the store works").is_empty());
    }
    assert_eq!(host.next_ms(), None, "no work is left");
    for table in ["timers", "outbox"] {
        let sql = format!("SELECT count(*) FROM {table}");
        let rows: i64 = host.store().db.query_row(&sql, [], |row| row.get(0)).expect("it reads");
        assert_eq!(rows, 0, "{table}");
    }
}

#[test]
fn a_damaged_record_of_used_script_entries_breaks_only_its_run() {
    for damage in ["entry = 99", "entry = -1", "effect = -1", "attempt = 'x'", "step = x'ff'", "taker = 'x'"] {
        let place = Place::new();
        let mut host = place.quiet_host();
        let (scripted, healthy) =
            (save(host.store(), "waiting", &calling_then_waiting()), save(host.store(), "calling", &calling()));
        let script = serde_json::from_str(r#"{"tool": ["one", "two"]}"#).expect("this is JSON");
        host.start(Start { script: Some(script), ..Start::new(scripted, "run".into(), Value::Null) }, Ticket(1));
        host.turn(0).expect("the store works");
        host.turn(0).expect("the store works");
        let run = host.store().run("run").expect("it reads").expect("it was started").run;
        let healthy = start(&mut host, healthy, "healthy");
        host.close().expect("it closes");
        let rows =
            open(&place.file()).db.execute(&format!("UPDATE script_used SET {damage}"), []).expect("it is written");
        assert_eq!(rows, 1, "the script has answered one call");
        let mut host = worker(&place);
        let (mut broken, mut continued) = (0, false);
        for _ in 0..3 {
            host.poll_store().expect("the store works");
            let outputs = host.turn(20).unwrap_or_else(|error| panic!("{damage}: {error}"));
            broken += outputs.iter().filter(|output| is_broken(output) && output.run() == Some(run)).count();
            continued |= performs(&outputs, healthy);
        }
        assert_eq!((broken, continued), (1, true), "{damage}");
    }
}

/// A run that makes a call and then waits.
fn calling_then_waiting() -> Program {
    program(|b, null, end| {
        let wait = wait(b, end);
        vec![call(b, effect(Kind::Tool), null, wait)]
    })
}
