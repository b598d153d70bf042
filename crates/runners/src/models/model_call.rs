//! Builds the request of a call: messages, tools, the form of the reply and sampling options.

use branchpoint_core::effect::{Format, ModelRequest, Task};
use branchpoint_expr::Value;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::attachments::Attachment;
use super::formats::strict;
use super::messages::{self, Message, Names, Part};
use super::providers::{COMPATIBLE, Target, Unavailable};
use super::tools::Tool;
use super::{Models, tools};
use crate::judge::schema;
use crate::runner::{Answer, Call, PreparedCall};
use crate::secrets::Secrets;
use crate::shorten::shortened;

/// A call that can be sent in any wire format.
pub(super) struct ModelCall {
    pub(super) target: Target,
    /// The request of the run, without the options that the model does not support.
    pub(super) request: ModelRequest,
    pub(super) system: String,
    pub(super) messages: Vec<Message>,
    pub(super) tools: Vec<Tool>,
    pub(super) names: Names,
    pub(super) shape: Shape,
    /// Whether the request tells the provider to enforce the shape. Some providers reject such requests.
    pub(super) sends_shape: bool,
    pub(super) stream: bool,
    pub(super) max_bytes: u64,
    /// The idempotency key of the call, and the number of responses so far.
    call_key: String,
    pub(super) responses: u32,
    /// Secrets that are redacted in replies: those of the call, and the API key.
    pub(super) secrets: Secrets,
    /// Secrets that are redacted in errors: the same, and the API key even if it is short.
    pub(super) error_secrets: Secrets,
}

impl ModelCall {
    /// Identifies a try. The key stays the same after a try with an unknown outcome, and changes after any response.
    pub(super) fn key(&self) -> String {
        format!("{}/{}", self.call_key, self.responses)
    }

    /// The reasoning effort, one of [`EFFORTS`]; `None` lets the model decide.
    pub(super) fn effort(&self) -> Option<&str> {
        self.request.reasoning_effort.as_deref()
    }

    /// The schema that the provider enforces.
    pub(super) fn schema(&self) -> Option<serde_json::Value> {
        match &self.shape {
            Shape::Schema(schema) if self.sends_shape => serde_json::to_value(schema).ok(),
            _ => None,
        }
    }

    /// Whether a reply without text is valid. After the result of a tool, the model may have nothing to add.
    pub(super) fn may_be_empty(&self) -> bool {
        matches!(self.messages.last(), Some(Message::Results(_)))
    }
}

const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The shortest API key that is redacted in replies. A shorter one may be a word, such as the `none` of servers that accept any.
const MIN_REDACTED_KEY: usize = 16;

/// The form that a reply must have.
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
    /// Builds the call for a request. The error is the answer to a request that cannot be sent.
    pub(super) async fn prepare(
        &self,
        prepared: &PreparedCall,
        request: &ModelRequest,
        cancel: &CancellationToken,
    ) -> Result<ModelCall, Answer> {
        let (call, secrets) = (&prepared.call, prepared.secrets.values());
        let missing_runner_kind = call.response().missing_runner_kind.as_deref().unwrap_or("no_runner");
        let target =
            self.target(request).map_err(|Unavailable(message)| Answer::impossible(missing_runner_kind, message))?;
        let request = supported_options(&target, request.clone())?;
        // Only replies can call tools.
        let offered = if request.task == Task::Reply { &request.tools.0[..] } else { &[] };
        let names = Names::of(offered);
        let shape = shape(call, &request);
        let mut messages = messages(&request, &names)?;
        self.deliver(prepared, &target, &mut messages, cancel).await?;
        let key = target.key.as_ref();
        let error_secrets = Secrets::from_values(secrets.iter().chain(key).cloned());
        let long_key = key.filter(|key| key.len() >= MIN_REDACTED_KEY).cloned();
        Ok(ModelCall {
            system: with_shape(system(&request), &shape, &target),
            messages,
            tools: tools::wire(offered, &names, &self.catalogue, request.optional_tools).await,
            target,
            names,
            shape,
            sends_shape: true,
            stream: self.settings.stream,
            max_bytes: self.settings.max_response_bytes,
            call_key: call.key(),
            responses: 0,
            secrets: Secrets::from_values(secrets.iter().cloned().chain(long_key)),
            error_secrets,
            request,
        })
    }
}

fn system(request: &ModelRequest) -> String {
    match request.task {
        Task::Score => JUDGE.to_owned(),
        Task::Extract => EXTRACTOR.to_owned(),
        Task::Answer | Task::Reply => {
            let parts = [&request.role, &request.system].into_iter().flatten().filter(|part| !part.is_empty());
            parts.map(String::as_str).collect::<Vec<_>>().join("\n\n")
        }
    }
}

fn messages(request: &ModelRequest, names: &Names) -> Result<Vec<Message>, Answer> {
    if request.task == Task::Score {
        return Ok(vec![Message::User(vec![Part::Text(judged(request))])]);
    }
    let mut messages = opening(request, names)?;
    messages.extend(messages::read(&request.since, names)?);
    Ok(messages)
}

/// The messages before the first reply.
fn opening(request: &ModelRequest, names: &Names) -> Result<Vec<Message>, Answer> {
    let attachments = Attachment::read_all(&request.attachments)?;
    let mut parts: Vec<Part> = attachments.into_iter().map(Part::File).collect();
    if request.messages == Value::Null {
        let mut messages = messages::read(&request.history, names)?;
        parts.push(Part::Text(request.user_text()));
        messages.push(Message::User(parts));
        return Ok(messages);
    }
    let mut messages = messages::read(&written_messages(&request.messages)?, names)?;
    if !parts.is_empty() {
        messages.push(Message::User(parts));
    }
    Ok(messages)
}

/// The messages of the field `messages`: a list, an object with a list, or the JSON text of either.
fn written_messages(written: &Value) -> Result<Vec<Value>, Answer> {
    let invalid =
        |why: String| Answer::impossible("step_failed", format!("`messages` must be a list of messages: {why}"));
    let parsed: Option<Value> = match written.as_str() {
        Some(text) => {
            Some(serde_json::from_str(text).map_err(|error| invalid(format!("it is not valid JSON ({error})")))?)
        }
        None => None,
    };
    let written = parsed.as_ref().unwrap_or(written);
    match written.get("messages").unwrap_or(written).as_list() {
        Some([]) => Err(invalid("it is empty".to_owned())),
        Some(messages) => Ok(messages.to_vec()),
        None => Err(invalid("it is not a list".to_owned())),
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

/// The system prompt with a description of the required shape, unless the provider is known to enforce it.
fn with_shape(system: String, shape: &Shape, target: &Target) -> String {
    let words = match shape {
        Shape::Free => return system,
        Shape::Json => "Answer with JSON and nothing else.".to_owned(),
        Shape::Schema(schema) => {
            let is_known = ["openai", "anthropic", "gemini"].contains(&&*target.provider);
            if is_known && strict(&json!(schema), false).is_some() {
                return system;
            }
            schema_instruction(schema)
        }
    };
    if system.is_empty() { words } else { format!("{system}\n\n{words}") }
}

pub(super) fn schema_instruction(schema: &Value) -> String {
    format!("Answer with JSON that fits this JSON Schema, and with nothing else:\n{schema}")
}

/// Checks the effort and removes the options that the model would reject, because documents set options without knowing the model.
fn supported_options(target: &Target, mut request: ModelRequest) -> Result<ModelRequest, Answer> {
    let word = request.reasoning_effort.take().filter(|word| !["", "default"].contains(&word.trim()));
    request.reasoning_effort = word.map(|word| if word == "zero" { "none".to_owned() } else { word });
    if let Some(word) = request.reasoning_effort.as_deref().filter(|word| !EFFORTS.contains(word)) {
        let message = format!(
            "`reasoning_effort` must be `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`, but is `{}`",
            shortened(word)
        );
        return Err(Answer::impossible("step_failed", message));
    }
    let (is_openai, reasons) = (&*target.provider == "openai", target.reasons());
    let has_temperature = match &*target.provider {
        "openai" => !reasons,
        COMPATIBLE => true,
        _ => request.reasoning_effort.is_none(),
    };
    request.temperature = request.temperature.filter(|_| has_temperature);
    request.top_p = request.top_p.filter(|_| has_temperature);
    if is_openai && reasons {
        request.stop.clear();
    } else if is_openai {
        request.reasoning_effort = None;
    }
    Ok(request)
}
