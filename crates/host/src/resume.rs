//! Answers to runs that wait for a person by the signal `resume`: `{input, id?}`.

use branchpoint_core::Rejected;
use branchpoint_expr::Value;

/// The code by which a refused answer is told, given what was answered and the ids of what waits.
pub fn refusal_code(rejected: &Rejected, answer: &Value, waiting: &Value) -> &'static str {
    let named = answer.get("id").filter(|id| **id != Value::Null);
    let waits = |id: &Value| waiting.as_list().unwrap_or_default().contains(id);
    match rejected {
        Rejected::NotAccepted(_) if named.is_some_and(|id| !waits(id)) => "not_waiting",
        Rejected::NotAccepted(_) | Rejected::TooDeep | Rejected::TooLarge(_) => "bad_approval_input",
        _ => "not_paused",
    }
}
