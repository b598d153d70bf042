//! Environment variables that runs got as facts or have read. A recording leaves out those that contain a secret: a replay reads them
//! from its own environment.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_core::effect::{FilesOperation, Request};
use branchpoint_expr::{Object, Value};

use super::history::{CallOutcome, History, HistoryEntry};
use branchpoint_runners::Call;
use branchpoint_runners::{Secrets, is_secret_name};

/// The prefix of facts that are environment variables.
const VARIABLE: &str = "env.";

/// The environment variable that a fact holds, if it holds one.
pub(super) fn variable(fact: &str) -> Option<&str> {
    fact.strip_prefix(VARIABLE)
}

/// The name of the fact that holds an environment variable.
pub(crate) fn fact_of(variable: &str) -> Arc<str> {
    format!("{VARIABLE}{variable}").into()
}

/// Whether a call reads environment variables.
pub(crate) fn reads_variables(call: &Call) -> bool {
    matches!(call.definition.request(), Ok(Request::Files(files)) if files.operation == FilesOperation::Environment)
}

impl History {
    /// The values of variables whose names sound secret.
    pub fn secret_variables(&self) -> Secrets {
        let secret = self.variables().filter(|(name, _)| is_secret_name(name));
        Secrets::from_values(secret.filter_map(|(_, value)| value.as_str().map(ToOwned::to_owned)))
    }

    /// The names of variables that a recording leaves out, because their values contain a secret.
    pub(super) fn omitted_variables(&self, mask: &Secrets) -> BTreeSet<Arc<str>> {
        let holds_secret = |value: &Value| mask.mask_value(value) != *value;
        self.variables().filter(|(_, value)| holds_secret(value)).map(|(name, _)| name.into()).collect()
    }

    /// The variables that runs got as facts or have read.
    fn variables(&self) -> impl Iterator<Item = (&str, &Value)> {
        let given = self.facts.iter().filter_map(|(name, value)| Some((variable(name)?, value)));
        let read = self.entries.iter().filter_map(|entry| match entry {
            HistoryEntry::Call { call, outcome: CallOutcome::Settled(Ok(read), _) } if reads_variables(call) => {
                read.as_object()
            }
            _ => None,
        });
        given.chain(read.flat_map(Object::iter).map(|(name, value)| (&**name, value)))
    }
}
