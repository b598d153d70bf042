//! Runs a program on Restate with the real clock and real commands.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use branchpoint_backend::{Document, Workflow};
use branchpoint_core::codec::{decode_event, encode_event, encode_value};
use branchpoint_core::ir::{BudgetLimits, Program};
use branchpoint_core::{ApprovalKey, Event, JournalRow, Stamp, State, approvals, replay, status};
use branchpoint_expr::{Object, Value};
use branchpoint_restate::Client;
use branchpoint_restate::messages::{Blob, DeliverMessage, Fact, Row, StartMessage};
use branchpoint_runners::{Answer, AnswerFuture, Call, CancellationToken, Runner, runtime};

use super::server;
use crate::real_clock::RunResult;

/// How often the run is read until it ends.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long a run may take.
const RUN_LIMIT: Duration = Duration::from_mins(2);

static RUNNER: Mutex<Option<Arc<dyn Runner>>> = Mutex::new(None);

/// Sets the runner that performs the calls of all runs of this process.
pub fn set_runner(runner: Option<Arc<dyn Runner>>) {
    *RUNNER.lock().unwrap_or_else(PoisonError::into_inner) = runner;
}

fn current_runner() -> Option<Arc<dyn Runner>> {
    RUNNER.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Performs calls with the runner that is set when they begin.
pub(super) struct CurrentRunner;

impl Runner for CurrentRunner {
    fn perform<'c>(&'c self, call: &'c Call, cancel: &'c CancellationToken) -> AnswerFuture<'c> {
        Box::pin(async {
            match current_runner() {
                Some(runner) => runner.perform(call, cancel).await,
                None => Answer::impossible("no_runner", "no runner is set"),
            }
        })
    }

    fn answer_immediately(&self, call: &Call) -> Option<Answer> {
        current_runner()?.answer_immediately(call)
    }

    fn fact(&self, name: &str) -> Value {
        current_runner().map(|runner| runner.fact(name)).unwrap_or_default()
    }
}

/// Runs a program on the server of this process until it ends.
pub fn live_run(
    root: &Program,
    children: &BTreeMap<Arc<str>, Program>,
    input: &Value,
    runner: &Arc<dyn Runner>,
) -> RunResult {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let id = format!("live-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    set_runner(Some(runner.clone()));
    let client = server().client();
    let text = |text: &str| text.to_owned();
    let document = Document { name: text("live"), dialect: text(""), origin: text(""), text: text("") };
    let workflow = Workflow { document: &document, program: root, children };
    let workflow = runtime().block_on(client.save(workflow, now_ms())).expect("the program can be stored");
    let facts: Object = root.facts.iter().map(|name| (name.clone(), runner.fact(name))).collect();
    let start = StartMessage {
        workflow: workflow.0,
        part: text(""),
        input: Blob(encode_value(input).expect("the input can be stored")),
        facts: Some(Blob(encode_value(&Value::from(facts)).expect("facts can be stored"))),
        folder: text(""),
        depth: 0,
        budget: BudgetLimits::default(),
        max_ops: 0,
        parent: None,
        tags: Vec::new(),
        at_ms: now_ms(),
        stepped: false,
    };
    let started = runtime().block_on(client.start(&id, &start)).expect("the server responds");
    started.outcome.expect("the run starts");
    let state = wait(client, &id, root, &**runner);
    let (state, notes, exchange_problem) = replayed(client, &id, root, state);
    set_runner(None);
    let result = state.result().map(|(_, result)| result.clone()).unwrap_or_default();
    RunResult { status: status(root, &state), result, notes, exchange_problem }
}

/// Waits until the run has ended, and answers with the user's lines meanwhile.
fn wait(client: &Client, id: &str, program: &Program, runner: &dyn Runner) -> State {
    let begin = Instant::now();
    loop {
        let state = runtime().block_on(client.state(id)).expect("the server responds").expect("the run exists");
        if state.result().is_some() {
            return state;
        }
        let open = approvals(program, &state, &BTreeMap::new());
        if open.iter().any(|open| open.key == ApprovalKey::Line) {
            let line = runner.next_line().map_or(Value::Null, Value::from);
            send(client, id, &ApprovalKey::Line.answer(None, &line, None));
        }
        assert!(begin.elapsed() < RUN_LIMIT, "run {id} does not end: {state:?}");
        thread::sleep(POLL_INTERVAL);
    }
}

fn send(client: &Client, id: &str, event: &Event) {
    let event = encode_event(&Stamp::default(), event).expect("the answer can be stored");
    let message = DeliverMessage { fact: Fact::Event(Blob(event)), at_ms: None };
    // The run may have ended meanwhile.
    let _ = runtime().block_on(client.deliver(id, &message)).expect("the server responds").outcome;
}

/// Replays the stored journal, which must give the stored state.
fn replayed(
    client: &Client,
    id: &str,
    program: &Program,
    state: State,
) -> (State, Vec<branchpoint_core::Note>, Option<String>) {
    let journal = runtime().block_on(client.journal(id)).expect("the server responds");
    let rows = journal.iter().map(row);
    match replay(program, State::new(), rows) {
        Ok((replayed, notes)) if replayed == state => (replayed, notes, None),
        Ok((_, notes)) => (state, notes, Some("the journal gives another state than the stored one".into())),
        Err(error) => (state, Vec::new(), Some(format!("the journal cannot be replayed: {error}"))),
    }
}

/// A row of the journal, decoded.
pub(super) fn row(row: &Row) -> JournalRow {
    let (stamp, event) = decode_event(&row.event.0).expect("the stored event can be read");
    (stamp, event, row.check)
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
