//! Variables of the environment that runs were told as facts or have read. Those that hold a secret are not written down: whoever
//! plays the run again must have them.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_core::effect::{FilesOperation, Request};
use branchpoint_expr::{Object, Value};

use super::past::{Came, Happened, Past};
use branchpoint_runners::Call;
use branchpoint_runners::{Secrets, sounds_secret};

/// The names of facts that are variables begin so.
const VARIABLE: &str = "env.";

/// The variable of the environment that a fact is, if it is one.
pub(super) fn variable(fact: &str) -> Option<&str> {
    fact.strip_prefix(VARIABLE)
}

/// The fact that a variable of the environment is.
pub(crate) fn fact_of(variable: &str) -> Arc<str> {
    format!("{VARIABLE}{variable}").into()
}

/// Whether a call reads variables of the environment.
pub(crate) fn reads_variables(call: &Call) -> bool {
    matches!(call.definition.request(), Ok(Request::Files(files)) if files.operation == FilesOperation::Environment)
}

impl Past {
    /// The values of those variables whose names say that they are secret.
    pub fn secret_variables(&self) -> Secrets {
        let secret = self.variables().filter(|(name, _)| sounds_secret(name));
        Secrets::from_values(secret.filter_map(|(_, value)| value.as_str().map(ToOwned::to_owned)))
    }

    /// The names of the variables that cannot be told as they are, because a secret stands in them.
    pub(super) fn untold(&self, mask: &Secrets) -> BTreeSet<Arc<str>> {
        let holds_secret = |value: &Value| mask.mask_value(value) != *value;
        self.variables().filter(|(_, value)| holds_secret(value)).map(|(name, _)| name.into()).collect()
    }

    /// The variables that runs were given as facts or have read.
    fn variables(&self) -> impl Iterator<Item = (&str, &Value)> {
        let given = self.facts.iter().filter_map(|(name, value)| Some((variable(name)?, value)));
        let read = self.happened.iter().filter_map(|happened| match happened {
            Happened::Called { call, came: Came::Settled(Ok(read), _) } if reads_variables(call) => read.as_object(),
            _ => None,
        });
        given.chain(read.flat_map(Object::iter).map(|(name, value)| (&**name, value)))
    }
}
