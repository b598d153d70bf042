//! The one place that judges raw answers: the value of a step, or its error. It is pure, and the same for every runner.
//!
//! It goes by the [`Response`](branchpoint_core::effect::Response) of the effect.

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

use crate::runner::{Answer, Call};

/// The value of the step that an answer gives, or why the attempt failed and whether another makes sense.
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
        // A host may not have been able to start the workflow at all.
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

/// An answer that was found good.
#[derive(Debug)]
struct Judged {
    output: Value,
    content_type: Option<Arc<str>>,
    /// Facts beside the output.
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

/// Nothing came back within the limit of the attempt.
pub(crate) fn timeout(call: &Call) -> AttemptError {
    let message = match call.attempt_limit_ms() {
        Some(limit) => format!("nothing came back within {limit} ms"),
        None => "nothing came back".to_owned(),
    };
    AttemptError { kind: "timeout".into(), message: message.into(), retry: RetryHint::Soon, answered: false }
}

/// A failure after the other side has answered; another attempt may get a better answer.
fn refused(kind: &str, message: impl Into<Arc<str>>) -> AttemptError {
    AttemptError { kind: kind.into(), message: message.into(), retry: RetryHint::Soon, answered: true }
}

/// The value of a text that is JSON.
fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests;
