//! The values of the guards of a step: durations and retry policies.

use branchpoint_core::ir::{Backoff, Retry};
use branchpoint_expr::{Located, Shape, duration_text, seconds_ms};

use super::tree::Step;

/// The longest wait between attempts, unless a policy says otherwise.
const MAX_DELAY_MS: u64 = 3_600_000;

/// The milliseconds of a duration in a document.
pub(crate) fn duration_ms(value: &Located) -> Option<u64> {
    match &value.shape {
        Shape::Int(int) => u64::try_from(*int).ok()?.checked_mul(1000),
        Shape::Float(float) => seconds_ms(*float),
        Shape::Str { text, .. } => branchpoint_expr::duration_ms(text),
        _ => None,
    }
}

/// A description of when a step fails: by its own rule, or by its timeout; none if neither applies.
pub(super) fn failing(rule: Option<&str>, step: &Step<'_>) -> Option<String> {
    let limit_ms = step.get("timeout").and_then(duration_ms);
    let late = limit_ms.map(|ms| format!("the timeout of {} was reached", duration_text(ms)));
    let rules: Vec<String> = rule.map(str::to_owned).into_iter().chain(late).collect();
    (!rules.is_empty()).then(|| rules.join(", or "))
}

/// The target of a branch of [`failing`]. The kind is included if only the timeout fails the step; otherwise it is that of the
/// error.
pub(super) fn fails(rule: Option<&str>) -> &'static str {
    if rule.is_some() { "the step fails" } else { "the step fails (timeout)" }
}

/// The policy that a `retry` key describes.
pub(super) fn policy(policy: &Located) -> Option<Retry> {
    let Shape::Int(attempts) = policy.get("max_attempts")?.shape else { return None };
    let factor = match policy.get("backoff").map(|backoff| &backoff.shape) {
        Some(Shape::Int(int)) => *int as f64,
        Some(Shape::Float(float)) => *float,
        _ => 1.0,
    };
    let ms = |key: &str| policy.get(key).filter(|value| !value.is_null()).and_then(duration_ms);
    Some(Retry {
        max_attempts: u32::try_from(attempts).ok()?,
        delay_ms: ms("delay").unwrap_or(0),
        backoff: Backoff::Exponential(factor),
        max_delay_ms: ms("max_delay").unwrap_or(MAX_DELAY_MS),
        jitter: 0.0,
    })
}
