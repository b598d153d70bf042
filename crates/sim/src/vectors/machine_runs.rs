//! Runs `machine-runs.json`: state machines with real commands in a temporary directory, and scripted agents.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use branchpoint_core::NoteKind;
use branchpoint_core::effect::{Body, HttpResponse, Kind, Request};
use branchpoint_core::ir::{Program, StepId};
use branchpoint_dialects::{Library, Loaded, load_from};
use branchpoint_expr::{Dialect, Object, Severity, Value};
use branchpoint_runners::{Answer, AnswerFuture, Call, CancellationToken, Local, PreparedCall, Runner, no_secrets};

use super::hosting::{Directory, Hosting, hosting};
use super::{Failure, Verdict, compare, name};
use crate::real_clock::{RealClock, RunResult};
use crate::restate::live_run;

/// The name under which the document itself is stored.
const MAIN: &str = "main";

pub(super) fn run(vector: &Value) -> Verdict {
    let got = fields_of_run(vector);
    let expected = vector.get("expect").and_then(Value::as_object).cloned().unwrap_or_default();
    let wrong: Vec<_> = expected.iter().filter(|(key, expect)| !matches(key, expect, &got)).collect();
    let also_branches = !expected.contains_key("branches") && got.get("branches").is_some_and(|some| some != &empty());
    let failure = (!wrong.is_empty() || also_branches).then(|| Failure {
        expected: wrong.iter().map(|(key, expect)| format!("{key}: {expect:?}")).collect::<Vec<_>>().join(", "),
        got: format!("{got:?}"),
    });
    Verdict { name: name(vector), failure }
}

/// Whether one expectation is met.
fn matches(key: &str, expect: &Value, got: &Value) -> bool {
    let of = |key: &str| got.get(key).cloned().unwrap_or_default();
    let listed = |property: &str| -> bool {
        let states = of("states");
        let fields = expect.as_object().into_iter().flatten();
        fields.into_iter().all(|(state, expect)| {
            let value = states.get(state).and_then(|state| state.get(property)).cloned();
            compare::same(expect, &value.unwrap_or_default())
        })
    };
    match key {
        // A document may be rejected for several reasons; the vector names one.
        "kind" => of("kinds").as_list().unwrap_or_default().contains(expect),
        "branches" => set(expect) == set(&of("branches")),
        "outputs" => listed("Output"),
        "statuses" => listed("Status") && exit_codes_are_zero(expect, got),
        "exit_codes" => listed("ExitCode"),
        "responses" => listed("Response"),
        "warnings" => set(expect).is_subset(&set(&of("warnings"))),
        key => compare::same(expect, &of(key)),
    }
}

/// A state in `statuses` that completed has exit code 0; one that failed never has.
fn exit_codes_are_zero(statuses: &Value, got: &Value) -> bool {
    let states = got.get("states").cloned().unwrap_or_default();
    statuses.as_object().into_iter().flatten().all(|(state, status)| {
        let code = states.get(state).and_then(|state| state.get("ExitCode")).cloned();
        (status.as_str() == Some("completed")) == (code == Some(Value::Int(0)))
    })
}

fn set(list: &Value) -> BTreeSet<String> {
    list.as_list().unwrap_or_default().iter().map(ToString::to_string).collect()
}

fn empty() -> Value {
    Value::from(Vec::new())
}

/// All fields that a vector may compare.
fn fields_of_run(vector: &Value) -> Value {
    let source = vector.get("yaml").and_then(Value::as_str).unwrap_or_default();
    let library = Stored(vector.get("workflows").cloned().unwrap_or_default());
    let loaded = load_from(source, Some(Dialect::Machine), &library);
    let kinds = |severity: Severity| {
        let findings = loaded.diagnostics.iter().filter(|finding| finding.severity == severity);
        Value::from(findings.map(|finding| Value::from(finding.kind.as_str())).collect::<Vec<_>>())
    };
    let warnings = kinds(Severity::Warning);
    let Some(program) = &loaded.program else {
        return fields([
            ("status", Value::from("rejected")),
            ("kinds", kinds(Severity::Error)),
            ("exit_code", Value::Int(2)),
            ("path", empty()),
            ("warnings", warnings),
        ]);
    };
    let (outcome, [prompts, systems]) = perform(vector, &loaded, program);
    let result = |key: &str| outcome.result.get(key).cloned().unwrap_or_default();
    let (path, branches) = visited(program, &outcome);
    fields([
        ("status", outcome.exchange_problem.clone().map_or_else(|| result("status"), Value::from)),
        ("kinds", Value::from(vec![result("kind")])),
        ("message", result("message")),
        ("exit_code", result("exit_code")),
        ("states", result("states")),
        ("path", path),
        ("branches", branches),
        ("prompts", texts(prompts)),
        ("systems", texts(systems)),
        ("warnings", warnings),
    ])
}

fn texts(texts: Vec<String>) -> Value {
    Value::from(texts.into_iter().map(Value::from).collect::<Vec<_>>())
}

fn fields<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::from(entries.into_iter().map(|(key, value)| (key.into(), value)).collect::<Object>())
}

fn perform(vector: &Value, loaded: &Loaded, program: &Program) -> (RunResult, [Vec<String>; 2]) {
    let dir = Directory::new();
    let lines = vector.get("user_inputs").and_then(Value::as_list);
    let runner = Arc::new(Scripted {
        local: Local { shell: Some("/bin/sh".into()), ..Local::new(&dir.0) },
        replies: Mutex::new(replies(vector)),
        prompts: Mutex::default(),
        systems: Mutex::default(),
        attached: lines.is_some(),
        lines: Mutex::new(lines.unwrap_or_default().iter().rev().map(ToString::to_string).collect()),
    });
    let inputs = vector.get("inputs").cloned().unwrap_or_default();
    if hosting() == Hosting::Restate {
        let performer: Arc<dyn Runner> = runner.clone();
        let outcome = live_run(program, &loaded.children, &inputs, &performer);
        return described(&dir, outcome, &runner);
    }
    // The store is in another directory, so that the run's directory contains only the run's files.
    let beside = Directory::new();
    let file = (hosting() != Hosting::Plain).then(|| beside.0.join("store.db"));
    let crashing = hosting() == Hosting::Crashing;
    let outcome = RealClock { root: program, children: &loaded.children, file, crashing }.run(inputs, &runner);
    described(&dir, outcome, &runner)
}

/// The result with the prompts and the roles of agents, in which the folder has a fixed name.
fn described(dir: &Directory, outcome: RunResult, runner: &Scripted) -> (RunResult, [Vec<String>; 2]) {
    let folder = dir.0.canonicalize().unwrap_or_else(|_| dir.0.clone()).display().to_string();
    let texts = [&runner.prompts, &runner.systems].map(|texts| texts.lock().expect("no thread has panicked").clone());
    (outcome, texts.map(|texts| texts.into_iter().map(|text| text.replace(&folder, "$DIR")).collect()))
}

/// The started states, and those started as branches.
fn visited(program: &Program, outcome: &RunResult) -> (Value, Value) {
    let (mut path, mut branches) = (Vec::new(), Vec::new());
    for note in &outcome.notes {
        let NoteKind::Began(step, _) = &note.kind else { continue };
        let id = Value::Str(program.steps[step.0 as usize].id.clone());
        match enclosing(program, *step) {
            Enclosing::Nothing => path.push(id),
            Enclosing::Parallel => branches.push(id),
            Enclosing::Branch => {}
        }
    }
    (Value::from(path), Value::from(branches))
}

enum Enclosing {
    Nothing,
    Parallel,
    /// A step inside a branch.
    Branch,
}

fn enclosing(program: &Program, step: StepId) -> Enclosing {
    let mut parent = program.steps[step.0 as usize].parent;
    let mut first = true;
    while let Some(step) = parent {
        let record = &program.steps[step.0 as usize];
        if &*record.kind == "parallel" {
            return if first { Enclosing::Parallel } else { Enclosing::Branch };
        }
        (parent, first) = (record.parent, false);
    }
    Enclosing::Nothing
}

fn replies(vector: &Value) -> BTreeMap<Arc<str>, Vec<Value>> {
    let script = vector.get("agent_script").and_then(Value::as_object).into_iter().flatten();
    script
        .map(|(state, replies)| (state.clone(), replies.as_list().unwrap_or_default().iter().rev().cloned().collect()))
        .collect()
}

struct Scripted {
    local: Local,
    /// The replies by state, in reverse order.
    replies: Mutex<BTreeMap<Arc<str>, Vec<Value>>>,
    prompts: Mutex<Vec<String>>,
    /// The roles and system prompts of agents, by state.
    systems: Mutex<Vec<String>>,
    attached: bool,
    lines: Mutex<Vec<String>>,
}

impl Runner for Scripted {
    fn perform<'c>(&'c self, call: &'c Call, cancel: &'c CancellationToken) -> AnswerFuture<'c> {
        Box::pin(async {
            match call.prepare(&no_secrets()) {
                Ok(prepared) => match self.local.perform(&prepared, cancel).await {
                    Some(answer) => answer,
                    None => self.agent(&prepared),
                },
                Err(answer) => answer,
            }
        })
    }

    fn fact(&self, name: &str) -> Value {
        match name {
            "user_attached" => Value::Bool(self.attached),
            "run_id" => Value::from("run"),
            "working_dir" => Value::from(self.local.dir.display().to_string()),
            "user" | "hostname" => Value::from("vectors"),
            name => {
                name.strip_prefix("env.").and_then(|name| std::env::var(name).ok()).map_or(Value::Null, Value::from)
            }
        }
    }

    fn next_line(&self) -> Option<String> {
        self.lines.lock().expect("no thread has panicked").pop()
    }
}

impl Scripted {
    fn agent(&self, PreparedCall { call, request, .. }: &PreparedCall) -> Answer {
        let state = call.step.clone().unwrap_or_default();
        let message = match request {
            Request::Model(request) => {
                let parts = [&request.role, &request.system].map(|part| part.as_deref().unwrap_or_default());
                self.systems.lock().expect("no thread has panicked").push(format!("{state}: {}", parts.join("|")));
                request.user_text()
            }
            Request::Http(request) => {
                let text = |text: &Option<String>| text.clone().unwrap_or_default();
                let headers = Value::from(request.headers.clone());
                format!("{} {} {headers} {}", text(&request.method), text(&request.url), request.body)
            }
            _ => String::new(),
        };
        self.prompts.lock().expect("no thread has panicked").push(format!("{state}: {message}"));
        let reply = self.replies.lock().expect("no thread has panicked").get_mut(&state).and_then(Vec::pop);
        match reply {
            None => Answer::failed("agent", format!("the script of `{state}` has run out")),
            Some(reply) => match reply.get("error") {
                Some(message) => Answer::failed("agent", message.to_string()),
                None if call.kind() == Kind::Http => response(&reply),
                None => Answer::model(reply.to_string()),
            },
        }
    }
}

/// The response over HTTP that a reply `{status, headers, body}` describes.
fn response(reply: &Value) -> Answer {
    let status = reply.get("status").and_then(|status| status.to_string().parse().ok()).unwrap_or(200);
    let headers = reply.get("headers").and_then(Value::as_object).cloned().unwrap_or_default();
    let body = reply.get("body").map(ToString::to_string).unwrap_or_default();
    Answer::Http(HttpResponse { status, headers, body: Body::Text(body.into()) })
}

struct Stored(Value);

impl Library for Stored {
    fn workflow(&self, name: &str) -> Option<String> {
        self.0.get(name).map(ToString::to_string)
    }

    fn root(&self) -> Option<&str> {
        Some(MAIN)
    }
}
