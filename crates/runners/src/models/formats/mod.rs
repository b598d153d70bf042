//! The wire formats of providers: OpenAI's chat completions, Anthropic's messages and Gemini's `generateContent`. Each writes the body of
//! a request and reads a response, whole or event by event, into a [`Reply`].

mod anthropic;
mod gemini;
mod openai;
mod strict_schema;

pub(super) use strict_schema::strict;

use serde_json::{Map, Value, json};

use super::attachments::Attachment;
use super::fault::Fault;
use super::json_limit::has_too_many_values;
use super::messages::{AssistantMessage, Message, Part, ToolCall};
use super::model_call::ModelCall;
use super::price::Tokens;
use super::tools::Tool;

/// The most tool calls of one reply.
const MAX_CALLS: usize = 1_000;

/// A wire format.
pub(super) trait Format: Sync {
    fn endpoint(&self) -> Endpoint;

    /// The body of a request. The error names an attachment that the format does not support.
    fn body(&self, call: &ModelCall) -> Result<Value, String>;

    /// Reads a whole response or an event of a stream.
    fn read(&self, body: &Value, reply: &mut Reply) -> Result<(), Fault>;
}

/// The paths and headers of a wire format.
#[derive(Clone, Copy)]
pub(super) struct Endpoint {
    /// The name of the format. Runs store content that only this format can send back under this name.
    pub(super) name: &'static str,
    /// The required end of the base path; empty if there is none.
    pub(super) base_path: &'static str,
    /// The paths below the address, for a whole response and for a stream. The model replaces `{model}`.
    pub(super) path: &'static str,
    pub(super) stream_path: &'static str,
    /// The header of the API key, and the prefix of its value.
    pub(super) key_header: (&'static str, &'static str),
    pub(super) header: Option<(&'static str, &'static str)>,
}

/// The format for a `protocol` of the settings, which may also be the name of a compatible provider.
pub(super) fn named(protocol: &str) -> Option<&'static dyn Format> {
    Some(match protocol {
        "anthropic" | "minimax" => &anthropic::Anthropic,
        "gemini" => &gemini::Gemini,
        "mistral" => &openai::MISTRAL,
        "deepseek" => &openai::DEEPSEEK,
        "ollama" | "ollama_cloud" => &openai::OLLAMA,
        "openai" | "aihubmix" | "aliyun" | "api_route" | "atlascloud" | "baidu" | "bigmodel" | "cloudgpu"
        | "fireworks" | "github_copilot" | "groq" | "heabsy" | "kimi" | "mimo" | "moonshot" | "nebius" | "omlx"
        | "open_router" | "openrouter" | "opencode_go" | "qwen_cloud" | "requesty" | "runcrate" | "together"
        | "xai" => &openai::OPENAI,
        _ => return None,
    })
}

/// A reply of a model, as far as it was received.
#[derive(Debug, Default)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) tokens: Tokens,
    /// Why it ended, as the provider calls it.
    pub(super) stop_reason: Option<String>,
    /// Whether the provider has marked its end.
    pub(super) is_complete: bool,
    /// The explanation of a model or provider that declined to reply.
    refusal: String,
    /// Why the provider blocked the prompt, as the provider calls it.
    blocked: Option<String>,
    /// The content in the format of the provider, if it must be sent back.
    content: Vec<Value>,
    /// Whether the content must be sent back: it is signed, or has thoughts.
    has_thoughts: bool,
}

impl Reply {
    pub(super) fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.calls.is_empty()
    }

    /// The stop reason of a reply that was truncated at the limit of tokens.
    pub(super) fn truncated(&self) -> Option<&str> {
        const WORDS: [&str; 6] =
            ["length", "max_tokens", "MAX_TOKENS", "incomplete", "model_context_window_exceeded", "model_length"];
        self.stop_reason.as_deref().filter(|reason| WORDS.contains(reason))
    }

    /// The failure of a reply that the model or its provider declined.
    pub(super) fn declined(&self) -> Option<Fault> {
        let word = self.blocked.as_deref().or(self.stop_reason.as_deref().filter(|reason| is_declined(reason)));
        if word.is_none() && self.refusal.is_empty() {
            return None;
        }
        let words = if self.refusal.is_empty() { &self.text } else { &self.refusal };
        Some(Fault::declined(word.unwrap_or("refusal"), words))
    }

    /// The content to send back with the next request, under the name of its format.
    pub(super) fn thoughts(&self, format: &dyn Format) -> Option<Value> {
        self.has_thoughts.then(|| json!({"format": format.endpoint().name, "content": self.content}))
    }

    /// Adds a call, whose arguments may follow.
    fn add_call(&mut self, call: ToolCall) -> Result<&mut ToolCall, Fault> {
        if self.calls.len() == MAX_CALLS {
            return Err(Fault::too_many_calls(MAX_CALLS));
        }
        self.calls.push(call);
        Ok(self.calls.last_mut().expect("one was added"))
    }
}

/// Whether a stop reason means that a filter or the model itself withheld the reply.
fn is_declined(reason: &str) -> bool {
    const WORDS: &str = "content_filter refusal SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII LANGUAGE IMAGE_SAFETY \
                         IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION ERROR_TOXIC";
    WORDS.split(' ').any(|word| word == reason)
}

/// The stored content of an earlier reply, if it was in this format.
fn own_content<'m>(message: &'m AssistantMessage, format: &dyn Format) -> Option<&'m Vec<Value>> {
    let thoughts = message.thoughts.as_ref().filter(|thoughts| thoughts["format"] == format.endpoint().name)?;
    thoughts["content"].as_array()
}

/// The system prompt and all system messages as one text, for formats with a single system text.
fn whole_system(call: &ModelCall) -> Option<String> {
    let messages = call.messages.iter().filter_map(|message| match message {
        Message::System(text) => Some(text),
        _ => None,
    });
    let texts = std::iter::once(&call.system).chain(messages).map(String::as_str);
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// An object of the fields that have a value.
pub(super) fn object<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.to_owned(), value)).collect()
}

/// A list, or nothing instead of an empty one.
fn list<T: Into<Value>>(values: Vec<T>) -> Value {
    if values.is_empty() { Value::Null } else { values.into() }
}

/// The tools of a request, with their schemas under a name.
fn tools(call: &ModelCall, schema: &str) -> Vec<Value> {
    let tool = |tool: &Tool| {
        let (name, description) = (json!(tool.name), json!(tool.description));
        object([("name", name), ("description", description), (schema, tool.parameters.clone())]).into()
    };
    call.tools.iter().map(tool).collect()
}

/// The content of a message of the user: text, or a list of parts.
fn user_content(parts: &[Part], attachment: fn(&Attachment) -> Result<Value, String>) -> Result<Value, String> {
    if let [Part::Text(text)] = parts {
        return Ok(json!(text));
    }
    let part = |part: &Part| match part {
        Part::Text(text) => Ok(json!({"type": "text", "text": text})),
        Part::File(file) => attachment(file),
    };
    parts.iter().map(part).collect()
}

/// The text at a JSON pointer of a response, if it is not empty.
fn text<'b>(body: &'b Value, place: &str) -> Option<&'b str> {
    body.pointer(place)?.as_str().filter(|text| !text.is_empty())
}

/// The sum of the counts that a provider reports; none if it reports none of them.
fn count(usage: &Value, names: &[&str]) -> Option<u64> {
    names.iter().filter_map(|name| usage[*name].as_u64()).reduce(u64::saturating_add)
}

/// Appends a piece to a text or a list. Other values are replaced.
fn append(value: &mut Value, piece: &Value) {
    match (value, piece) {
        (_, Value::Null) => {}
        (Value::String(text), Value::String(piece)) => text.push_str(piece),
        (Value::Array(list), Value::Array(piece)) => list.extend_from_slice(piece),
        (value, piece) => *value = piece.clone(),
    }
}

/// The JSON value of a text, if it is valid and not too large.
pub(super) fn parsed(text: &str) -> Option<Value> {
    if has_too_many_values(text.as_bytes()) { None } else { serde_json::from_str(text).ok() }
}

/// The arguments of an earlier call as an object, as providers require. Invalid arguments become an empty object: the call was rejected,
/// and its result explains why.
fn arguments(value: Value) -> Value {
    let value = match value {
        Value::String(text) => parsed(&text).unwrap_or_default(),
        value => value,
    };
    if value.is_object() { value } else { json!({}) }
}
