//! Messages as the wire has them, from messages as runs keep them.
//!
//! A message is `{role, content}`. Content is text, or a list of `{type: text, text}` and of `{type: image | file, mime, name}`
//! with `data`, `url` or `storage_key`. One of an assistant may have `toolCalls` and `thoughts`, one of a tool has the `id` and `name` of its call, and
//! `content` or `error`.

use branchpoint_expr::Value;
use genai::chat::{ChatMessage, ContentPart, MessageContent, ToolCall, ToolResponse};

use super::attached;
use crate::runner::Answer;
use crate::tools::FilesSettings;

/// Names of tools as the wire takes them, and as the run calls them.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(Vec<(String, String)>);

/// Letters, digits, `_` and `-`, at most so many, is what all providers take.
const LONGEST: usize = 64;

impl Names {
    pub(super) fn of(tools: &[Value]) -> Self {
        let mut names = Self::default();
        for tool in tools {
            let own = tool_name(tool);
            let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
            let plain: String = own.chars().map(fits).take(LONGEST).collect();
            let mut wire = plain.clone();
            let mut count = 2;
            while names.0.iter().any(|(taken, _)| *taken == wire) {
                let end = format!("_{count}");
                wire = plain.chars().take(LONGEST - end.len()).chain(end.chars()).collect();
                count += 1;
            }
            names.0.push((wire, own.to_owned()));
        }
        names
    }

    pub(super) fn wire<'n>(&'n self, own: &'n str) -> &'n str {
        self.0.iter().find(|(_, known)| known == own).map_or(own, |(wire, _)| wire)
    }

    pub(super) fn own<'n>(&'n self, wire: &'n str) -> &'n str {
        self.0.iter().find(|(known, _)| known == wire).map_or(wire, |(_, own)| own)
    }
}

/// A value in words: text as it is, anything else as JSON, nothing as nothing.
fn plain(value: &Value) -> String {
    if *value == Value::Null { String::new() } else { value.to_string() }
}

/// A tool is a name, or an object with one.
pub(super) fn tool_name(tool: &Value) -> &str {
    tool.as_str().or_else(|| tool.get("name").and_then(Value::as_str)).unwrap_or_default()
}

pub(super) fn read(list: &[Value], names: &Names, files: Option<&FilesSettings>) -> Result<Vec<ChatMessage>, Answer> {
    let mut messages: Vec<ChatMessage> = Vec::new();
    let mut results: Vec<ToolResponse> = Vec::new();
    for message in list {
        let role = role(message)?;
        if role == "tool" {
            results.push(result(message, names));
            continue;
        }
        // The results of one reply are one message: Anthropic wants them so.
        if !results.is_empty() {
            messages.push(ChatMessage::tool(MessageContent::from_tool_responses(std::mem::take(&mut results))));
        }
        let content = message.get("content").cloned().unwrap_or_default();
        messages.push(match role {
            "assistant" => assistant(message, &content, names),
            "system" => ChatMessage::system(plain(&content)),
            _ => match parts(&content, files)? {
                Some(parts) => ChatMessage::user(MessageContent::from_parts(parts)),
                None => ChatMessage::user(plain(&content)),
            },
        });
    }
    if !results.is_empty() {
        messages.push(ChatMessage::tool(MessageContent::from_tool_responses(results)));
    }
    Ok(messages)
}

/// Who says a message. A word that is none of these may be a mistake for any of them.
fn role(message: &Value) -> Result<&str, Answer> {
    let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
    if ["system", "user", "assistant", "tool"].contains(&role) {
        return Ok(role);
    }
    let message = format!(
        "`{role}` is no role of a message, which is an object with `content` and a `role`: `system`, `user`, `assistant` or `tool`"
    );
    Err(Answer::impossible("step_failed", message))
}

/// A message of the user, with what is attached to it.
pub(super) fn user(text: String, attached: Vec<ContentPart>) -> ChatMessage {
    ChatMessage::user(MessageContent::from_parts(
        attached.into_iter().chain([ContentPart::Text(text)]).collect::<Vec<_>>(),
    ))
}

fn assistant(message: &Value, content: &Value, names: &Names) -> ChatMessage {
    // What a model thought goes back as it came, because some providers sign it.
    let thoughts = message.get("thoughts").filter(|thoughts| **thoughts != Value::Null);
    let kept = thoughts.and_then(|thoughts| serde_json::to_value(thoughts).ok());
    if let Some(kept) = kept.and_then(|kept| serde_json::from_value::<MessageContent>(kept).ok()) {
        let parts = kept.into_parts().into_iter().map(|part| match part {
            ContentPart::ToolCall(call) => {
                ContentPart::ToolCall(ToolCall { fn_arguments: arguments(call.fn_arguments), ..call })
            }
            other => other,
        });
        return ChatMessage::assistant(MessageContent::from_parts(parts.collect::<Vec<_>>()));
    }
    let text = plain(content);
    let mut parts: Vec<ContentPart> = if text.is_empty() { Vec::new() } else { vec![ContentPart::Text(text)] };
    for call in message.get("toolCalls").and_then(Value::as_list).unwrap_or_default() {
        parts.push(ContentPart::ToolCall(ToolCall {
            call_id: call.get("id").map(plain).unwrap_or_default(),
            fn_name: names.wire(call.get("name").and_then(Value::as_str).unwrap_or_default()).to_owned(),
            fn_arguments: arguments(
                call.get("arguments").and_then(|value| serde_json::to_value(value).ok()).unwrap_or_default(),
            ),
            thought_signatures: None,
        }));
    }
    ChatMessage::assistant(MessageContent::from_parts(parts))
}

/// Providers take back no arguments but objects. What was none did not reach a tool, and the result says why.
fn arguments(said: serde_json::Value) -> serde_json::Value {
    if said.is_object() { said } else { serde_json::Value::Object(serde_json::Map::new()) }
}

fn result(message: &Value, names: &Names) -> ToolResponse {
    let content = match message.get("error").filter(|error| **error != Value::Null) {
        Some(error) => format!("error: {}", plain(error)),
        None => message.get("content").map(plain).unwrap_or_default(),
    };
    let name = message.get("name").and_then(Value::as_str).unwrap_or_default();
    ToolResponse::new(message.get("id").map(plain).unwrap_or_default(), content).with_fn_name(names.wire(name))
}

/// Content that is a list of typed parts; none for any other, which is text or a list of texts and secrets.
fn parts(content: &Value, files: Option<&FilesSettings>) -> Result<Option<Vec<ContentPart>>, Answer> {
    let list = content.as_list().unwrap_or_default();
    let typed = |part: &Value| part.get("type").and_then(Value::as_str).is_some();
    if list.is_empty() || !list.iter().all(typed) {
        return Ok(None);
    }
    let part = |part: &Value| match part.get("type").and_then(Value::as_str).unwrap_or_default() {
        "text" => Ok(ContentPart::Text(part.get("text").map(plain).unwrap_or_default())),
        "image" | "file" => attached::part(part, files),
        other => {
            let message = format!("`{other}` is no type of a part of a message; there are `text`, `image` and `file`");
            Err(Answer::impossible("step_failed", message))
        }
    };
    list.iter().map(part).collect::<Result<_, _>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_wire_does_not_take_are_replaced_and_come_back() {
        let tools = ["search.web", "search-web", "search_web", "x"].map(Value::from);
        let names = Names::of(&tools);
        assert_eq!(names.wire("search.web"), "search_web");
        assert_eq!(names.wire("search_web"), "search_web_2");
        for tool in &tools {
            let own = tool_name(tool);
            assert_eq!(names.own(names.wire(own)), own);
        }
        assert_eq!(names.own("made_up"), "made_up");
        let long = Names::of(&[Value::from("a".repeat(80)), Value::from("a".repeat(90))]);
        assert!(long.0.iter().all(|(wire, _)| wire.len() == LONGEST), "{long:?}");
    }
}
