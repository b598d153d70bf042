//! What a run remembers.

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
        // What the run was started with, and defaults.
        ("inputs", empty()),
        // Texts among the inputs: what commands find in their environment.
        ("environment", empty()),
        // The results of states by name.
        ("states", empty()),
        // The sessions of agents by state.
        ("sessions", empty()),
        // How the run ends, once that is known.
        ("verdict", None),
        ("env", empty()),
        ("context", empty()),
        // The folders of the original.
        ("awf", empty()),
        // The declared outputs, at the end of a run.
        ("outputs", None),
        // When the run began, in milliseconds.
        ("started", None),
    ];
    slots.add_to_root(b, of_the_run);
    // Every event brings the time, so a run that does not read it has none.
    slots.add("now", if uses.workflow { b.now() } else { facts });
    let of_a_strand = [
        "workflow",
        "error",
        // What a call is made with, template by template.
        "request",
        // What came of a state: `{output, stderr, exit_code, response, tokens, error}`.
        "answer",
        // The error of an op that failed.
        "failure",
        // What a frame delivered.
        "got",
        // A file that was read, and what goes before a prompt.
        "file",
        "before",
        // What came of a hook.
        "hooked",
        "line",
        // The error that led to the end of the run. Messages of ends do not see it, hooks after them do.
        "cause",
        // The variables of the environment that the text of a file reads.
        "variables",
    ];
    slots.add_locals(b, of_a_strand);
    // The names that documents write.
    let optional = [("workflow", uses.workflow), ("context", uses.context), ("awf", uses.folders)];
    let optional = optional.into_iter().filter(|(_, is_used)| *is_used).map(|(name, _)| name);
    for name in ["inputs", "states", "env", "error"].into_iter().chain(optional) {
        b.name(ROOT, &[name], slots[name]);
    }
    slots
}
