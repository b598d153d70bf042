//! The help for findings without help.

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Diagnostic, Kind};

use crate::DocumentKinds as _;

/// The finding with help.
pub(super) fn with_help(finding: Diagnostic) -> Diagnostic {
    match help(finding.kind) {
        Some(help) if finding.help.is_none() => finding.with_help(help),
        _ => finding,
    }
}

fn help(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::BadValue => "write a value that the field accepts",
        Kind::Conflict => "keep one of the two",
        Kind::MissingField => "add the field",
        Kind::UnknownState => "name a state of this document, or add the state",
        Kind::UnknownType => {
            "the types are step, agent, parallel, for_each, while, call_workflow, operation and terminal"
        }
        Kind::NoTerminal => "add a state of `type: terminal`, and a transition to it",
        Kind::LoopInItself => "remove it from the body; a transition back to the loop continues with the body",
        Kind::NoExit => "give it `on_success` or `transitions`",
        Kind::DuplicateBody => "name each state once",
        Kind::UnknownWorkflow => "workflows are found by name beside this document",
        Kind::CircularCall => "use a loop, or a transition to an earlier state",
        Kind::Unsupported => "use a command, an agent or another workflow",
        Kind::TwoConditions => "keep one condition, or join them with `&&`",
        Kind::NoDefault => "end the transitions with an entry without `when`",
        Kind::UnreachableTransition => "put the entry without a condition last",
        Kind::Unreachable | Kind::UnreachableTerminal => "add a transition to it, or remove it",
        Kind::UnknownKey => "remove it, or correct its name",
        Kind::UnknownName => "inputs, states, workflow, env, loop, error and context have names",
        Kind::UnknownProperty => "the properties of each name are in the description of the dialect",
        Kind::BadTemplate => "write a reference such as `inputs.name`, or a function and its arguments",
        Kind::BadCondition => "conditions are expressions that give true or false",
        _ => return None,
    })
}
