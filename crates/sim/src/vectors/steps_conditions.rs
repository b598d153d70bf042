//! Runs `steps-conditions.json`: `gate`, `if_else` and `switch`.

use branchpoint_expr::{
    Cases, Condition, Dialect, EvalError, Expression, Gate, Located, Object, Options, Problems, Value,
};

use super::{Verdict, object, verdict};

/// Why a step has no decision.
enum Rejected {
    AtLoad(Problems),
    AtRun(EvalError),
}

impl From<Problems> for Rejected {
    fn from(problems: Problems) -> Self {
        Self::AtLoad(problems)
    }
}

impl From<EvalError> for Rejected {
    fn from(error: EvalError) -> Self {
        Self::AtRun(error)
    }
}

pub(super) fn condition(vector: &Value) -> Verdict {
    let got = decide(vector).unwrap_or_else(|rejected| rejection(vector, &rejected));
    verdict(vector, &got)
}

/// The result of a rejection: the expected code if it is among the codes, else the first.
fn rejection(vector: &Value, rejected: &Rejected) -> Value {
    let (kind, at) = match rejected {
        Rejected::AtRun(error) => (error.kind.as_str(), "run"),
        Rejected::AtLoad(problems) => {
            let expected = vector.get("expect").and_then(|expect| expect.get("error")?.as_str());
            let among = problems.0.iter().find(|problem| Some(problem.kind.as_str()) == expected);
            (among.unwrap_or(problems.first()).kind.as_str(), "load")
        }
    };
    object([("error", Value::from(kind)), ("at", Value::from(at))])
}

fn decide(vector: &Value) -> Result<Value, Rejected> {
    let config = Located::from(&vector.get("config").cloned().unwrap_or_default());
    let options = Options::dialect(Dialect::Steps);
    let mut context = context(vector);
    match vector.get("step").and_then(Value::as_str) {
        Some("gate") => {
            let gate = Gate::compile(&config, options)?;
            Ok(Value::Bool(gate.passes(&Value::from(context))?))
        }
        Some("if_else") => {
            let condition = Condition::targets(&config, options)?;
            if let Some(template) = config.get("input_template").and_then(Located::text) {
                let input = Expression::text(template, options)?.value(&Value::from(context.clone()))?;
                context.insert("input".into(), input);
            }
            let holds = condition.evaluate(&Value::from(context))?;
            Ok(branch(Value::from(if holds { "then" } else { "else" })))
        }
        _ => {
            let cases = Cases::compile(&config, options)?;
            let has_else = config.get("else_steps").and_then(Located::items).is_some_and(|steps| !steps.is_empty());
            let otherwise = if has_else { Value::from("else") } else { Value::Null };
            let chosen = cases.choose(&Value::from(context))?;
            Ok(branch(chosen.map_or(otherwise, |(_, name)| Value::from(name))))
        }
    }
}

fn branch(marker: Value) -> Value {
    object([("branch", marker)])
}

/// The context of a step.
fn context(vector: &Value) -> Object {
    let field = |key: &str| vector.get(key).cloned().unwrap_or_default();
    [
        ("input", field("input")),
        ("input_content_type", field("content_type")),
        ("metadata", field("metadata")),
        ("agent", object([("input", field("input"))])),
        ("datetime", object([("now", field("now"))])),
    ]
    .into_iter()
    .map(|(key, value)| (key.into(), value))
    .collect()
}
