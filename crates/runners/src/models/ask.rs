//! What a call asks a model: the messages, the tools, the shape of the answer and the sampling options.

use std::num::NonZeroU32;

use branchpoint_core::effect::{Format, ModelRequest, Request, Task};
use branchpoint_expr::Value;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatResponseFormat, JsonSpec, MessageContent, ReasoningEffort,
};
use serde_json::json;

use super::attached;
use super::messages::{self, Names};
use super::providers::{COMPATIBLE, Lack, Target};
use super::{Models, tools};
use crate::judge::schema;
use crate::runner::{Answer, Call};
use crate::secrets::Secrets;
use crate::tools::FilesSettings;

/// A question, ready to be sent.
pub(super) struct Ask {
    pub(super) target: Target,
    pub(super) request: ChatRequest,
    pub(super) options: ChatOptions,
    pub(super) names: Names,
    pub(super) shape: Shape,
    /// Whether the answer is a reply `{text, toolCalls, usage}` and not its text alone.
    pub(super) reply: bool,
    /// Whether the answer is asked for as a stream.
    pub(super) stream: bool,
    /// Whether a reply without words is one: it is after tools, when all is done and nothing is left to say.
    pub(super) may_be_empty: bool,
    /// What the call is known by, and how many answers it has had.
    call_key: String,
    pub(super) answers: u32,
    /// How much of an answer is read.
    pub(super) max_bytes: u64,
    /// What must not come back with an answer: secrets that the call names, and the key.
    pub(super) secrets: Secrets,
    /// What no error tells.
    pub(super) unspoken: Secrets,
}

impl Ask {
    /// What a try is known by: the same as the one before whose fate is unknown, another after an answer, whatever it was.
    pub(super) fn key(&self) -> String {
        format!("{}/{}", self.call_key, self.answers)
    }
}

/// A key that is shorter may be a word, such as the `none` or `lm-studio` of servers that take any; in an answer it stays.
const NO_WORD: usize = 16;

/// What an answer must look like.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Free,
    Json,
    Schema(Value),
}

const JUDGE: &str = "You judge the work of somebody else. Answer with a JSON object that has `score`, a number from 0 (it \
                     fails) to 1 (it could not be better), and `explanation`, one or two sentences.";

const EXTRACTOR: &str = "You extract data from what the user sends. Answer with JSON that fits the schema and holds nothing \
                         that is not there.";

impl Models {
    pub(super) async fn ask(&self, call: &Call) -> Result<Ask, Answer> {
        let impossible = |why: String| Answer::impossible("step_failed", why);
        let (call, secrets) = call.resolved(&self.secrets).map_err(impossible)?;
        let request = match call.request() {
            Ok(Request::Model(request)) => *request,
            Ok(_) => return Err(impossible(format!("`{}` is not for a model", call.kind()))),
            Err(error) => return Err(Secrets::from_values(secrets).mask_answer(impossible(error.to_string()))),
        };
        let missing_runner_kind = call.response().missing_runner_kind.as_deref().unwrap_or("no_runner");
        let target =
            self.target_of(&request).map_err(|Lack(message)| Answer::impossible(missing_runner_kind, message))?;
        let reply = request.task == Task::Reply;
        // An answer without replies has no use for tools: agents with tools ask for replies.
        let offered = if reply { &request.tools.0[..] } else { &[] };
        let names = Names::of(offered);
        let shape = shape(&call, &request);
        let (system, messages) = said(&request, &names, self.files.as_ref())?;
        let mut chat = ChatRequest::from_messages(messages);
        chat.system = Some(with_shape(system, &shape, &target)).filter(|system| !system.is_empty());
        chat.tools = Some(tools::wire(offered, &names, &self.catalogue).await).filter(|tools| !tools.is_empty());
        let options = options(&request, &target, &shape)?;
        let key = target.key.as_ref();
        let unspoken = Secrets::from_values(secrets.iter().chain(key).cloned());
        let secrets = Secrets::from_values(secrets.into_iter().chain(key.filter(|key| key.len() >= NO_WORD).cloned()));
        Ok(Ask {
            target,
            request: chat,
            options,
            names,
            shape,
            reply,
            stream: self.settings.stream,
            may_be_empty: follows_tools(&request),
            call_key: call.key(),
            answers: 0,
            max_bytes: self.settings.max_response_bytes,
            secrets,
            unspoken,
        })
    }

    /// Where a request goes, as far as it is known.
    pub(super) fn target_of(&self, request: &ModelRequest) -> Result<Target, Lack> {
        let provider = request.provider.as_deref().map(|provider| self.api_of(request, provider));
        let variant = request.model_variant.as_deref().filter(|variant| !variant.is_empty());
        let model = match (request.model.as_deref(), variant) {
            (Some(model), Some(variant)) if model != "default" => Some(format!("{model}-{variant}")),
            (model, variant) => variant.or(model).map(str::to_owned),
        };
        self.target(provider.as_deref(), model.as_deref(), request.base_url.as_deref(), request.api_key.clone())
    }

    /// The provider behind the API of one that is a program.
    fn api_of(&self, request: &ModelRequest, provider: &str) -> String {
        let set = self.agents.get(provider).filter(|_| request.program);
        if let Some(named) = set.and_then(|set| set.provider.clone()) {
            return named;
        }
        let api = match provider {
            "claude" => "anthropic",
            "codex" => "openai",
            "mistral_vibe" => "mistral",
            "github_copilot" | "opencode" => "default",
            other => other,
        };
        api.to_owned()
    }
}

/// The system text, and the messages.
fn said(
    request: &ModelRequest,
    names: &Names,
    files: Option<&FilesSettings>,
) -> Result<(String, Vec<ChatMessage>), Answer> {
    let system = match request.task {
        Task::Score => return Ok((JUDGE.to_owned(), vec![ChatMessage::user(judged(request))])),
        Task::Extract => EXTRACTOR.to_owned(),
        Task::Answer | Task::Reply => {
            let parts = [&request.role, &request.system].into_iter().flatten().filter(|part| !part.is_empty());
            parts.map(String::as_str).collect::<Vec<_>>().join("\n\n")
        }
    };
    let mut messages = opening(request, names, files)?;
    messages.extend(messages::read(&request.since, names, files)?);
    Ok((system, messages))
}

/// Whether the last message is the result of a tool.
fn follows_tools(request: &ModelRequest) -> bool {
    let messages = request.messages.as_list().unwrap_or_default();
    let last = if request.since.is_empty() { messages.last() } else { request.since.last() };
    last.and_then(|last| last.get("role")).and_then(Value::as_str) == Some("tool")
}

/// The messages before the model has said anything to this call.
fn opening(request: &ModelRequest, names: &Names, files: Option<&FilesSettings>) -> Result<Vec<ChatMessage>, Answer> {
    let attached = attached::parts(&request.attachments, files)?;
    if request.messages != Value::Null {
        let mut messages = messages::read(&written_messages(&request.messages)?, names, files)?;
        if !attached.is_empty() {
            messages.push(ChatMessage::user(MessageContent::from_parts(attached)));
        }
        return Ok(messages);
    }
    let mut messages = messages::read(&request.history, names, files)?;
    messages.push(messages::user(request.user_text(), attached));
    Ok(messages)
}

/// Messages that were written out: a list, an object with one, or the JSON text of either.
fn written_messages(written: &Value) -> Result<Vec<Value>, Answer> {
    let invalid =
        |why: String| Answer::impossible("step_failed", format!("`messages` must be a list of messages: {why}"));
    let parsed: Option<Value> = match written.as_str() {
        Some(text) => Some(serde_json::from_str(text).map_err(|error| invalid(format!("it is not JSON, {error}")))?),
        None => None,
    };
    let written = parsed.as_ref().unwrap_or(written);
    match written.get("messages").unwrap_or(written).as_list() {
        Some([]) => Err(invalid("it is empty".to_owned())),
        Some(messages) => Ok(messages.to_vec()),
        None => Err(invalid("it is another value".to_owned())),
    }
}

fn judged(request: &ModelRequest) -> String {
    let mut parts = vec![request.prompt.clone().unwrap_or_else(|| "How good is this?".to_owned())];
    if request.expectation != Value::Null {
        parts.push(format!("What is expected:\n{}", request.expectation));
    }
    let work = if request.subject == Value::Null { String::new() } else { request.subject.to_string() };
    parts.push(format!("What is to be judged:\n{work}"));
    parts.join("\n\n")
}

fn shape(call: &Call, request: &ModelRequest) -> Shape {
    if request.task == Task::Score {
        let score = json!({"type": "object", "required": ["score", "explanation"], "additionalProperties": false,
            "properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}, "explanation": {"type": "string"}}});
        return Shape::Schema(Value::from(&score));
    }
    let schema = call.response().output_schema.clone().unwrap_or_else(|| request.schema.clone());
    match schema::parsed(schema).filter(|schema| schema.as_object().is_some()) {
        Some(schema) => Shape::Schema(schema),
        None if call.response().format == Format::Json => Shape::Json,
        None => Shape::Free,
    }
}

/// Not every server knows what a schema is, so it is told in words as well, except where we know better.
fn with_shape(system: String, shape: &Shape, target: &Target) -> String {
    let told = match shape {
        Shape::Free => return system,
        Shape::Json => "Answer with JSON and nothing else.".to_owned(),
        Shape::Schema(_) if ["openai", "anthropic", "gemini"].contains(&&*target.provider) => return system,
        Shape::Schema(schema) => in_words(schema),
    };
    if system.is_empty() { told } else { format!("{system}\n\n{told}") }
}

pub(super) fn in_words(schema: &Value) -> String {
    format!("Answer with JSON that fits this JSON Schema, and with nothing else:\n{schema}")
}

fn options(request: &ModelRequest, target: &Target, shape: &Shape) -> Result<ChatOptions, Answer> {
    let effort = effort(request)?;
    // OpenAI refuses what a model does not have, and documents say both without knowing the model.
    let is_openai = &*target.provider == "openai";
    let (effort, cool) = if is_openai {
        (effort.filter(|_| target.reasons()), !target.reasons())
    } else {
        (effort.clone(), effort.is_none() || &*target.provider == COMPATIBLE)
    };
    let mut options = ChatOptions::default().with_capture_usage(true).with_capture_content(true);
    options = options.with_capture_tool_calls(true).with_capture_reasoning_content(true);
    options.temperature = request.temperature.filter(|_| cool);
    options.top_p = request.top_p.filter(|_| cool);
    options.max_tokens = request.max_tokens.map(NonZeroU32::get);
    options.seed = request.seed;
    options.stop_sequences = if is_openai && target.reasons() { Vec::new() } else { request.stop.clone() };
    let effort = effort.map(|effort| target.within(effort, options.max_tokens));
    options.reasoning_effort = effort.or_else(|| target.keeps_name());
    options.response_format = match shape {
        Shape::Free => None,
        Shape::Json => Some(ChatResponseFormat::JsonMode),
        Shape::Schema(schema) => {
            let schema = serde_json::to_value(schema).unwrap_or_default();
            Some(ChatResponseFormat::JsonSpec(JsonSpec::new("answer", schema)))
        }
    };
    Ok(options)
}

/// How much the model thinks. None: as much as it does by itself.
fn effort(request: &ModelRequest) -> Result<Option<ReasoningEffort>, Answer> {
    let Some(word) = request.reasoning_effort.as_deref().filter(|word| !["", "default"].contains(&word.trim())) else {
        return Ok(None);
    };
    ReasoningEffort::from_keyword(word).map(Some).ok_or_else(|| {
        let message = format!(
            "`reasoning_effort` must be `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`, but is `{word}`"
        );
        Answer::impossible("step_failed", message)
    })
}
