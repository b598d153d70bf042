//! What a call asks a model, whichever front-end made it.
//!
//! | kind | what it is |
//! |---|---|
//! | `model` | one answer to a prompt or to messages; with `spec.reply`, one reply that may call tools |
//! | `chat` | one reply of a chat, which may call tools |
//! | `evaluate` | a score for what another step gave |
//! | `extract` | data by a schema, for steps of the type `extract_data` that have one and no `path` |
//! | `agent` | one answer of an agent without tools; one with tools is a run of its own, see [`crate::agent`] |

use branchpoint_core::effect::{Format, Kind};
use branchpoint_core::ir::Effect;
use branchpoint_expr::{Object, Value};
use genai::chat::{ChatMessage, ChatOptions, ChatRequest, ChatResponseFormat, JsonSpec, MessageContent};
use serde_json::json;

use super::attached;
use super::messages::{self, Names};
use super::providers::{COMPATIBLE, Lack, Target};
use super::texts::{Texts, plain};
use super::wishes::Wishes;
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

/// Whether calls of this kind are for models.
pub(super) fn is_ours(effect: &Effect) -> bool {
    match effect.kind {
        Kind::Model | Kind::Chat | Kind::Evaluate | Kind::Agent => true,
        Kind::Extract => {
            effect.fixed.get("step_type").and_then(Value::as_str) == Some("extract_data")
                && effect.response.output_schema.is_some()
        }
        _ => false,
    }
}

impl Models {
    pub(super) async fn ask(&self, call: &Call) -> Result<Ask, Answer> {
        let (call, secrets) = self.with_secrets(call)?;
        let (call, texts) = (&call, Texts::new(&call));
        let target =
            self.target_of(call.kind(), &call.definition.fixed, &call.input).map_err(|lack| no_runner(call, lack))?;
        let offered = offered(&texts);
        let names = Names::of(&offered);
        let shape = shape(&texts);
        let (system, messages) = said(&texts, &names, self.files.as_ref())?;
        let mut request = ChatRequest::from_messages(messages);
        request.system = Some(with_shape(system, &shape, &target)).filter(|system| !system.is_empty());
        request.tools = Some(tools::wire(&offered, &names, &self.catalogue).await).filter(|tools| !tools.is_empty());
        let options = options(&texts, &target, &shape)?;
        let reply = call.kind() == Kind::Chat || call.definition.fixed.get("reply") == Some(&Value::Bool(true));
        let key = target.key.as_ref();
        let unspoken = Secrets::from_values(secrets.iter().chain(key).cloned());
        let secrets = Secrets::from_values(secrets.into_iter().chain(key.filter(|key| key.len() >= NO_WORD).cloned()));
        Ok(Ask {
            target,
            request,
            options,
            names,
            shape,
            reply,
            stream: self.settings.stream,
            may_be_empty: follows_tools(&texts),
            call_key: call.key(),
            answers: 0,
            max_bytes: self.settings.max_response_bytes,
            secrets,
            unspoken,
        })
    }

    /// Where a call of that kind goes, as far as it is known.
    pub(super) fn target_of(&self, kind: Kind, fixed: &Object, input: &Value) -> Result<Target, Lack> {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let own = |key: &str| fixed.get(key).and_then(Value::as_str).map(str::to_owned);
        let nested = |outer: &str, key: &str| fixed.get(outer).and_then(|value| text(value, key));
        let node = own("node").and_then(|node| node.strip_prefix("llm.").map(str::to_owned));
        let provider =
            text(input, "provider").or_else(|| own("provider")).or(node).map(|provider| self.api_of(kind, &provider));
        let model = text(input, "model")
            .or_else(|| own("model"))
            .or_else(|| nested("configuration", "model"))
            .or_else(|| nested("options", "model"));
        let model = match (model, text(input, "model_variant").filter(|variant| !variant.is_empty())) {
            (Some(model), Some(variant)) if model != "default" => Some(format!("{model}-{variant}")),
            (model, variant) => variant.or(model),
        };
        let url = nested("options", "base_url");
        self.target(provider.as_deref(), model.as_deref(), url.as_deref(), text(input, "api_key"))
    }

    /// The provider behind the API of one that is a program.
    fn api_of(&self, kind: Kind, provider: &str) -> String {
        let set = self.agents.get(provider).filter(|_| kind == Kind::Agent);
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

fn offered(texts: &Texts<'_>) -> Vec<Value> {
    let tools = texts.field("tools").and_then(Value::as_list).unwrap_or_default();
    // A prompt that only has an answer has no use for tools: whoever runs its tools asks for replies.
    let asks_for_replies = texts.call.definition.fixed.get("reply").is_some() || texts.call.kind() == Kind::Chat;
    if asks_for_replies { tools.to_vec() } else { Vec::new() }
}

/// The error of a call that no configured model can perform.
pub(super) fn no_runner(call: &Call, Lack(message): Lack) -> Answer {
    Answer::impossible(call.response().missing_runner_kind.as_deref().unwrap_or("no_runner"), message)
}

/// The system text, and the messages.
fn said(texts: &Texts<'_>, names: &Names, files: Option<&FilesSettings>) -> Result<(String, Vec<ChatMessage>), Answer> {
    let kind = texts.call.kind();
    if kind == Kind::Evaluate {
        return Ok((JUDGE.to_owned(), vec![ChatMessage::user(judged(texts))]));
    }
    let own = texts.text(&["system", "system_template", "systemPrompt", "system_prompt"]).unwrap_or_default();
    let role = texts.text(&["role"]).unwrap_or_default();
    let mut system = [role, own].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    if kind == Kind::Extract {
        EXTRACTOR.clone_into(&mut system);
    }
    let mut messages = opening(texts, names, files)?;
    if let Some(since) = texts.field("since") {
        messages.extend(messages::read(since, names, files)?);
    }
    Ok((system, messages))
}

/// Whether the last that was said is what a tool gave.
fn follows_tools(texts: &Texts<'_>) -> bool {
    let said = texts.field("since").or(texts.field("messages")).and_then(Value::as_list);
    said.and_then(<[Value]>::last).and_then(|last| last.get("role")).and_then(Value::as_str) == Some("tool")
}

/// What is said to the model before it has said anything to this call.
fn opening(texts: &Texts<'_>, names: &Names, files: Option<&FilesSettings>) -> Result<Vec<ChatMessage>, Answer> {
    let attached = texts.field("attachments").map(|written| attached::parts(written, files)).transpose()?;
    let attached = attached.unwrap_or_default();
    if let Some(written) = written_messages(texts)? {
        let mut messages = messages::read(&written, names, files)?;
        if !attached.is_empty() {
            messages.push(ChatMessage::user(MessageContent::from_parts(attached)));
        }
        return Ok(messages);
    }
    let history = texts.field("session").and_then(|session| session.get("messages"));
    let history = history.map(|history| messages::read(history, names, files)).transpose()?;
    let mut messages = history.unwrap_or_default();
    let before = texts.field("before").and_then(Value::as_list).unwrap_or_default().iter().map(plain);
    let prompt = texts.text(&["prompt", "prompt_template", "userContent", "input"]).unwrap_or_default();
    let prompt = before.chain([prompt]).collect::<Vec<_>>().join("\n\n");
    messages.push(messages::user(prompt, attached));
    Ok(messages)
}

/// Messages that were written out, by a chat or in a template of a document.
fn written_messages(texts: &Texts<'_>) -> Result<Option<Value>, Answer> {
    if let Some(messages) = texts.field("messages").filter(|messages| messages.as_list().is_some()) {
        return Ok(Some(messages.clone()));
    }
    let is_simple = texts.field("simple_format") != Some(&Value::Bool(false));
    let Some(template) = texts.field("json_template").filter(|_| !is_simple) else { return Ok(None) };
    let unfit =
        |why: String| Answer::impossible("step_failed", format!("`json_template` is no list of messages: {why}"));
    let template = match template.as_str() {
        Some(text) => serde_json::from_str(text).map_err(|error| unfit(format!("it is not JSON, {error}")))?,
        None => template.clone(),
    };
    let messages = template.get("messages").cloned().unwrap_or(template);
    match messages.as_list() {
        Some([]) => Err(unfit("it is empty".to_owned())),
        Some(_) => Ok(Some(messages)),
        None => Err(unfit("it is another value".to_owned())),
    }
}

fn judged(texts: &Texts<'_>) -> String {
    let mut parts = vec![texts.text(&["evaluation_prompt"]).unwrap_or_else(|| "How good is this?".to_owned())];
    if let Some(expected) = texts.field("expectation_config") {
        parts.push(format!("What is expected:\n{}", plain(expected)));
    }
    let work = texts.field("target_output").or(texts.field("input")).map(plain).unwrap_or_default();
    parts.push(format!("What is to be judged:\n{work}"));
    parts.join("\n\n")
}

fn shape(texts: &Texts<'_>) -> Shape {
    if texts.call.kind() == Kind::Evaluate {
        let score = json!({"type": "object", "required": ["score", "explanation"], "additionalProperties": false,
            "properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}, "explanation": {"type": "string"}}});
        return Shape::Schema(Value::from(&score));
    }
    let schema = schema::wanted(texts.call).or_else(|| texts.field("output_schema").cloned());
    match schema.filter(|schema| schema.as_object().is_some()) {
        Some(schema) => Shape::Schema(schema),
        None if texts.call.response().format == Format::Json => Shape::Json,
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
    format!("Answer with JSON that fits this JSON Schema, and with nothing else:\n{}", plain(schema))
}

fn options(texts: &Texts<'_>, target: &Target, shape: &Shape) -> Result<ChatOptions, Answer> {
    let wishes = Wishes { texts };
    let effort = wishes.effort()?;
    // OpenAI refuses what a model does not have, and documents say both without knowing the model.
    let is_openai = &*target.provider == "openai";
    let (effort, cool) = if is_openai {
        (effort.filter(|_| target.reasons()), !target.reasons())
    } else {
        (effort.clone(), effort.is_none() || &*target.provider == COMPATIBLE)
    };
    let mut options = ChatOptions::default().with_capture_usage(true).with_capture_content(true);
    options = options.with_capture_tool_calls(true).with_capture_reasoning_content(true);
    options.temperature = wishes.temperature()?.filter(|_| cool);
    options.top_p = wishes.top_p()?.filter(|_| cool);
    options.max_tokens = wishes.max_tokens()?;
    options.seed = wishes.seed()?;
    options.stop_sequences = if is_openai && target.reasons() { Vec::new() } else { wishes.stop() };
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
