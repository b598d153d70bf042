//! Requests to models and agents.

use std::num::NonZeroU32;

use branchpoint_expr::{Object, Value};

use super::fields::{FromField, request, result, word};
use crate::Usage;

request! {
    /// A question to a model or an agent. One with `tools` or `subagents` and the task `answer` is a turn of an agent: a run of its
    /// own, in which the model is asked until it calls no more tools.
    ModelRequest {
        /// What is asked for.
        task: Task,
        /// The provider; `default` is that of the settings.
        provider: Option<String>,
        /// The model; `default` is that of the settings.
        model: Option<String>,
        /// A variant of the model, which is added to its name.
        model_variant: Option<String>,
        /// The address of the provider, if the document names one.
        base_url: Option<String>,
        /// The key, if the document names one.
        api_key: Option<String>,
        /// Whether a program of the machine may answer for the provider.
        program: bool,
        /// The folder of such a program, relative to that of the run.
        dir: Option<String>,

        /// The system prompt.
        system: Option<String>,
        /// A role, which comes before the system prompt.
        role: Option<String>,
        /// The earlier messages of a conversation.
        history: Vec<Value>,
        /// Texts before the prompt.
        before: Vec<String>,
        /// The prompt; for a score, the question.
        prompt: Option<String>,
        /// Messages instead of a history and a prompt: a list, an object with a list of `messages`, or the JSON text of one.
        messages: Value,
        /// Messages since the prompt: replies, and results of tools.
        since: Vec<Value>,
        /// Images and files that go with the prompt.
        attachments: Value,
        /// Score: the work to be scored.
        subject: Value,
        /// Score: what is expected of it.
        expectation: Value,
        /// A JSON Schema for the answer, or its text.
        schema: Value,

        /// Sampling temperature.
        temperature: Option<f64>,
        /// Nucleus sampling.
        top_p: Option<f64>,
        /// The largest number of tokens of an answer.
        max_tokens: Option<NonZeroU32>,
        /// Sampling seed.
        seed: Option<u64>,
        /// Texts that end an answer.
        stop: Vec<String>,
        /// How much the model thinks: `none` to `max`; `default` leaves it to the model.
        reasoning_effort: Option<String>,

        /// The tools that the model may call.
        tools: Tools,
        /// Leaves out tools that nothing here can perform, instead of offering tools whose calls fail.
        optional_tools: bool,
        /// Agents that the model may call as tools.
        subagents: Vec<Value>,
        /// Calls of the model in one turn.
        max_turns: Option<u64>,
        /// Tokens in one turn.
        token_budget: Option<u64>,
        /// Cost of one turn, in millionths.
        cost_budget_micros: Option<u64>,
        /// Tools of one reply are called one after the other.
        sequential: bool,
        /// The condition that ends a turn.
        stop_when: Value,
        /// Values that the condition reads, by name.
        stop_when_values: Object,
        /// Names of tools that the calls may offer, for the check before a run.
        uses: Vec<String>,
        /// Names of tools that the calls leave out if nothing here can perform them, for the check before a run.
        optional_uses: Vec<String>,
        /// Other models that the calls may name, such as those of subagents, for the check before a run.
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
    /// What a model is asked for.
    Task, "answer, reply, score or extract" {
        /// The text of an answer.
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

/// What a model gave: text, or for [`Task::Reply`] the fields of a [`ModelReply`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelResult {
    /// The text or the reply.
    pub value: Value,
    /// What the call used up.
    pub usage: Usage,
    /// The tokens of the usage that the model read; none: the provider does not say.
    pub input_tokens: Option<u64>,
}

/// The reply of a model to which tools were offered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelReply {
    /// Its text.
    pub text: String,
    /// The tools that it calls.
    pub tool_calls: Vec<ToolCall>,
    /// What it used up.
    pub usage: ReplyUsage,
    /// Why it ended, in the provider's word, if its tokens were used up.
    pub stop_reason: Option<String>,
    /// The content that its provider wants back with the results of the tools; null: none.
    pub thoughts: Value,
}

/// `{text, toolCalls, usage, stopReason, thoughts}`: the last two only if they are set.
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
    /// A tool that a reply calls.
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
    /// What a reply used up.
    ReplyUsage {
        /// Tokens.
        tokens: i64,
        /// Tokens of these that were read.
        input_tokens: i64,
        /// Tokens of these that were written.
        output_tokens: i64,
        /// Cost, in millionths.
        cost_micros: i64,
    }
}

result! {
    /// A rating, for [`Task::Score`].
    Score {
        /// From 0 to 1.
        score: Value,
        /// Whether it reaches the threshold.
        passed: bool,
        /// The threshold of the effect.
        pass_threshold: f64,
        /// The model's reason.
        explanation: Value,
    }
}

/// Tools that are offered to a model: objects with a `name`, and perhaps a `description`, `parameters` and a `configuration`.
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
            // The flag `subagents` only allows agents as tools.
            Value::Object(flags) => {
                let set = flags.iter().filter(|(name, flag)| &***name != "subagents" && **flag == Value::Bool(true));
                Some(set.map(|(name, _)| named(name)).collect())
            }
            _ => None,
        };
        tools.map(Self).ok_or("a list of tools, each a name or an object with a `name`")
    }
}
