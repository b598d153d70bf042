//! The limit on the size of values that a strand creates.

use branchpoint_expr::Value;

use super::Model;

/// The kind of the error for a value that exceeds the limit.
pub(super) const VALUE_LIMIT: &str = "value_limit";

impl Model<'_> {
    /// Whether a value exceeds the limit of the run.
    pub(super) fn is_too_large(&self, value: &Value) -> bool {
        spend(value, self.tree.value_bytes).is_none()
    }

    /// Resumes a strand with a new value. If the value is too large, the strand's entry fails at its next turn.
    pub(super) fn resume_with_new_value(&mut self, no: u64, last: Value) {
        if self.is_too_large(&last) {
            self.tally("values too large");
            self.strand(no).pending_failure = Some(VALUE_LIMIT.into());
        }
        self.resume(no, last);
    }
}

/// Subtracts the unfolded size of a value from a budget; `None` if the budget does not suffice. The walk stops there, because a
/// value with shared parts can be endless.
fn spend(value: &Value, budget: u64) -> Option<u64> {
    let mut left = budget.checked_sub(8)?;
    match value {
        Value::Str(text) => left = left.checked_sub(text.len() as u64)?,
        Value::List(items) => {
            for item in items.iter() {
                left = spend(item, left)?;
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields.iter() {
                left = spend(value, left.checked_sub(8 + key.len() as u64)?)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {}
    }
    Some(left)
}
