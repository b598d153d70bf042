//! `flow-conditions.json`.

use branchpoint_expr::{Condition, Dialect, Located, Options, Value};

use super::{Verdict, error, verdict};

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
