//! Sessions in a store give the same responses as sessions in memory, also if the process dies after every request.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use branchpoint_backend::{Backend, Session, SessionOptions};
use branchpoint_core::ir::Program;
use branchpoint_dialects::{load, read};
use branchpoint_expr::{Dialect, Value};
use branchpoint_host::gate::{Gate, SessionAction, SessionRequest, SessionResponse, Sessions, StoredSessions};
use branchpoint_host::host::{DrivenRuns, Host};
use branchpoint_host::store::{Document, Durability, Store, Workflow};
use branchpoint_host::{CallLimits, Driver, Embedded};
use branchpoint_runners::{Answer, AnswerFuture, Call, CancellationToken, Runner};

/// The lifetime of a session without requests.
const TTL_S: i64 = 60;

fn program(text: &str) -> Program {
    load(text, Some(Dialect::Session)).program.expect("the example loads")
}

/// Opens the sessions in the store of a folder, like a new process.
fn open_sessions<'p>(folder: &Path, program: &'p Program, tools: Option<&[&str]>, now_ms: i64) -> StoredSessions<'p> {
    let store = Store::open(&folder.join("store.db"), Durability::Normal).expect("the store opens");
    let document =
        Document { name: "agent".into(), dialect: "session".into(), origin: String::new(), text: String::new() };
    let children = BTreeMap::new();
    let workflow = Workflow { document: &document, program, children: &children };
    let workflow = store.save(workflow, now_ms).expect("the document is stored");
    let host =
        Host::new(store, "test", DrivenRuns::Requested, Arc::new(|_| Value::Null), now_ms).expect("the host starts");
    StoredSessions::new(
        host,
        Gate::new(program, tools, TTL_S).expect("the program has a session"),
        workflow,
        "agent".into(),
    )
}

fn request(event: &Value) -> SessionAction {
    let text = |key: &str| event.get(key).and_then(Value::as_str);
    match (text("message"), text("tool"), event.get("ask")) {
        (Some(message), ..) => SessionAction::Message(message.into()),
        (_, Some(tool), _) => SessionAction::Tool(tool.into()),
        (.., Some(_)) => SessionAction::Query,
        _ => SessionAction::Reset,
    }
}

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/session");
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|end| end == "json")).collect()
}

#[test]
fn every_example_gives_the_same_responses_with_a_crash_after_each_request() {
    for path in examples() {
        let program = program(&fs::read_to_string(&path).unwrap());
        let events = read(&fs::read_to_string(path.with_extension("events.yaml")).unwrap()).unwrap().to_value();
        let tools = events.get("tools").and_then(Value::as_list);
        let tools: Option<Vec<&str>> = tools.map(|tools| tools.iter().filter_map(Value::as_str).collect());
        let gate = Gate::new(&program, tools.as_deref(), TTL_S).expect("the program has a session");
        let (mut in_memory, folder) = (Sessions::new(gate), tempfile::tempdir().unwrap());
        for (index, event) in events.get("events").and_then(Value::as_list).unwrap_or_default().iter().enumerate() {
            // The pause before the fifth event exceeds the lifetime of the session.
            let now_ms = i64::try_from(index).unwrap() * 7_000 + if index >= 4 { 100_000 } else { 0 };
            let key = Some(format!("k{}", index / 2).into());
            let request = SessionRequest { action: request(event), key, explain: index % 2 == 0 };
            let expected = in_memory.request("s", request.clone(), now_ms).expect("the request is accepted");
            let mut stored = open_sessions(folder.path(), &program, tools.as_deref(), now_ms);
            let answer = stored.request("s", request, now_ms).expect("the request is accepted");
            let text = |answer: &SessionResponse| format!("{:?} {:?}", answer.view("s"), answer.reasons);
            assert_eq!(text(&answer), text(&expected), "{}: event {index}", path.display());
            // The process dies here: nothing is closed.
            drop(stored);
        }
    }
}

#[test]
fn two_processes_share_a_session() {
    let path = examples().into_iter().next().expect("there are examples");
    let program = program(&fs::read_to_string(&path).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let mut one = open_sessions(folder.path(), &program, None, 0);
    one.request("s", SessionAction::Tool("search".into()), 0).expect("the request is accepted");
    one.close().expect("the store can be written");
    let mut two = open_sessions(folder.path(), &program, None, 1);
    let answer = two.request("s", SessionAction::Tool("think".into()), 1).expect("the request is accepted");
    let used = answer.view("s").get("recentlyUsedTools").cloned().unwrap_or_default();
    assert_eq!(used.as_list().map(<[Value]>::len), Some(2), "{used:?}");
    assert!(two.request("", SessionAction::Query, 1).is_err(), "a session has a name");
}

#[test]
fn two_processes_that_wait_for_each_other_do_not_block() {
    let path = examples().into_iter().next().expect("there are examples");
    let program = program(&fs::read_to_string(&path).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let (opened, answered) = (Barrier::new(2), AtomicUsize::new(0));
    let both = [("a", "b"), ("b", "a")].map(|(own, other)| (own, other, folder.path()));
    thread::scope(|threads| {
        for (own, other, folder) in both {
            let (opened, answered, program) = (&opened, &answered, &program);
            threads.spawn(move || {
                let mut sessions = open_sessions(folder, program, None, 0);
                sessions.request(own, SessionAction::Query, 0).expect("the request is accepted");
                opened.wait();
                // Each process drives the session that the other one requests, and waits for the other's response.
                let response = sessions.request(other, SessionAction::Message("hello".into()), 0);
                answered.fetch_add(1, Ordering::SeqCst);
                while answered.load(Ordering::SeqCst) < 2 {
                    sessions.poll(0).expect("the store works");
                }
                response.expect("the request is accepted");
            });
        }
    });
}

/// A runner that never answers, because sessions make no calls.
struct NoCalls;

impl Runner for NoCalls {
    fn perform<'c>(&'c self, _: &'c Call, _: &'c CancellationToken) -> AnswerFuture<'c> {
        Box::pin(std::future::ready(Answer::Missing))
    }

    fn fact(&self, _: &str) -> Value {
        Value::Null
    }
}

/// A process that drives sessions under the real clock.
fn process(folder: &Path) -> Embedded {
    let store = || Store::open(&folder.join("store.db"), Durability::Normal).expect("the store opens");
    let host =
        Host::new(store(), "test", DrivenRuns::Requested, Arc::new(|_| Value::Null), 0).expect("the host starts");
    Embedded::with_driver(store(), Driver::new(host, Arc::new(NoCalls), CallLimits::default()))
}

#[test]
fn a_backend_answers_and_explains_a_request_that_another_process_handles() {
    let path = examples().into_iter().next().expect("there are examples");
    let (program, folder) = (program(&fs::read_to_string(&path).unwrap()), tempfile::tempdir().unwrap());
    let (mut one, two) = (process(folder.path()), process(folder.path()));
    let (document, options) = ("agent".to_owned(), SessionOptions::default());
    let saved = Document { name: document.clone(), ..Document::default() };
    let workflow = Workflow { document: &saved, program: &program, children: &BTreeMap::new() };
    let workflow = one.save(workflow, 0).expect("the document is stored");
    let session = Session { name: "s".into(), document, workflow, options };
    let request = |backend: &dyn Backend, tool: &str, key: &str| {
        let action = SessionAction::Tool(tool.into());
        let request = SessionRequest { action, key: Some(key.into()), explain: true };
        backend.request_session(&session, request).expect("the request is accepted")
    };
    let used = |answer: &SessionResponse| answer.state.get("recentlyUsedTools").cloned().unwrap_or_default();
    let first = request(&one, "search", "a");
    let run = one.open_session(&session).expect("the session is open");
    // The first process drives the session.
    let second = request(&two, "think", "b");
    assert_eq!(used(&second), Value::from(["search", "think"].map(Value::from).to_vec()));
    assert!(!first.reasons.is_empty() && !second.reasons.is_empty(), "{first:?} {second:?}");
    one.stop(Duration::ZERO).expect("the host closes");
    let repeated = request(&two, "think", "b");
    assert_eq!((used(&repeated), repeated.state.get("changed")), (used(&second), Some(&Value::Bool(false))));
    assert_eq!(two.open_session(&session).expect("the session is open"), run, "both processes used the same session");
}

#[test]
fn a_repeated_reset_of_a_session_that_another_process_drives_forgets_nothing() {
    let path = examples().into_iter().next().expect("there are examples");
    let (program, folder) = (program(&fs::read_to_string(&path).unwrap()), tempfile::tempdir().unwrap());
    let (mut one, two) = (process(folder.path()), process(folder.path()));
    let (document, options) = ("agent".to_owned(), SessionOptions::default());
    let saved = Document { name: document.clone(), ..Document::default() };
    let workflow = Workflow { document: &saved, program: &program, children: &BTreeMap::new() };
    let workflow = one.save(workflow, 0).expect("the document is stored");
    let session = Session { name: "s".into(), document, workflow, options };
    // The first process opens the session and drives it.
    one.open_session(&session).expect("the session is open");
    one.request_session(&session, SessionAction::Query.into()).expect("the request is accepted");
    let request = |action: SessionAction, key: &str| {
        let request = SessionRequest { action, key: Some(key.into()), explain: false };
        two.request_session(&session, request).expect("the request is accepted")
    };
    let used = |answer: &SessionResponse| answer.state.get("recentlyUsedTools").cloned().unwrap_or_default();
    request(SessionAction::Reset, "reset");
    let first = request(SessionAction::Tool("think".into()), "think");
    assert_eq!(used(&first), Value::from(vec![Value::from("think")]));
    request(SessionAction::Reset, "reset");
    let repeated = request(SessionAction::Tool("think".into()), "think");
    assert_eq!(used(&repeated), used(&first), "the repeated reset has not forgotten the key of the report");
    one.stop(Duration::ZERO).expect("the host closes");
}
