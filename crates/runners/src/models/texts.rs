//! Texts of a call, its secrets put in already.

use branchpoint_expr::Value;

use super::Models;
use crate::runner::{Answer, Call};
use crate::secrets::resolve;

/// The input of one call.
pub(super) struct Texts<'c> {
    pub(super) call: &'c Call,
}

impl<'c> Texts<'c> {
    pub(super) fn new(call: &'c Call) -> Self {
        Self { call }
    }

    /// A field of the input that is there and not null.
    pub(super) fn field(&self, name: &str) -> Option<&'c Value> {
        self.call.input.get(name).filter(|value| **value != Value::Null)
    }

    /// The text of the first of some fields that is there.
    pub(super) fn text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.field(name)).map(plain)
    }
}

impl Models {
    /// The call with the secrets that it names, and their values: no error may tell them.
    pub(super) fn with_secrets(&self, call: &Call) -> Result<(Call, Vec<String>), Answer> {
        let missing = |why: String| Answer::impossible("step_failed", why);
        let (input, used) = resolve(&call.input, &call.definition.secrets, &self.secrets).map_err(missing)?;
        Ok((Call { input, ..call.clone() }, used))
    }
}

/// A value in words: text as it is, anything else as JSON, nothing as nothing.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Str(text) => text.to_string(),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}
