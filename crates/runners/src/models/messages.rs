//! Parses the messages of a conversation, as runs store them.
//!
//! A message is `{role, content}`. Content is text, or a list of `{type: text, text}` and of `{type: image | file, mime, name}`
//! with `data`, `url` or `storage_key`. One of an assistant may have `toolCalls` and `thoughts`, one of a tool has the `id` and `name`
//! of its call, and `content` or `error`.

use branchpoint_expr::Value;
use serde_json::Value as Json;

use super::attachments::Attachment;
use crate::runner::Answer;
use crate::shorten::shortened;

/// A message.
#[derive(Clone, Debug)]
pub(super) enum Message {
    System(String),
    User(Vec<Part>),
    Assistant(AssistantMessage),
    /// The results of the tools that one reply called.
    Results(Vec<ToolResult>),
}

/// A part of a message of the user.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Text(String),
    File(Attachment),
}

/// An earlier reply of the model.
#[derive(Clone, Debug, Default)]
pub(super) struct AssistantMessage {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    /// The whole reply in the format of its provider: see [`super::formats::Reply::thoughts`].
    pub(super) thoughts: Option<Json>,
}

/// A call of a tool.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolCall {
    /// Its number in the stream, where the wire format has one.
    pub(super) index: u64,
    pub(super) id: String,
    /// The name on the wire.
    pub(super) name: String,
    /// An object, or its text, which may be invalid.
    pub(super) arguments: Json,
}

/// The result of a tool, or its error.
#[derive(Clone, Debug)]
pub(super) struct ToolResult {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) content: String,
}

/// Maps names of tools on the wire to the names that the run uses.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(Vec<(String, String)>);

/// The longest name that all providers accept. They accept letters, digits, `_` and `-`.
const LONGEST: usize = 64;

impl Names {
    pub(super) fn of(tools: &[Value]) -> Self {
        let mut names = Self::default();
        for tool in tools {
            let own = tool_name(tool);
            let allowed = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
            let plain: String = own.chars().map(allowed).take(LONGEST).collect();
            let mut wire = plain.clone();
            let mut count = 2;
            while names.0.iter().any(|(used, _)| *used == wire) {
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

/// A value as text: text unchanged, null as an empty text, anything else as JSON.
fn plain(value: &Value) -> String {
    if *value == Value::Null { String::new() } else { value.to_string() }
}

/// The name of a tool, which is given as a name or as an object with `name`.
pub(super) fn tool_name(tool: &Value) -> &str {
    tool.as_str().or_else(|| tool.get("name").and_then(Value::as_str)).unwrap_or_default()
}

pub(super) fn read(list: &[Value], names: &Names) -> Result<Vec<Message>, Answer> {
    let mut messages: Vec<Message> = Vec::new();
    for message in list {
        let content = message.get("content").cloned().unwrap_or_default();
        let read = match role(message)? {
            "tool" => {
                // Most formats require the results of one reply in one message.
                if let Some(Message::Results(results)) = messages.last_mut() {
                    results.push(result(message, names));
                    continue;
                }
                Message::Results(vec![result(message, names)])
            }
            "assistant" => Message::Assistant(assistant(message, &content, names)),
            "system" => Message::System(plain(&content)),
            _ => Message::User(parts(&content)?),
        };
        messages.push(read);
    }
    Ok(messages)
}

/// The role of a message. An unknown role is an error.
fn role(message: &Value) -> Result<&str, Answer> {
    let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
    if ["system", "user", "assistant", "tool"].contains(&role) {
        return Ok(role);
    }
    let roles = "`system`, `user`, `assistant` or `tool`";
    let message = format!(
        "a message must be an object with `content` and the role {roles}, but its role is `{}`",
        shortened(role)
    );
    Err(Answer::impossible("step_failed", message))
}

fn assistant(message: &Value, content: &Value, names: &Names) -> AssistantMessage {
    let json = |value: &Value| serde_json::to_value(value).unwrap_or_default();
    let call = |call: &Value| ToolCall {
        id: call.get("id").map(plain).unwrap_or_default(),
        name: names.wire(call.get("name").and_then(Value::as_str).unwrap_or_default()).to_owned(),
        arguments: call.get("arguments").map(json).unwrap_or_default(),
        index: 0,
    };
    AssistantMessage {
        text: plain(content),
        calls: message.get("toolCalls").and_then(Value::as_list).unwrap_or_default().iter().map(call).collect(),
        thoughts: message.get("thoughts").map(json),
    }
}

fn result(message: &Value, names: &Names) -> ToolResult {
    let content = match message.get("error").filter(|error| **error != Value::Null) {
        Some(error) => format!("error: {}", plain(error)),
        None => message.get("content").map(plain).unwrap_or_default(),
    };
    let name = message.get("name").and_then(Value::as_str).unwrap_or_default();
    ToolResult { id: message.get("id").map(plain).unwrap_or_default(), name: names.wire(name).to_owned(), content }
}

/// The parts of a user's message. Content that is not a list of typed parts becomes text.
fn parts(content: &Value) -> Result<Vec<Part>, Answer> {
    let list = content.as_list().unwrap_or_default();
    let is_typed = |part: &Value| part.get("type").and_then(Value::as_str).is_some();
    if list.is_empty() || !list.iter().all(is_typed) {
        return Ok(vec![Part::Text(plain(content))]);
    }
    let part = |part: &Value| match part.get("type").and_then(Value::as_str).unwrap_or_default() {
        "text" => Ok(Part::Text(part.get("text").map(plain).unwrap_or_default())),
        "image" | "file" => Attachment::read(part).map(Part::File),
        other => {
            let other = shortened(other);
            let message = format!("`{other}` is not a type of message part; use `text`, `image` or `file`");
            Err(Answer::impossible("step_failed", message))
        }
    };
    list.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_providers_reject_are_replaced_and_mapped_back() {
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
