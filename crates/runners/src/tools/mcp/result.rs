//! What a tool of a server gives back, as a value.

use branchpoint_expr::Value;
use rmcp::model::{CallToolResult, ContentBlock};

use super::super::failure::denied;
use crate::runner::Answer;

/// What is structured is the value. Otherwise texts are one text, and text that is an object or a list is read; anything
/// with pictures or files in it is the list of its parts.
pub(super) fn answer(result: CallToolResult) -> Result<Answer, Answer> {
    let texts: Option<Vec<&str>> = result
        .content
        .iter()
        .map(|part| match part {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    if result.is_error == Some(true) {
        let said = texts.unwrap_or_default().join("\n");
        return Err(denied(if said.is_empty() { "the tool failed, and has not said why".to_owned() } else { said }));
    }
    if let Some(value) = result.structured_content {
        return Ok(Answer::data(value_of(value)));
    }
    Ok(Answer::data(match texts {
        Some(texts) => read(&texts.join("\n")),
        None => value_of(serde_json::to_value(&result.content).unwrap_or_default()),
    }))
}

fn read(text: &str) -> Value {
    let looks_like_json = text.trim_start().starts_with(['{', '[']);
    let value = if looks_like_json { serde_json::from_str(text).ok() } else { None };
    value.unwrap_or_else(|| Value::from(text))
}

pub(super) fn value_of(json: serde_json::Value) -> Value {
    serde_json::from_value(json).unwrap_or_default()
}
