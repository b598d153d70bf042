//! Several processes over one store: none drives what another drives, and each hears what concerns it.

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
    let mut heard = Heard::default();
    heard.listen(&mut first, 1);
    let run = first.store().run("r").expect("it reads").expect("it is there").run;

    let mut second = folder.host(DrivenRuns::All);
    let mut others = Heard::default();
    second.resume(run, false, Ticket::default());
    others.listen(&mut second, 2);
    assert!(others.calls.is_empty(), "a live process drives it");
    assert!(matches!(others.answers.pop(), Some(Err(Rejection::Driven))));

    drop(first);
    second.release_dead_owners().expect("the store is fine");
    others.listen(&mut second, 3);
    assert_eq!(others.calls.len(), 1, "what a dead process drove is taken over");
}

#[test]
fn a_run_that_is_left_alone_is_taken_up_by_whoever_drives_all() {
    let folder = Folder::new();
    let mut starter = folder.host(DrivenRuns::Requested);
    let workflow = saved(starter.store(), TWO_STEPS, &[]);
    starter.start(Start { detached: true, ..Start::new(workflow, "r".into(), Value::from("x")) }, Ticket::default());
    let mut heard = Heard::default();
    let mut worker = folder.host(DrivenRuns::All);
    heard.listen(&mut starter, 1);
    assert!(heard.calls.is_empty() && heard.answers.pop().is_some_and(|answer| answer.is_ok()));
    let mut others = Heard::default();
    worker.poll_store().expect("the store is fine");
    assert_eq!(others.answer_all(&mut worker, 2), 2);
    assert_eq!(others.output("r"), &Value::from("answer 2"));
}

#[test]
fn an_event_for_a_run_that_another_process_drives_is_sent_to_it() {
    let folder = Folder::new();
    let mut driving = folder.host(DrivenRuns::Requested);
    let workflow = saved(driving.store(), APPROVAL, &[]);
    start(&mut driving, workflow, "r");
    let mut heard = Heard::default();
    heard.listen(&mut driving, 1);
    let run = driving.store().run("r").expect("it reads").expect("it is there").run;
    let request = asked(driving.store(), run);
    let store = folder.store();
    let sender = thread::spawn(move || {
        [vote(request, "approve", "bob"), vote(request, "approve", "anna")]
            .map(|event| store.send(run, &event).expect("the store is fine"))
    });
    while !sender.is_finished() {
        driving.poll_store().expect("the store is fine");
        heard.listen(&mut driving, 2);
    }
    let [refused, taken] = sender.join().expect("nobody panics");
    assert_eq!(refused, Sent::Rejection(Rejection::Rejected(Rejected::Vote(VoteRejection::NotRecipient))));
    assert_eq!(taken, Sent::Accepted);
    assert_eq!(driving.store().row(run).expect("it reads").status, Status::Running);
}

#[test]
fn what_is_sent_to_a_process_that_is_gone_comes_back() {
    let folder = Folder::new();
    let mut driving = folder.host(DrivenRuns::Requested);
    let workflow = saved(driving.store(), APPROVAL, &[]);
    start(&mut driving, workflow, "r");
    Heard::default().listen(&mut driving, 1);
    let run = driving.store().run("r").expect("it reads").expect("it is there").run;
    let request = asked(driving.store(), run);
    drop(driving);
    assert_eq!(folder.store().send(run, &vote(request, "approve", "anna")).expect("the store is fine"), Sent::Undriven);
}

#[test]
fn what_is_sent_may_be_large_and_hold_secrets() {
    let folder = Folder::new();
    let mut driving = folder.host(DrivenRuns::Requested);
    let workflow = saved(driving.store(), APPROVAL, &[]);
    let secrets = Secrets::from_values(["canary-17".to_owned()]);
    driving.start(Start { secrets, ..Start::new(workflow, "r".into(), Value::from("x")) }, Ticket::default());
    let mut heard = Heard::default();
    heard.listen(&mut driving, 1);
    let run = driving.store().run("r").expect("it reads").expect("it is there").run;
    let request = asked(driving.store(), run);
    let mut event = vote(request, "approve", "anna");
    if let Event::Signal { payload: Value::Object(payload), .. } = &mut event {
        payload.edit(|fields| fields.insert("comment".into(), Value::from("canary-17 ".repeat(50_000))));
    }
    let store = folder.store();
    let sender = thread::spawn(move || store.send(run, &event).expect("the store is fine"));
    let waits = "SELECT count(*) FROM inbox";
    let others = rusqlite::Connection::open(folder.file()).expect("it opens");
    while others.query_row(waits, [], |row| row.get::<_, i64>(0)).expect("it reads") == 0 {
        thread::yield_now();
    }
    assert!(!folder.contents().contains("canary-17"), "a secret lies open in the store");
    while !sender.is_finished() {
        driving.poll_store().expect("the store is fine");
        heard.listen(&mut driving, 2);
    }
    assert_eq!(sender.join().expect("nobody panics"), Sent::Accepted);
    assert!(!folder.contents().contains("canary-17"), "a secret lies open in the store");
}

#[test]
fn what_people_were_not_told_is_left_to_the_next_process() {
    let folder = Folder::new();
    let mut first = folder.host(DrivenRuns::Requested).with_notices();
    let workflow = saved(first.store(), APPROVAL, &[]);
    start(&mut first, workflow, "r");
    Heard::default().listen(&mut first, 1);
    let number = first.owner_number();
    assert_eq!(first.store().notices(number).expect("it reads").len(), 1);
    let second = folder.host(DrivenRuns::Requested).with_notices();
    assert!(second.store().notices(second.owner_number()).expect("it reads").is_empty(), "the first one lives");
    drop((first, second));
    let third = folder.host(DrivenRuns::Requested).with_notices();
    let left = third.store().notices(third.owner_number()).expect("it reads");
    assert_eq!(left.iter().map(|notice| notice.kind.as_str()).collect::<Vec<_>>(), ["asked"]);
    third.store().drop_notice(&left[0]).expect("it is dropped");
    assert!(third.store().notices(third.owner_number()).expect("it reads").is_empty());
}

#[test]
fn a_file_that_is_no_store_is_refused() {
    let folder = Folder::new();
    rusqlite::Connection::open(folder.file())
        .and_then(|db| db.execute_batch("CREATE TABLE t (a)"))
        .expect("a database");
    let refused = Store::open(&folder.file(), Durability::Full).expect_err("it is somebody else's");
    assert!(refused.to_string().contains("not a store"), "{refused}");
}
