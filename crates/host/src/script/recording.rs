//! The part of a recorded script that is not answers: facts of the host and omitted variables.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_core::effect::Content;
use branchpoint_expr::{Object, Value};

use super::{EntryError, ScriptError};
use crate::recordings::{fact_of, reads_variables};
use branchpoint_runners::{Answer, Call};
use branchpoint_runners::{Secrets, is_secret_name};

/// The key that marks a script as a recording.
pub(crate) const RECORDED: &str = "$recorded";

/// The key of the environment variables whose values the recording leaves out.
pub(crate) const OMITTED_VARIABLES: &str = "untold";

/// The facts and omitted variables of a recorded script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Facts of the host.
    pub facts: Object,
    /// Steps that call other workflows and that the recording answers.
    pub replaced_steps: BTreeSet<Arc<str>>,
    /// Environment variables that the recording leaves out, because they contain secrets.
    omitted_variables: BTreeSet<Arc<str>>,
}

impl Recording {
    pub(super) fn read(entry: &Value) -> Result<Self, ScriptError> {
        let invalid = |key: &str, message: &str| ScriptError::Entry {
            at: vec![Value::from(RECORDED)],
            error: EntryError::at(key, message.to_owned(), "record the run again"),
        };
        let fields = entry.as_object().ok_or_else(|| invalid(RECORDED, "`$recorded` must be an object"))?;
        let mut recorded = Self::default();
        for (key, value) in fields {
            let names = || -> Option<BTreeSet<Arc<str>>> {
                value.as_list()?.iter().map(|name| name.as_str().map(Arc::from)).collect()
            };
            match (&**key, value) {
                ("facts", Value::Object(facts)) => recorded.facts.clone_from(facts),
                ("outside", _) => {
                    recorded.replaced_steps =
                        names().ok_or_else(|| invalid(key, "`outside` must be a list of steps"))?;
                }
                (OMITTED_VARIABLES, _) => {
                    recorded.omitted_variables =
                        names().ok_or_else(|| invalid(key, "`untold` must be a list of variables"))?;
                }
                _ => return Err(invalid(key, &format!("`{key}` is unknown, or has a value of the wrong type"))),
            }
        }
        Ok(recorded)
    }

    /// Adds the omitted variables to the facts, with values that `find` gives. Returns the values whose names sound secret.
    pub(super) fn resolve_variables(&mut self, find: impl Fn(&str) -> Option<String>) -> Result<Secrets, ScriptError> {
        let (mut secrets, mut missing) = (Secrets::default(), Vec::new());
        for name in &self.omitted_variables {
            let Some(value) = find(name).filter(|value| !value.trim().is_empty()) else {
                missing.push(name.clone());
                continue;
            };
            if is_secret_name(name) {
                secrets.add([value.as_str()]);
            }
            self.facts.insert(fact_of(name), Value::from(value));
        }
        if missing.is_empty() { Ok(secrets) } else { Err(ScriptError::MissingVariables(missing)) }
    }

    /// Adds the omitted variables to the answer of a call that read them.
    pub(super) fn fill(&self, call: &Call, answer: Answer) -> Result<Answer, ScriptError> {
        let Answer::Data(Content { value: Value::Object(read), content_type }) = &answer else { return Ok(answer) };
        if self.omitted_variables.is_empty() || !reads_variables(call) {
            return Ok(answer);
        }
        let variables = read.iter().map(|(name, value)| {
            if !self.omitted_variables.contains(name) {
                return Ok((name.clone(), value.clone()));
            }
            let value = self.facts.get(&fact_of(name)).cloned();
            value.map(|value| (name.clone(), value)).ok_or_else(|| ScriptError::MissingVariables(vec![name.clone()]))
        });
        let variables = Value::from(variables.collect::<Result<Object, _>>()?);
        Ok(Answer::Data(Content { value: variables, content_type: content_type.clone() }))
    }
}
