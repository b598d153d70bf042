//! The wire format of Gemini's `generateContent`.

use serde_json::{Value, json};

use super::{
    Endpoint, Format, Reply, arguments, count, is_declined, list, object, own_content, text, tools, whole_system,
};
use crate::models::attachments::{Attachment, Source};
use crate::models::fault::Fault;
use crate::models::messages::{AssistantMessage, Message, Part, ToolCall, ToolResult};
use crate::models::model_call::ModelCall;
use crate::models::price::Tokens;

pub(super) struct Gemini;

/// The prefix of ids that we assign to calls without one. They are not sent back: Gemini matches such calls by order.
const OWN_ID: &str = "call#";

/// The signature of calls that have none: Gemini 3 rejects the first call of a turn without a signature.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

impl Format for Gemini {
    fn endpoint(&self) -> Endpoint {
        Endpoint {
            name: "gemini",
            base_path: "",
            path: "models/{model}:generateContent",
            stream_path: "models/{model}:streamGenerateContent?alt=sse",
            key_header: ("x-goog-api-key", ""),
            header: None,
        }
    }

    fn body(&self, call: &ModelCall) -> Result<Value, String> {
        let (request, model) = (&call.request, &call.target.model);
        let contents: Vec<_> = call.messages.iter().filter_map(|message| self.message(message, model)).collect();
        let schema = call.schema();
        let config = object([
            ("responseMimeType", json!(schema.as_ref().map(|_| "application/json"))),
            ("responseJsonSchema", json!(schema)),
            ("thinkingConfig", json!(call.effort().map(|effort| thinking(effort, model)))),
            ("temperature", json!(request.temperature)),
            ("topP", json!(request.top_p)),
            ("maxOutputTokens", json!(request.max_tokens)),
            ("seed", json!(request.seed)),
            ("stopSequences", list(request.stop.clone())),
        ]);
        let system = whole_system(call).map(|system| json!({"parts": [{"text": system}]}));
        let tools = list(tools(call, "parametersJsonSchema"));
        let fields = [
            ("systemInstruction", json!(system)),
            ("contents", contents.into()),
            ("tools", if tools.is_null() { tools } else { json!([{"functionDeclarations": tools}]) }),
            ("generationConfig", if config.is_empty() { Value::Null } else { config.into() }),
        ];
        Ok(object(fields).into())
    }

    fn read(&self, body: &Value, reply: &mut Reply) -> Result<(), Fault> {
        read_usage(&body["usageMetadata"], &mut reply.tokens);
        if let Some(reason) = text(body, "/promptFeedback/blockReason") {
            reply.blocked = Some(reason.to_owned());
            reply.refusal.extend(text(body, "/promptFeedback/blockReasonMessage"));
        }
        let candidate = &body["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            read_part(part, reply)?;
        }
        if let Some(reason) = text(candidate, "/finishReason") {
            // It does not mark the end, because some models repeat it in every event.
            reply.stop_reason = Some(reason.to_owned());
            reply.refusal.extend(text(candidate, "/finishMessage").filter(|_| is_declined(reason)));
        }
        Ok(())
    }
}

impl Gemini {
    /// A message on the wire; `None` for system messages, which are sent separately, and for empty ones.
    fn message(&self, message: &Message, model: &str) -> Option<Value> {
        let (role, parts): (_, Vec<Value>) = match message {
            Message::System(_) => return None,
            Message::User(parts) => ("user", parts.iter().map(part).collect()),
            Message::Assistant(message) => ("model", self.assistant(message, model)),
            Message::Results(results) => ("user", results.iter().map(result).collect()),
        };
        (!parts.is_empty()).then(|| json!({"role": role, "parts": parts}))
    }

    fn assistant(&self, message: &AssistantMessage, model: &str) -> Vec<Value> {
        if let Some(parts) = own_content(message, self) {
            return parts.clone();
        }
        let text = (!message.text.is_empty()).then(|| json!({"text": message.text}));
        let mut signature = model.contains("gemini-3").then_some(NO_SIGNATURE);
        let call = |call: &ToolCall| {
            let fields =
                [("id", own_id(&call.id)), ("name", json!(call.name)), ("args", arguments(call.arguments.clone()))];
            object([("functionCall", object(fields).into()), ("thoughtSignature", json!(signature.take()))]).into()
        };
        text.into_iter().chain(message.calls.iter().map(call)).collect()
    }
}

/// The id that Gemini assigned to a call; null if we assigned it.
fn own_id(id: &str) -> Value {
    if id.is_empty() || id.starts_with(OWN_ID) { Value::Null } else { json!(id) }
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({"text": text}),
        Part::File(Attachment { mime, source: Source::Data(data), .. }) => {
            json!({"inlineData": {"mimeType": mime, "data": data}})
        }
        Part::File(Attachment { mime, source: Source::Url(url) | Source::Stored(url), .. }) => {
            json!({"fileData": {"mimeType": mime, "fileUri": url}})
        }
    }
}

fn result(result: &ToolResult) -> Value {
    let fields =
        [("id", own_id(&result.id)), ("name", json!(result.name)), ("response", json!({"content": result.content}))];
    json!({"functionResponse": object(fields)})
}

/// Newer models have a level, others a token budget. Some models cannot turn thinking off; they get the lowest value.
fn thinking(effort: &str, model: &str) -> Value {
    let (level, budget) = match effort {
        "none" => ("MINIMAL", if model.contains("pro") { 128 } else { 0 }),
        "minimal" => ("MINIMAL", 1_000),
        "low" => ("LOW", 1_000),
        "medium" => ("MEDIUM", 8_000),
        _ => ("HIGH", 24_000),
    };
    let has_levels = ["gemini-3", "gemma-4"].iter().any(|name| model.contains(name));
    if has_levels { json!({"thinkingLevel": level}) } else { json!({"thinkingBudget": budget}) }
}

fn read_part(part: &Value, reply: &mut Reply) -> Result<(), Fault> {
    if part["thought"] == true {
        return Ok(());
    }
    if let Some(called) = part.get("functionCall") {
        let name = called["name"].as_str().unwrap_or_default();
        let id = text(called, "/id").map_or_else(|| format!("{OWN_ID}{name}#{}", reply.calls.len()), str::to_owned);
        // Arguments that are not an object are passed on, so that the agent rejects the call.
        let arguments = called.get("args").cloned().unwrap_or_else(|| json!({}));
        reply.add_call(ToolCall { id, name: name.to_owned(), arguments, ..ToolCall::default() })?;
    }
    let words = text(part, "/text");
    reply.text.extend(words);
    let is_signed = part.get("thoughtSignature").is_some();
    reply.has_thoughts |= is_signed;
    let before = reply.content.last_mut().filter(|before| before.get("thoughtSignature").is_none() && !is_signed);
    match (words, before.and_then(|before| before.get_mut("text"))) {
        (Some(words), Some(Value::String(before))) => before.push_str(words),
        _ => reply.content.push(part.clone()),
    }
    Ok(())
}

/// Reads usage. The API counts the input of built-in tools and thoughts separately.
fn read_usage(usage: &Value, tokens: &mut Tokens) {
    let input = count(usage, &["promptTokenCount", "toolUsePromptTokenCount"]);
    let output = count(usage, &["candidatesTokenCount", "thoughtsTokenCount"]);
    tokens.update(input, count(usage, &["cachedContentTokenCount"]), output);
}
