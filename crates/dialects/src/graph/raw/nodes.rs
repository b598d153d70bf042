//! The nodes of a graph as they are written.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::{Diagnostic, Field, Kind, Located, Shape, Span, Value};

use super::tables::{DATA, NODE, PART, TYPES};
use crate::DocumentKinds as _;
use crate::approvals::ApprovalRules;
use crate::fields::{Access, Path};
use crate::report::Report;

const AGENT_NAME: &str = "Agent";
const SYSTEM_PROMPT: &str = "You are a helpful assistant.";

/// One node.
#[derive(Debug)]
pub(in crate::graph) struct Node {
    pub(in crate::graph) id: Arc<str>,
    /// Its type, after mapping.
    pub(in crate::graph) kind: &'static str,
    pub(in crate::graph) data: NodeData,
    pub(in crate::graph) span: Span,
}

/// The data of a node by its type.
#[derive(Debug)]
pub(in crate::graph) enum NodeData {
    /// The start, with the initial output.
    Start(Value),
    Agent(Agent),
    /// Conditions, tried in order.
    If(Vec<Located>),
    /// An approval by a person: the prompt, and the rules by which several people decide.
    Approval(Value, Option<Located>),
    /// The end of its branch.
    End,
    /// An invalid node, which does not run.
    Refused,
}

/// The settings of an agent.
#[derive(Debug)]
pub(in crate::graph) struct Agent {
    pub(in crate::graph) name: Arc<str>,
    pub(in crate::graph) system: Arc<str>,
    /// None: the previous output is the prompt.
    pub(in crate::graph) prompt: Option<Arc<str>>,
    /// None: the installation's default.
    pub(in crate::graph) model: Option<Arc<str>>,
    /// None: the installation's default.
    pub(in crate::graph) effort: Option<Arc<str>>,
    /// As written.
    pub(in crate::graph) tools: Option<Value>,
    /// Whether a tool that is not configured prevents a run; none: the graph's setting.
    pub(in crate::graph) strict_tools: Option<bool>,
}

impl Agent {
    /// Whether it may use other agents as tools.
    pub(in crate::graph) fn uses_subagents(&self) -> bool {
        self.tools.as_ref().and_then(|tools| tools.get("subagents")) == Some(&Value::Bool(true))
    }
}

impl Node {
    pub(super) fn read_all(items: &[Located], report: &mut Report) -> Vec<Self> {
        let nodes: Vec<Self> = items.iter().enumerate().filter_map(|item| Self::read(item, report)).collect();
        let mut seen = BTreeMap::new();
        for node in nodes.iter().filter(|node| !node.id.is_empty()) {
            if let Some(first) = seen.insert(node.id.clone(), node.span) {
                let message = format!("the id `{}` is used by two nodes", node.id);
                let finding = Diagnostic::error(Kind::DuplicateNodeId, node.span, message);
                let finding = finding.with_related(first, format!("the first node `{}` is here", node.id));
                report.findings.push(finding.with_help("give one of the two nodes another id"));
            }
        }
        nodes
    }

    fn read((at, item): (usize, &Located), report: &mut Report) -> Option<Self> {
        let path = Path::Item(&Path::Root("nodes"), at);
        if !report.check(PART).object(path, item, &[NODE]) {
            return None;
        }
        let nothing = Located { shape: Shape::Object(Vec::new()), span: item.span };
        let data = item.get("data").filter(|data| data.is_object()).unwrap_or(&nothing);
        let written = item.str("type").map_or("", |text| text);
        if let Some((.., table)) = TYPES.iter().find(|(name, ..)| *name == written) {
            report.check(DATA).object(Path::Key(&path, "data"), data, &[table]);
        }
        let value = |key: &str| data.get(key).map(Located::to_value).unwrap_or_default();
        let (kind, node_data) = match written {
            "start" => ("start", NodeData::Start(value("initialInput"))),
            "agent" => ("agent", NodeData::Agent(Agent::read(data))),
            "if" => ("if", NodeData::If(conditions(data))),
            "approval" | "input" => ("approval", NodeData::Approval(value("prompt"), rules(data, report))),
            "end" => ("end", NodeData::End),
            _ => ("unknown", NodeData::Refused),
        };
        Some(Self { id: item.str("id").cloned().unwrap_or_default(), kind, data: node_data, span: item.span })
    }
}

impl Agent {
    fn read(data: &Located) -> Self {
        let filled = |key: &str| data.str(key).filter(|text| !text.is_empty()).cloned();
        Self {
            name: data.str("agentName").cloned().unwrap_or_else(|| AGENT_NAME.into()),
            system: filled("systemPrompt").unwrap_or_else(|| SYSTEM_PROMPT.into()),
            prompt: data.str("userPrompt").filter(|prompt| !prompt.chars().all(is_blank)).cloned(),
            model: filled("model"),
            effort: filled("reasoningEffort"),
            tools: data.given("tools").map(Located::to_value),
            strict_tools: data.flag("strict_tools"),
        }
    }
}

/// The rules of an approval, unless the first answer decides.
fn rules(data: &Located, report: &mut Report) -> Option<Located> {
    let rules = data.given("approval").filter(|rules| rules.is_object())?;
    ApprovalRules::of(rules)?.check(&["approve", "reject"], None, &mut report.findings);
    Some(rules.clone())
}

/// White space, and the mark that some editors put at the beginning of a text.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// The list of conditions, or the single condition of a deprecated form: the text contains it.
fn conditions(data: &Located) -> Vec<Located> {
    let items = data.list("conditions");
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
