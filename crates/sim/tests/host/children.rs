//! Child runs: their export and import, ids that collide, and parents of damaged children.

use branchpoint_core::effect::ModelResult;
use branchpoint_host::store::{Filter, ImportLimits};

use super::*;

const PARENT: &str = "name: parent
states:
  initial: call
  call: {type: call_workflow, workflow: child, on_success: done}
  done: {type: terminal}
";

const CHILD: &str = "name: child
states:
  initial: act
  act: {command: \"echo real\", on_success: end}
  end: {type: terminal}
";

/// A parent `p` whose child waits for its command, and the id of the child.
fn calling(folder: &Folder) -> (Host, TurnOutputs, String) {
    let mut host = folder.host(DrivenRuns::All);
    let workflow = saved(host.store(), PARENT, &[("child", CHILD)]);
    host.start(Start::new(workflow, "p".into(), Value::from(Object::default())), Ticket::default());
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 1);
    let child = outputs.calls[0].1.run.to_string();
    (host, outputs, child)
}

fn number(store: &Store, id: &str) -> RunNo {
    store.run(id).expect("the store is readable").expect("the run exists").run
}

fn export(store: &Store, ids: &[&str]) -> (String, Vec<(String, String)>) {
    let runs: Vec<RunNo> = ids.iter().map(|id| number(store, id)).collect();
    let mut bytes = Vec::new();
    let exported = store.export(&runs, &mut bytes).expect("the run can be exported");
    (String::from_utf8(bytes).expect("UTF-8"), exported.omitted)
}

#[test]
fn a_child_run_is_exported_with_its_parent_only() {
    let folder = Folder::new();
    let (host, _, child) = calling(&folder);
    let (text, left_out) = export(host.store(), &[&child]);
    assert!(!text.contains("\"run\""), "{text}");
    assert!(left_out[0].0 == child && left_out[0].1.contains("export `p`"), "{left_out:?}");
    let (text, left_out) = export(host.store(), &[&child, "p"]);
    assert!(left_out.is_empty(), "{left_out:?}");
    let other = Store::in_memory().expect("a store in memory opens");
    let imported = other.import(text.as_bytes(), ImportLimits::default(), 0).expect("the file is valid");
    assert_eq!(imported.runs, ["p".to_owned(), child.clone()]);
    assert_eq!(other.children(number(&other, "p")).expect("the store is readable").len(), 1);
}

#[test]
fn an_imported_child_needs_its_parent_in_the_file() {
    let folder = Folder::new();
    let (host, _, child) = calling(&folder);
    let (text, _) = export(host.store(), &["p"]);
    let is_parent =
        |line: &&str| line.contains("\"run\"") && line.contains("\"id\":\"p\"") && line.contains("\"parent\":null");
    let at = text.lines().position(|line| is_parent(&line)).expect("the run is in the export");
    let lines: Vec<&str> =
        text.lines().enumerate().filter(|(line, _)| ![at, at + 1].contains(line)).map(|(_, line)| line).collect();
    // The store has a different run with the id of the parent.
    let elsewhere = Folder::new();
    let mut other = elsewhere.host(DrivenRuns::Requested);
    let workflow = saved(other.store(), CHILD, &[]);
    other.start(Start::new(workflow, "p".into(), Value::from(Object::default())), Ticket::default());
    TurnOutputs::default().collect(&mut other, 1);
    let refused = other.store().import(lines.join("\n").as_bytes(), ImportLimits::default(), 0);
    let refused = refused.expect_err("its parent is not in the file").to_string();
    assert!(refused.contains(&child) && refused.contains("parent run `p`"), "{refused}");
    assert_eq!(
        other.store().runs(&Filter { children: true, ..Filter::default() }).expect("the store is readable").len(),
        1
    );
}

#[test]
fn a_run_with_the_id_of_a_child_is_not_mistaken_for_it() {
    let folder = Folder::new();
    let (host, _, child) = calling(&folder);
    drop(host);
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::Requested);
    let workflow = saved(host.store(), CHILD, &[]);
    host.start(Start::new(workflow, child, Value::from(Object::default())), Ticket::default());
    assert_eq!(TurnOutputs::default().answer_all(&mut host, 1), 1, "a command was answered");
    let workflow = saved(host.store(), PARENT, &[("child", CHILD)]);
    host.start(Start::new(workflow, "p".into(), Value::from(Object::default())), Ticket::default());
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 2);
    let (status, result) = outputs.ended.get("p").expect("the run has ended");
    assert_eq!(*status, Status::Failed, "{result:?}");
    assert!(result.to_string().contains("was not started by it"), "{result}");
}

#[test]
fn a_damaged_program_of_a_child_fails_the_call_with_the_cause() {
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::All);
    let workflow = saved(host.store(), PARENT, &[("child", CHILD)]);
    let db = rusqlite::Connection::open(folder.file()).expect("the database opens");
    let sql = "UPDATE programs SET bytes = x'00' WHERE hash = (SELECT program FROM parts WHERE name = 'child')";
    assert_eq!(db.execute(sql, []).expect("the row is updated"), 1);
    host.start(Start::new(workflow, "p".into(), Value::from(Object::default())), Ticket::default());
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 1);
    assert!(outputs.calls.is_empty(), "no runner performs it: {:?}", outputs.calls);
    let (status, result) = outputs.ended.get("p").expect("the run has ended");
    assert_eq!(*status, Status::Failed, "{result:?}");
    assert!(result.to_string().contains("undamaged program `child`"), "{result}");
}

#[test]
fn the_usage_of_a_damaged_child_counts_in_its_parent() {
    let parent = PARENT.replace("workflow: child,", "workflow: child, timeout: 5,");
    let child = "name: child\nstates:\n  initial: one\n  one: {type: agent, provider: claude, prompt: a, on_success: two}\n  two: {type: agent, provider: claude, prompt: b, on_success: end}\n  end: {type: terminal}\n";
    let folder = Folder::new();
    let mut host = folder.host(DrivenRuns::Requested);
    let workflow = saved(host.store(), &parent, &[("child", child)]);
    host.start(Start::new(workflow, "p".into(), Value::from(Object::default())), Ticket::default());
    let mut outputs = TurnOutputs::default();
    outputs.collect(&mut host, 1);
    let (run, call) = outputs.calls.pop().expect("the child has a call");
    let usage = branchpoint_core::Usage { tokens: 7, cost_micros: 0 };
    host.settle(run, &call, Answer::Model(ModelResult { value: Value::from("a"), usage, ..ModelResult::default() }));
    outputs.collect(&mut host, 2);
    host.close().expect("the host closes and stores a snapshot of each run");
    let db = rusqlite::Connection::open(folder.file()).expect("the database opens");
    let sql = "INSERT INTO events (run, seq, mark, packed, bytes) SELECT run, seq + 1, 0, 0, x'00' FROM events
        WHERE run = (SELECT run FROM runs WHERE id = ?1) ORDER BY seq DESC LIMIT 1";
    db.execute(sql, [&*call.run]).expect("the row is updated");
    let mut host = folder.host(DrivenRuns::Requested);
    let parent = number(host.store(), "p");
    host.resume(parent, false, Ticket::default());
    outputs.collect(&mut host, 3);
    outputs.collect(&mut host, 60_000);
    assert_eq!(host.store().load(parent).expect("the run can be read").state.usage().tokens, 7);
}
