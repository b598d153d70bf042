//! Runs `machine-conditions.json`.

use branchpoint_expr::{Condition, Diagnostic, Kind, Problems, Severity, Value};

use super::{Verdict, error, verdict};

/// The errors among the problems, which include warnings.
fn errors(problems: &Problems) -> impl Iterator<Item = &Diagnostic> {
    problems.0.iter().filter(|problem| problem.severity == Severity::Error)
}

pub(super) fn condition(vector: &Value) -> Verdict {
    let text = vector.get("expr").and_then(Value::as_str).unwrap_or_default();
    let context = vector.get("context").cloned().unwrap_or_default();
    let got = match Condition::compile(text) {
        Err(problems) if errors(&problems).all(|problem| problem.cause() == Kind::NotBoolean) => error("type"),
        Err(_) => error("compile"),
        Ok(condition) => match condition.evaluate(&context) {
            Ok(holds) => Value::Bool(holds),
            Err(failure) if failure.detail == Kind::NotBoolean => error("type"),
            Err(_) => error("runtime"),
        },
    };
    verdict(vector, &got)
}
