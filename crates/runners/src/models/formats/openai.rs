//! The wire format of OpenAI's chat completions and compatible servers.

use serde_json::{Value, json};

use super::{
    Endpoint, Format, Reply, append, arguments, count, list, object, own_content, strict, text, tools, user_content,
};
use crate::models::attachments::{Attachment, Source};
use crate::models::fault::Fault;
use crate::models::messages::{AssistantMessage, Message, ToolCall};
use crate::models::model_call::{ModelCall, Shape};
use crate::models::price::Tokens;

/// A variant of chat completions.
pub(super) struct OpenAi {
    base_path: &'static str,
    seed_field: &'static str,
    /// Whether `thinking` turns thinking on and off.
    has_thinking_switch: bool,
    /// Whether efforts other than `none`, `low`, `medium` and `high` are supported.
    has_all_efforts: bool,
}

pub(super) const OPENAI: OpenAi =
    OpenAi { base_path: "", seed_field: "seed", has_thinking_switch: false, has_all_efforts: true };
pub(super) const MISTRAL: OpenAi = OpenAi { seed_field: "random_seed", ..OPENAI };
pub(super) const DEEPSEEK: OpenAi = OpenAi { has_thinking_switch: true, ..OPENAI };
pub(super) const OLLAMA: OpenAi = OpenAi { base_path: "/v1", has_all_efforts: false, ..OPENAI };

impl Format for OpenAi {
    fn endpoint(&self) -> Endpoint {
        Endpoint {
            name: "openai",
            base_path: self.base_path,
            path: "chat/completions",
            stream_path: "chat/completions",
            key_header: ("authorization", "Bearer "),
            header: None,
        }
    }

    fn body(&self, call: &ModelCall) -> Result<Value, String> {
        let (request, effort) = (&call.request, call.effort());
        let system = (!call.system.is_empty()).then(|| json!({"role": "system", "content": call.system}));
        let mut messages: Vec<Value> = system.into_iter().collect();
        for message in &call.messages {
            self.write(message, &mut messages)?;
        }
        let tools = tools(call, "parameters").into_iter();
        let tools: Vec<_> = tools.map(|tool| json!({"type": "function", "function": tool})).collect();
        let thinking = effort.filter(|_| self.has_thinking_switch);
        let thinking = thinking.map(|effort| json!({"type": if effort == "none" { "disabled" } else { "enabled" }}));
        let fields = [
            ("model", json!(call.target.model)),
            ("stream", json!(call.stream)),
            ("stream_options", if call.stream { json!({"include_usage": true}) } else { Value::Null }),
            ("messages", messages.into()),
            ("tools", list(tools)),
            ("response_format", response_format(call)),
            ("reasoning_effort", json!(effort.and_then(|effort| self.effort(effort)))),
            ("thinking", json!(thinking)),
            ("temperature", json!(request.temperature)),
            ("top_p", json!(request.top_p)),
            (max_tokens_field(&call.target.model), json!(request.max_tokens)),
            (self.seed_field, json!(request.seed)),
            ("stop", list(request.stop.clone())),
        ];
        Ok(object(fields).into())
    }

    fn read(&self, body: &Value, reply: &mut Reply) -> Result<(), Fault> {
        for usage in [&body["usage"], &body["x_groq"]["usage"]] {
            read_usage(usage, &mut reply.tokens);
        }
        let choice = &body["choices"][0];
        if let Some(reason) = text(choice, "/finish_reason") {
            reply.stop_reason = Some(reason.to_owned());
        }
        let message = choice.get("delta").filter(|delta| delta.is_object()).unwrap_or(&choice["message"]);
        read_text(&message["content"], &mut reply.text);
        reply.refusal.extend(text(message, "/refusal"));
        read_thoughts(message, reply);
        for (at, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
            read_call(at, call, reply)?;
        }
        Ok(())
    }
}

impl OpenAi {
    fn write(&self, message: &Message, messages: &mut Vec<Value>) -> Result<(), String> {
        match message {
            Message::System(text) => messages.push(json!({"role": "system", "content": text})),
            Message::User(parts) => messages.push(json!({"role": "user", "content": user_content(parts, attachment)?})),
            Message::Assistant(message) => messages.push(self.assistant(message)),
            Message::Results(results) => {
                let results = results.iter();
                messages.extend(
                    results.map(|result| json!({"role": "tool", "tool_call_id": result.id, "content": result.content})),
                );
            }
        }
        Ok(())
    }

    fn assistant(&self, message: &AssistantMessage) -> Value {
        let call = |call: &ToolCall| {
            json!({"type": "function", "id": call.id,
                "function": {"name": call.name, "arguments": arguments(call.arguments.clone()).to_string()}})
        };
        let calls: Vec<Value> = message.calls.iter().map(call).collect();
        let mut fields =
            object([("role", json!("assistant")), ("content", json!(message.text)), ("tool_calls", list(calls))]);
        for thoughts in own_content(message, self).into_iter().flatten().filter_map(Value::as_object) {
            let thoughts = thoughts.iter().filter(|(name, _)| name.starts_with("reasoning_"));
            fields.extend(thoughts.map(|(name, thought)| (name.clone(), thought.clone())));
        }
        fields.into()
    }

    fn effort<'e>(&self, effort: &'e str) -> Option<&'e str> {
        match effort {
            "none" if self.has_thinking_switch => None,
            "minimal" if !self.has_all_efforts => Some("low"),
            "xhigh" | "max" if !self.has_all_efforts => Some("high"),
            effort => Some(effort),
        }
    }
}

/// The field for the limit of tokens, which newer models of OpenAI have renamed.
fn max_tokens_field(model: &str) -> &'static str {
    let is_newer = ["gpt-5", "gpt-6", "o1", "o3", "o4"].iter().any(|start| model.starts_with(start));
    if is_newer { "max_completion_tokens" } else { "max_tokens" }
}

fn response_format(call: &ModelCall) -> Value {
    match call.schema() {
        Some(schema) => {
            let strict = strict(&schema, true);
            let format = json!({"name": "answer", "strict": strict.is_some(), "schema": strict.unwrap_or(schema)});
            json!({"type": "json_schema", "json_schema": format})
        }
        None if call.sends_shape && call.shape == Shape::Json => json!({"type": "json_object"}),
        None => Value::Null,
    }
}

fn attachment(file: &Attachment) -> Result<Value, String> {
    Ok(match (file.kind(), &file.source) {
        ("image", _) => json!({"type": "image_url", "image_url": {"url": file.url()}}),
        ("video", _) => json!({"type": "video_url", "video_url": {"url": file.url()}}),
        (_, Source::Url(_) | Source::Stored(_)) => return Err(file.unsupported()),
        ("audio", Source::Data(data)) => {
            let format = file.mime.rsplit('/').next().unwrap_or_default();
            let format = if format == "mpeg" { "mp3" } else { format };
            json!({"type": "input_audio", "input_audio": {"data": data, "format": format}})
        }
        (_, Source::Data(_)) => {
            let name = file.name.as_deref().unwrap_or("file");
            json!({"type": "file", "file": {"filename": name, "file_data": file.url()}})
        }
    })
}

/// Adds the text of content, which is text or a list of parts. Parts with thoughts are skipped.
fn read_text(content: &Value, into: &mut String) {
    let parts = content.as_array().into_iter().flatten();
    let texts = parts.filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str());
    into.extend(content.as_str().into_iter().chain(texts));
}

/// Stores thoughts, to be sent back with the message: some are signed, and the thoughts before tool calls must be sent with the results.
fn read_thoughts(message: &Value, reply: &mut Reply) {
    for field in ["reasoning_content", "reasoning_details"] {
        let piece = &message[field];
        if piece.as_str().is_none_or(str::is_empty) && !piece.is_array() {
            continue;
        }
        reply.has_thoughts |= piece.is_array();
        if reply.content.is_empty() {
            reply.content.push(json!({}));
        }
        append(&mut reply.content[0][field], piece);
    }
}

/// Reads a tool call or a delta of one. The first delta has the id and the name, all have the index.
fn read_call(at: usize, piece: &Value, reply: &mut Reply) -> Result<(), Fault> {
    reply.has_thoughts |= !reply.content.is_empty();
    let index = piece["index"].as_u64().unwrap_or(at as u64);
    let (id, name) = (text(piece, "/id"), text(piece, "/function/name"));
    let is_known = |call: &ToolCall| call.index == index && id.is_none_or(|id| id == call.id);
    let call = if let Some(known) = reply.calls.iter().rposition(is_known) {
        &mut reply.calls[known]
    } else {
        let id = id.map_or_else(|| format!("call_{index}"), str::to_owned);
        reply.add_call(ToolCall { index, id, ..ToolCall::default() })?
    };
    if let Some(name) = name {
        name.clone_into(&mut call.name);
    }
    append(&mut call.arguments, &piece["function"]["arguments"]);
    Ok(())
}

fn read_usage(usage: &Value, tokens: &mut Tokens) {
    let (input, output) = (count(usage, &["prompt_tokens"]), count(usage, &["completion_tokens"]));
    // Some servers count thoughts only in the total.
    let rest = count(usage, &["total_tokens"]).zip(input).map(|(total, input)| total.saturating_sub(input));
    tokens.update(input, count(&usage["prompt_tokens_details"], &["cached_tokens"]), output.max(rest));
}
