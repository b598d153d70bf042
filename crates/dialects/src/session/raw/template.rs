//! The template of an agent without its steps.

use std::sync::Arc;

use branchpoint_expr::{Located, Shape, Value};

use super::tables::{TEMPLATE, TEMPLATE_STYLE};
use super::{lines, texts};
use crate::fields::{Access, Path};
use crate::report::Report;

/// Nodes with this beginning choose the model; the others are tools.
const MODEL_NODE: &str = "llm.";
const MAX_STEPS: i64 = 5;
const HISTORY_LENGTH: i64 = 50;

/// An agent without its steps.
#[derive(Debug)]
pub(in crate::session) struct Template {
    /// The id of the agent.
    pub(in crate::session) agent_id: Arc<str>,
    /// The name of the agent.
    pub(in crate::session) name: Arc<str>,
    /// The system prompt.
    pub(in crate::session) personality: String,
    /// The node that chooses the model; none is the host's choice.
    pub(in crate::session) model: Option<Arc<str>>,
    /// Its tools, in order.
    pub(in crate::session) tools: Vec<Arc<str>>,
    /// Settings by node.
    pub(in crate::session) configurations: Value,
    /// The chat settings.
    pub(in crate::session) chat: Chat,
    /// The most model calls of a turn.
    pub(in crate::session) max_steps: i64,
    /// Whether the prompt describes all steps, or only the active one.
    pub(in crate::session) detailed: bool,
    /// For hosts that run several agents.
    pub(in crate::session) max_concurrency: Value,
}

/// The chat settings of an agent.
#[derive(Debug)]
pub(in crate::session) struct Chat {
    /// The first messages of the agent.
    pub(in crate::session) initial: Vec<Arc<str>>,
    /// The suggested messages in a client.
    pub(in crate::session) prompts: Vec<Arc<str>>,
    /// The placeholder in a client before the first message.
    pub(in crate::session) placeholder: Option<Arc<str>>,
    /// The part of the earlier messages that is sent again.
    pub(in crate::session) policy: Policy,
}

/// The part of the earlier messages that is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) enum Policy {
    /// This turn alone.
    None,
    /// From that many user messages back.
    Last(i64),
    /// Everything.
    All,
}

impl Template {
    /// Reads a template; none if it is not an object.
    pub(super) fn read(document: &Located, report: &mut Report) -> Option<Self> {
        if !report.check(TEMPLATE_STYLE).object(Path::Root(""), document, &[TEMPLATE]) {
            return None;
        }
        let nothing = Located { shape: Shape::Null, span: document.span };
        let options = document.get("options").unwrap_or(&nothing);
        let detailed =
            options.get("tokenOptimization").and_then(|options| options.flag("includeDetailedOrchestration"));
        let value = |key: &str| document.get(key).map(Located::to_value).unwrap_or_default();
        let (models, tools): (Vec<_>, _) =
            texts(document, "nodes").into_iter().partition(|node| node.starts_with(MODEL_NODE));
        Some(Self {
            agent_id: document.str("agentId").cloned().unwrap_or_default(),
            name: document.str("name").cloned().unwrap_or_default(),
            personality: lines(document, "personality").unwrap_or_default(),
            model: models.into_iter().next(),
            tools,
            configurations: value("nodeConfigurations"),
            chat: Chat::read(document.get("chatSettings").unwrap_or(&nothing)),
            max_steps: options.int("maxSteps").unwrap_or(MAX_STEPS),
            detailed: detailed.unwrap_or(true),
            max_concurrency: value("maxConcurrency"),
        })
    }
}

impl Chat {
    fn read(settings: &Located) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a part of a message is none, and the cast saturates")]
        let length = settings.number("historyLength").map_or(HISTORY_LENGTH, |length| length as i64);
        Self {
            initial: texts(settings, "initialMessages"),
            prompts: texts(settings, "chatPrompts"),
            placeholder: settings.str("placeholderText").cloned(),
            policy: match settings.str("historyPolicy").map(|policy| &**policy) {
                Some("none") => Policy::None,
                Some("all") => Policy::All,
                _ => Policy::Last(length.max(1)),
            },
        }
    }
}
