//! Which dialect a document is, by its content.

use branchpoint_expr::{Diagnostic, Dialect, Kind, Located, Span};

use crate::{DocumentKinds as _, export};

/// What only the steps of a session have.
const SESSION_STEP: [&str; 3] = ["availableTools", "isDefault", "resetSequenceOn"];

/// The dialect whose marks the document bears.
///
/// # Errors
///
/// A finding that lists what was looked for.
pub fn recognise(document: &Located) -> Result<Dialect, Box<Diagnostic>> {
    if let Some(definition) = export::definition(document) {
        return recognise(&definition);
    }
    let steps = document.get("steps").or_else(|| document.get("child_steps"));
    let first = steps.and_then(Located::items).and_then(<[_]>::first);
    let of_first = |key: &str| first.is_some_and(|step| step.get(key).is_some());
    let has = |key: &str| document.get(key).is_some();
    let any_step = |key: &str| {
        let items = steps.and_then(Located::items).unwrap_or_default();
        items.iter().any(|step| step.get(key).is_some())
    };
    // An agent's template has nodes too; only a graph connects them.
    let template = ["agentId", "personality", "nodeConfigurations", "chatSettings"].into_iter().any(has);
    if has("nodes") && (has("connections") || !template) {
        Ok(Dialect::Graph)
    } else if template || has("orchestration") || has("defaultStep") || SESSION_STEP.into_iter().any(any_step) {
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
                `nodes` and `connections` (graph), or `orchestration` or steps with `availableTools` (session); or say which it is with --dialect";
    Box::new(Diagnostic::error(Kind::UnknownDialect, Span::new(0, 0), message).with_help(help))
}
