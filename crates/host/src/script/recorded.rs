//! What a recorded script knows beside answers: what its host knew.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_core::effect::Content;
use branchpoint_expr::{Object, Value};

use super::{BadScript, Wrong};
use crate::recordings::{fact_of, reads_variables};
use branchpoint_runners::{Answer, Call};
use branchpoint_runners::{Secrets, sounds_secret};

/// What says that a script was recorded.
pub(crate) const RECORDED: &str = "$recorded";

/// The variables of the environment whose values were not written down.
pub(crate) const UNTOLD: &str = "untold";

/// What a recorded script knows beside answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// What the host knew.
    pub facts: Object,
    /// Steps that would call other workflows, and were answered instead.
    pub outside: BTreeSet<Arc<str>>,
    /// Variables of the environment that it does not tell, because they hold secrets.
    untold: BTreeSet<Arc<str>>,
}

impl Recorded {
    pub(super) fn read(written: &Value) -> Result<Self, BadScript> {
        let wrong = |key: &str, message: &str| BadScript::Wrong {
            at: vec![Value::from(RECORDED)],
            wrong: Wrong::at(key, message.to_owned(), "record the run anew"),
        };
        let fields = written.as_object().ok_or_else(|| wrong(RECORDED, "`$recorded` is an object"))?;
        let mut recorded = Self::default();
        for (key, value) in fields {
            let names = || -> Option<BTreeSet<Arc<str>>> {
                value.as_list()?.iter().map(|name| name.as_str().map(Arc::from)).collect()
            };
            match (&**key, value) {
                ("facts", Value::Object(facts)) => recorded.facts.clone_from(facts),
                ("outside", _) => {
                    recorded.outside = names().ok_or_else(|| wrong(key, "`outside` is a list of steps"))?;
                }
                (UNTOLD, _) => {
                    recorded.untold = names().ok_or_else(|| wrong(key, "`untold` is a list of variables"))?;
                }
                _ => return Err(wrong(key, &format!("`{key}` is not known here, or is of the wrong kind"))),
            }
        }
        Ok(recorded)
    }

    /// Looks for what it does not tell; from then on, the host knew it. Gives the values that are secret by their names.
    pub(super) fn look_up(&mut self, find: impl Fn(&str) -> Option<String>) -> Result<Secrets, BadScript> {
        let (mut secrets, mut missing) = (Secrets::default(), Vec::new());
        for name in &self.untold {
            let Some(value) = find(name).filter(|value| !value.trim().is_empty()) else {
                missing.push(name.clone());
                continue;
            };
            if sounds_secret(name) {
                secrets.add([value.as_str()]);
            }
            self.facts.insert(fact_of(name), Value::from(value));
        }
        if missing.is_empty() { Ok(secrets) } else { Err(BadScript::Untold(missing)) }
    }

    /// The answer to a call, with the variables that it read and the script does not tell.
    pub(super) fn filled(&self, call: &Call, answer: Answer) -> Result<Answer, BadScript> {
        let Answer::Data(Content { value: Value::Object(read), content_type }) = &answer else { return Ok(answer) };
        if self.untold.is_empty() || !reads_variables(call) {
            return Ok(answer);
        }
        let variables = read.iter().map(|(name, value)| {
            if !self.untold.contains(name) {
                return Ok((name.clone(), value.clone()));
            }
            let known = self.facts.get(&fact_of(name)).cloned();
            known.map(|value| (name.clone(), value)).ok_or_else(|| BadScript::Untold(vec![name.clone()]))
        });
        let variables = Value::from(variables.collect::<Result<Object, _>>()?);
        Ok(Answer::Data(Content { value: variables, content_type: content_type.clone() }))
    }
}
