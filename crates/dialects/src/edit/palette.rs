//! The types of steps that can be added, each with a minimal example.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_expr::{Dialect, Located, Value};
use serde_json::json;

use super::render::{self, Notation};
use super::steps::unique_id;
use super::values;
use crate::{graph, steps};

/// A type of step or node.
#[derive(Clone, Debug)]
pub struct PaletteEntry {
    /// Its name in documents.
    pub kind: &'static str,
    /// Its name for people.
    pub title: String,
    /// The group in which it is listed.
    pub group: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// The path from the object of the step to the object with its fields; `data` in graphs.
    pub path: &'static [&'static str],
    /// The JSON Schema of its fields. References in it are those of the schema of the dialect.
    pub fields: serde_json::Value,
    /// A minimal example, as the text of an object.
    pub fragment: String,
    /// The handles or branches that leave it.
    pub branches: Vec<&'static str>,
}

/// The types of steps that can be added to documents of a dialect; none for dialects that are edited as text.
///
/// ```
/// use branchpoint_expr::Dialect;
///
/// let entries = branchpoint_dialects::palette(Dialect::Graph);
/// assert_eq!(entries.iter().map(|entry| entry.kind).collect::<Vec<_>>(), ["start", "agent", "if", "approval", "end"]);
/// ```
pub fn palette(dialect: Dialect) -> Vec<PaletteEntry> {
    match dialect {
        Dialect::Steps => steps::step_types().map(step_entry).collect(),
        Dialect::Graph => graph::node_types().map(node_entry).collect(),
        Dialect::Flow | Dialect::Machine | Dialect::Session => Vec::new(),
    }
}

fn step_entry((kind, about, fields): (&'static str, &'static str, serde_json::Value)) -> PaletteEntry {
    let context = Context { ids: &BTreeSet::new(), merge: None, before: None };
    let sample = step(kind, kind, &context).expect("every type has an example");
    PaletteEntry {
        kind,
        title: title(kind),
        group: group_of_step(kind),
        about,
        path: &[],
        fields,
        fragment: render::inline(&sample, Notation::Json),
        branches: match kind {
            "if_else" | "conditional" => vec!["then", "else"],
            "switch" => vec!["first", "else"],
            "parallel" => vec!["first", "second"],
            "for_each" | "while" => vec!["body"],
            "gate" => vec!["passed", "blocked"],
            _ => Vec::new(),
        },
    }
}

fn node_entry((kind, about, fields): (&'static str, &'static str, serde_json::Value)) -> PaletteEntry {
    PaletteEntry {
        kind,
        title: title(kind),
        group: match kind {
            "agent" => "Models",
            "if" => "Decisions",
            "approval" => "People",
            _ => "Start and end",
        },
        about,
        path: &["data"],
        fields,
        fragment: render::inline(&node(kind, kind), Notation::Json),
        branches: match kind {
            "if" => vec!["condition-0", "false"],
            "approval" => vec!["approve", "reject"],
            "agent" => vec!["output", "subagent"],
            "start" => vec!["output"],
            _ => Vec::new(),
        },
    }
}

/// The name of a type for people: `prompt_call` is "Prompt call".
fn title(kind: &str) -> String {
    let special = match kind {
        "http" => "HTTP request",
        "if_else" => "If / else",
        "if" => "If",
        "human_in_the_loop" => "Approval",
        "write_aws_s3_object" => "Write S3 object",
        "for_each" => "For each",
        _ => "",
    };
    if !special.is_empty() {
        return special.to_owned();
    }
    let words = kind.replace('_', " ");
    words[..1].to_uppercase() + &words[1..]
}

fn group_of_step(kind: &str) -> &'static str {
    match kind {
        "prompt_call" | "agent" | "evaluate_step" | "call_agent" => "Models",
        "human_in_the_loop" => "People",
        "if_else" | "conditional" | "switch" | "gate" => "Decisions",
        "for_each" | "while" | "parallel" | "join" | "merge" | "retry" | "wait" => "Flow",
        "text" | "regex_replace" | "extract_data" | "extract_content" => "Data",
        "display_result" | "streaming_result" => "Results",
        "command" | "http" | "webhook_call" | "web_search" | "web_fetch" | "send_email" | "call_workflow" => "Actions",
        _ => "Knowledge and files",
    }
}

/// The document in which an example is added.
pub(super) struct Context<'c> {
    /// The ids that are used.
    pub(super) ids: &'c BTreeSet<Arc<str>>,
    /// A merge that a join can feed.
    pub(super) merge: Option<String>,
    /// A step that a retry can go back to.
    pub(super) before: Option<String>,
}

/// A minimal step of a type; none if there is no such type.
pub(super) fn step(kind: &str, id: &str, context: &Context<'_>) -> Option<Located> {
    let kind = steps::current_type(kind)?;
    let inner = || unique_id(&format!("{id}_item"), context.ids);
    let own = match kind {
        "if_else" => json!({"if": "true", "then_steps": [], "else_steps": []}),
        "conditional" => json!({"if": "true", "then": [], "else": []}),
        "gate" => json!({"if": "true"}),
        "switch" => json!({"cases": [{"name": "first", "match": "first", "steps": []}], "else_steps": []}),
        "for_each" => json!({
            "input_template": "{{input}}",
            "body": [{"id": inner(), "step_type": "text", "template": format!("{{{{step.{id}.item}}}}")}],
        }),
        // A condition that never holds, so that the loop does nothing until it is edited.
        "while" => json!({"if": "false", "body": [{"id": inner(), "step_type": "text", "template": "{{input}}"}]}),
        "parallel" => json!({"branches": [{"name": "first", "steps": []}, {"name": "second", "steps": []}]}),
        "join" => json!({"target": context.merge.as_deref().unwrap_or("merge")}),
        "retry" => json!({"target_step_id": context.before.as_deref().unwrap_or("step"), "max_retries": 1}),
        "human_in_the_loop" => json!({"prompt_template": "Approve this?\n\n{{input}}"}),
        "prompt_call" => json!({"prompt_template": "{{input}}"}),
        "agent" => json!({"prompt": "{{input}}"}),
        "text" => json!({"template": "{{input}}"}),
        "http" | "web_fetch" => json!({"url": "https://example.com"}),
        "webhook_call" => json!({"url": "https://example.com/hook"}),
        "web_search" => json!({"query": "{{input}}"}),
        "command" => json!({"command": "cat"}),
        "call_workflow" => json!({"workflow": "name"}),
        "send_email" => json!({"to": "name@example.com", "subject": "Subject", "text_body": "{{input}}"}),
        "write_metadata" => json!({"metadata_key": "key", "content": "{{input}}"}),
        "load_memory" => json!({"key": "key"}),
        "add_chat_turn" | "load_chat_history" => json!({"chat_id": "chat"}),
        "wait" => json!({"duration": "1m"}),
        _ => json!({}),
    };
    let head = values::object([("id", values::text(id)), ("step_type", values::text(kind))]);
    let fields = Value::from(&own).as_object().cloned().unwrap_or_default();
    Some(values::with_fields(head, &fields))
}

/// A minimal node of a graph.
pub(super) fn node(kind: &str, id: &str) -> Located {
    let data = match kind {
        "agent" => json!({"agentName": "Agent", "systemPrompt": "You are a helpful assistant.", "userPrompt": ""}),
        "if" => json!({"conditions": [{"operator": "contains", "value": ""}]}),
        "approval" => json!({"prompt": "Continue?"}),
        _ => json!({}),
    };
    let data = values::located(&Value::from(&data));
    values::object([("id", values::text(id)), ("type", values::text(kind)), ("data", data)])
}
