//! Detects the dialect of a document by its content.

use branchpoint_expr::{Diagnostic, Dialect, Kind, Located, Span, nearest};

use crate::{DocumentKinds as _, export};

/// Keys that only steps of sessions have.
const SESSION_STEP: [&str; 3] = ["availableTools", "isDefault", "resetSequenceOn"];

/// The dialect of a document.
///
/// # Errors
///
/// A finding that shows how a document of each dialect begins.
pub(crate) fn recognise(document: &Located) -> Result<Dialect, Box<Diagnostic>> {
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
        Err(unknown(document))
    }
}

/// The top-level keys by which a workflow is recognised.
const DIALECT_KEYS: [&str; 6] = ["steps", "states", "nodes", "connections", "orchestration", "child_steps"];

/// The beginning of a document of each dialect.
const BEGINNINGS: &str = "a workflow begins like one of these:
  steps    {name: x, steps: [{id: a, step_type: text, template: Hello}]}
  flow     {\"name\": \"x\", \"steps\": [{\"id\": \"a\", \"type\": \"finish\", \"config\": {}}]}
  machine  {name: x, states: {initial: a, a: {command: ls, on_success: done}, done: {type: terminal}}}
  graph    {\"nodes\": [{\"id\": \"a\", \"type\": \"start\"}], \"connections\": []}
  session  {\"steps\": [{\"name\": \"a\", \"availableTools\": {\"allowed\": [\"search\"]}}]}
or name the dialect with --dialect; `branchpoint new NAME` writes a workflow to start from";

fn unknown(document: &Located) -> Box<Diagnostic> {
    if document.is_null() {
        let finding = Diagnostic::error(Kind::UnknownDialect, Span::new(0, 0), "the document is empty");
        return Box::new(finding.with_help("write a workflow, or begin with `branchpoint new NAME`"));
    }
    let error = |span, message: &str| Diagnostic::error(Kind::UnknownDialect, span, message);
    let start = Span::new(document.span.start as usize, document.span.start as usize);
    if !document.is_object() {
        let message =
            format!("unrecognised workflow format: a workflow is an object, and this is {}", document.describe());
        return Box::new(error(start, &message).with_help(BEGINNINGS));
    }
    let similar = document.fields().iter().find_map(|field| Some((field, nearest(&field.key, DIALECT_KEYS)?)));
    Box::new(match similar {
        Some((field, key)) => {
            let message = format!("unrecognised workflow format: `{}` is not a key of any dialect", field.key);
            error(field.key_span, &message).with_help(format!("did you mean `{key}`?"))
        }
        None => error(start, "unrecognised workflow format").with_help(BEGINNINGS),
    })
}
