//! Runs `steps-runs.json`: documents with scripted answers, votes and a virtual clock.

mod compare;
mod events;

use std::collections::BTreeSet;

use branchpoint_core::ir::{Index, Program, Status};
use branchpoint_core::{NoteKind, StepRecord, StepStatus, steps};
use branchpoint_dialects::{LoadOptions, load_with};
use branchpoint_expr::{Dialect, Object, Value, instant_ms, iso_utc};
use branchpoint_host::{Script, VirtualDriver};

use super::{Failure, Verdict, hosting, object};

/// The default start time.
const NOW: &str = "2026-02-18T12:00:00Z";

pub(super) fn run(vector: &Value) -> Verdict {
    let name = vector.get("name").and_then(Value::as_str).unwrap_or("(unnamed)").to_owned();
    let expected = vector.get("expect").cloned().unwrap_or_default();
    let problems = problems(vector, &expected);
    let failure =
        (!problems.is_empty()).then(|| Failure { expected: format!("{expected:?}"), got: problems.join("; ") });
    Verdict { name, failure }
}

fn problems(vector: &Value, expected: &Value) -> Vec<String> {
    let source = match vector.get("workflow_text").and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => format!("{:?}", vector.get("workflow").cloned().unwrap_or_default()),
    };
    let script = vector.get("script").cloned().unwrap_or_default();
    let scripted: BTreeSet<String> = script.as_object().into_iter().flatten().map(|(id, _)| id.to_string()).collect();
    let loaded = load_with(&source, &LoadOptions { dialect: Some(Dialect::Steps), scripted, ..LoadOptions::default() });
    let Some(program) = &loaded.program else {
        let kinds: Vec<&str> = loaded.diagnostics.iter().map(|finding| finding.kind.as_str()).collect();
        return compare::rejected(expected, &kinds);
    };
    let mut script = match Script::read(&script) {
        Ok(script) => script,
        Err(error) => return vec![format!("the script cannot be read: {error}")],
    };
    let start = vector.get("now").and_then(Value::as_str).unwrap_or(NOW);
    let mut memory = hosting::driver(program, instant_ms(start).unwrap_or_default());
    let input = vector.get("input").cloned().unwrap_or_default();
    if let Err(rejected) = memory.start(input, facts(vector)) {
        return vec![format!("the run does not start: {rejected}")];
    }
    memory.run_until_idle(&mut |call| script.simulate(call));
    let mut problems = events::feed(vector, &mut memory, &mut script);
    problems.extend(compare::ended(expected, &summary(program, &memory)));
    problems.extend(hosting::exchange_problem(&memory));
    problems
}

fn facts(vector: &Value) -> Object {
    let given = |key: &str, default: Value| (key.into(), vector.get(key).cloned().unwrap_or(default));
    let account =
        object([("owner", Value::from("u1")), ("admins", Value::from(vec![Value::from("u2"), Value::from("u3")]))]);
    let empty = Value::from(Object::default());
    [
        given("metadata", empty.clone()),
        given("content_type", Value::from("text/plain")),
        given("account", account),
        ("attachments".into(), vector.get("manifests").cloned().unwrap_or(empty)),
        ("run_id".into(), Value::from("r1")),
        ("agent_id".into(), Value::from("a1")),
    ]
    .into_iter()
    .collect()
}

/// The observable state of a run, in the format of the vectors.
struct RunSummary {
    status: &'static str,
    result: Value,
    records: Vec<(String, StepRecord)>,
    /// The ids of steps that never started, in document order.
    not_run: Vec<String>,
    warnings: Vec<String>,
    reminders: Vec<(String, Vec<Value>)>,
    pending: Vec<Value>,
}

fn summary(program: &Program, memory: &VirtualDriver<'_>) -> RunSummary {
    let id = |step: usize| program.steps[step].id.to_string();
    let all = steps(program, memory.notes(), memory.status());
    let ran = |record: &&StepRecord| !matches!(record.status, StepStatus::Skipped(_));
    let records: Vec<_> = all.iter().filter(ran).map(|record| (id(record.step.index()), record.clone())).collect();
    let began: BTreeSet<&String> = records.iter().map(|(id, _)| id).collect();
    let not_run = (0..program.steps.len()).map(id).filter(|id| !began.contains(id)).collect();
    let warnings = memory.notes().iter().filter_map(|note| match &note.kind {
        NoteKind::Warned(_, kind) => Some(kind.to_string()),
        _ => None,
    });
    let field = |key: &str, spec: &Value| spec.get(key).cloned().unwrap_or_default();
    let reminders = memory.requested_approvals().iter().map(|question| {
        let times = question.reminded_ms.iter().map(|at| Value::from(iso_utc(*at).unwrap_or_default()));
        (field("step", &question.spec).to_string(), times.collect())
    });
    RunSummary {
        status: status(memory.status()),
        result: memory.result().cloned().unwrap_or_default(),
        not_run,
        warnings: warnings.collect(),
        reminders: reminders.collect(),
        pending: events::pending(program, memory),
        records,
    }
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Running => "running",
        Status::WaitingPeople => "waiting_human",
        Status::WaitingTimer => "waiting_timer",
        Status::Completed => "completed",
        Status::Failed => "failed",
        Status::Cancelled => "cancelled",
    }
}
