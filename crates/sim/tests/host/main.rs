//! The embedded host with a store in a file: durability, several processes, crashes.

mod agent_turns;
mod agents;
mod children;
mod durability;
mod exchange;
mod golden;
mod notices;
mod processes;
mod recordings;
mod scripted;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use branchpoint_core::Event;
use branchpoint_core::ir::Status;
use branchpoint_dialects::{Library, load_from};
use branchpoint_expr::{Object, Value};
use branchpoint_host::Reply;
use branchpoint_host::host::{
    Accepted, CallSource, DrivenRuns, Host, Rejection, RunEvent, RunEventKind, Start, Ticket, TurnOutput,
};
use branchpoint_host::store::{Document, Durability, RunNo, Store, Workflow, WorkflowNo};
use branchpoint_runners::{Answer, Call};

/// A folder of its own for each test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("branchpoint-host-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder can be created");
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("store.db")
    }

    fn store(&self) -> Store {
        Store::open(&self.file(), Durability::Normal).expect("the store opens")
    }

    fn host(&self, drives: DrivenRuns) -> Host {
        let host = Host::new(self.store(), "test", drives, Arc::new(|_| Value::Null), 0);
        host.expect("the host starts").deterministic()
    }

    /// The content of all files of the store, as text.
    fn contents(&self) -> String {
        let files = std::fs::read_dir(&self.0).expect("it is there").flatten().filter(|entry| entry.path().is_file());
        files
            .map(|file| {
                String::from_utf8_lossy(&std::fs::read(file.path()).expect("the store is readable")).into_owned()
            })
            .collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A remaining temporary folder does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Others<'o>(&'o [(&'o str, &'o str)]);

impl Library for Others<'_> {
    fn workflow(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
    }
}

/// Stores a document and the workflows that it calls.
fn saved(store: &Store, text: &str, others: &[(&str, &str)]) -> WorkflowNo {
    let loaded = load_from(text, None, &Others(others));
    let program = loaded.program.unwrap_or_else(|| panic!("the document does not load: {:?}", loaded.diagnostics));
    let name = |name: &str| name.to_owned();
    let document = Document { name: name("test"), dialect: name("test"), origin: name("test"), text: text.into() };
    let workflow = Workflow { document: &document, program: &program, children: &loaded.children };
    store.save(workflow, 0).expect("the document is stored")
}

/// The collected outputs of the turns of a host.
#[derive(Default)]
struct TurnOutputs {
    calls: Vec<(RunNo, Call)>,
    /// Calls that a script answers after a delay.
    delayed: Vec<(Call, Reply)>,
    answers: Vec<Result<Accepted, Rejection>>,
    ended: BTreeMap<String, (Status, Value)>,
}

impl TurnOutputs {
    /// Runs all due turns of the host.
    fn collect(&mut self, host: &mut Host, now_ms: i64) {
        while host.next_ms().is_some_and(|at_ms| at_ms <= now_ms) {
            for output in host.turn(now_ms).expect("the host can take its turn") {
                match output {
                    TurnOutput::Perform { call, reply: Some(reply), .. } => self.delayed.push((call, *reply)),
                    TurnOutput::Perform { run, call, .. } => self.calls.push((run, call)),
                    TurnOutput::Withdraw { id, effect, .. } => {
                        self.calls.retain(|(_, call)| call.run != id || call.effect != effect);
                    }
                    TurnOutput::OrderDone { outcome, .. } => self.answers.push(outcome),
                    TurnOutput::Event(RunEvent { id, kind: RunEventKind::Status(status, result), .. })
                        if status.is_final() =>
                    {
                        self.ended.insert(id.to_string(), (status, result.unwrap_or_default()));
                    }
                    TurnOutput::Event(_) => {}
                }
            }
        }
    }

    /// Answers every call with a numbered text, until no call is left.
    fn answer_all(&mut self, host: &mut Host, now_ms: i64) -> usize {
        let mut answered = 0;
        self.collect(host, now_ms);
        while let Some((run, call)) = self.calls.pop() {
            answered += 1;
            host.settle(run, &call, Answer::model(format!("answer {answered}")));
            self.collect(host, now_ms);
        }
        answered
    }

    #[track_caller]
    fn output(&self, id: &str) -> &Value {
        let (status, result) =
            self.ended.get(id).unwrap_or_else(|| panic!("run `{id}` has not ended: {:?}", self.ended));
        assert_eq!(*status, Status::Completed, "{result:?}");
        result.get("output").unwrap_or(&Value::Null)
    }
}

fn start(host: &mut Host, workflow: WorkflowNo, id: &str) {
    host.start(Start::new(workflow, id.into(), Value::from("x")), Ticket::default());
}

fn vote(request: i64, choice: &str, user: &str) -> Event {
    let vote = [("request", Value::Int(request)), ("choice", Value::from(choice))];
    let payload = Value::from(vote.into_iter().map(|(key, value)| (key.into(), value)).collect::<Object>());
    Event::Signal { name: "vote".into(), payload, sender: Some(user.into()), key: None }
}

/// The number of the open request of a run.
fn open_request(store: &Store, run: RunNo) -> i64 {
    let open = store
        .approval_records(run)
        .expect("the store is readable")
        .into_iter()
        .find(|question| question.closed_ms.is_none());
    i64::try_from(open.expect("the run has an open approval").request.0).expect("numbers are small")
}

const TWO_STEPS: &str = "steps:
  - {id: first, step_type: prompt_call, prompt_template: one}
  - {id: second, step_type: prompt_call, prompt_template: two}
";

const APPROVAL: &str = "steps:
  - {id: ask, step_type: human_in_the_loop, prompt_template: \"Go on?\", recipient_distribution: selected_members, recipient_user_ids: [anna]}
  - {id: after, step_type: prompt_call, prompt_template: go}
";

const LATER: &str = "steps:
  - {id: pause, step_type: wait, duration: 10s}
  - {id: after, step_type: prompt_call, prompt_template: go}
";
