//! Drawings of workflows: nodes, edges, and the branches of decisions, with their places in the source.

mod branches;
mod comparison;
mod edges;
mod short_condition;

use std::collections::{BTreeSet, HashMap, VecDeque};

use branchpoint_core::ir::picture::{self, NodeShape, Picture};
use branchpoint_core::ir::{DecisionKind, Program, StepId};
use branchpoint_dialects::{StepOutline, StepRole, is_editable, outline, picture, sketch};
use branchpoint_expr::{Dialect, Span, Value};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use crate::documents::dialect_named;
use crate::routes::runs::step::SpanRecord;

pub(crate) use comparison::{Marks, draw_compared};

/// A branch of a decision.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct DrawingBranch {
    name: String,
    /// The condition; null for a default.
    condition: Option<String>,
    /// The condition with paths shortened to their last segments.
    condition_short: Option<String>,
    default: bool,
    /// The steps to which the branch leads.
    targets: Vec<String>,
    /// The line of the condition, counted from 1.
    line: Option<u32>,
}

/// A step, the start or an end.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct DrawingNode {
    id: String,
    title: String,
    /// The type of the step as its author wrote it.
    kind: String,
    /// `action`, `decision`, `approval`, `loop`, `subagent`, `start` or `end`.
    #[schema(value_type = crate::schemas::NodeShape)]
    shape: &'static str,
    /// What its settings say, in at most 30 characters.
    summary: Option<String>,
    /// The enclosing step.
    parent: Option<String>,
    /// The whole step in the source.
    span: Option<SpanRecord>,
    branches: Vec<DrawingBranch>,
    /// Where the author of a graph has placed it.
    x: Option<f64>,
    y: Option<f64>,
    /// The step's own fields, without the steps inside of it; of a graph node, those of its `data`. Only on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    fields: Option<Value>,
}

/// A connection between two nodes.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct DrawingEdge {
    id: String,
    from: String,
    /// The branch of the decision from which the edge leads.
    from_branch: Option<String>,
    to: String,
    /// The words beside the edge. An edge of a branch has none, because the branch has a name.
    label: Option<String>,
    /// `next`, `branch`, `loop` for edges that lead back, or `subagent`.
    #[schema(value_type = crate::schemas::EdgeKind)]
    kind: &'static str,
    /// Whether the edge is followed after a failure.
    failure: bool,
}

/// A workflow as nodes and edges.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Drawing {
    dialect: String,
    nodes: Vec<DrawingNode>,
    edges: Vec<DrawingEdge>,
    /// Whether edits of the drawing can be applied to the text.
    editable: bool,
    /// Changes with the structure, not with places in the source: a key for caches of layouts.
    hash: String,
}

/// Draws a program. Conditions are shown as written in the text of the document.
pub(crate) fn draw(program: &Program, text: &str, dialect: &str) -> Drawing {
    let named = dialect_named(dialect);
    let picture = picture(program, text, named);
    let outline = named.map(|dialect| outline(text, dialect)).unwrap_or_default();
    Sheet::new(&picture, Some(program), text, &outline).drawing(dialect, false)
}

/// Draws the structure of a document with errors; none if it has no structure to draw.
pub(crate) fn draw_sketch(text: &str, dialect: Dialect) -> Option<Drawing> {
    let sketch = sketch(text, dialect)?;
    let outline = outline(text, dialect);
    Some(Sheet::new(&sketch.picture, sketch.program.as_ref(), text, &outline).drawing(dialect.as_str(), true))
}

impl Drawing {
    /// Adds to each node the fields of its step.
    pub(crate) fn with_fields(mut self, text: &str) -> Self {
        let outline = dialect_named(&self.dialect).map(|dialect| outline(text, dialect)).unwrap_or_default();
        let fields: HashMap<&str, &Value> = outline.iter().map(|step| (&*step.id, &step.fields)).collect();
        for node in &mut self.nodes {
            node.fields = fields.get(&*node.title).map(|fields| (*fields).clone());
        }
        self
    }
}

/// What a drawing is made of.
struct Sheet<'d> {
    picture: &'d Picture,
    program: Option<&'d Program>,
    text: &'d str,
    ids: Vec<String>,
    /// The step of each node.
    steps: Vec<Option<StepId>>,
    /// The step of each node in the document.
    outlines: Vec<Option<&'d StepOutline>>,
    /// Steps that repeat others.
    loops: BTreeSet<StepId>,
}

impl<'d> Sheet<'d> {
    fn new(picture: &'d Picture, program: Option<&'d Program>, text: &'d str, outline: &'d [StepOutline]) -> Self {
        let mut by_id: HashMap<&str, VecDeque<&StepOutline>> = HashMap::new();
        for step in outline {
            by_id.entry(&step.id).or_default().push_back(step);
        }
        let is_step = |node: &&picture::Node| !node.kind.is_empty();
        let mut of = |node: &picture::Node| by_id.get_mut(&*node.title).and_then(VecDeque::pop_front);
        let outlines = picture.nodes.iter().map(|node| Some(node).filter(is_step).and_then(&mut of)).collect();
        let decisions = program.map(|program| program.decisions.iter()).into_iter().flatten();
        let loops = decisions.filter(|decision| decision.kind == DecisionKind::Loop).map(|decision| decision.step);
        Self {
            ids: ids_of(picture),
            steps: steps_of(picture, program),
            loops: loops.collect(),
            picture,
            program,
            text,
            outlines,
        }
    }

    fn drawing(&self, dialect: &str, is_sketch: bool) -> Drawing {
        let mut nodes: Vec<DrawingNode> = (0..self.picture.nodes.len()).map(|at| self.node(at, is_sketch)).collect();
        let edges = edges::edges(self, &mut nodes);
        let editable = dialect_named(dialect).is_some_and(is_editable);
        let hash = hash_of(&nodes, &edges);
        Drawing { dialect: dialect.to_owned(), nodes, edges, editable, hash }
    }

    fn node(&self, at: usize, is_sketch: bool) -> DrawingNode {
        let (node, outline) = (&self.picture.nodes[at], self.outlines[at]);
        let step = self.steps[at].zip(self.program).map(|(step, program)| (step, &program.steps[step.0 as usize]));
        let parent = step.and_then(|(_, step)| step.parent);
        let parent = parent.and_then(|parent| self.steps.iter().position(|step| *step == Some(parent)));
        let branches = branches::branches(self, at, is_sketch);
        let shape = self.shape(at, branches.len() > 1);
        let origin = step.map(|(_, step)| Span { start: step.origin.0, end: step.origin.1 });
        let span = outline.map(|outline| outline.span).or(origin);
        // A type that the author left out is that of the dialect.
        let written = outline.map(|outline| &outline.kind).filter(|kind| !kind.is_empty());
        let kind = written.unwrap_or(&node.kind);
        let place = outline.and_then(|outline| outline.place);
        // A state that the author has not written: `on_failure` with a message instead of a name.
        let is_inline = node.title.starts_with("__");
        DrawingNode {
            id: self.ids[at].clone(),
            title: if is_inline { "failure".to_owned() } else { node.title.to_string() },
            kind: if shape == "start" && node.kind.is_empty() { "start".to_owned() } else { kind.to_string() },
            shape: if is_inline { "end" } else { shape },
            summary: outline.and_then(|outline| outline.summary.clone()),
            parent: parent.map(|parent| self.ids[parent].clone()),
            span: span.and_then(|span| SpanRecord::of(span, self.text)),
            branches,
            x: place.map(|(x, _)| x),
            y: place.map(|(_, y)| y),
            fields: None,
        }
    }

    fn shape(&self, at: usize, has_branches: bool) -> &'static str {
        let node = &self.picture.nodes[at];
        match self.outlines[at].and_then(|outline| outline.role) {
            Some(StepRole::End) => return "end",
            Some(StepRole::Subagent) => return "subagent",
            None => {}
        }
        // A step to which a retry leads back is no loop.
        let repeats = self.steps[at].is_none_or(|step| self.loops.contains(&step));
        match node.shape {
            NodeShape::End if at == 0 && node.kind.is_empty() || &*node.kind == "start" => "start",
            NodeShape::End => "end",
            NodeShape::People => "approval",
            NodeShape::Loop if repeats => "loop",
            _ if has_branches => "decision",
            _ => "action",
        }
    }
}

/// The step of each node. Nodes are in the order of the document, so equal titles are matched in order.
fn steps_of(picture: &Picture, program: Option<&Program>) -> Vec<Option<StepId>> {
    let mut by_title: HashMap<&str, VecDeque<StepId>> = HashMap::new();
    for (step, record) in (0..).map(StepId).zip(program.map(|program| &program.steps).into_iter().flatten()) {
        by_title.entry(&record.id).or_default().push_back(step);
    }
    let mut step = |node: &picture::Node| {
        if node.kind.is_empty() {
            return None;
        }
        by_title.get_mut(&*node.title).and_then(VecDeque::pop_front)
    };
    picture.nodes.iter().map(&mut step).collect()
}

/// The id of each node: its title, with a number where several have the same. Steps have their ids; the start and the end give way.
fn ids_of(picture: &Picture) -> Vec<String> {
    let mut used: HashMap<&str, usize> = HashMap::new();
    let mut ids = vec![String::new(); picture.nodes.len()];
    let nodes = || picture.nodes.iter().enumerate();
    let (steps, ends) =
        (nodes().filter(|(_, node)| !node.kind.is_empty()), nodes().filter(|(_, node)| node.kind.is_empty()));
    for (at, node) in steps.chain(ends) {
        let count = used.entry(&node.title).or_default();
        *count += 1;
        ids[at] = if *count == 1 { node.title.to_string() } else { format!("{}~{count}", node.title) };
    }
    ids
}

fn hash_of(nodes: &[DrawingNode], edges: &[DrawingEdge]) -> String {
    let branch = |branch: &DrawingBranch| (branch.name.clone(), branch.condition_short.clone(), branch.default);
    let nodes: Vec<_> = nodes
        .iter()
        .map(|node| {
            (&node.id, &node.kind, node.shape, &node.parent, node.branches.iter().map(branch).collect::<Vec<_>>())
        })
        .collect();
    let edges: Vec<_> = edges.iter().map(|edge| (&edge.from, &edge.from_branch, &edge.to, edge.kind)).collect();
    let mut digest = Sha256::new();
    // Serializing these records to memory cannot fail.
    digest.update(serde_json::to_vec(&(nodes, edges)).unwrap_or_default());
    branchpoint_runners::hexadecimal(&digest.finalize())[..16].to_owned()
}
