//! What a call asks with, its secrets filled in: the one way by which tools read their input.

use std::sync::Arc;

use branchpoint_core::Failed;
use branchpoint_expr::Value;

use super::failure::impossible;
use crate::local::SecretStore;
use crate::runner::{Answer, Call};

const MASK: &str = "***";

/// Where values are found whose names stand in settings or documents.
#[derive(Clone)]
pub(super) struct Lookup(pub(super) SecretStore);

impl std::fmt::Debug for Lookup {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Lookup")
    }
}

impl Lookup {
    /// A value that the settings name: the host's secrets go first, then the environment.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).or_else(|| std::env::var(name).ok()).filter(|value| !value.is_empty())
    }
}

/// A call with its secrets filled in.
pub(super) struct Asked {
    pub(super) call: Call,
    secrets: Vec<String>,
}

impl Asked {
    /// Fills in the texts that `spec.secrets` names, which are lists of parts: texts, and `{secret: name}`.
    pub(super) fn resolved(call: &Call, store: &SecretStore) -> Result<Self, Answer> {
        let mut asked = Self { call: call.clone(), secrets: Vec::new() };
        for path in call.spec.get("secrets").and_then(Value::as_list).unwrap_or_default() {
            let path = path.to_string();
            let input = std::mem::take(&mut asked.call.input);
            asked.call.input = asked.filled(input, &path, store)?;
        }
        // The longest first: one secret may be the beginning of another.
        asked.secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Ok(asked)
    }

    fn filled(&mut self, value: Value, path: &str, store: &SecretStore) -> Result<Value, Answer> {
        if path.is_empty() {
            return self.joined(&value, store);
        }
        if let Some(fields) = value.as_object() {
            // A key may hold the sign that separates keys.
            let key =
                fields.iter().map(|(key, _)| key).filter(|key| tail(path, key).is_some()).max_by_key(|key| key.len());
            let Some(key) = key.cloned() else { return Ok(value) };
            let mut fields = fields.clone();
            let inner = fields.get(&key).cloned().unwrap_or_default();
            let inner = self.filled(inner, tail(path, &key).unwrap_or_default(), store)?;
            fields.insert(key, inner);
            return Ok(Value::from(fields));
        }
        let Some(items) = value.as_list() else { return Ok(value) };
        let (at, rest) = path.split_once('/').unwrap_or((path, ""));
        let mut items = items.to_vec();
        if let Some(item) = at.parse::<usize>().ok().and_then(|at| items.get_mut(at)) {
            *item = self.filled(std::mem::take(item), rest, store)?;
        }
        Ok(Value::from(items))
    }

    fn joined(&mut self, parts: &Value, store: &SecretStore) -> Result<Value, Answer> {
        let Some(parts) = parts.as_list() else { return Ok(parts.clone()) };
        let mut text = String::new();
        for part in parts {
            match part.get("secret").and_then(Value::as_str) {
                Some(name) => {
                    let secret = store(name).ok_or_else(|| impossible(format!("there is no secret `{name}` here")))?;
                    text.push_str(&secret);
                    self.secrets.extend((!secret.trim().is_empty()).then_some(secret));
                }
                None => text.push_str(&part.to_string()),
            }
        }
        Ok(Value::from(text.as_str()))
    }

    /// The answer, without secrets in what people read about its failure.
    pub(super) fn masked(&self, answer: Answer) -> Answer {
        match answer {
            Answer::Failed(failed) if self.secrets.iter().any(|secret| failed.message.contains(secret.as_str())) => {
                let masked = |text: String, secret: &String| text.replace(secret.as_str(), MASK);
                let message: Arc<str> = self.secrets.iter().fold(failed.message.to_string(), masked).into();
                Answer::Failed(Failed { message, ..failed })
            }
            other => other,
        }
    }
}

/// What is left of a path after a key.
fn tail<'p>(path: &'p str, key: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(key)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}
