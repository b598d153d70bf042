//! The wire format of Anthropic's Messages API.

use std::num::NonZeroU32;

use serde_json::{Value, json};

use super::{
    Endpoint, Format, Reply, append, arguments, count, list, object, own_content, strict, text, tools, user_content,
    whole_system,
};
use crate::models::attachments::{Attachment, Source};
use crate::models::fault::Fault;
use crate::models::messages::{AssistantMessage, Message, ToolCall};
use crate::models::model_call::ModelCall;
use crate::models::price::Tokens;

pub(super) struct Anthropic;

/// Token budgets for thinking, for the efforts high, medium and low.
const BUDGETS: [u32; 3] = [24_000, 8_000, 1_024];

impl Format for Anthropic {
    fn endpoint(&self) -> Endpoint {
        Endpoint {
            name: "anthropic",
            base_path: "/v1",
            path: "messages",
            stream_path: "messages",
            key_header: ("x-api-key", ""),
            header: Some(("anthropic-version", "2023-06-01")),
        }
    }

    fn body(&self, call: &ModelCall) -> Result<Value, String> {
        let messages = call.messages.iter().filter_map(|message| self.message(message).transpose());
        let messages = messages.collect::<Result<Vec<_>, _>>()?;
        let (request, name) = (&call.request, &call.target.model);
        let model = Model::parse(name);
        let max_tokens = request.max_tokens.map_or_else(|| model.max_tokens(name), NonZeroU32::get);
        let (thinking, effort) = call.effort().map(|effort| model.thinking(effort, max_tokens)).unwrap_or_default();
        let schema = call.schema().and_then(|schema| strict(&schema, false));
        let format = schema.map(|schema| json!({"type": "json_schema", "schema": schema}));
        let output = object([("effort", effort), ("format", json!(format))]);
        let fields = [
            ("model", json!(name)),
            ("stream", json!(call.stream)),
            ("system", json!(whole_system(call))),
            ("messages", messages.into()),
            ("tools", list(tools(call, "input_schema"))),
            ("thinking", thinking),
            ("output_config", if output.is_empty() { Value::Null } else { output.into() }),
            ("temperature", json!(request.temperature)),
            ("top_p", json!(request.top_p)),
            ("max_tokens", json!(max_tokens)),
            ("stop_sequences", list(request.stop.clone())),
        ];
        Ok(object(fields).into())
    }

    fn read(&self, body: &Value, reply: &mut Reply) -> Result<(), Fault> {
        match body["type"].as_str().unwrap_or("message") {
            "message" => {
                read_usage(&body["usage"], &mut reply.tokens);
                for block in body["content"].as_array().into_iter().flatten() {
                    start_block(block, reply)?;
                }
                read_end(body, reply);
                reply.is_complete = true;
            }
            "message_start" => read_usage(&body["message"]["usage"], &mut reply.tokens),
            "content_block_start" => start_block(&body["content_block"], reply)?,
            "content_block_delta" => read_delta(&body["delta"], reply),
            "message_delta" => {
                read_usage(&body["usage"], &mut reply.tokens);
                read_end(&body["delta"], reply);
            }
            "message_stop" => reply.is_complete = true,
            _ => {}
        }
        Ok(())
    }
}

impl Anthropic {
    /// A message on the wire; `None` for system messages, which are sent separately, and for empty ones, which would be rejected.
    fn message(&self, message: &Message) -> Result<Option<Value>, String> {
        let (role, content) = match message {
            Message::System(_) => return Ok(None),
            Message::User(parts) => ("user", user_content(parts, attachment)?),
            Message::Assistant(message) => ("assistant", self.assistant(message)),
            Message::Results(results) => {
                let results = results.iter();
                let result = results
                    .map(|result| json!({"type": "tool_result", "tool_use_id": result.id, "content": result.content}));
                ("user", result.collect())
            }
        };
        let is_empty = content.as_array().is_some_and(Vec::is_empty);
        Ok((!is_empty).then(|| json!({"role": role, "content": content})))
    }

    fn assistant(&self, message: &AssistantMessage) -> Value {
        if let Some(content) = own_content(message, self) {
            return json!(content);
        }
        let text = (!message.text.is_empty()).then(|| json!({"type": "text", "text": message.text}));
        let call = |call: &ToolCall| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments(call.arguments.clone())});
        text.into_iter().chain(message.calls.iter().map(call)).collect()
    }
}

fn attachment(file: &Attachment) -> Result<Value, String> {
    let kind = match file.kind() {
        "image" => "image",
        "audio" | "video" => return Err(file.unsupported()),
        _ => "document",
    };
    let source = match &file.source {
        Source::Data(data) => json!({"type": "base64", "media_type": file.mime, "data": data}),
        Source::Url(url) => json!({"type": "url", "url": url}),
        Source::Stored(_) => return Err(file.unsupported()),
    };
    Ok(json!({"type": kind, "source": source}))
}

/// The family and version of a model, parsed from its name.
struct Model<'m> {
    family: &'m str,
    version: (u32, u32),
}

impl<'m> Model<'m> {
    /// Parses `…opus-4-6…`. Older models have the version before the family; their version is 0 here.
    fn parse(name: &'m str) -> Self {
        let mut parts =
            name.split('-').skip_while(|part| !["opus", "sonnet", "haiku", "fable", "mythos"].contains(part));
        let family = parts.next().unwrap_or_default();
        // A longer number is a date.
        let mut number = || parts.next().filter(|part| part.len() < 3).and_then(|part| part.parse().ok());
        let major = number();
        Self { family, version: (major.unwrap_or_default(), major.and_then(|_| number()).unwrap_or_default()) }
    }

    fn is_newest(&self) -> bool {
        ["fable", "mythos"].contains(&self.family) || self.version >= (5, 0)
    }

    /// Whether the model chooses its token budget itself.
    fn is_adaptive(&self) -> bool {
        self.is_newest() || self.version >= (4, 6) && ["opus", "sonnet"].contains(&self.family)
    }

    /// The fields `thinking` and `effort`. Models without efforts get a token budget, which must be less than the tokens of the reply: a
    /// larger effort is lowered, or left out.
    fn thinking(&self, effort: &str, max_tokens: u32) -> (Value, Value) {
        if effort == "none" {
            let is_on = self.version.0 >= 5 && self.family != "fable" && self.family != "mythos";
            return (if is_on { json!({"type": "disabled"}) } else { Value::Null }, Value::Null);
        }
        if self.is_adaptive() || self.family == "opus" && self.version == (4, 5) {
            let word = match effort {
                "minimal" => "low",
                "xhigh" if !self.is_newest() && self.version < (4, 7) => "high",
                "max" if !self.is_adaptive() => "high",
                effort => effort,
            };
            let thinking = if self.is_adaptive() { json!({"type": "adaptive"}) } else { Value::Null };
            return (thinking, json!(word));
        }
        let most = match effort {
            "minimal" | "low" => BUDGETS[2],
            "medium" => BUDGETS[1],
            _ => BUDGETS[0],
        };
        let budget = BUDGETS.into_iter().find(|budget| *budget <= most && *budget < max_tokens);
        (budget.map_or(Value::Null, |budget| json!({"type": "enabled", "budget_tokens": budget})), Value::Null)
    }

    /// The most tokens of a reply. The API requires the field.
    fn max_tokens(&self, name: &str) -> u32 {
        match (self.family, self.version) {
            ("fable" | "mythos", _) | ("opus", (4, 8..)) | ("opus" | "haiku", (5.., _)) => 128_000,
            ("opus", (4, ..5)) => 32_000,
            _ if name.contains("claude-3-5") => 8_192,
            _ if name.contains("3-opus") || name.contains("3-haiku") => 4_096,
            _ => 64_000,
        }
    }
}

fn start_block(block: &Value, reply: &mut Reply) -> Result<(), Fault> {
    reply.content.push(block.clone());
    match block["type"].as_str().unwrap_or_default() {
        "text" => reply.text.extend(text(block, "/text")),
        "tool_use" => {
            let field = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
            let mut call = ToolCall { id: field("id"), name: field("name"), ..ToolCall::default() };
            // In a stream, the arguments follow as text.
            if block["input"].as_object().is_some_and(|input| !input.is_empty()) {
                call.arguments = block["input"].clone();
            }
            reply.add_call(call)?;
        }
        _ => reply.has_thoughts = true,
    }
    Ok(())
}

/// Adds a delta to the last block. Blocks are sent one after the other.
fn read_delta(delta: &Value, reply: &mut Reply) {
    reply.text.extend(text(delta, "/text"));
    if let Some(call) = reply.calls.last_mut() {
        append(&mut call.arguments, &delta["partial_json"]);
    }
    let Some(block) = reply.content.last_mut().filter(|block| block.is_object()) else { return };
    for field in ["text", "thinking", "signature"] {
        if delta[field].is_string() {
            append(&mut block[field], &delta[field]);
        }
    }
}

/// Reads the stop reason, and the explanation if the model declined. Blocks of tool calls get their arguments.
fn read_end(fields: &Value, reply: &mut Reply) {
    if let Some(reason) = text(fields, "/stop_reason") {
        reply.stop_reason = Some(reason.to_owned());
    }
    reply.refusal.extend(text(fields, "/stop_details/explanation"));
    let blocks = reply.content.iter_mut().filter(|block| block["type"] == "tool_use");
    for (block, call) in blocks.filter(|_| reply.has_thoughts).zip(&reply.calls) {
        block["input"] = arguments(call.arguments.clone());
    }
}

/// Reads usage. The API counts input from and to the cache separately.
fn read_usage(usage: &Value, tokens: &mut Tokens) {
    let cached = count(usage, &["cache_read_input_tokens"]);
    let input = count(usage, &["input_tokens"]).map(|input| {
        input.saturating_add(
            count(usage, &["cache_read_input_tokens", "cache_creation_input_tokens"]).unwrap_or_default(),
        )
    });
    tokens.update(input, cached, count(usage, &["output_tokens"]));
}
