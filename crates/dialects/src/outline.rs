//! The steps of a document as its author wrote them, for drawings and editors: types, places, fields and a few words.

use std::sync::Arc;

use branchpoint_expr::{Condition, Dialect, Located, Object, Options, Shape, Span, Value};

use crate::changes::parts::{Part, Parts};
use crate::fields::Access as _;
use crate::path::{Segment, at};
use crate::{export, graph, read};

/// The longest summary of a step, in characters.
const SUMMARY: usize = 30;

/// A step of a document.
#[derive(Clone, Debug)]
pub struct StepOutline {
    /// The id.
    pub id: Arc<str>,
    /// The type as it is written.
    pub kind: Arc<str>,
    /// The whole step in the source.
    pub span: Span,
    /// Its own fields, without the steps inside of it; of a graph node, those of `data`.
    pub fields: Value,
    /// Where an editor draws it.
    pub place: Option<(f64, f64)>,
    /// What its settings say, in a few words.
    pub summary: Option<String>,
    /// What it is beside its type.
    pub role: Option<StepRole>,
    /// The branches of a decision as they are written, if they can be seen without lowering the document.
    pub branches: Vec<OutlineBranch>,
}

/// A part that a step has beside its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepRole {
    /// It ends the run.
    End,
    /// It is a tool of an agent.
    Subagent,
}

/// A branch of a decision as it is written.
#[derive(Clone, Debug)]
pub struct OutlineBranch {
    /// The name.
    pub name: String,
    /// The condition; none for a default and for answers of people.
    pub condition: Option<String>,
    /// Whether it is taken if no condition holds.
    pub is_default: bool,
    /// The place of the condition.
    pub span: Option<Span>,
    /// The steps to which it leads.
    pub targets: Vec<Arc<str>>,
}

/// The steps of a document, in the order of the text; empty if the text cannot be read. The document may have errors.
///
/// ```
/// use branchpoint_expr::Dialect;
///
/// let source = "steps:\n  - {id: fetch, step_type: http, url: 'https://example.com'}\n";
/// let steps = branchpoint_dialects::outline(source, Dialect::Steps);
/// assert_eq!((&*steps[0].kind, steps[0].summary.as_deref()), ("http", Some("GET")));
/// ```
pub fn outline(source: &str, dialect: Dialect) -> Vec<StepOutline> {
    let Ok(document) = read(source) else { return Vec::new() };
    let definition = export::written_definition(&document).filter(|_| dialect == Dialect::Steps);
    let root = definition.unwrap_or(&document);
    let subagents: Vec<&str> = if dialect == Dialect::Graph { graph::subagents_of(root) } else { Vec::new() };
    let mut unnamed = 0;
    let step = |part: &Part<'_>| {
        unnamed += usize::from(!part.is_named);
        let located = at(root, &part.path)?;
        let id = if part.is_named { part.id.clone() } else { format!("step_{unnamed}").into() };
        let role = match (dialect, &*part.kind) {
            (Dialect::Machine, "terminal") | (Dialect::Flow, "finish") | (Dialect::Graph, "end") => Some(StepRole::End),
            _ => subagents.contains(&&*id).then_some(StepRole::Subagent),
        };
        Some(StepOutline {
            span: whole(root, &part.path, located.span),
            fields: fields_of(part, dialect),
            place: located.number("x").zip(located.number("y")).filter(|_| dialect == Dialect::Graph),
            summary: summary(located, &part.kind, dialect).map(|text| shortened(&text)),
            branches: match dialect {
                Dialect::Graph => graph_branches(root, located, &part.kind),
                Dialect::Steps => step_branches(located, &part.kind),
                _ => Vec::new(),
            },
            role,
            kind: part.kind.clone(),
            id,
        })
    };
    Parts::of(root, dialect).steps.iter().filter_map(step).collect()
}

/// A step with the key that names it.
fn whole(root: &Located, path: &[Segment], span: Span) -> Span {
    let Some((Segment::Key(key), holder)) = path.split_last() else { return span };
    let field = at(root, holder).and_then(|holder| holder.fields().iter().find(|field| field.key == *key));
    field.map_or(span, |field| field.key_span.to(span))
}

fn fields_of(part: &Part<'_>, dialect: Dialect) -> Value {
    let is_own = |field: &&crate::changes::parts::Field<'_>| {
        let in_data = matches!(field.inside.first(), Some(Segment::Key(key)) if &**key == "data");
        field.located.is_some() && (dialect != Dialect::Graph || in_data && field.inside.len() > 1)
    };
    let fields = part.fields.iter().filter(is_own);
    let name = |field: &crate::changes::parts::Field<'_>| match field.inside.last() {
        Some(Segment::Key(key)) => key.clone(),
        _ => field.name.clone(),
    };
    let own: Object = fields.map(|field| (name(field), field.value.clone())).collect();
    Value::from(own)
}

/// What the settings of a step say, in a few words.
fn summary(step: &Located, kind: &str, dialect: Dialect) -> Option<String> {
    let text = |key: &str| step.str(key).map(ToString::to_string).filter(|text| !text.contains("{{"));
    if dialect == Dialect::Graph {
        return step.get("data")?.str("agentName").map(ToString::to_string);
    }
    if dialect != Dialect::Steps {
        return None;
    }
    let own = match kind {
        "http" => text("method").or(Some("GET".to_owned())),
        "webhook_call" => text("method").or(Some("POST".to_owned())),
        "human_in_the_loop" => step.number("timeout_seconds").map(duration_text),
        "evaluate_step" => step.number("pass_threshold").map(|threshold| format!("pass ≥ {threshold}")),
        "for_each" if step.flag("parallel") == Some(true) => {
            Some(format!("{} at once", step.int("max_concurrency").unwrap_or(8)))
        }
        "while" => step.int("max_iterations").map(|rounds| format!("at most {rounds} rounds")),
        "retry" => step
            .int("max_retries")
            .map(|times| if times == 1 { "once".to_owned() } else { format!("at most {times} times") }),
        "wait" => text("duration").or_else(|| text("until")),
        "call_workflow" => text("workflow"),
        "call_agent" => text("agent"),
        "prompt_call" | "agent" => text("model").filter(|model| model != "default"),
        _ => None,
    };
    let attempts = || step.get("retry").and_then(|retry| retry.int("max_attempts")).filter(|attempts| *attempts > 1);
    own.or_else(|| attempts().map(|attempts| format!("{attempts} attempts")))
}

/// Seconds as `4 h`, `1 h 30 min`, `45 s`.
fn duration_text(seconds: f64) -> String {
    let units = [(86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s")];
    let mut rest = seconds;
    let mut parts = Vec::new();
    for (length, unit) in units {
        let count = (rest / length).floor();
        rest -= count * length;
        if count > 0.0 {
            parts.push(format!("{count} {unit}"));
        }
    }
    parts.truncate(2);
    if parts.is_empty() { format!("{seconds} s") } else { parts.join(" ") }
}

fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(SUMMARY) {
        None => line.to_owned(),
        Some(_) => line.chars().take(SUMMARY - 1).chain(['…']).collect(),
    }
}

fn graph_branches(root: &Located, node: &Located, kind: &str) -> Vec<OutlineBranch> {
    let id = node.str("id");
    let targets = |handle: &str| -> Vec<Arc<str>> {
        let leaves = |connection: &&Located| {
            let by = connection.str("sourceHandle").map_or("", |handle| handle);
            connection.str("source") == id && (by == handle || handle == "condition-0" && by == "true")
        };
        let leaving = root.list("connections").iter().filter(leaves);
        leaving.filter_map(|connection| connection.str("target").cloned()).collect()
    };
    let branch = |name: String, entry: Option<&Located>| OutlineBranch {
        condition: entry.map(text_condition),
        is_default: name == "false",
        span: entry.map(|entry| entry.span),
        targets: targets(&name),
        name,
    };
    match kind {
        "approval" | "input" => ["approve", "reject"].map(|name| branch(name.to_owned(), None)).into(),
        "if" => {
            let data = node.get("data");
            let listed = data.map(|data| data.list("conditions")).unwrap_or_default();
            let legacy = data.and_then(|data| data.get("condition"));
            let legacy = legacy.filter(|legacy| listed.is_empty() && legacy.text().is_some());
            let entries = listed.iter().chain(legacy).enumerate();
            let conditions = entries.map(|(index, entry)| branch(format!("condition-{index}"), Some(entry)));
            conditions.chain([branch("false".to_owned(), None)]).collect()
        }
        _ => Vec::new(),
    }
}

/// The condition of a graph's `if` as people read it.
fn text_condition(entry: &Located) -> String {
    if let Some(condition) = entry.get("if") {
        let compiled = Condition::text_match(entry, Options::dialect(Dialect::Graph));
        return match condition.text() {
            Some(text) => text.to_string(),
            None => compiled.map_or_else(|_| condition.to_value().to_string(), |compiled| compiled.text()),
        };
    }
    let operator = entry.str("operator").map_or("equal", |operator| operator);
    let value = entry.get("value").unwrap_or(entry).to_value();
    let operator = match (entry.text(), operator) {
        (Some(_), _) | (_, "contains") => "contains",
        _ => "equals",
    };
    format!("text {operator} {value:?}")
}

fn step_branches(step: &Located, kind: &str) -> Vec<OutlineBranch> {
    let first = |holder: &Located, list: &str| -> Vec<Arc<str>> {
        holder.list(list).first().and_then(|step| step.str("id").cloned()).into_iter().collect()
    };
    let branch = |name: String, holder: &Located, list: &str| {
        let condition = holder.get("if").or_else(|| holder.get("conditions"));
        OutlineBranch {
            name,
            condition: condition.map(written),
            is_default: false,
            span: condition.map(|condition| condition.span),
            targets: first(holder, list),
        }
    };
    let otherwise = |name: &str, list: &str| OutlineBranch {
        name: name.to_owned(),
        condition: None,
        is_default: true,
        span: None,
        targets: first(step, list),
    };
    match crate::steps::current_type(kind) {
        Some("if_else") => vec![branch("then".to_owned(), step, "then_steps"), otherwise("else", "else_steps")],
        Some("conditional") => {
            let elifs = step.list("elif").iter().enumerate();
            let elifs = elifs.map(|(index, entry)| branch(format!("elif-{index}"), entry, "then"));
            let then = branch("then".to_owned(), step, "then");
            std::iter::once(then).chain(elifs).chain([otherwise("else", "else")]).collect()
        }
        Some("switch") => {
            let case = |case: &Located| OutlineBranch {
                name: case.str("name").map(ToString::to_string).unwrap_or_default(),
                condition: case.get("match").map(|value| format!("{:?}", value.to_value())),
                is_default: false,
                span: case.get("match").map(|value| value.span),
                targets: first(case, "steps"),
            };
            step.list("cases").iter().map(case).chain([otherwise("else", "else_steps")]).collect()
        }
        Some("gate") => {
            let stops = step.str("on_match").is_some_and(|on_match| &**on_match == "stop");
            let names = if stops { ["blocked", "passed"] } else { ["passed", "blocked"] };
            vec![branch(names[0].to_owned(), step, ""), otherwise(names[1], "")]
        }
        _ => Vec::new(),
    }
}

/// A condition as it is written: an expression as its text, all others as JSON.
fn written(condition: &Located) -> String {
    match &condition.shape {
        Shape::Str { text, .. } => text.to_string(),
        _ => condition.to_value().to_string(),
    }
}
