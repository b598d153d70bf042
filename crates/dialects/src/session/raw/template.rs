//! What an agent's template says beside its steps.

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
    /// Who it is.
    pub(in crate::session) agent_id: Arc<str>,
    /// What it is called.
    pub(in crate::session) name: Arc<str>,
    /// What it is told to be.
    pub(in crate::session) personality: String,
    /// The node that chooses the model; none is the host's choice.
    pub(in crate::session) model: Option<Arc<str>>,
    /// Its tools, in order.
    pub(in crate::session) tools: Vec<Arc<str>>,
    /// Settings by node.
    pub(in crate::session) configurations: Value,
    /// How it talks.
    pub(in crate::session) chat: Chat,
    /// The most model calls of a turn.
    pub(in crate::session) max_steps: i64,
    /// Whether the model is told about all steps, or about the active one alone.
    pub(in crate::session) detailed: bool,
    /// Kept for whoever runs several agents.
    pub(in crate::session) max_concurrency: Value,
}

/// How an agent talks.
#[derive(Debug)]
pub(in crate::session) struct Chat {
    /// What it says first.
    pub(in crate::session) initial: Vec<Arc<str>>,
    /// What a client offers to say.
    pub(in crate::session) prompts: Vec<Arc<str>>,
    /// What a client shows before anything is said.
    pub(in crate::session) placeholder: Option<Arc<str>>,
    /// How much of what was said is sent again.
    pub(in crate::session) policy: Policy,
}

/// How much of what was said is sent again.
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
        let detailed = options.get("tokenOptimization").and_then(|found| found.flag("includeDetailedOrchestration"));
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
