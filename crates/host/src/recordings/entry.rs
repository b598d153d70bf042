//! Results of calls in the form of a script's entries.
//!
//! A journal holds the judged result of a call, not the raw answer. The entry is the simplest answer that is judged to the same result;
//! if there is none, the entry holds the judged result itself.

use std::sync::Arc;

use branchpoint_core::effect::{Body, Content, HttpResponse, Kind, ModelResult, ProcessResult};
use branchpoint_core::{AttemptError, RetryHint, Usage};
use branchpoint_expr::{Object, Value};

use super::object;
use branchpoint_runners::judge;
use branchpoint_runners::{Answer, Call};
use branchpoint_runners::{MASK, Secrets, is_secret_name};

/// Headers that carry credentials or challenges although their names do not sound secret.
const SECRET_HEADERS: [&str; 6] =
    ["cookie", "set-cookie", "authorization", "proxy-authorization", "www-authenticate", "proxy-authenticate"];

/// The entry that replays the result of a call.
pub(super) fn of_call(call: &Call, result: &Result<Value, AttemptError>, usage: Usage, mask: &Secrets) -> Value {
    let same = |answer: &Answer| answer.usage() == usage && judge(call, answer.clone()) == *result;
    let judged = Answer::Judged { result: result.clone(), usage };
    masked(&entry_of(&candidates(call, result, usage).into_iter().find(same).unwrap_or(judged)), mask)
}

/// Answers that may be judged to the result, the most detailed ones first.
fn candidates(call: &Call, result: &Result<Value, AttemptError>, usage: Usage) -> Vec<Answer> {
    let value = match result {
        Ok(value) => value,
        Err(failed) => return vec![Answer::failed_after(failed.clone(), usage)],
    };
    let part = |key: &str| value.get(key);
    let text = |key: &str| part(key).and_then(Value::as_str).map(Arc::<str>::from);
    let int = |key: &str| match part(key) {
        Some(Value::Int(int)) => Some(*int),
        _ => None,
    };
    let mut answers = Vec::new();
    if let (Some(status), Some(Value::Object(headers))) =
        (int("status").and_then(|code| code.try_into().ok()), part("headers"))
    {
        let body = Body::Decoded(part("output").cloned().unwrap_or_default());
        answers.push(Answer::Http(HttpResponse { status, headers: Object::clone(headers), body }));
    }
    if let Some(exit) = int("exit_code").and_then(|exit| exit.try_into().ok()) {
        let result = ProcessResult::new(exit, text("output").unwrap_or_default(), text("stderr").unwrap_or_default());
        answers.push(Answer::Process(result.clone()));
        answers.push(Answer::Process(ProcessResult { exit_code: None, ..result }));
    }
    if call.kind() == Kind::Model {
        let reply = value.as_str().map(Arc::<str>::from).or_else(|| text("output"));
        let values = reply.map(Value::Str).into_iter().chain([value.clone()]);
        let input_tokens = int("input_tokens").and_then(|count| count.try_into().ok());
        for value in values {
            let counts = input_tokens.map(Some).into_iter().chain([None]);
            let result = |input_tokens| ModelResult { value: value.clone(), usage, input_tokens };
            answers.extend(counts.map(|input_tokens| Answer::Model(result(input_tokens))));
        }
    }
    if let Some(error) = part("error").filter(|error| **error != Value::Null) {
        let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default().into();
        let (kind, message) = (text("kind"), text("message"));
        let failed = AttemptError { kind, message, retry: RetryHint::Never, answered: true };
        answers.push(Answer::failed_after(failed, usage));
    }
    answers.push(Answer::data(value.clone()));
    if let Some(output) = part("output") {
        answers.push(Answer::data(output.clone()));
        answers.push(Answer::Data(Content { value: output.clone(), content_type: text("content_type") }));
    }
    answers.extend(part("result").map(|result| Answer::data(result.clone())));
    answers
}

/// An answer in the form of a script's entry.
fn entry_of(answer: &Answer) -> Value {
    let text = |text: &Arc<str>| Value::Str(text.clone());
    match answer {
        Answer::Model(ModelResult { value, usage, input_tokens }) => {
            let name = if value.as_str().is_some() { "$text" } else { "$reply" };
            with_usage([(name, value.clone())], *usage, *input_tokens)
        }
        Answer::Data(Content { value, content_type: Some(content_type) }) => {
            object([("$output", value.clone()), ("$content_type", text(content_type))])
        }
        Answer::Data(Content { value, content_type: None }) => object([("$output", value.clone())]),
        Answer::Http(HttpResponse { status, headers, body }) => {
            let body = match body {
                Body::Text(body) => ("text", text(body)),
                Body::Decoded(body) => ("body", body.clone()),
            };
            object([("$status", Value::Int((*status).into())), ("headers", Value::from(headers.clone())), body])
        }
        Answer::Process(ProcessResult { exit_code, stdout, stderr, .. }) => {
            let timed_out = ("$timed_out", Value::Bool(true));
            let ended = exit_code.map_or(timed_out, |exit| ("$exit", Value::Int(exit.into())));
            object([ended, ("stdout", text(stdout)), ("stderr", text(stderr))])
        }
        Answer::Failed(failed) => object(failure(failed)),
        Answer::Spent { failed, usage } => with_usage(failure(failed), *usage, None),
        Answer::Judged { result: Ok(value), usage } => with_usage([("$value", value.clone())], *usage, None),
        Answer::Judged { result: Err(failed), usage } => {
            let [message, kind, again, answered] = failure(failed);
            with_usage([message, kind, again, answered, ("$judged", Value::Bool(true))], *usage, None)
        }
        Answer::Missing => object([("$hang", Value::Bool(true))]),
    }
}

fn failure(failed: &AttemptError) -> [(&'static str, Value); 4] {
    [
        ("$error", Value::Str(failed.message.clone())),
        ("$kind", Value::Str(failed.kind.clone())),
        ("$again", again(failed.retry)),
        ("$answered", Value::Bool(failed.answered)),
    ]
}

/// Whether another attempt makes sense; a number is the milliseconds until the next attempt.
fn again(retry: RetryHint) -> Value {
    match retry {
        RetryHint::After(ms) => Value::Int(i64::try_from(ms).unwrap_or(i64::MAX)),
        retry => Value::Bool(retry.allows_retry()),
    }
}

fn with_usage<const N: usize>(fields: [(&str, Value); N], usage: Usage, input_tokens: Option<u64>) -> Value {
    let mut all: Object = fields.into_iter().map(|(key, value)| (key.into(), value)).collect();
    if usage != Usage::default() {
        let count = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
        let counts =
            [("tokens", Some(usage.tokens)), ("cost_micros", Some(usage.cost_micros)), ("input_tokens", input_tokens)];
        let counts = counts.into_iter().filter_map(|(name, tokens)| Some((Arc::from(name), count(tokens?))));
        all.insert("$usage".into(), Value::from(counts.collect::<Object>()));
    }
    Value::from(all)
}

/// The entry with every secret of the answer masked; the keys of the entry stay.
fn masked(entry: &Value, mask: &Secrets) -> Value {
    let fields = entry.as_object().into_iter().flatten().map(|(key, value)| {
        let value = match &**key {
            "headers" => headers(value, mask),
            "$value" => {
                let value = mask.mask_value(value);
                match value.get("headers").map(|fields| headers(fields, mask)) {
                    Some(hidden) => with(&value, "headers", hidden),
                    None => value,
                }
            }
            "$error" | "$text" | "$output" | "$reply" | "body" | "text" | "stdout" | "stderr" => mask.mask_value(value),
            _ => value.clone(),
        };
        (key.clone(), value)
    });
    Value::from(fields.collect::<Object>())
}

fn headers(headers: &Value, mask: &Secrets) -> Value {
    let Some(fields) = headers.as_object() else { return headers.clone() };
    let shown = fields.iter().map(|(name, value)| {
        let secret = SECRET_HEADERS.iter().any(|header| name.eq_ignore_ascii_case(header)) || is_secret_name(name);
        (name.clone(), if secret { Value::from(MASK) } else { mask.mask_value(value) })
    });
    Value::from(shown.collect::<Object>())
}

fn with(value: &Value, key: &str, field: Value) -> Value {
    let mut fields = value.as_object().cloned().unwrap_or_default();
    fields.insert(key.into(), field);
    Value::from(fields)
}
