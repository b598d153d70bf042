//! Maintenance of a store: pruning, backups, export and import, search.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::effect::Kind;
use branchpoint_core::ir::builder::{Builder, ROOT, effect};
use branchpoint_core::ir::{Arm, Effect, Program, Status};
use branchpoint_core::{Event, steps};
use branchpoint_expr::{Dialect, Value};
use branchpoint_host::host::{DrivenRuns, Host, Start, Ticket, TurnOutput};
use branchpoint_host::store::{
    Document, Durability, Filter, ImportLimits, Prune, Pruned, RunNo, Store, TransferError, Workflow, WorkflowNo,
};
use branchpoint_runners::{Answer, Secrets};

const NOW_MS: i64 = 1_000_000;

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("this is JSON")
}

/// Makes a call, then requests an approval.
fn call_then_approval() -> Program {
    let mut b = Builder::new();
    let (answer, outcome) = (b.slot(ROOT, "answer", None), b.slot(ROOT, "outcome", None));
    b.name(ROOT, &["outcome"], outcome);
    let result = b.expr(ROOT, "outcome.outcome", Dialect::Session).expect("this compiles");
    let end = b.close(Status::Completed, result);
    let spec = b.value(json(r#"{"step": "ask", "recipients": ["ada"], "choices": ["yes"], "timeout_ms": 5000}"#));
    let ask = b.wait([Arm::Request { spec, into: Some(outcome), next: end, expired: None }], None);
    let step = b.step("call", "call", None, (0, 0));
    let effect = b.effect(Effect { step: Some(step), ..effect(Kind::Tool) });
    let input = b.input();
    let input = b.read(input);
    let call = b.do_(effect, input, Some(answer), ask, None);
    b.begin(ROOT, &[call]);
    b.finish().expect("the program is valid")
}

struct Scene {
    folder: tempfile::TempDir,
    host: Host,
    workflow: WorkflowNo,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room");
        let store = Store::open(&folder.path().join("store.db"), Durability::Normal).expect("a store can be made");
        let document = Document {
            name: "calls".into(),
            dialect: "test".into(),
            origin: "calls.yaml".into(),
            text: "call, then ask".into(),
        };
        let (program, children) = (call_then_approval(), BTreeMap::new());
        let workflow = Workflow { document: &document, program: &program, children: &children };
        let workflow = store.save(workflow, NOW_MS).expect("it is kept");
        Self { folder, host: host(store), workflow }
    }

    fn start(&mut self, id: &str, input: &Value, secrets: Secrets) -> RunNo {
        let start = Start { secrets, ..Start::new(self.workflow, id.into(), input.clone()) };
        self.host.start(start, Ticket(1));
        settle(&mut self.host, NOW_MS);
        self.host.store().run(id).expect("the store can be read").expect("the run was started").run
    }

    /// Starts a run and approves its request.
    fn run_to_end(&mut self, id: &str, input: &Value, secrets: Secrets) -> RunNo {
        let run = self.start(id, input, secrets);
        vote(&mut self.host, run);
        run
    }
}

fn host(store: Store) -> Host {
    Host::new(store, "test", DrivenRuns::Requested, Arc::new(|_| Value::Null), NOW_MS).expect("a host can be made")
}

/// Takes turns until no work is left. Every call is answered with its input.
fn settle(host: &mut Host, now_ms: i64) {
    while host.next_ms().is_some_and(|at_ms| at_ms <= now_ms) {
        for output in host.turn(now_ms).expect("the store can be written") {
            if let TurnOutput::Perform { run, call, .. } = output {
                let answer = Answer::data(call.input.clone());
                host.settle(run, &call, answer);
            }
        }
    }
}

fn vote(host: &mut Host, run: RunNo) {
    let request = host.store().approval_records(run).expect("the store can be read")[0].request;
    let payload = json(&format!(r#"{{"request": {}, "choice": "yes"}}"#, request.0));
    let event = Event::Signal { name: "vote".into(), payload, sender: Some("ada".into()), key: None };
    host.send(run, event, Ticket(2));
    settle(host, NOW_MS + 1);
}

fn ids(store: &Store) -> Vec<String> {
    let runs = store.runs(&Filter::default()).expect("the store can be read");
    let mut ids: Vec<String> = runs.into_iter().map(|run| run.id).collect();
    ids.sort();
    ids
}

#[test]
fn only_ended_runs_are_pruned_with_large_values_that_no_run_needs() {
    let mut scene = Scene::new();
    let shared = Value::from("s".repeat(300_000));
    let own = Value::from("o".repeat(300_000));
    scene.run_to_end("old-1", &shared, Secrets::default());
    scene.run_to_end("old-2", &own, Secrets::default());
    scene.start("waits", &shared, Secrets::default());
    let store = scene.host.store();
    let which = Prune { before_ms: NOW_MS, statuses: Vec::new(), dry_run: false };
    assert_eq!(store.prune(&which).expect("it can be pruned"), Pruned::default(), "nothing is that old");
    let which = Prune { before_ms: NOW_MS + 1_000, dry_run: true, ..which };
    assert_eq!(store.prune(&which).expect("it can be pruned").runs, 2);
    assert_eq!(ids(store), ["old-1", "old-2", "waits"], "a dry run only counts");
    let which = Prune { dry_run: false, statuses: vec![Status::Failed, Status::WaitingPeople], ..which };
    assert_eq!(store.prune(&which).expect("it can be pruned").runs, 0, "a waiting run is never pruned");
    let pruned = store.prune(&Prune { statuses: Vec::new(), ..which }).expect("it can be pruned");
    assert_eq!((pruned.runs, pruned.blobs), (2, 1), "the values of the waiting run are still there");
    assert_eq!(ids(store), ["waits"]);
    assert!(store.compact(true).expect("there is room"), "the log can be moved");
    let run = store.run("waits").expect("the store can be read").expect("it is there").run;
    vote(&mut scene.host, run);
    assert_eq!(scene.host.store().row(run).expect("it is there").status, Status::Completed);
}

#[test]
fn a_backup_is_an_independent_store() {
    let mut scene = Scene::new();
    scene.start("waits", &Value::from("hello"), Secrets::default());
    let copy = scene.folder.path().join("copy.db");
    scene.host.store().backup(&copy).expect("a copy can be made");
    assert!(scene.host.store().backup(&copy).is_err(), "a file that is there is not overwritten");
    let mut other = host(Store::open(&copy, Durability::Normal).expect("the copy is a store"));
    let run = other.store().run("waits").expect("the store can be read").expect("it is there").run;
    vote(&mut other, run);
    assert_eq!(other.store().row(run).expect("it is there").status, Status::Completed);
    assert_eq!(scene.host.store().row(run).expect("it is there").status, Status::WaitingPeople);
    let health = other.store().check(NOW_MS + 1, 1_000).expect("the store can be read");
    assert_eq!((health.damage, health.future_runs, health.overdue), (Vec::<String>::new(), 0, 0));
}

fn exported(store: &Store) -> (Vec<u8>, Vec<(String, String)>) {
    let runs: Vec<RunNo> =
        store.runs(&Filter::default()).expect("the store can be read").iter().map(|run| run.run).collect();
    let mut lines = Vec::new();
    let exported = store.export(&runs, &mut lines).expect("runs can be written");
    (lines, exported.omitted)
}

fn trace(store: &Store, id: &str) -> String {
    let run = store.run(id).expect("the store can be read").expect("it is there").run;
    let mut notes = Vec::new();
    let replayed = store.replay_part(run, None, u64::MAX, &mut |note| notes.push(note));
    let view = replayed.expect("its journal can be followed").view;
    format!("{:?} {:?} {:?}", steps(&view.program, &notes, view.status()), view.result(), notes)
}

#[test]
fn an_imported_run_has_the_same_trace_and_continues() {
    let mut scene = Scene::new();
    scene.run_to_end("ended", &Value::from("x".repeat(300_000)), Secrets::default());
    scene.start("waits", &json(r#"{"a": [1, 2.5, null]}"#), Secrets::default());
    let (lines, _) = exported(scene.host.store());
    let other_store = Store::open(&scene.folder.path().join("other.db"), Durability::Normal).expect("a store");
    let imported = other_store.import(lines.as_slice(), ImportLimits::default(), NOW_MS).expect("runs can be read");
    assert_eq!((imported.runs.len(), imported.existing.len()), (2, 0));
    for id in ["ended", "waits"] {
        assert_eq!(trace(&other_store, id), trace(scene.host.store(), id));
    }
    assert_eq!(exported(&other_store).0.len(), lines.len(), "a second export is the same");
    let again = other_store.import(lines.as_slice(), ImportLimits::default(), NOW_MS).expect("runs can be read");
    assert_eq!((again.runs.len(), again.existing.len()), (0, 2), "existing runs are unchanged");
    let mut other = host(other_store);
    let run = other.store().run("waits").expect("the store can be read").expect("it is there").run;
    vote(&mut other, run);
    assert_eq!(other.store().row(run).expect("it is there").status, Status::Completed);
}

#[test]
fn the_timer_of_an_imported_run_fires() {
    let mut scene = Scene::new();
    scene.start("waits", &Value::Null, Secrets::default());
    let (lines, _) = exported(scene.host.store());
    let other_store = Store::open(&scene.folder.path().join("other.db"), Durability::Normal).expect("a store");
    other_store.import(lines.as_slice(), ImportLimits::default(), NOW_MS).expect("runs can be read");
    let mut other = Host::new(other_store, "test", DrivenRuns::All, Arc::new(|_| Value::Null), NOW_MS).expect("a host");
    settle(&mut other, NOW_MS + 5_000);
    let run = other.store().run("waits").expect("the store can be read").expect("it is there");
    assert_eq!(run.status, Status::Completed);
    let result = other.store().load(run.run).expect("it can be read").result();
    assert_eq!(result, Some(Value::from("timeout")));
}

#[test]
fn sealed_secrets_are_never_exported() {
    let mut scene = Scene::new();
    let input = json(r#"{"TOKEN": "canary-17", "text": "say canary-17"}"#);
    scene.run_to_end("ended", &input, Secrets::of(&input));
    scene.start("waits", &input, Secrets::of(&input));
    let (lines, omitted) = exported(scene.host.store());
    let text = String::from_utf8(lines.clone()).expect("lines are text");
    let in_hexadecimal = "63616e6172792d3137";
    assert!(!text.contains("canary-17") && !text.contains(in_hexadecimal));
    assert!(matches!(&omitted[..], [(id, why)] if id == "waits" && why.contains("sealed")), "{omitted:?}");
    let other_store = Store::in_memory().expect("memory is there");
    let imported = other_store.import(lines.as_slice(), ImportLimits::default(), NOW_MS).expect("runs can be read");
    assert_eq!(imported.runs, ["ended"]);
    let run = other_store.run("ended").expect("the store can be read").expect("it is there").run;
    let journal = format!("{:?}", other_store.journal(run).expect("it can be read"));
    assert!(journal.contains("say ***"), "{journal}");
}

#[track_caller]
fn check_rejected(lines: &str, line: usize, word: &str) {
    let store = Store::in_memory().expect("memory is there");
    match store.import(lines.as_bytes(), ImportLimits::default(), NOW_MS) {
        Err(TransferError::Line { line: at, reason }) => {
            assert!(at == line && reason.contains(word), "line {at}: {reason}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_search_finds_a_run_and_never_its_sealed_secrets() {
    let mut scene = Scene::new();
    let search = |scene: &Scene, words: &str| {
        let filter = Filter { search: Some(words.into()), ..Filter::default() };
        scene.host.store().index_runs().expect("they are indexed");
        let runs = scene.host.store().runs(&filter).expect("it can be searched");
        runs.into_iter().map(|run| run.id).collect::<Vec<_>>()
    };
    let secrets = Secrets::from_values(["hunter2".to_owned()]);
    scene.start("waits", &Value::from("the password is hunter2"), secrets);
    assert_eq!(search(&scene, "password"), ["waits"]);
    assert_eq!(search(&scene, "hunter2"), [""; 0]);
    let run = scene.host.store().run("waits").expect("it reads").expect("it is there").run;
    vote(&mut scene.host, run);
    assert_eq!(search(&scene, "hunter2"), [""; 0], "nor is a secret in the result");
    assert_eq!(search(&scene, "waits"), ["waits"], "its id is a word too");
    let damaged = scene.start("damaged", &Value::from("password"), Secrets::default());
    let file = rusqlite::Connection::open(scene.folder.path().join("store.db")).expect("it opens");
    file.execute("UPDATE events SET bytes = x'00' WHERE run = ?1", [damaged.0]).expect("it is written");
    assert_eq!(search(&scene, "damaged"), ["damaged"], "a run that cannot be read is found by its id");
    assert_eq!(search(&scene, "password"), ["waits"]);
}

#[test]
fn invalid_lines_are_rejected_with_their_number() {
    check_rejected("", 1, "empty");
    check_rejected("hello", 1, "not an export");
    check_rejected("{}", 1, "not an export");
    check_rejected(r#"{"branchpoint": "runs", "format": 99}"#, 1, "format 99");
    let header = r#"{"branchpoint": "runs", "format": 1}"#;
    check_rejected(&format!("{header}\n{{}}"), 2, "a line needs");
    check_rejected(&format!("{header}\n\n{{\"event\": {{\"mark\": 0, \"bytes\": \"\"}}}}"), 3, "before its run");
}

#[test]
fn changed_events_are_rejected() {
    let mut scene = Scene::new();
    scene.run_to_end("ended", &Value::from("hello"), Secrets::default());
    let (lines, _) = exported(scene.host.store());
    let text = String::from_utf8(lines).expect("lines are text");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.swap(3, 4);
    let store = Store::in_memory().expect("memory is there");
    let rejected = store.import(lines.join("\n").as_bytes(), ImportLimits::default(), NOW_MS);
    assert!(matches!(&rejected, Err(TransferError::Run { run, .. }) if run == "ended"), "{rejected:?}");
    assert!(ids(&store).is_empty(), "nothing of it is left");
    let changed = text.replacen("call, then ask", "call, then go", 1);
    assert!(matches!(
        store.import(changed.as_bytes(), ImportLimits::default(), NOW_MS),
        Err(TransferError::Line { line: 2, .. })
    ));
}

#[test]
fn a_journal_whose_replay_differs_is_reported() {
    let mut scene = Scene::new();
    let run = scene.run_to_end("r", &json("{}"), Secrets::default());
    assert_eq!(scene.host.store().history(run).expect("the journal can be read").entries.len(), 2);
    // The journal is complete; only the check word of an outcome differs.
    let file = rusqlite::Connection::open(scene.folder.path().join("store.db")).expect("it opens");
    file.execute("UPDATE events SET mark = mark + 1 WHERE seq = 2", []).expect("it can be changed");
    let error = scene.host.store().history(run).expect_err("it has another outcome");
    assert!(error.to_string().contains("the replay of event 2 has another outcome"), "{error}");
}

#[test]
fn several_threads_can_create_a_store_at_once() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    for round in 0..30 {
        let file = folder.path().join(format!("{round}.db"));
        std::thread::scope(|scope| {
            let opened: Vec<_> = (0..4).map(|_| scope.spawn(|| Store::open(&file, Durability::Normal))).collect();
            for store in opened {
                store.join().expect("no panic").expect("each of them opens the same store");
            }
        });
    }
}
