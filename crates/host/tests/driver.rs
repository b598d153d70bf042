//! The driver under the real clock: what it does when it leaves.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use branchpoint_backend::Backend;
use branchpoint_core::effect::{Kind, ModelResult, ProcessResult};
use branchpoint_core::ir::builder::{Builder, ROOT, effect};
use branchpoint_core::ir::{Program, Status};
use branchpoint_core::{Event, Usage};
use branchpoint_expr::Value;
use branchpoint_host::host::{DrivenRuns, Host, RunEvent, RunEventKind, Start};
use branchpoint_host::store::{Document, Durability, Run, RunNo, Store, Workflow, WorkflowNo};
use branchpoint_host::{CallLimits, Driver, Embedded};
use branchpoint_runners::{Answer, AnswerFuture, Call, CancellationToken, Runner};

/// How long the driver waits for calls that were told to stop.
const PATIENCE: Duration = Duration::from_secs(2);

/// A call that goes on until it is told to stop, and then has something to put in order.
struct Stubborn {
    begun: AtomicBool,
    in_order: AtomicBool,
    /// What it comes to in the end.
    answer: Answer,
}

impl Runner for Stubborn {
    fn perform<'c>(&'c self, _: &'c Call, cancel: &'c CancellationToken) -> AnswerFuture<'c> {
        Box::pin(async {
            self.begun.store(true, Ordering::Release);
            cancel.cancelled().await;
            tokio::time::sleep(Duration::from_millis(50)).await;
            self.in_order.store(true, Ordering::Release);
            self.answer.clone()
        })
    }

    fn fact(&self, _: &str) -> Value {
        Value::Null
    }
}

fn one_call() -> Program {
    let mut b = Builder::new();
    let null = b.value(Value::Null);
    let end = b.close(Status::Completed, null);
    let what = b.effect(effect(Kind::Tool));
    let ask = b.do_(what, null, None, end, None);
    b.begin(ROOT, &[ask]);
    b.finish().expect("the program is valid")
}

/// A host over a new store that has one workflow.
fn stored(path: &Path, program: &Program) -> (WorkflowNo, Host) {
    let store = Store::open(path, branchpoint_host::store::Durability::Normal).expect("a store can be made");
    let text = |text: &str| text.to_owned();
    let document = Document { name: text("one"), dialect: text("test"), origin: text("test"), text: String::new() };
    let workflow = Workflow { document: &document, program, children: &BTreeMap::new() };
    let workflow = store.save(workflow, 0).expect("it can be kept");
    let host = Host::new(store, "test", DrivenRuns::Requested, Arc::new(|_| Value::Null), 0).expect("it can be driven");
    (workflow, host)
}

/// A run whose only call has begun.
struct Scene {
    folder: tempfile::TempDir,
    outside: Arc<Stubborn>,
    driver: Driver,
    run: RunNo,
}

impl Scene {
    fn new(answer: Answer) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a store");
        let (workflow, host) = stored(&folder.path().join("store.db"), &one_call());
        let outside = Arc::new(Stubborn { begun: AtomicBool::default(), in_order: AtomicBool::default(), answer });
        let driver = Driver::new(host, outside.clone(), CallLimits::default());
        let started = driver.start(Start::new(workflow, "run".into(), Value::Null)).expect("the store works");
        let run = started.expect("it starts").run;
        while !outside.begun.load(Ordering::Acquire) {
            thread::sleep(Duration::from_millis(1));
        }
        Self { folder, outside, driver, run }
    }

    /// How the run stands after the driver has left; nothing if that took so long that it need not have waited for the call.
    fn left(self) -> Option<Run> {
        let begun = Instant::now();
        self.driver.stop(Duration::ZERO).expect("the store works");
        if begun.elapsed() >= PATIENCE {
            return None;
        }
        assert!(self.outside.in_order.load(Ordering::Acquire), "the call has ended before the driver is gone");
        let store = Store::read_only(&self.folder.path().join("store.db")).expect("it is there");
        Some(store.row(self.run).expect("it is there"))
    }
}

/// How the run of a call stands after something has happened to it and the driver has left. A machine that is too slow for that now
/// and then may try again.
fn left_after(answer: &Answer, happens: impl Fn(&Scene)) -> Run {
    let tried = (0..20).find_map(|_| {
        let scene = Scene::new(answer.clone());
        happens(&scene);
        scene.left()
    });
    tried.expect("the driver leaves when the call has ended")
}

#[test]
fn leaving_waits_for_calls_that_were_told_to_stop() {
    let killed = Answer::Process(ProcessResult::new(143, "", ""));
    let broken = Answer::failed("tool", "the server of the tool is gone");
    for answer in [Answer::Missing, killed, broken] {
        let row = left_after(&answer, |_| {});
        assert_eq!((row.status, row.owner, row.seq), (Status::Running, None, 1), "nothing was recorded for it");
    }
}

#[test]
fn what_has_been_answered_when_the_driver_leaves_is_kept() {
    let usage = Usage { tokens: 3, ..Usage::default() };
    let (stdout, stderr): (Arc<str>, Arc<str>) = ("out".into(), "".into());
    for (answer, status) in [
        (Answer::data(Value::Null), Status::Completed),
        (Answer::Model(ModelResult { value: Value::from("hi"), usage, ..ModelResult::default() }), Status::Completed),
        (Answer::Process(ProcessResult::new(0, stdout, stderr)), Status::Completed),
        (Answer::refused("tool", "the other side has said no"), Status::Failed),
    ] {
        let row = left_after(&answer, |_| {});
        assert_eq!((row.status, row.seq), (status, 2), "{answer:?}");
    }
}

#[test]
fn leaving_waits_for_calls_that_nobody_waits_for_any_more() {
    let row = left_after(&Answer::Missing, |scene| {
        let cancelled = scene.driver.send(scene.run, Event::Cancel { reason: None }).expect("the store works");
        assert!(cancelled.is_ok(), "{cancelled:?}");
    });
    assert_eq!(row.status, Status::Cancelled);
}

/// A call, and then nothing but computing.
fn one_call_then_spinning() -> Program {
    let mut b = Builder::new();
    let null = b.value(Value::Null);
    let again = b.reserve();
    b.at(again).set([], again, None);
    let what = b.effect(effect(Kind::Tool));
    let call = b.do_(what, null, None, again, None);
    b.begin(ROOT, &[call]);
    b.finish().expect("the program is valid")
}

/// Answers every call when it is told to stop.
struct AnswersLast {
    begun: std::sync::atomic::AtomicUsize,
}

impl Runner for AnswersLast {
    fn perform<'c>(&'c self, _: &'c Call, cancel: &'c CancellationToken) -> AnswerFuture<'c> {
        Box::pin(async {
            self.begun.fetch_add(1, Ordering::AcqRel);
            cancel.cancelled().await;
            Answer::data(Value::Null)
        })
    }

    fn fact(&self, _: &str) -> Value {
        Value::Null
    }
}

#[test]
fn responses_that_do_not_fit_into_one_turn_are_recorded_when_the_driver_leaves() {
    // Each response makes its run compute for a large part of a turn.
    const RUNS: usize = 24;
    let folder = tempfile::tempdir().expect("there is room for a store");
    let path = folder.path().join("store.db");
    let (workflow, host) = stored(&path, &one_call_then_spinning());
    let outside = Arc::new(AnswersLast { begun: std::sync::atomic::AtomicUsize::new(0) });
    let driver = Driver::new(host, outside.clone(), CallLimits::default());
    let start = |number| driver.start(Start::new(workflow, format!("run-{number}"), Value::Null));
    let runs: Vec<RunNo> =
        (0..RUNS).map(|number| start(number).expect("the store works").expect("it starts").run).collect();
    while outside.begun.load(Ordering::Acquire) < RUNS {
        thread::sleep(Duration::from_millis(1));
    }
    driver.stop(Duration::ZERO).expect("the store works");
    let store = Store::read_only(&path).expect("it is there");
    let settled = runs.iter().filter(|run| store.row(**run).expect("it is there").seq > 1).count();
    assert_eq!(settled, RUNS, "each response is in the journal of its run");
}

#[test]
fn a_listener_gets_the_events_of_runs_that_another_process_has_left() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("store.db");
    let (workflow, host) = stored(&path, &one_call());
    let runner = || {
        let (begun, in_order) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Stubborn { begun, in_order, answer: Answer::Missing })
    };
    let driver = Driver::new(host, runner(), CallLimits::default());
    let start = Start { detached: true, ..Start::new(workflow, "run".into(), Value::Null) };
    driver.start(start).expect("it drives").expect("it starts");
    driver.stop(Duration::ZERO).expect("it closes");
    let (_, host) = stored(&path, &one_call());
    let driver = Driver::new(host, runner(), CallLimits::default());
    let (sender, events) = std::sync::mpsc::channel();
    driver.subscribe(Box::new(move |event| drop(sender.send(event.clone())))).expect("it drives");
    driver.drive_all().expect("the store works");
    let event = events.recv_timeout(Duration::from_secs(10)).expect("the run is continued");
    assert_eq!((&*event.id, event.kind), ("run", RunEventKind::Call));
}

#[test]
fn a_loaded_run_has_reported_its_events() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("store.db");
    let mut b = Builder::new();
    let null = b.value(Value::Null);
    let end = b.close(Status::Completed, null);
    b.begin(ROOT, &[end]);
    let (workflow, host) = stored(&path, &b.finish().expect("the program is valid"));
    let runner = Stubborn { begun: AtomicBool::default(), in_order: AtomicBool::default(), answer: Answer::Missing };
    let driver = Driver::new(host, Arc::new(runner), CallLimits::default());
    let backend = Embedded::with_driver(Store::open(&path, Durability::Normal).expect("it opens"), driver);
    let events = Arc::new(Mutex::new(Vec::new()));
    let reported = Arc::clone(&events);
    let listener = move |event: &RunEvent| {
        thread::sleep(Duration::from_millis(200));
        reported.lock().expect("no panic").push(event.kind.clone());
    };
    backend.subscribe(Box::new(listener)).expect("it drives");
    let run = backend.start(Start::new(workflow, "run".into(), Value::Null)).expect("it starts").run;
    assert_eq!(backend.load(run).expect("it is stored").status(), Status::Completed);
    let events = events.lock().expect("no panic");
    assert!(matches!(events[..], [RunEventKind::Status(Status::Completed, _)]), "{events:?}");
}
