//! Drawings of workflows: nodes, edges, and the branches of decisions, with their places in the source.

use std::collections::{BTreeMap, HashMap};

use branchpoint_core::ir::picture::{Arrow, NodeShape, Picture};
use branchpoint_core::ir::{Branch, Index as _, Program, StepId};
use branchpoint_dialects::picture;
use branchpoint_expr::Span;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use crate::documents::dialect_named;
use crate::routes::runs::step::SpanRecord;

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
    /// The type of the step.
    kind: String,
    /// `action`, `decision`, `approval`, `loop`, `start` or `end`.
    #[schema(value_type = crate::schemas::NodeShape)]
    shape: &'static str,
    /// The enclosing step.
    parent: Option<String>,
    span: Option<SpanRecord>,
    branches: Vec<DrawingBranch>,
}

/// A connection between two nodes.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct DrawingEdge {
    id: String,
    from: String,
    /// The branch of the decision from which the edge leads.
    from_branch: Option<String>,
    to: String,
    label: Option<String>,
    /// `next`, `branch` or `loop`.
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
    /// Changes with the drawing, for caches of layouts.
    hash: String,
}

/// Draws a program. Conditions are shown as written in the text of the document.
pub(crate) fn draw(program: &Program, text: &str, dialect: &str) -> Drawing {
    let picture = picture(program, text, dialect_named(dialect));
    let steps = steps_of(&picture, program);
    let ids = ids_of(&picture);
    let branches = branches_by_step(program);
    let nodes: Vec<DrawingNode> =
        (0..picture.nodes.len()).map(|at| node(&picture, at, (&ids, &steps), program, &branches, text)).collect();
    let edges: Vec<DrawingEdge> = picture
        .arrows
        .iter()
        .enumerate()
        .map(|(at, arrow)| edge(&picture, (at, arrow), (&ids, &steps), program, &nodes))
        .collect();
    let hash = hash_of(&nodes, &edges);
    Drawing { dialect: dialect.to_owned(), nodes, edges, editable: false, hash }
}

/// The step of each node. Nodes are in the order of the document, so equal titles are matched in order.
fn steps_of(picture: &Picture, program: &Program) -> Vec<Option<StepId>> {
    let mut by_title: HashMap<&str, std::collections::VecDeque<StepId>> = HashMap::new();
    for (step, record) in (0..).map(StepId).zip(&program.steps) {
        by_title.entry(&record.id).or_default().push_back(step);
    }
    let mut step = |node: &branchpoint_core::ir::picture::Node| {
        if node.kind.is_empty() {
            return None;
        }
        by_title.get_mut(&*node.title).and_then(std::collections::VecDeque::pop_front)
    };
    picture.nodes.iter().map(&mut step).collect()
}

/// The id of each node: its title, with a number where several have the same.
fn ids_of(picture: &Picture) -> Vec<String> {
    let mut used: HashMap<&str, usize> = HashMap::new();
    let mut ids = Vec::with_capacity(picture.nodes.len());
    for node in &picture.nodes {
        let count = used.entry(&node.title).or_default();
        *count += 1;
        ids.push(if *count == 1 { node.title.to_string() } else { format!("{}~{count}", node.title) });
    }
    ids
}

/// The branches that the author wrote, by step.
fn branches_by_step(program: &Program) -> BTreeMap<usize, Vec<&Branch>> {
    let mut by_step: BTreeMap<usize, Vec<&Branch>> = BTreeMap::new();
    for decision in &program.decisions {
        use branchpoint_core::ir::DecisionKind as Kind;
        if matches!(decision.kind, Kind::Branch | Kind::Switch | Kind::Gate | Kind::Transition) {
            by_step.entry(decision.step.index()).or_insert_with(|| decision.branches.iter().collect());
        }
    }
    by_step
}

fn node(
    picture: &Picture,
    at: usize,
    (ids, steps): (&[String], &[Option<StepId>]),
    program: &Program,
    branches: &BTreeMap<usize, Vec<&Branch>>,
    text: &str,
) -> DrawingNode {
    let node = &picture.nodes[at];
    let step = steps[at].map(|step| (step, &program.steps[step.index()]));
    let parent = step.and_then(|(_, step)| step.parent);
    let parent = parent.and_then(|parent| steps.iter().position(|step| *step == Some(parent)));
    let is_start = at == 0 && node.kind.is_empty();
    let branches = step.and_then(|(step, _)| branches.get(&step.index()));
    let is_decision = branches.is_some_and(|branches| branches.len() > 1);
    let shape = match node.shape {
        NodeShape::End if is_start => "start",
        NodeShape::End => "end",
        NodeShape::People => "approval",
        NodeShape::Loop => "loop",
        NodeShape::Decision => "decision",
        NodeShape::Work | NodeShape::Merge if is_decision => "decision",
        NodeShape::Work | NodeShape::Merge => "action",
    };
    let branch = |branch: &&Branch| DrawingBranch {
        name: branch.name.to_string(),
        condition: branch.text.as_ref().map(ToString::to_string),
        condition_short: branch.text.as_ref().map(|text| shortened(text)),
        default: branch.is_default,
        targets: branch.targets.iter().map(ToString::to_string).collect(),
        line: branch.position.map(|(line, _)| line),
    };
    DrawingNode {
        id: ids[at].clone(),
        title: node.title.to_string(),
        kind: if is_start { "start".into() } else { node.kind.to_string() },
        shape,
        parent: parent.map(|parent| ids[parent].clone()),
        span: step.and_then(|(_, step)| SpanRecord::of(Span { start: step.origin.0, end: step.origin.1 }, text)),
        branches: branches.into_iter().flatten().map(branch).collect(),
    }
}

fn edge(
    picture: &Picture,
    (at, arrow): (usize, &Arrow),
    (ids, steps): (&[String], &[Option<StepId>]),
    program: &Program,
    nodes: &[DrawingNode],
) -> DrawingEdge {
    let title = &*picture.nodes[arrow.to].title;
    let leads_there = |branch: &&DrawingBranch| branch.targets.iter().any(|target| target == title);
    let has_label = |branch: &&DrawingBranch| {
        !arrow.label.is_empty() && (branch.name == arrow.label || branch.condition.as_deref() == Some(&arrow.label))
    };
    let branches = &nodes[arrow.from].branches;
    let branch = branches.iter().find(has_label).or_else(|| branches.iter().find(leads_there));
    let branch = branch.map(|branch| branch.name.clone());
    let encloses = |outer: usize, inner: usize| {
        let parent = |step: &StepId| program.steps[step.index()].parent;
        let inner = steps[inner].and_then(|step| parent(&step));
        steps[outer].is_some() && std::iter::successors(inner, parent).any(|step| Some(step) == steps[outer])
    };
    let is_back = encloses(arrow.to, arrow.from) || steps[arrow.from].is_some() && arrow.to == arrow.from;
    DrawingEdge {
        id: format!("e{at}"),
        from: ids[arrow.from].clone(),
        kind: if is_back {
            "loop"
        } else if branch.is_some() {
            "branch"
        } else {
            "next"
        },
        from_branch: branch,
        to: ids[arrow.to].clone(),
        label: (!arrow.label.is_empty()).then(|| arrow.label.clone()),
        failure: arrow.failure,
    }
}

/// A condition with its paths shortened to their last segments: `…score < 0.85`.
fn shortened(condition: &str) -> String {
    let mut short = String::with_capacity(condition.len());
    let mut word = String::new();
    let mut quote: Option<char> = None;
    let flush = |word: &mut String, short: &mut String| {
        let is_path = word.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_') && word.contains('.');
        match word.rsplit_once('.').filter(|_| is_path) {
            Some((_, last)) if !last.is_empty() => short.extend(["…", last]),
            _ => short.push_str(word),
        }
        word.clear();
    };
    for c in condition.chars() {
        match quote {
            Some(end) => {
                quote = (c != end).then_some(end);
                short.push(c);
            }
            None if c.is_alphanumeric() || c == '_' || c == '.' => word.push(c),
            None => {
                flush(&mut word, &mut short);
                quote = matches!(c, '"' | '\'').then_some(c);
                short.push(c);
            }
        }
    }
    flush(&mut word, &mut short);
    short
}

fn hash_of(nodes: &[DrawingNode], edges: &[DrawingEdge]) -> String {
    let mut digest = Sha256::new();
    // Serializing these records to memory cannot fail.
    digest.update(serde_json::to_vec(&(nodes, edges)).unwrap_or_default());
    branchpoint_runners::hexadecimal(&digest.finalize())[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn conditions_keep_operators_and_texts() {
        for (condition, short) in [
            ("step.score.output.score < 0.85", "…score < 0.85"),
            ("a.b == \"x.y\" && !c", "…b == \"x.y\" && !c"),
            ("len(inputs.items) > 1.5", "len(…items) > 1.5"),
            ("", ""),
        ] {
            assert_eq!(shortened(condition), short);
        }
    }
}
