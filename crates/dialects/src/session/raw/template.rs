//! What an agent's template says beside its steps.

use std::sync::Arc;

use branchpoint_expr::{Diagnostic, Kind, Located, Shape, Value};

use super::required_text;
use crate::DocumentKinds as _;
use crate::report::{Report, start_of};

/// `$schema` is for editors.
const KEYS: [&str; 16] = [
    "$schema",
    "version",
    "agentId",
    "name",
    "description",
    "personality",
    "nodes",
    "nodeConfigurations",
    "chatSettings",
    "orchestration",
    "options",
    "maxConcurrency",
    "tags",
    "priority",
    "notes",
    "isEnabled",
];
const CHAT_KEYS: [&str; 5] = ["initialMessages", "chatPrompts", "historyPolicy", "historyLength", "placeholderText"];
const POLICIES: [&str; 3] = ["none", "lastN", "all"];

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
    /// Reads a template; none if it is no object. Whatever else is wrong with it is reported.
    pub(super) fn read(document: &Located, report: &mut Report) -> Option<Self> {
        if !document.is_object() {
            report.odd(Kind::InvalidTemplate, document, "an agent's template is an object");
            return None;
        }
        report.unknown_keys(document, &KEYS);
        let [_, agent_id, name, _] = ["version", "agentId", "name", "description"]
            .map(|key| required_text(report, Kind::InvalidTemplate, document, key).unwrap_or_default());
        required(report, document, "personality");
        let personality = report.lines(Kind::InvalidTemplate, document, "personality").unwrap_or_default();
        required(report, document, "nodes");
        let nodes = report.texts(Kind::InvalidTemplate, document, "nodes").unwrap_or_default();
        let (models, tools): (Vec<_>, Vec<_>) = nodes.into_iter().partition(|node| node.starts_with(MODEL_NODE));
        let configurations = object(report, document, "nodeConfigurations", true);
        let (max_steps, detailed) = options(document, report);
        Some(Self {
            agent_id,
            name,
            personality,
            model: models.into_iter().next(),
            tools,
            configurations: configurations.map(Located::to_value).unwrap_or_default(),
            chat: Chat::read(document, report),
            max_steps,
            detailed,
            max_concurrency: number(report, document, "maxConcurrency").map(Located::to_value).unwrap_or_default(),
        })
    }
}

impl Chat {
    fn read(document: &Located, report: &mut Report) -> Self {
        let Some(settings) = object(report, document, "chatSettings", true) else {
            return Self { initial: vec![], prompts: vec![], placeholder: None, policy: Policy::Last(HISTORY_LENGTH) };
        };
        report.unknown_keys(settings, &CHAT_KEYS);
        let initial = report.texts(Kind::InvalidTemplate, settings, "initialMessages").unwrap_or_default();
        let prompts = report.texts(Kind::InvalidTemplate, settings, "chatPrompts").unwrap_or_default();
        let placeholder = report.optional_text(Kind::InvalidTemplate, settings, "placeholderText");
        Self { initial, prompts, placeholder, policy: policy(settings, report) }
    }
}

fn policy(settings: &Located, report: &mut Report) -> Policy {
    let length = match number(report, settings, "historyLength").map(|found| &found.shape) {
        Some(Shape::Int(length)) => *length,
        #[expect(clippy::cast_possible_truncation, reason = "a part of a message is none, and the cast saturates")]
        Some(Shape::Float(length)) => *length as i64,
        _ => HISTORY_LENGTH,
    };
    let last = Policy::Last(length.max(1));
    let Some(found) = settings.get("historyPolicy") else { return last };
    match found.text().map(|text| &**text) {
        Some("none") => Policy::None,
        Some("lastN") => last,
        Some("all") => Policy::All,
        written => {
            let message = "`historyPolicy` is one of `none`, `lastN`, `all`";
            let finding = Diagnostic::error(Kind::InvalidTemplate, found.span, message);
            report.findings.push(finding.suggest(written.unwrap_or_default(), POLICIES));
            last
        }
    }
}

/// The most model calls of a turn, and whether the model is told about all steps.
fn options(document: &Located, report: &mut Report) -> (i64, bool) {
    let Some(options) = object(report, document, "options", false) else { return (MAX_STEPS, true) };
    let max_steps = match options.get("maxSteps").map(|found| (found, &found.shape)) {
        None => MAX_STEPS,
        Some((_, Shape::Int(steps))) if *steps >= 1 => *steps,
        Some((found, _)) => {
            let help = "it bounds the model calls of one turn";
            report.error(Kind::InvalidTemplate, found.span, "`maxSteps` is an integer from 1 on", help);
            MAX_STEPS
        }
    };
    let optimization = object(report, options, "tokenOptimization", false);
    let detailed =
        optimization.and_then(|found| report.flag(Kind::InvalidTemplate, found, "includeDetailedOrchestration"));
    (max_steps, detailed.unwrap_or(true))
}

fn required(report: &mut Report, object: &Located, key: &str) {
    if object.get(key).is_none() {
        let help = format!("add \"{key}\"");
        report.error(Kind::InvalidTemplate, start_of(object), format!("`{key}` is missing"), &help);
    }
}

fn object<'d>(report: &mut Report, around: &'d Located, key: &str, must: bool) -> Option<&'d Located> {
    if must {
        required(report, around, key);
    }
    let found = around.get(key)?;
    if !found.is_object() {
        report.odd(Kind::InvalidTemplate, found, &format!("`{key}` is an object"));
    }
    Some(found).filter(|found| found.is_object())
}

fn number<'d>(report: &mut Report, around: &'d Located, key: &str) -> Option<&'d Located> {
    let found = around.get(key)?;
    if !matches!(found.shape, Shape::Int(_) | Shape::Float(_)) {
        report.odd(Kind::InvalidTemplate, found, &format!("`{key}` is a number"));
        return None;
    }
    Some(found)
}
