//! The bound on the size of values: what a strand makes of others must not exceed it.

use branchpoint_expr::Value;

use super::Model;

/// The kind of the error.
pub(super) const VALUE_LIMIT: &str = "value_limit";

impl Model<'_> {
    /// Whether a value exceeds the bound of the run.
    pub(super) fn is_too_large(&self, value: &Value) -> bool {
        spend(value, self.tree.value_bytes).is_none()
    }

    /// A strand goes on with a value that is made when its turn comes; if it is too large, that is a failure of its entry.
    pub(super) fn go_on_with_made(&mut self, no: u64, last: Value) {
        if self.is_too_large(&last) {
            self.tally("values too large");
            self.strand(no).doomed = Some(VALUE_LIMIT.into());
        }
        self.go_on(no, last);
    }
}

/// What is left of a budget after a value was written out, part by part: eight bytes each, and its texts. None when the
/// budget does not suffice, which ends the walk: a value that shares its parts is endless.
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
