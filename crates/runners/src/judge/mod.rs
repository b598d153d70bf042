//! Judges raw answers: turns each into the value of a step or its error. It is pure, and the same for every runner.
//!
//! The rules are in the [`Response`](branchpoint_core::effect::Response) of the effect.

mod child;
mod http;
mod model;
mod process;
mod report;
pub(crate) mod schema;
mod score;

use std::sync::Arc;

use branchpoint_core::effect::Content;
use branchpoint_core::{AttemptError, RetryHint};
use branchpoint_expr::{Object, Value};

pub use self::http::retry_after;
use crate::runner::{Answer, Call};

/// The value of the step, or why the attempt failed and whether another one makes sense.
///
/// ```
/// use branchpoint_core::{effect::Kind, ir::builder::effect};
/// use branchpoint_runners::{Answer, Call, judge};
///
/// let call = Call::first(effect(Kind::Model), branchpoint_expr::Value::Null);
/// assert_eq!(judge(&call, Answer::model("Because.")), Ok("Because.".into()));
/// assert_eq!(&*judge(&call, Answer::Missing).unwrap_err().kind, "timeout");
/// ```
pub fn judge(call: &Call, answer: Answer) -> Result<Value, AttemptError> {
    if let Some(last) = call.response().report {
        return report::judge(call, last, answer);
    }
    let judged = match answer {
        Answer::Model(result) => model::judge(call, result.value)?,
        Answer::Data(content) if child::is_result(call, &content.value) => child::judge(&content.value)?,
        Answer::Data(Content { value, content_type }) => Judged { content_type, ..Judged::plain(value) },
        Answer::Http(response) => http::judge(call, response)?,
        Answer::Process(result) => process::judge(call, result)?,
        // The host could not start the workflow.
        Answer::Failed(failed) | Answer::Spent { failed, .. } if call.response().child && &*failed.kind == "child" => {
            return Err(AttemptError { kind: "callee_failed".into(), ..failed });
        }
        Answer::Failed(failed) | Answer::Spent { failed, .. } => return Err(failed),
        Answer::Judged { result, .. } => return result,
        Answer::Missing => return Err(timeout(call)),
    };
    let judged = score::judge(call, schema::judge(call, judged)?)?;
    Ok(if call.response().envelope { judged.envelope() } else { judged.output })
}

/// An accepted answer.
#[derive(Debug)]
struct Judged {
    output: Value,
    content_type: Option<Arc<str>>,
    /// Further fields for the envelope.
    beside: Vec<(&'static str, Value)>,
}

impl Judged {
    fn plain(output: Value) -> Self {
        Self { output, content_type: None, beside: Vec::new() }
    }

    fn envelope(self) -> Value {
        let by_value = if self.output.as_str().is_some() { "text/plain" } else { "application/json" };
        let content_type = self.content_type.unwrap_or_else(|| by_value.into());
        let mut envelope = Object::default();
        envelope.insert("output".into(), self.output);
        envelope.insert("content_type".into(), Value::Str(content_type));
        envelope.extend(self.beside.into_iter().map(|(key, value)| (key.into(), value)));
        Value::from(envelope)
    }
}

/// The failure of an attempt without a response within its time limit.
pub(crate) fn timeout(call: &Call) -> AttemptError {
    let message = match call.attempt_limit_ms() {
        Some(limit) => format!("no response within {limit} ms"),
        None => "no response".to_owned(),
    };
    AttemptError { kind: "timeout".into(), message: message.into(), retry: RetryHint::Soon, answered: false }
}

/// A failure after the other side has responded; another attempt may get a better response.
fn refused(kind: &str, message: impl Into<Arc<str>>) -> AttemptError {
    AttemptError { kind: kind.into(), message: message.into(), retry: RetryHint::Soon, answered: true }
}

/// The value of a text that is JSON.
fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests;
