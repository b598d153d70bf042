//! The driver under the real clock, and how it stops.

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

/// How long the driver waits for cancelled calls.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// A runner whose calls continue until they are cancelled, and then take some time to clean up.
struct SlowToCancel {
    begun: AtomicBool,
    cleaned_up: AtomicBool,
    /// The answer in the end.
    answer: Answer,
}

impl Runner for SlowToCancel {
    fn perform<'c>(&'c self, _: &'c Call, cancel: &'c CancellationToken) -> AnswerFuture<'c> {
        Box::pin(async {
            self.begun.store(true, Ordering::Release);
            cancel.cancelled().await;
            tokio::time::sleep(Duration::from_millis(50)).await;
            self.cleaned_up.store(true, Ordering::Release);
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
    let tool = b.effect(effect(Kind::Tool));
    let call = b.do_(tool, null, None, end, None);
    b.begin(ROOT, &[call]);
    b.finish().expect("the program is valid")
}

/// A host over a new store that has one workflow.
fn stored(path: &Path, program: &Program) -> (WorkflowNo, Host) {
    let store = Store::open(path, branchpoint_host::store::Durability::Normal).expect("a store can be created");
    let text = |text: &str| text.to_owned();
    let document = Document { name: text("one"), dialect: text("test"), origin: text("test"), text: String::new() };
    let workflow = Workflow { document: &document, program, children: &BTreeMap::new() };
    let workflow = store.save(workflow, 0).expect("it can be stored");
    let host = Host::new(store, "test", DrivenRuns::Requested, Arc::new(|_| Value::Null), 0).expect("it can be driven");
    (workflow, host)
}

/// A run whose only call has begun.
struct Scene {
    folder: tempfile::TempDir,
    runner: Arc<SlowToCancel>,
    driver: Driver,
    run: RunNo,
}

impl Scene {
    fn new(answer: Answer) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a store");
        let (workflow, host) = stored(&folder.path().join("store.db"), &one_call());
        let runner = Arc::new(SlowToCancel { begun: AtomicBool::default(), cleaned_up: AtomicBool::default(), answer });
        let driver = Driver::new(host, runner.clone(), CallLimits::default());
        let started = driver.start(Start::new(workflow, "run".into(), Value::Null)).expect("the store works");
        let run = started.expect("it starts").run;
        while !runner.begun.load(Ordering::Acquire) {
            thread::sleep(Duration::from_millis(1));
        }
        Self { folder, runner, driver, run }
    }

    /// The row of the run after the driver has stopped; `None` if that took so long that it may not have waited for the call.
    fn row_after_stop(self) -> Option<Run> {
        let begun = Instant::now();
        self.driver.stop(Duration::ZERO).expect("the store works");
        if begun.elapsed() >= CANCEL_GRACE {
            return None;
        }
        assert!(self.runner.cleaned_up.load(Ordering::Acquire), "the call has ended before the driver stops");
        let store = Store::read_only(&self.folder.path().join("store.db")).expect("it is there");
        Some(store.row(self.run).expect("it is there"))
    }
}

/// The row of a run with one call, after an action and the stop of the driver. Repeated on a machine that is too slow at times.
fn row_after(answer: &Answer, action: impl Fn(&Scene)) -> Run {
    let row = (0..20).find_map(|_| {
        let scene = Scene::new(answer.clone());
        action(&scene);
        scene.row_after_stop()
    });
    row.expect("the driver stops when the call has ended")
}

#[test]
fn a_stop_waits_for_cancelled_calls() {
    let killed = Answer::Process(ProcessResult::new(143, "", ""));
    let broken = Answer::failed("tool", "the connection to the server of the tool was lost");
    for answer in [Answer::Missing, killed, broken] {
        let row = row_after(&answer, |_| {});
        assert_eq!((row.status, row.owner, row.seq), (Status::Running, None, 1), "nothing was recorded for it");
    }
}

#[test]
fn answers_that_arrive_during_a_stop_are_stored() {
    let usage = Usage { tokens: 3, ..Usage::default() };
    let (stdout, stderr): (Arc<str>, Arc<str>) = ("out".into(), "".into());
    for (answer, status) in [
        (Answer::data(Value::Null), Status::Completed),
        (Answer::Model(ModelResult { value: Value::from("hi"), usage, ..ModelResult::default() }), Status::Completed),
        (Answer::Process(ProcessResult::new(0, stdout, stderr)), Status::Completed),
        (Answer::refused("tool", "the server has rejected the call"), Status::Failed),
    ] {
        let row = row_after(&answer, |_| {});
        assert_eq!((row.status, row.seq), (status, 2), "{answer:?}");
    }
}

#[test]
fn a_stop_waits_for_withdrawn_calls() {
    let row = row_after(&Answer::Missing, |scene| {
        let cancelled = scene.driver.send(scene.run, Event::Cancel { reason: None }).expect("the store works");
        assert!(cancelled.is_ok(), "{cancelled:?}");
    });
    assert_eq!(row.status, Status::Cancelled);
}

/// A call, and then computing without end.
fn one_call_then_spinning() -> Program {
    let mut b = Builder::new();
    let null = b.value(Value::Null);
    let again = b.reserve();
    b.at(again).set([], again, None);
    let tool = b.effect(effect(Kind::Tool));
    let call = b.do_(tool, null, None, again, None);
    b.begin(ROOT, &[call]);
    b.finish().expect("the program is valid")
}

/// Answers every call when it is cancelled.
struct AnswersOnCancel {
    begun: std::sync::atomic::AtomicUsize,
}

impl Runner for AnswersOnCancel {
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
fn responses_that_do_not_fit_into_one_turn_are_recorded_when_the_driver_stops() {
    // Each response makes its run compute for a large part of a turn.
    const RUNS: usize = 24;
    let folder = tempfile::tempdir().expect("there is room for a store");
    let path = folder.path().join("store.db");
    let (workflow, host) = stored(&path, &one_call_then_spinning());
    let runner = Arc::new(AnswersOnCancel { begun: std::sync::atomic::AtomicUsize::new(0) });
    let driver = Driver::new(host, runner.clone(), CallLimits::default());
    let start = |number| driver.start(Start::new(workflow, format!("run-{number}"), Value::Null));
    let runs: Vec<RunNo> =
        (0..RUNS).map(|number| start(number).expect("the store works").expect("it starts").run).collect();
    while runner.begun.load(Ordering::Acquire) < RUNS {
        thread::sleep(Duration::from_millis(1));
    }
    driver.stop(Duration::ZERO).expect("the store works");
    let store = Store::read_only(&path).expect("it is there");
    let settled = runs.iter().filter(|run| store.row(**run).expect("it is there").seq > 1).count();
    assert_eq!(settled, RUNS, "each response is in the journal of its run");
}

#[test]
fn a_listener_receives_the_events_of_runs_that_another_process_has_released() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("store.db");
    let (workflow, host) = stored(&path, &one_call());
    let runner = || {
        let (begun, cleaned_up) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(SlowToCancel { begun, cleaned_up, answer: Answer::Missing })
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
    let runner =
        SlowToCancel { begun: AtomicBool::default(), cleaned_up: AtomicBool::default(), answer: Answer::Missing };
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
