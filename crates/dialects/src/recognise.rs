//! Which dialect a document is, by its content.

use branchpoint_expr::{Diagnostic, Dialect, Kind, Located, Span};

/// The dialect whose marks the document bears.
///
/// # Errors
///
/// A finding that lists what was looked for.
pub fn recognise(document: &Located) -> Result<Dialect, Box<Diagnostic>> {
    let steps = document.get("steps").or_else(|| document.get("child_steps"));
    let first = steps.and_then(Located::items).and_then(<[_]>::first);
    let of_first = |key: &str| first.is_some_and(|step| step.get(key).is_some());
    let has = |key: &str| document.get(key).is_some();
    if has("nodes") {
        Ok(Dialect::Graph)
    } else if has("orchestration") || of_first("availableTools") || has("defaultStep") {
        Ok(Dialect::Session)
    } else if has("states") {
        Ok(Dialect::Machine)
    } else if of_first("config") || of_first("type") && !of_first("step_type") {
        Ok(Dialect::Flow)
    } else if steps.is_some() {
        Ok(Dialect::Steps)
    } else {
        Err(unknown())
    }
}

fn unknown() -> Box<Diagnostic> {
    let message = "this is no workflow of a kind that is known";
    let help = "a workflow has `steps` whose entries have `step_type` (steps) or `type` and `config` (flow), `states` (machine), \
                `nodes` (graph) or `orchestration` (session); or say which it is with --dialect";
    Box::new(Diagnostic::error(Kind::UnknownDialect, Span::new(0, 0), message).with_help(help))
}
