//! Texts of a call, with its secrets put in at the moment of the call.

use std::cell::RefCell;

use branchpoint_expr::Value;

use super::Models;
use crate::runner::{Answer, Call};

/// The input of one call.
pub(super) struct Texts<'c> {
    pub(super) call: &'c Call,
    models: &'c Models,
    /// Values of secrets that were put in: no error may tell them.
    used: RefCell<Vec<String>>,
}

impl<'c> Texts<'c> {
    pub(super) fn new(models: &'c Models, call: &'c Call) -> Self {
        Self { call, models, used: RefCell::default() }
    }

    /// A field of the input that is there and not null.
    pub(super) fn field(&self, name: &str) -> Option<&'c Value> {
        self.call.input.get(name).filter(|value| **value != Value::Null)
    }

    /// The text of the first of some fields that is there.
    pub(super) fn text(&self, names: &[&str]) -> Result<Option<String>, Answer> {
        let found = names.iter().find_map(|name| Some((*name, self.field(name)?)));
        found.map(|(name, value)| self.whole(name, value)).transpose()
    }

    /// A value as text. Only where the front-end says so is a list one of texts and of references to secrets: a list that
    /// comes from elsewhere must not name any.
    pub(super) fn whole(&self, path: &str, value: &Value) -> Result<String, Answer> {
        let Some(parts) = value.as_list().filter(|_| self.may_name_secrets(path)) else {
            return Ok(plain(value));
        };
        let mut text = String::new();
        for part in parts {
            match part.get("secret").and_then(Value::as_str) {
                Some(name) => text.push_str(&self.secret(name)?),
                None => text.push_str(&plain(part)),
            }
        }
        Ok(text)
    }

    pub(super) fn secrets(self) -> Vec<String> {
        self.used.into_inner()
    }

    fn secret(&self, name: &str) -> Result<String, Answer> {
        let Some(value) = (self.models.secrets)(name) else {
            return Err(Answer::refused("step_failed", format!("there is no secret `{name}` here")));
        };
        self.used.borrow_mut().push(value.clone());
        Ok(value)
    }

    fn may_name_secrets(&self, path: &str) -> bool {
        let marked = self.call.spec.get("secrets").and_then(Value::as_list).unwrap_or_default();
        self.is_program_agent() || marked.iter().any(|marked| marked.as_str() == Some(path))
    }

    /// Agents that may be programs have texts that were split at their secrets.
    pub(super) fn is_program_agent(&self) -> bool {
        &*self.call.kind == "agent" && self.call.spec.get("report").is_some()
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
