//! Requests to models and agents.

use std::num::NonZeroU32;

use branchpoint_expr::{Object, Value};

use super::fields::{FromField, request, result, word};
use crate::Usage;

request! {
    /// A request to a model or an agent. A request with `tools` or `subagents` and the task `answer` is a turn of an agent: a child run
    /// that calls the model until the model calls no more tools.
    ModelRequest {
        /// The kind of result.
        task: Task,
        /// The provider; `default` is the provider in the settings.
        provider: Option<String>,
        /// The model; `default` is the model in the settings.
        model: Option<String>,
        /// A variant of the model, appended to its name.
        model_variant: Option<String>,
        /// The URL of the provider, if the document names one.
        base_url: Option<String>,
        /// The API key, if the document names one.
        api_key: Option<String>,
        /// Whether a local command-line program may serve the provider.
        program: bool,
        /// The working directory of the local program, relative to the folder of the run.
        dir: Option<String>,

        /// The system prompt.
        system: Option<String>,
        /// A role, inserted before the system prompt.
        role: Option<String>,
        /// The earlier messages of a conversation.
        history: Vec<Value>,
        /// Texts inserted before the prompt.
        before: Vec<String>,
        /// The prompt; for a score, the question.
        prompt: Option<String>,
        /// Messages instead of a history and a prompt: a list, an object with a list of `messages`, or the JSON text of one.
        messages: Value,
        /// Messages after the prompt: replies and tool results.
        since: Vec<Value>,
        /// Images and files of the prompt.
        attachments: Value,
        /// Score: the work to score.
        subject: Value,
        /// Score: the expected qualities.
        expectation: Value,
        /// A JSON Schema of the result, or its text.
        schema: Value,

        /// Sampling temperature.
        temperature: Option<f64>,
        /// Nucleus sampling.
        top_p: Option<f64>,
        /// The maximum number of output tokens.
        max_tokens: Option<NonZeroU32>,
        /// Sampling seed.
        seed: Option<u64>,
        /// Stop sequences.
        stop: Vec<String>,
        /// The reasoning effort: `none` to `max`; `default` is the model's default.
        reasoning_effort: Option<String>,

        /// The tools that the model may call.
        tools: Tools,
        /// Whether to omit tools without a configured runner, instead of offering tools whose calls fail.
        optional_tools: bool,
        /// Agents that the model may call as tools.
        subagents: Vec<Value>,
        /// The maximum number of model calls in one turn.
        max_turns: Option<u64>,
        /// The maximum number of tokens in one turn.
        token_budget: Option<u64>,
        /// The maximum cost of one turn, in millionths.
        cost_budget_micros: Option<u64>,
        /// Whether the tools of one reply are called one after the other.
        sequential: bool,
        /// The condition that ends a turn.
        stop_when: Value,
        /// Values that the condition reads, by name.
        stop_when_values: Object,
        /// Names of tools that the calls may offer, for the runner check.
        uses: Vec<String>,
        /// Names of tools that the calls omit without a configured runner, for the runner check.
        optional_uses: Vec<String>,
        /// Other models that the calls may name, such as those of subagents, for the runner check.
        subagent_models: Vec<String>,
    }
}

impl ModelRequest {
    /// The prompt with the texts before it.
    ///
    /// ```
    /// use branchpoint_core::effect::ModelRequest;
    ///
    /// let request = ModelRequest { before: vec!["Be brief.".into()], prompt: Some("Hello".into()), ..Default::default() };
    /// assert_eq!(request.user_text(), "Be brief.\n\nHello");
    /// ```
    pub fn user_text(&self) -> String {
        self.before
            .iter()
            .map(String::as_str)
            .chain([self.prompt.as_deref().unwrap_or_default()])
            .collect::<Vec<_>>()
            .join("\n\n")
    }
}

word! {
    /// The kind of result that a model request wants.
    Task, "answer, reply, score or extract" {
        /// Text.
        #[default]
        Answer = "answer",
        /// A reply `{text, toolCalls, usage}`.
        Reply = "reply",
        /// A score from 0 to 1 with an explanation.
        Score = "score",
        /// Data that matches the schema.
        Extract = "extract",
    }
}

/// The result of a model: text, or for [`Task::Reply`] the fields of a [`ModelReply`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelResult {
    /// The text or the reply.
    pub value: Value,
    /// The tokens and the cost of the call.
    pub usage: Usage,
    /// The input tokens of the usage; none if the provider does not report them.
    pub input_tokens: Option<u64>,
}

/// The reply of a model to which tools were offered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelReply {
    /// The text of the reply.
    pub text: String,
    /// The tool calls of the reply.
    pub tool_calls: Vec<ToolCall>,
    /// The tokens and the cost of the reply.
    pub usage: ReplyUsage,
    /// The provider's reason for the end of the reply, if the output token limit was reached.
    pub stop_reason: Option<String>,
    /// Reasoning content that the provider expects back with the tool results; null if there is none.
    pub thoughts: Value,
}

/// The object `{text, toolCalls, usage, stopReason, thoughts}`; the last two fields only if they are set.
impl From<ModelReply> for Value {
    fn from(reply: ModelReply) -> Self {
        let calls: Vec<Self> = reply.tool_calls.into_iter().map(Self::from).collect();
        let fields = [
            ("text", Self::from(reply.text)),
            ("toolCalls", Self::from(calls)),
            ("usage", Self::from(reply.usage)),
            ("stopReason", reply.stop_reason.map_or(Self::Null, Self::from)),
            ("thoughts", reply.thoughts),
        ];
        let fields = fields.into_iter().filter(|(_, value)| *value != Self::Null);
        Self::from(fields.map(|(name, value)| (name.into(), value)).collect::<Object>())
    }
}

result! {
    /// A tool call of a reply.
    ToolCall {
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments: an object, or text that is not JSON.
        arguments: Value,
    }
}

result! {
    /// The tokens and the cost of a reply.
    ReplyUsage {
        /// All tokens.
        tokens: i64,
        /// Input tokens.
        input_tokens: i64,
        /// Output tokens.
        output_tokens: i64,
        /// Cost, in millionths.
        cost_micros: i64,
    }
}

result! {
    /// A rating, for [`Task::Score`].
    Score {
        /// The score, from 0 to 1.
        score: Value,
        /// Whether the score reaches the threshold.
        passed: bool,
        /// The threshold of the effect.
        pass_threshold: f64,
        /// The model's reason.
        explanation: Value,
    }
}

/// The tools offered to a model: objects with a `name`, and optionally a `description`, `parameters` and a `configuration`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tools(pub Vec<Value>);

impl FromField for Tools {
    /// A list of names and of objects with a name, or an object of flags.
    fn from_field(value: &Value) -> Result<Self, &'static str> {
        let named = |name: &str| Value::from(Object::from_iter([("name".into(), Value::from(name))]));
        let tools = match value {
            Value::List(tools) => {
                let tool = |tool: &Value| match tool.as_str() {
                    Some(name) => Some(named(name)),
                    None => tool.get("name").and_then(Value::as_str).map(|_| tool.clone()),
                };
                tools.iter().map(tool).collect()
            }
            // The flag `subagents` is not a tool: it allows agents as tools.
            Value::Object(flags) => {
                let set = flags.iter().filter(|(name, flag)| &***name != "subagents" && **flag == Value::Bool(true));
                Some(set.map(|(name, _)| named(name)).collect())
            }
            _ => None,
        };
        tools.map(Self).ok_or("a list of tools, each a name or an object with a `name`")
    }
}
