//! Several processes with one store: each run is driven by one process, and each process gets the events of its runs.

use std::thread;

use branchpoint_core::ir::Status;
use branchpoint_core::{Rejected, VoteRejection};
use branchpoint_host::store::Sent;
use branchpoint_runners::Secrets;

use super::*;

#[test]
fn a_run_is_driven_by_one_process_at_a_time() {
    let folder = Folder::new();
    let mut first = folder.host(DrivenRuns::Requested);
    let workflow = saved(first.store(), TWO_STEPS, &[]);
    start(&mut first, workflow, "r");
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut first, 1);
    let run = first.store().run("r").expect("the store is readable").expect("the run exists").run;

    let mut second = folder.host(DrivenRuns::All);
    let mut others = TurnOutputs::default();
    second.resume(run, false, Ticket::default());
    others.collect(&mut second, 2);
    assert!(others.calls.is_empty(), "a live process drives it");
    assert!(matches!(others.answers.pop(), Some(Err(Rejection::Driven))));

    drop(first);
    second.release_dead_owners().expect("the store works");
    others.collect(&mut second, 3);
    assert_eq!(others.calls.len(), 1, "another process takes over the run of a dead one");
}

#[test]
fn an_abandoned_run_is_resumed_by_a_process_that_drives_all() {
    let folder = Folder::new();
    let mut starter = folder.host(DrivenRuns::Requested);
    let workflow = saved(starter.store(), TWO_STEPS, &[]);
    starter.start(Start { detached: true, ..Start::new(workflow, "r".into(), Value::from("x")) }, Ticket::default());
    let mut outputs = TurnOutputs::default();
    let mut worker = folder.host(DrivenRuns::All);
    outputs.collect(&mut starter, 1);
    assert!(outputs.calls.is_empty() && outputs.answers.pop().is_some_and(|answer| answer.is_ok()));
    let mut others = TurnOutputs::default();
    worker.poll_store().expect("the store works");
    assert_eq!(others.answer_all(&mut worker, 2), 2);
    assert_eq!(others.output("r"), &Value::from("answer 2"));
}

#[test]
fn an_event_for_a_run_that_another_process_drives_is_sent_to_it() {
    let folder = Folder::new();
    let mut driving = folder.host(DrivenRuns::Requested);
    let workflow = saved(driving.store(), APPROVAL, &[]);
    start(&mut driving, workflow, "r");
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut driving, 1);
    let run = driving.store().run("r").expect("the store is readable").expect("the run exists").run;
    let request = open_request(driving.store(), run);
    let store = folder.store();
    let sender = thread::spawn(move || {
        [vote(request, "approve", "bob"), vote(request, "approve", "anna")]
            .map(|event| store.send(run, &event).expect("the store works"))
    });
    while !sender.is_finished() {
        driving.poll_store().expect("the store works");
        outputs.collect(&mut driving, 2);
    }
    let [rejected, accepted] = sender.join().expect("the thread does not panic");
    assert_eq!(rejected, Sent::Rejection(Rejection::Rejected(Rejected::Vote(VoteRejection::NotRecipient))));
    assert_eq!(accepted, Sent::Accepted);
    assert_eq!(driving.store().row(run).expect("the store is readable").status, Status::Running);
}

#[test]
fn an_event_for_a_dead_process_is_returned_to_its_sender() {
    let folder = Folder::new();
    let mut driving = folder.host(DrivenRuns::Requested);
    let workflow = saved(driving.store(), APPROVAL, &[]);
    start(&mut driving, workflow, "r");
    TurnOutputs::default().collect(&mut driving, 1);
    let run = driving.store().run("r").expect("the store is readable").expect("the run exists").run;
    let request = open_request(driving.store(), run);
    drop(driving);
    assert_eq!(folder.store().send(run, &vote(request, "approve", "anna")).expect("the store works"), Sent::Undriven);
}

#[test]
fn an_event_for_another_process_may_be_large_and_contain_secrets() {
    let folder = Folder::new();
    let mut driving = folder.host(DrivenRuns::Requested);
    let workflow = saved(driving.store(), APPROVAL, &[]);
    let secrets = Secrets::from_values(["canary-17".to_owned()]);
    driving.start(Start { secrets, ..Start::new(workflow, "r".into(), Value::from("x")) }, Ticket::default());
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut driving, 1);
    let run = driving.store().run("r").expect("the store is readable").expect("the run exists").run;
    let request = open_request(driving.store(), run);
    let mut event = vote(request, "approve", "anna");
    if let Event::Signal { payload: Value::Object(payload), .. } = &mut event {
        payload.edit(|fields| fields.insert("comment".into(), Value::from("canary-17 ".repeat(50_000))));
    }
    let store = folder.store();
    let sender = thread::spawn(move || store.send(run, &event).expect("the store works"));
    let waits = "SELECT count(*) FROM inbox";
    let others = rusqlite::Connection::open(folder.file()).expect("the database opens");
    while others.query_row(waits, [], |row| row.get::<_, i64>(0)).expect("the store is readable") == 0 {
        thread::yield_now();
    }
    assert!(!folder.contents().contains("canary-17"), "the store contains a secret in plain text");
    while !sender.is_finished() {
        driving.poll_store().expect("the store works");
        outputs.collect(&mut driving, 2);
    }
    assert_eq!(sender.join().expect("the thread does not panic"), Sent::Accepted);
    assert!(!folder.contents().contains("canary-17"), "the store contains a secret in plain text");
}

#[test]
fn unsent_notices_are_left_to_the_next_process() {
    let folder = Folder::new();
    let mut first = folder.host(DrivenRuns::Requested).with_notices();
    let workflow = saved(first.store(), APPROVAL, &[]);
    start(&mut first, workflow, "r");
    TurnOutputs::default().collect(&mut first, 1);
    let number = first.owner_number();
    assert_eq!(first.store().notices(number).expect("the store is readable").len(), 1);
    let second = folder.host(DrivenRuns::Requested).with_notices();
    assert!(
        second.store().notices(second.owner_number()).expect("the store is readable").is_empty(),
        "the first process is alive"
    );
    drop((first, second));
    let third = folder.host(DrivenRuns::Requested).with_notices();
    let left = third.store().notices(third.owner_number()).expect("the store is readable");
    assert_eq!(left.iter().map(|notice| notice.kind.as_str()).collect::<Vec<_>>(), ["asked"]);
    third.store().drop_notice(&left[0]).expect("the notice is removed");
    assert!(third.store().notices(third.owner_number()).expect("the store is readable").is_empty());
}

#[test]
fn a_file_that_is_not_a_store_is_rejected() {
    let folder = Folder::new();
    rusqlite::Connection::open(folder.file())
        .and_then(|db| db.execute_batch("CREATE TABLE t (a)"))
        .expect("a database");
    let refused = Store::open(&folder.file(), Durability::Full).expect_err("the file belongs to another program");
    assert!(refused.to_string().contains("not a store"), "{refused}");
}
