//! Messages for incoming webhooks of Slack.

use branchpoint_expr::{Value, preview};

use super::content::Facts;
use crate::json;

/// The longest text of a block, in characters. Slack rejects more than 3,000.
const LONGEST: usize = 2_000;

/// A message `{text, blocks}`. Texts of runs are plain text, so they cannot mention people or hide a link.
pub(super) fn message(facts: &Facts) -> Value {
    let headline = headline(facts);
    let part = |key: &str| facts.data.get(key).filter(|part| **part != Value::Null).map(Value::to_string);
    let mut blocks = vec![section(&headline)];
    let error = facts.data.get("error").and_then(|error| error.get("message")).map(Value::to_string);
    blocks.extend(part("question").or(error).map(|text| section(&text)));
    let outcome = facts.data.get("outcome").and_then(|outcome| outcome.get("outcome")).map(preview);
    blocks.extend(outcome.map(|outcome| section(&format!("Outcome: {outcome}"))));
    if let Some(page) = &facts.page {
        let button = json::object([
            ("type", Value::from("button")),
            ("text", plain("Open in Branchpoint")),
            ("url", Value::from(page.as_str())),
        ]);
        blocks.push(json::object([("type", Value::from("actions")), ("elements", Value::from(vec![button]))]));
    }
    json::object([("text", Value::from(escape(&headline))), ("blocks", Value::from(blocks))])
}

fn headline(facts: &Facts) -> String {
    let what = match facts.event.as_str() {
        "run.completed" => "completed",
        "run.failed" => "failed",
        "run.cancelled" => "was cancelled",
        "run.waiting" => "waits for people",
        "approval.requested" => "requests an approval",
        "approval.reminded" => "still waits for an approval",
        "approval.escalated" => "has escalated an approval",
        _ => "has the outcome of an approval",
    };
    format!("Run {} of {} {what}", facts.run.id, facts.workflow)
}

fn section(text: &str) -> Value {
    json::object([("type", Value::from("section")), ("text", plain(text))])
}

fn plain(text: &str) -> Value {
    json::object([
        ("type", Value::from("plain_text")),
        ("text", Value::from(truncate(text))),
        ("emoji", Value::Bool(false)),
    ])
}

fn truncate(text: &str) -> String {
    // Slack rejects an empty text.
    let text = if text.trim().is_empty() { "–" } else { text };
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// A text of a notification, in which Slack would read `<!channel>` as a mention.
fn escape(text: &str) -> String {
    truncate(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
