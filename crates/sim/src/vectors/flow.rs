//! Runs `flow-conditions.json` and `flow-runs.json`.

use branchpoint_core::NoteKind;
use branchpoint_core::ir::{Index, Program, StepId};
use branchpoint_dialects::load;
use branchpoint_expr::{Condition, Dialect, Located, Object, Options, Severity, Value};
use branchpoint_host::{Script, VirtualDriver};

use super::{Failure, Verdict, compare, error, hosting, name, object, verdict};

pub(super) fn condition(vector: &Value) -> Verdict {
    let written = Located::from(&vector.get("condition").cloned().unwrap_or_default());
    let variables = vector.get("variables").cloned().unwrap_or_default();
    let got = match Condition::group(&written, Options::dialect(Dialect::Flow)) {
        Err(problems) => error(problems.first().kind.as_str()),
        Ok(condition) => match condition.evaluate(&variables) {
            Ok(holds) => Value::Bool(holds),
            Err(failure) => error(failure.kind.as_str()),
        },
    };
    verdict(vector, &got)
}

/// Loads and runs a flow, and compares the fields that the vector names.
pub(super) fn run(vector: &Value) -> Verdict {
    let got = run_flow(vector);
    let expected = vector.get("expect").cloned().unwrap_or_default();
    let wrong = differences(&expected, &got);
    let failure = (!wrong.is_empty()).then(|| Failure { expected: wrong.join(", "), got: format!("{got:?}") });
    Verdict { name: name(vector), failure }
}

/// The result of a flow, in the format of the vectors.
fn run_flow(vector: &Value) -> Value {
    let source = format!("{:?}", vector.get("flow").cloned().unwrap_or_default());
    let loaded = load(&source, Some(Dialect::Flow));
    let Some(program) = loaded.program else {
        let first = loaded.diagnostics.iter().find(|finding| finding.severity == Severity::Error);
        let kind = first.map_or(Value::Null, |first| Value::from(first.kind.as_str()));
        let executed = Value::from(Vec::new());
        return object([("status", Value::from("REJECTED")), ("executed", executed), ("error", kind)]);
    };
    let script = vector.get("script").cloned().unwrap_or_default();
    let mut script = match Script::read(&script) {
        Ok(script) => script,
        Err(error) => return object([("status", Value::from(format!("no script: {error}")))]),
    };
    let mut host = hosting::driver(&program, 0);
    let input = vector.get("variables").cloned().unwrap_or_default();
    if let Err(rejected) = host.start(input, Object::default()) {
        return object([("status", Value::from(format!("not started: {rejected}")))]);
    }
    host.run_until_idle(&mut |call| script.simulate(call));
    if let Some(problem) = hosting::exchange_problem(&host) {
        return object([("status", Value::from(problem))]);
    }
    let result = |key: &str| host.result().and_then(|result| result.get(key)).cloned().unwrap_or_default();
    let error = result("error");
    let of_error = |key: &str| error.get(key).cloned().unwrap_or_default();
    object([
        ("status", result("status")),
        ("executed", Value::from(executed(&program, &host))),
        ("variables", result("variables")),
        ("output", result("output")),
        ("failed_step", of_error("step")),
        ("error", of_error("kind")),
        ("message", of_error("message")),
        ("warnings", Value::from(warnings(&program, &host))),
    ])
}

fn executed(program: &Program, host: &VirtualDriver<'_>) -> Vec<Value> {
    let began = host.notes().iter().filter_map(|note| match note.kind {
        NoteKind::Began(step, _) => Some(id(program, step)),
        _ => None,
    });
    began.collect()
}

fn warnings(program: &Program, host: &VirtualDriver<'_>) -> Vec<Value> {
    let warned = host.notes().iter().filter_map(|note| match &note.kind {
        NoteKind::Warned(step, kind) => {
            Some(object([("step", id(program, *step)), ("kind", Value::Str(kind.clone()))]))
        }
        _ => None,
    });
    warned.collect()
}

fn id(program: &Program, step: StepId) -> Value {
    Value::Str(program.steps[step.index()].id.clone())
}

/// The expected fields that differ.
fn differences(expected: &Value, got: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let of = |key: &str| got.get(key).cloned().unwrap_or_default();
    let fields: Vec<_> = expected.as_object().into_iter().flatten().collect();
    for (key, wanted) in &fields {
        let agrees = match &***key {
            "variables" => {
                let variables = of(key);
                wanted
                    .as_object()
                    .into_iter()
                    .flatten()
                    .all(|(name, wanted)| variables.get(name).is_some_and(|got| matches(wanted, got)))
            }
            "absent" => {
                let variables = of("variables");
                let names = wanted.as_list().unwrap_or_default();
                names.iter().filter_map(Value::as_str).all(|name| variables.get(name).is_none())
            }
            _ => matches(wanted, &of(key)),
        };
        if !agrees {
            wrong.push(format!("{key} {wanted:?}"));
        }
    }
    // A vector without `warnings` expects none.
    if expected.get("warnings").is_none() && of("warnings").as_list().is_some_and(|warned| !warned.is_empty()) {
        wrong.push("no warnings".into());
    }
    wrong
}

/// Like [`compare::same`]; `{"$subset": {…}}` compares only some keys of an object.
fn matches(expected: &Value, got: &Value) -> bool {
    if let Some(wanted) = expected.get("$subset").and_then(Value::as_object) {
        return wanted.iter().all(|(key, wanted)| got.get(key).is_some_and(|got| matches(wanted, got)));
    }
    match (expected, got) {
        (Value::List(wanted), Value::List(got)) => {
            wanted.len() == got.len() && wanted.iter().zip(got.iter()).all(|(wanted, got)| matches(wanted, got))
        }
        (Value::Object(wanted), Value::Object(got)) => {
            wanted.len() == got.len()
                && wanted.iter().all(|(key, wanted)| got.get(key).is_some_and(|got| matches(wanted, got)))
        }
        _ => compare::same(expected, got),
    }
}
