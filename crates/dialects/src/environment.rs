//! Names of environment variables that a step sets for its command, the same in every dialect.

use branchpoint_core::RunKinds as _;
use branchpoint_core::variables::name_problem;
use branchpoint_expr::{Diagnostic, Kind, Located};

/// Errors about variables that a command may not set. `variables` is an object; any other value is computed and checked in the run.
pub(crate) fn check_names(variables: Option<&Located>) -> impl Iterator<Item = Diagnostic> {
    let fields = variables.filter(|variables| variables.is_object()).map_or(&[][..], Located::fields);
    fields.iter().filter_map(|field| {
        let message =
            format!("a step must not set the environment variable `{}`: {}", field.key, name_problem(&field.key)?);
        let help = "choose another name, or set the variable inside the command";
        Some(Diagnostic::error(Kind::BadEnvName, field.key_span, message).with_help(help))
    })
}
