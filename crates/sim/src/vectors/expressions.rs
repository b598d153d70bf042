//! Runs `expr-golden.json`: expressions with results of any type.

use branchpoint_expr::{Dialect, Expression, Options, Value};

use super::{Verdict, object, verdict};

pub(super) fn run(vector: &Value, env: &Value) -> Verdict {
    let text = vector.get("expr").and_then(Value::as_str).unwrap_or_default();
    // The session dialect is the plain language: a missing value is nil, and nothing is coerced.
    let options = Options::dialect(Dialect::Session);
    let value = Expression::compile(text, options).map_err(drop).and_then(|expr| expr.value(env).map_err(drop));
    let got = match value {
        Ok(value) => object([("value", value)]),
        Err(()) => object([("error", Value::Bool(true))]),
    };
    verdict(vector, &got)
}
