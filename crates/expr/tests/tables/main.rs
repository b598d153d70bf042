//! Behaviour that the conformance vectors do not pin, in tables: one line says what goes in and what comes out.

mod blocks;
mod explanations;
mod functions;
mod history;
mod limits;
mod spans;
mod templates;
mod text_match;

use branchpoint_expr::{Condition, EvalError, Located, Problems, Value};

/// A document's value without places.
fn located(json: &serde_json::Value) -> Located {
    Located::from(&Value::from(json))
}

/// What came out, in one word: `true`, `false`, `refused <cause>` or `failed <cause>`.
fn outcome(compiled: Result<Condition, Problems>, context: &serde_json::Value) -> String {
    match compiled {
        Err(problems) => format!("refused {}", problems.first().cause()),
        Ok(condition) => match condition.evaluate(context) {
            Ok(holds) => holds.to_string(),
            Err(EvalError { detail, .. }) => format!("failed {detail}"),
        },
    }
}
