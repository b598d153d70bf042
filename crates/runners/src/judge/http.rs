//! Judges HTTP responses.

use std::time::Duration;

use branchpoint_core::effect::{Body, HttpResponse};
use branchpoint_core::{AttemptError, RetryHint};
use branchpoint_expr::{Object, Value};

use super::{Judged, json, refused};
use crate::network::retry_after;
use crate::runner::Call;

pub(super) fn judge(call: &Call, http: HttpResponse) -> Result<Judged, AttemptError> {
    let HttpResponse { status, headers, body } = http;
    if let Some(failed) = refused_status(call, "http_status", status, &headers) {
        return Err(failed);
    }
    let content_type = header(&headers, "content-type").map(Into::into);
    let beside = vec![("status", Value::Int(status.into())), ("headers", Value::from(headers))];
    Ok(Judged { output: decoded(body), content_type, beside })
}

/// The failure of a response whose status the effect does not expect.
pub(super) fn refused_status(call: &Call, kind: &str, status: u16, headers: &Object) -> Option<AttemptError> {
    let response = call.response();
    if includes(response.expected_status.as_deref().unwrap_or(&[(200, 299)]), status) {
        return None;
    }
    let failed = unexpected(kind, status, headers);
    let is_final = includes(&response.final_status, status);
    Some(if is_final { AttemptError { retry: RetryHint::Never, ..failed } } else { failed })
}

/// The failure of a response with an unexpected status. Another attempt may succeed, after the wait that the server asks for.
fn unexpected(kind: &str, status: u16, headers: &Object) -> AttemptError {
    let wait = retry_after(headers);
    let message = format!("the response has status {status}{}", retry_after::wait_clause(wait));
    AttemptError { retry: retry_after::retry_hint(wait), ..refused(kind, message) }
}

/// How long a response asks to wait before the next attempt, if it does.
///
/// ```
/// use std::time::Duration;
///
/// let headers = [("retry-after".into(), "7".into())].into_iter().collect();
/// assert_eq!(branchpoint_runners::retry_after(&headers), Some(Duration::from_secs(7)));
/// ```
pub fn retry_after(headers: &Object) -> Option<Duration> {
    retry_after::retry_after(|name| header(headers, name))
}

fn header<'h>(headers: &'h Object, name: &str) -> Option<&'h str> {
    headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).and_then(|(_, value)| value.as_str())
}

/// The body as JSON if it is JSON, else as text; an empty body is null.
fn decoded(body: Body) -> Value {
    match body {
        Body::Decoded(value) => value,
        Body::Text(text) if text.is_empty() => Value::Null,
        Body::Text(text) => json(&text).unwrap_or(Value::Str(text)),
    }
}

/// Whether inclusive ranges include a status.
fn includes(ranges: &[(u16, u16)], status: u16) -> bool {
    ranges.iter().any(|(low, high)| (low..=high).contains(&&status))
}
