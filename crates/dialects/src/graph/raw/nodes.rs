//! The nodes of a graph as they are written.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_expr::{Diagnostic, Field, Kind, Located, Shape, Span, Value};

use crate::DocumentKinds as _;
use crate::report::Report;

const TYPES: [&str; 6] = ["start", "agent", "if", "approval", "input", "end"];
const DATA_KEYS: [&str; 10] = [
    "initialInput",
    "agentName",
    "systemPrompt",
    "userPrompt",
    "model",
    "reasoningEffort",
    "tools",
    "conditions",
    "condition",
    "prompt",
];

const AGENT_NAME: &str = "Agent";
const SYSTEM_PROMPT: &str = "You are a helpful assistant.";

/// One node.
#[derive(Debug)]
pub(in crate::graph) struct Node {
    pub(in crate::graph) id: Arc<str>,
    /// Its type, after mapping.
    pub(in crate::graph) kind: &'static str,
    pub(in crate::graph) what: What,
    pub(in crate::graph) span: Span,
}

/// What a node does.
#[derive(Debug)]
pub(in crate::graph) enum What {
    /// The beginning, with what the run begins with.
    Start(Value),
    Agent(Agent),
    /// Conditions, tried in order.
    If(Vec<Located>),
    /// A question to a person.
    Approval(Value),
    /// The end of its branch.
    End,
    /// Something that was refused; nothing is run of it.
    Refused,
}

/// What an agent is called with.
#[derive(Debug)]
pub(in crate::graph) struct Agent {
    pub(in crate::graph) name: Arc<str>,
    pub(in crate::graph) system: Arc<str>,
    /// None: what came before is the prompt.
    pub(in crate::graph) prompt: Option<Arc<str>>,
    /// None: the installation's default.
    pub(in crate::graph) model: Option<Arc<str>>,
    /// None: the installation's default.
    pub(in crate::graph) effort: Option<Arc<str>>,
    /// As given.
    pub(in crate::graph) tools: Option<Value>,
}

impl Agent {
    /// Whether it may use other agents as tools.
    pub(in crate::graph) fn uses_subagents(&self) -> bool {
        self.tools.as_ref().and_then(|tools| tools.get("subagents")) == Some(&Value::Bool(true))
    }
}

impl Node {
    pub(super) fn read_all(items: &[Located], report: &mut Report) -> Vec<Self> {
        let nodes: Vec<Self> = items.iter().filter_map(|item| Self::read(item, report)).collect();
        let mut seen = BTreeSet::new();
        for node in nodes.iter().filter(|node| !node.id.is_empty()) {
            if !seen.insert(node.id.clone()) {
                let message = format!("there are two nodes with the id `{}`", node.id);
                report.error(Kind::DuplicateNodeId, node.span, message, "give one of them another id");
            }
        }
        nodes
    }

    fn read(item: &Located, report: &mut Report) -> Option<Self> {
        if !item.is_object() {
            report.odd(Kind::InvalidPayload, item, "a node is an object");
            return None;
        }
        let id = item.get("id").and_then(Located::text).filter(|id| !id.is_empty());
        if id.is_none() {
            let span = item.get("id").map_or(item.span, |found| found.span);
            let help = "give it an \"id\", a text that no other node has";
            report.error(Kind::InvalidPayload, span, "this node has no id", help);
        }
        let nothing = Located { shape: Shape::Object(Vec::new()), span: item.span };
        let data = item.get("data").filter(|data| !data.is_null()).unwrap_or(&nothing);
        if !data.is_object() {
            report.odd(Kind::InvalidField, data, "`data` is an object");
        }
        misspelt(data, report);
        let (kind, what) = what(item, data, report);
        Some(Self { id: id.cloned().unwrap_or_default(), kind, what, span: item.span })
    }
}

fn what(item: &Located, data: &Located, report: &mut Report) -> (&'static str, What) {
    let written = item.get("type").and_then(Located::text).map_or("", |text| &**text);
    let value = |key: &str| data.get(key).map(Located::to_value).unwrap_or_default();
    match written {
        "start" => ("start", What::Start(value("initialInput"))),
        "agent" => ("agent", What::Agent(agent(data, report))),
        "if" => ("if", What::If(conditions(data, report))),
        "approval" | "input" => ("approval", What::Approval(value("prompt"))),
        "end" => ("end", What::End),
        _ => {
            let found = item.get("type").unwrap_or(item);
            let message = match item.get("type") {
                Some(found) => format!("there is no node type `{}`", found.to_value()),
                None => "this node has no `type`".to_owned(),
            };
            let finding = Diagnostic::error(Kind::UnknownNodeType, found.span, message);
            report.findings.push(finding.suggest(written, TYPES));
            ("unknown", What::Refused)
        }
    }
}

fn agent(data: &Located, report: &mut Report) -> Agent {
    let mut text = |key: &str| {
        let found = data.get(key).filter(|found| !found.is_null())?;
        if found.text().is_none() {
            report.odd(Kind::InvalidField, found, &format!("`{key}` is text"));
        }
        found.text().cloned()
    };
    let filled = |text: Option<Arc<str>>| text.filter(|text| !text.is_empty());
    Agent {
        name: text("agentName").unwrap_or_else(|| AGENT_NAME.into()),
        system: filled(text("systemPrompt")).unwrap_or_else(|| SYSTEM_PROMPT.into()),
        prompt: text("userPrompt").filter(|prompt| !prompt.chars().all(is_blank)),
        model: filled(text("model")),
        effort: filled(text("reasoningEffort")),
        tools: data.get("tools").filter(|tools| !tools.is_null()).map(Located::to_value),
    }
}

/// White space, and the mark that some editors put at the beginning of a text.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// Today's list, or the one condition of an older document: its text is contained.
fn conditions(data: &Located, report: &mut Report) -> Vec<Located> {
    let written = data.get("conditions").filter(|found| !found.is_null());
    if let Some(found) = written.filter(|found| found.items().is_none()) {
        report.odd(Kind::InvalidField, found, "`conditions` is a list");
    }
    let items = written.and_then(Located::items).unwrap_or_default();
    match data.get("condition").filter(|found| items.is_empty() && found.text().is_some()) {
        Some(legacy) => vec![contains(legacy)],
        None => items.to_vec(),
    }
}

fn contains(value: &Located) -> Located {
    let span = value.span;
    let operator = Located { shape: Shape::Str { text: "contains".into(), verbatim: None }, span };
    let field = |key: &str, value: Located| Field { key: key.into(), key_span: span, value };
    Located { shape: Shape::Object(vec![field("operator", operator), field("value", value.clone())]), span }
}

/// Unknown keys are kept for whoever wrote them; one that is nearly a key of ours was hardly meant to be another.
fn misspelt(data: &Located, report: &mut Report) {
    for field in data.fields().iter().filter(|field| !DATA_KEYS.contains(&&*field.key)) {
        let message = format!("the key `{}` has no meaning here", field.key);
        let finding = Diagnostic::warning(Kind::UnknownKey, field.key_span, message).suggest(&field.key, DATA_KEYS);
        report.findings.extend(finding.help.is_some().then_some(finding));
    }
}
