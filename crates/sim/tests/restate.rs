//! What the host on Restate promises, on a real server: `make test-restate`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use branchpoint_backend::{Document, Workflow};
use branchpoint_core::codec::{decode_event, encode_event, encode_value};
use branchpoint_core::ir::{BudgetLimits, Program, Status};
use branchpoint_core::{ApprovalKey, Event, Stamp, State, approvals, status};
use branchpoint_dialects::load;
use branchpoint_expr::{Dialect, Value};
use branchpoint_restate::messages::{Blob, DeliverMessage, Fact, StartMessage};
use branchpoint_runners::{Answer, AnswerFuture, Call, CancellationToken, Runner, runtime};
use branchpoint_sim::restate::{server, set_runner};

/// The tests of this file share one server and one runner, so they run one after the other.
static TURN: Mutex<()> = Mutex::new(());

/// How long anything may take before a test fails.
const LIMIT: Duration = Duration::from_mins(2);

/// Answers calls at once, or holds them until the test lets them end. Records their idempotency keys.
#[derive(Default)]
struct Recorder {
    holds: bool,
    keys: Mutex<Vec<String>>,
    release: CancellationToken,
    withdrawn: CancellationToken,
}

impl Runner for Recorder {
    fn perform<'c>(&'c self, call: &'c Call, cancel: &'c CancellationToken) -> AnswerFuture<'c> {
        self.keys.lock().unwrap().push(call.key());
        Box::pin(async {
            if !self.holds {
                return Answer::model("done");
            }
            cancel.run_until_cancelled(self.release.cancelled()).await.map_or_else(
                || {
                    self.withdrawn.cancel();
                    Answer::Missing
                },
                |()| Answer::model("done"),
            )
        })
    }

    fn answer_immediately(&self, call: &Call) -> Option<Answer> {
        if self.holds {
            return None;
        }
        self.keys.lock().unwrap().push(call.key());
        Some(Answer::model("done"))
    }

    fn fact(&self, _: &str) -> Value {
        Value::Null
    }
}

/// A run on the server.
struct Run {
    id: String,
    program: Program,
}

impl Run {
    fn start(id: &str, text: &str) -> Self {
        let loaded = load(text, Some(Dialect::Steps));
        let program = loaded.program.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
        let name = |text: &str| text.to_owned();
        let document = Document { name: name(id), dialect: name("steps"), origin: name(""), text: name(text) };
        let workflow = Workflow { document: &document, program: &program, children: &BTreeMap::new() };
        let client = server().client();
        let workflow = runtime().block_on(client.save(workflow, 0)).unwrap();
        let start = StartMessage {
            workflow: workflow.0,
            part: name(""),
            input: Blob(encode_value(&Value::Null).unwrap()),
            facts: None,
            folder: name(""),
            depth: 0,
            budget: BudgetLimits::default(),
            max_ops: 0,
            parent: None,
            tags: Vec::new(),
            at_ms: now_ms(),
            stepped: false,
        };
        assert_eq!(runtime().block_on(client.start(id, &start)).unwrap().outcome, Ok(true));
        assert_eq!(
            runtime().block_on(client.start(id, &start)).unwrap().outcome,
            Ok(false),
            "a second start changes nothing"
        );
        Self { id: id.to_owned(), program }
    }

    fn state(&self) -> State {
        runtime().block_on(server().client().state(&self.id)).unwrap().unwrap()
    }

    fn status(&self) -> Status {
        status(&self.program, &self.state())
    }

    fn wait_for(&self, expected: Status) {
        let begin = Instant::now();
        while self.status() != expected {
            assert!(begin.elapsed() < LIMIT, "{} is {:?}, not {expected:?}", self.id, self.status());
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn send(&self, event: &Event) -> Result<bool, String> {
        let event = encode_event(&Stamp::default(), event).unwrap();
        let message = DeliverMessage { fact: Fact::Event(Blob(event)), at_ms: None };
        let reply = runtime().block_on(server().client().deliver(&self.id, &message)).unwrap();
        reply.outcome.map_err(|rejection| rejection.to_string())
    }

    fn approve(&self) -> Result<bool, String> {
        let open = approvals(&self.program, &self.state(), &BTreeMap::new());
        let key: ApprovalKey = open.first().expect("an approval is open").key.clone();
        self.send(&key.answer(Some("ada"), &"approve".into(), None))
    }

    /// The effects and attempts of the recorded results, in order.
    fn recorded(&self) -> Vec<(u64, u32)> {
        let journal = runtime().block_on(server().client().journal(&self.id)).unwrap();
        let events = journal.iter().map(|row| decode_event(&row.event.0).unwrap().1);
        let settled = events.filter_map(|event| match event {
            Event::Settled { effect, attempt, .. } => Some((effect.0, attempt)),
            _ => None,
        });
        settled.collect()
    }
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
}

fn with_runner(recorder: Recorder) -> Arc<Recorder> {
    let recorder = Arc::new(recorder);
    set_runner(Some(recorder.clone()));
    recorder
}

fn until(what: &str, is_true: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_true() {
        assert!(begin.elapsed() < LIMIT, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

const BOTH: &str = r#"
steps:
  - id: both
    step_type: parallel
    branches:
      - {name: model, steps: [{id: model, step_type: prompt_call, prompt_template: hello}]}
      - {name: ask, steps: [{id: ask, step_type: human_in_the_loop, prompt: "May it?", recipient_distribution: selected_members, recipient_user_ids: [ada]}]}
"#;

#[test]
#[ignore = "needs a Restate server: make test-restate"]
fn a_vote_and_a_cancellation_are_applied_while_a_call_is_performed() {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let recorder = with_runner(Recorder { holds: true, ..Recorder::default() });
    let run = Run::start("votes", BOTH);
    until("the call begins", || !recorder.keys.lock().unwrap().is_empty());
    assert_eq!(run.approve(), Ok(true));
    assert!(run.recorded().is_empty(), "the call is still being performed");
    assert_eq!(run.send(&Event::Cancel { reason: Some("enough".into()) }), Ok(true));
    run.wait_for(Status::Cancelled);
    until("the call is cancelled", || recorder.withdrawn.is_cancelled());
    assert!(run.send(&Event::Cancel { reason: None }).is_err(), "the run has ended");
}

#[test]
#[ignore = "needs a Restate server: make test-restate"]
fn timers_votes_and_calls_survive_a_kill_of_the_server() {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let recorder = with_runner(Recorder { holds: true, ..Recorder::default() });
    let waits = "steps:\n  - {id: pause, step_type: wait, duration: 3s}\n  - {id: call, step_type: prompt_call, prompt_template: hello}\n";
    let (timed, voted) = (Run::start("timed", waits), Run::start("voted", BOTH));
    until("the call begins", || !recorder.keys.lock().unwrap().is_empty());
    assert_eq!(voted.approve(), Ok(true));
    server().kill_and_restart();
    recorder.release.cancel();
    timed.wait_for(Status::Completed);
    voted.wait_for(Status::Completed);
    for run in [&timed, &voted] {
        let recorded = run.recorded();
        assert_eq!(recorded.iter().collect::<BTreeSet<_>>().len(), recorded.len(), "no result is recorded twice");
        assert_eq!(recorded.len(), 1);
    }
    let keys: BTreeSet<String> = recorder.keys.lock().unwrap().iter().cloned().collect();
    assert_eq!(keys.len(), 2, "an attempt that is performed again has the same key: {keys:?}");
}

#[test]
#[ignore = "needs a Restate server: make test-restate"]
fn a_run_of_ten_thousand_steps_ends() {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let recorder = with_runner(Recorder::default());
    let text = "steps:\n  - id: loop\n    step_type: while\n    if: \"true\"\n    max_iterations: 10000\n    body: [{id: call, step_type: prompt_call, prompt_template: hello}]\n";
    let run = Run::start("long", text);
    run.wait_for(Status::Completed);
    assert_eq!(run.recorded().len(), 10_000);
    assert_eq!(
        recorder.keys.lock().unwrap().iter().collect::<BTreeSet<_>>().len(),
        10_000,
        "each call has its own key"
    );
}
