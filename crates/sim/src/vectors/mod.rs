//! Runs conformance vectors of every format (`vectors/README*.md`).

mod compare;
mod expressions;
mod flow;
mod graph;
mod hosting;
mod machine_conditions;
mod machine_runs;
mod session;
mod steps_conditions;
mod steps_runs;

use anyhow::{Context, Result, bail};
use branchpoint_expr::Value;

pub use hosting::{Hosting, round_trip, set_hosting};

/// The result of one vector.
#[derive(Debug)]
pub struct Verdict {
    /// The vector's name.
    pub name: String,
    /// The difference; `None` if the vector passed.
    pub failure: Option<Failure>,
}

/// A vector that did not pass.
#[derive(Debug)]
pub struct Failure {
    /// What the vector expects.
    pub expected: String,
    /// The actual result.
    pub got: String,
}

/// Runs every vector of a file's text.
pub fn run(text: &str) -> Result<Vec<Verdict>> {
    let file: Value = serde_json::from_str(text).context("invalid JSON")?;
    let field = |key: &str| file.get(key).and_then(Value::as_str).with_context(|| format!("the file has no `{key}`"));
    let vectors = file.get("vectors").and_then(Value::as_list).context("the file has no list `vectors`")?;
    anyhow::ensure!(!vectors.is_empty(), "the file has no vectors");
    let env = file.get("env").cloned().unwrap_or_default();
    let runner: &dyn Fn(&Value) -> Verdict = match (field("dialect")?, field("kind")?) {
        ("expr", "golden") => &|vector| expressions::run(vector, &env),
        ("machine", "conditions") => &machine_conditions::condition,
        ("machine", "runs") => &machine_runs::run,
        ("flow", "conditions") => &flow::condition,
        ("flow", "runs") => &flow::run,
        ("steps", "conditions") => &steps_conditions::condition,
        ("steps", "runs") => &steps_runs::run,
        ("graph", "runs") => &graph::run,
        ("session", "sessions") => &session::run,
        ("session", "load") => &session::load,
        (dialect, kind) => bail!("`{kind}` vectors of `{dialect}` are not supported"),
    };
    Ok(vectors.iter().map(runner).collect())
}

/// Compares the result with the vector's `expect`.
fn verdict(vector: &Value, got: &Value) -> Verdict {
    let expected = vector.get("expect").cloned().unwrap_or_default();
    verdict_of(vector, &expected, got)
}

/// Compares the result with an expectation.
fn verdict_of(vector: &Value, expected: &Value, got: &Value) -> Verdict {
    let failure =
        (!compare::same(expected, got)).then(|| Failure { expected: format!("{expected:?}"), got: format!("{got:?}") });
    Verdict { name: name(vector), failure }
}

/// The name of a vector: `name`, or its expression.
fn name(vector: &Value) -> String {
    ["name", "expr"].iter().find_map(|key| vector.get(key)?.as_str()).unwrap_or("(unnamed)").to_owned()
}

/// `{"error": kind}`
fn error(kind: &str) -> Value {
    object([("error", Value::from(kind))])
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::from(entries.into_iter().map(|(key, value)| (key.into(), value)).collect::<branchpoint_expr::Object>())
}
