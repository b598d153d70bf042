//! The slots of a run.

use branchpoint_core::ir::builder::{Builder, ROOT};
use branchpoint_expr::{Object, Value};

use crate::lowering::Names;
use crate::machine::rules::Uses;

/// Declares the slots that every state uses. Those of the root live as long as the run; the others belong to a strand, so that
/// branches do not disturb each other.
pub(super) fn slots(b: &mut Builder, uses: &Uses) -> Names {
    let empty = || Some(Value::from(Object::default()));
    let mut slots = Names::default();
    let facts = slots.add("facts", b.facts());
    slots.add("given", b.input());
    let of_the_run = [
        // The inputs of the run, with defaults.
        ("inputs", empty()),
        // The inputs that are text, which commands get as environment variables.
        ("environment", empty()),
        // The results of states by name.
        ("states", empty()),
        // The sessions of agents by state.
        ("sessions", empty()),
        // The end of the run, once it is decided.
        ("verdict", None),
        ("env", empty()),
        ("context", empty()),
        // The folders of the original.
        ("awf", empty()),
        // The declared outputs, at the end of a run.
        ("outputs", None),
        // The time at which the run began, in milliseconds.
        ("started", None),
    ];
    slots.add_to_root(b, of_the_run);
    // Every event brings the time, so a run that does not read it has none.
    slots.add("now", if uses.workflow { b.now() } else { facts });
    let of_a_strand = [
        "workflow",
        "error",
        // The input of a call, template by template.
        "request",
        // The outcome of a state: `{output, stderr, exit_code, response, tokens, error}`.
        "answer",
        // The error of a failed op.
        "failure",
        // The value that a frame delivered.
        "got",
        // A file, and the text before a prompt.
        "file",
        "before",
        // The outcome of a hook.
        "hooked",
        "line",
        // The error that led to the end of the run. Hooks after an end read it, its message does not.
        "cause",
        // The variables of the environment that the text of a file reads.
        "variables",
    ];
    slots.add_locals(b, of_a_strand);
    // The names that documents can use.
    let optional = [("workflow", uses.workflow), ("context", uses.context), ("awf", uses.folders)];
    let optional = optional.into_iter().filter(|(_, is_used)| *is_used).map(|(name, _)| name);
    for name in ["inputs", "states", "env", "error"].into_iter().chain(optional) {
        b.name(ROOT, &[name], slots[name]);
    }
    slots
}
