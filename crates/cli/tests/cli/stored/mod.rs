//! Commands over a store: runs are put into it by the library, as `run` would, and looked at and driven on by the program.

mod approvals;
mod keys;
mod maintenance;
mod runs;
mod sessions;

use std::collections::BTreeMap;
use std::process::Output;
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_dialects::{Library, load_from};
use branchpoint_expr::{Dialect, Value};
use branchpoint_host::Script;
use branchpoint_host::host::{DrivenRuns, Host, Start, Ticket, TurnOutput};
use branchpoint_host::store::{Document, Durability, Store, Workflow};
use branchpoint_runners::Secrets;
use serde_json::Value as Json;

/// Greets, and asks somebody if much is at stake.
pub(super) const REVIEW: &str = r#"name: review
steps:
  - {id: note, step_type: text, template: "hello {{input}}"}
  - id: tier
    step_type: conditional
    if: metadata.amount > 100
    then:
      - {id: ask, step_type: human_in_the_loop, prompt_template: "Send {{input}}?", required_approvals: 2}
    else:
      - {id: small, step_type: text, template: "too small to ask"}
"#;

/// A command that fails unless a file is there.
pub(super) const FLAKY: &str = r#"name: flaky
inputs: [{name: flag}, {name: TOKEN_x}]
states:
  initial: first
  first: {command: "echo one", on_success: second}
  second: {command: "test -f {{inputs.flag}} && echo two {{inputs.TOKEN_x}}", on_success: done, on_failure: bad}
  done: {type: terminal, message: "all is well"}
  bad: {type: terminal, status: failure, message: "second has failed"}
"#;

/// Calls another workflow.
pub(super) const CALLER: &str = r#"name: caller
states:
  initial: call
  call: {type: call_workflow, workflow: callee, on_success: done}
  done: {type: terminal, message: "called"}
"#;

const CALLEE: &str = r#"name: callee
states:
  initial: speak
  speak: {command: "echo from the callee", on_success: done}
  done: {type: terminal}
"#;

struct Callee;

impl Library for Callee {
    fn workflow(&self, name: &str) -> Option<String> {
        (name == "callee").then(|| CALLEE.to_owned())
    }

    fn root(&self) -> Option<&str> {
        Some("root")
    }
}

/// A store in a folder of its own, in which the program works.
pub(super) struct Bench {
    pub(super) folder: tempfile::TempDir,
}

pub(super) fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("this is JSON")
}

impl Bench {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room");
        let toml = "store = \"store.db\"\n[people]\nowner = \"ada\"\nadmins = [\"bob\"]\n";
        std::fs::write(folder.path().join("branchpoint.toml"), toml).expect("there is room");
        Self { folder }
    }

    pub(super) fn store(&self) -> Store {
        Store::open(&self.folder.path().join("store.db"), Durability::Normal).expect("a store can be made")
    }

    /// Starts a run and leaves it when it rests, or at the first call that the script has no answer for.
    pub(super) fn start(&self, id: &str, document: (&str, &str), dialect: Dialect, input: &Value, script: &str) {
        self.start_ago(0, id, document, dialect, input, script);
    }

    /// The same, some milliseconds ago.
    pub(super) fn start_ago(
        &self,
        ago_ms: i64,
        id: &str,
        (name, text): (&str, &str),
        dialect: Dialect,
        input: &Value,
        script: &str,
    ) {
        let loaded = load_from(text, Some(dialect), &Callee);
        let program = loaded.program.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
        let store = self.store();
        let document = Document {
            name: name.into(),
            dialect: dialect.as_str().into(),
            origin: format!("{name}.yaml"),
            text: text.into(),
        };
        let workflow = Workflow { document: &document, program: &program, children: &loaded.children };
        let now_ms = jiff::Timestamp::now().as_millisecond() - ago_ms;
        let workflow = store.save(workflow, now_ms).expect("it is kept");
        let none = Arc::new(|_: &str| Value::Null);
        let mut host = Host::new(store, "test", DrivenRuns::Requested, none, now_ms).expect("a host can be made");
        let (input, facts) = facts(&program, dialect, input);
        let folder = self.folder.path().display().to_string();
        let start = Start {
            facts,
            secrets: Secrets::of(&input),
            folder: folder.into(),
            ..Start::new(workflow, id.into(), input)
        };
        host.start(start, Ticket(1));
        let mut script = Script::read(&json(script)).expect("this is a script");
        while host.next_ms().is_some_and(|at_ms| at_ms <= now_ms) {
            for act in host.turn(now_ms).expect("the store can be written") {
                match act {
                    TurnOutput::Perform { run, call, .. }
                        if call.step.as_ref().is_some_and(|step| script.has_step(step)) =>
                    {
                        let answer = script.simulate(&call).answer;
                        host.settle(run, &call, answer);
                    }
                    TurnOutput::OrderDone { outcome, .. } => drop(outcome.expect("the run can start")),
                    _ => {}
                }
            }
        }
        host.close().expect("the store can be written");
    }

    /// A run that asks ada and bob.
    pub(super) fn asks(&self, id: &str) {
        self.start(id, ("review", REVIEW), Dialect::Steps, &json(r#"{"input": "the letter", "amount": 250}"#), "{}");
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Output {
        self.run_with(arguments, "")
    }

    pub(super) fn run_with(&self, arguments: &[&str], stdin: &str) -> Output {
        super::run_in(self.folder.path(), arguments, stdin, &[])
    }

    /// Runs the program, and expects that status; what it printed, and its messages.
    #[track_caller]
    pub(super) fn expect(&self, status: i32, arguments: &[&str]) -> (String, String) {
        let output = self.run(arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(status), "{arguments:?}\n{stdout}\n{stderr}");
        (stdout, stderr)
    }

    #[track_caller]
    pub(super) fn json(&self, arguments: &[&str]) -> Json {
        let (stdout, _) = self.expect(0, arguments);
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
    }
}

fn facts(program: &Program, dialect: Dialect, input: &Value) -> (Value, BTreeMap<String, Value>) {
    if dialect != Dialect::Steps {
        return (input.clone(), BTreeMap::new());
    }
    let facts = program.facts.iter().map(|name| {
        let fact = match &**name {
            "account" => json(r#"{"owner": "ada", "admins": ["bob"]}"#),
            "metadata" => input.clone(),
            "attachments" => json("{}"),
            "content_type" => Value::from("text/plain"),
            _ => Value::from("test"),
        };
        (name.to_string(), fact)
    });
    (input.get("input").cloned().unwrap_or_default(), facts.collect())
}

#[track_caller]
pub(super) fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}
