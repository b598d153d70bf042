//! Judges answers into a report, failures included: `{output, stderr, exit_code, response, tokens, input_tokens, output_tokens,
//! tokens_estimated, status, headers, error}`.
//!
//! The number of the effect's `report` is its last attempt. A failure that an earlier attempt may repeat fails the attempt; any other
//! failure is a report with an `error`, which keeps the output of the failed command.

use std::sync::Arc;

use branchpoint_core::effect::{Body, Content, Format, HttpResponse, Kind, ModelResult, ProcessRequest, ProcessResult};
use branchpoint_core::{AttemptError, RetryHint, Usage};
use branchpoint_expr::{Object, Value};

use super::{child, http, json, process, refused};
use crate::json_block;
use crate::runner::{Answer, Call};

/// The exit code of a command that timed out.
const TIMED_OUT: i64 = -1;

pub(super) fn judge(call: &Call, last: u32, answer: Answer) -> Result<Value, AttemptError> {
    let report = match answer {
        Answer::Judged { result, .. } => return result,
        Answer::Process(result) => ended(call, result),
        Answer::Missing => Report::failed(vec![("exit_code", Value::Int(TIMED_OUT))], super::timeout(call)),
        Answer::Model(ModelResult { value: Value::Str(text), usage, input_tokens }) => {
            reply(call, &text, Tokens::of(&text, usage, input_tokens))
        }
        Answer::Data(content) if call.kind() == Kind::Run => called(call, content.value),
        Answer::Data(Content { value, .. }) | Answer::Model(ModelResult { value, .. }) => {
            Report { fields: vec![("output", value)], failed: None }
        }
        Answer::Http(HttpResponse { status, headers, body }) => {
            let output = match body {
                Body::Text(text) => Value::Str(text),
                Body::Decoded(value) => value,
            };
            let failed = http::refused_status(call, &kind_of(call, "exit_code"), status, &headers);
            let status = Value::Int(status.into());
            Report { fields: vec![("output", output), ("status", status), ("headers", headers.into())], failed }
        }
        Answer::Failed(failed) | Answer::Spent { failed, .. } if &*failed.kind == "timeout" => {
            Report::failed(vec![("exit_code", Value::Int(TIMED_OUT))], failed)
        }
        Answer::Failed(failed) | Answer::Spent { failed, .. } => {
            let is_own = ProcessRequest::OWN_FAILURES.iter().any(|kind| kind.as_str() == &*failed.kind);
            let kind = if is_own { failed.kind } else { kind_of(call, &failed.kind) };
            Report::failed(Vec::new(), AttemptError { kind, ..failed })
        }
    };
    match &report.failed {
        Some(failed) if failed.retry.allows_retry() && call.attempt < last => Err(failed.clone()),
        _ => Ok(report.value((last > 1).then_some(call.attempt))),
    }
}

/// The tokens of a reply.
#[derive(Clone, Copy)]
struct Tokens {
    used: u64,
    input: u64,
    is_estimate: bool,
}

impl Tokens {
    /// Counts the tokens of a reply. A provider that reports no usage is estimated at four bytes of the reply for each token.
    fn of(text: &str, usage: Usage, input: Option<u64>) -> Self {
        const BYTES: usize = 4;
        match usage.tokens {
            0 => Self { used: (text.len() / BYTES) as u64, input: 0, is_estimate: true },
            used => Self { used, input: input.unwrap_or_default().min(used), is_estimate: false },
        }
    }

    fn fields(self) -> [(&'static str, Value); 4] {
        let count = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
        [
            ("tokens", count(self.used)),
            ("input_tokens", count(self.input)),
            ("output_tokens", count(self.used - self.input)),
            ("tokens_estimated", Value::Bool(self.is_estimate)),
        ]
    }
}

#[derive(Default)]
struct Report {
    fields: Vec<(&'static str, Value)>,
    failed: Option<AttemptError>,
}

impl Report {
    /// The report as a value. `attempt` is the number of the last attempt of a failure that may have been repeated.
    fn value(self, attempt: Option<u32>) -> Value {
        let attempt = attempt.filter(|_| self.failed.is_some()).map(|attempt| ("attempt", Value::Int(attempt.into())));
        let error = self.failed.map_or(Value::Null, |failed| {
            let fields = [("kind".into(), Value::Str(failed.kind)), ("message".into(), Value::Str(failed.message))];
            Value::from(Object::from_iter(fields))
        });
        let fields = self.fields.into_iter().chain(attempt).chain([("error", error)]);
        Value::from(fields.map(|(key, value)| (Arc::from(key), value)).collect::<Object>())
    }

    fn failed(fields: Vec<(&'static str, Value)>, failed: AttemptError) -> Self {
        Self { fields, failed: Some(failed) }
    }
}

/// The kind of error of a failure.
fn kind_of(call: &Call, own: &str) -> Arc<str> {
    call.response().failure_kind.clone().unwrap_or_else(|| own.into())
}

fn ended(call: &Call, result: ProcessResult) -> Report {
    let ProcessResult { exit_code, stdout, stderr, cut } = result;
    let (code, failed) = match (exit_code, process::over_limit(call, cut)) {
        (None, _) => (TIMED_OUT, Some(super::timeout(call))),
        // The command was stopped, so its own exit code means nothing. A failure never has the code 0.
        (Some(_), Some(failed)) => (1, Some(failed)),
        (Some(0), None) => (0, None),
        (Some(exit), None) => {
            let codes = &call.response().retry_exit_codes;
            let again =
                if codes.is_empty() || codes.contains(&exit.into()) { RetryHint::Soon } else { RetryHint::Never };
            let failed = refused("exit_code", process::failure_message(exit, &stdout, &stderr));
            (exit.into(), Some(AttemptError { retry: again, ..failed }))
        }
    };
    let fields = vec![("output", Value::Str(stdout)), ("stderr", Value::Str(stderr)), ("exit_code", Value::Int(code))];
    Report { fields, failed }
}

/// The report of an agent's reply. With `json_block`, the reply must be JSON or contain a fenced JSON block; otherwise a reply that is a
/// JSON object is parsed.
fn reply(call: &Call, text: &str, tokens: Tokens) -> Report {
    let trimmed = text.trim();
    let fields = |output: &str, response: Value| {
        let mut fields = vec![("output", Value::from(output)), ("response", response)];
        fields.extend(tokens.fields());
        fields
    };
    if call.response().format != Format::JsonBlock {
        let response = if trimmed.starts_with('{') { json(trimmed) } else { None };
        return Report { fields: fields(text, response.unwrap_or_default()), failed: None };
    }
    if let Some((block, value)) = json_block::json(text) {
        return Report { fields: fields(block, value), failed: None };
    }
    let failed = refused("format", "the reply is not JSON and has no fenced JSON block");
    Report::failed(fields(text, Value::Null), failed)
}

/// The report of a child run. One that has not completed fails with its own message.
fn called(call: &Call, result: Value) -> Report {
    let text = |key: &str| result.get(key).and_then(Value::as_str);
    let failed = (text("status") != Some("completed")).then(|| {
        // A called machine has a message of its own, which its caller reads as it is.
        let own = text("message").filter(|message| !message.is_empty()).map(str::to_owned);
        refused(&kind_of(call, "child"), own.unwrap_or_else(|| child::cause(&result)))
    });
    Report { fields: vec![("result", result)], failed }
}
