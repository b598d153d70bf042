//! Diagrams of the control flow: one node for each step, one arrow for each connection.
//!
//! Places are contracted to the steps to which they belong: from every place where a step begins or decides, the code is followed until
//! the next step begins. Paths that only end a failed run are omitted, because almost every node would have one.

mod compare;
mod dot;
mod mermaid;
mod node_shape;
mod owners;
mod path_facts;
mod walk;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Index, Program, StepId};

pub use compare::{ComparedPicture, PictureMark, compare};
pub use dot::{dot, dot_compared};
pub use mermaid::{mermaid, mermaid_compared};

/// A diagram of nodes and arrows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The nodes: the start, the steps in document order, the ends.
    pub nodes: Vec<Node>,
    /// The arrows between them, by position.
    pub arrows: Vec<Arrow>,
}

/// A step, the start or an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The id of the step, or a word for the start and the ends.
    pub title: Arc<str>,
    /// The type of the step; empty for the start and the ends.
    pub kind: Arc<str>,
    /// The shape of the node.
    pub shape: NodeShape,
}

/// The shape of a node, by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeShape {
    /// The start or an end of the run.
    End,
    /// A step with one continuation.
    Work,
    /// A step that chooses a branch.
    Decision,
    /// A step that repeats other steps.
    Loop,
    /// A step that waits for people.
    People,
    /// A step that joins branches.
    Merge,
}

/// An arrow between two nodes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrow {
    /// The position of the source node.
    pub from: usize,
    /// The position of the target node.
    pub to: usize,
    /// The condition of the arrow; empty if there is none.
    pub label: String,
    /// Whether the arrow is followed after a failure.
    pub failure: bool,
}

/// Draws a program. Conditions are shown as written in `source`, the text of the document.
///
/// ```
/// let program = branchpoint_core::ir::builder::Builder::sample();
/// let picture = branchpoint_core::ir::picture::picture(&program, "");
/// assert!(!picture.nodes.is_empty());
/// ```
pub fn picture(program: &Program, source: &str) -> Picture {
    let drawn = walk::draw(program, source);
    let used: BTreeSet<usize> = drawn.arrows.iter().flat_map(|arrow| [arrow.from, arrow.to]).collect();
    let mut numbers: Vec<Option<usize>> = vec![None; drawn.shapes.len()];
    let mut nodes = Vec::new();
    for (node, shape) in drawn.shapes.iter().enumerate() {
        if used.contains(&node) {
            numbers[node] = Some(nodes.len());
            nodes.push(named(program, node, *shape));
        }
    }
    let arrows = drawn
        .arrows
        .into_iter()
        .filter_map(|arrow| Some(Arrow { from: numbers[arrow.from]?, to: numbers[arrow.to]?, ..arrow }));
    let arrows = arrows.collect();
    Picture { nodes, arrows }
}

/// The numbers of nodes while drawing: the start, then the steps, then the two ends.
const START: usize = 0;

fn of_step(step: StepId) -> usize {
    step.index() + 1
}

fn done(program: &Program) -> usize {
    program.steps.len() + 1
}

fn failed(program: &Program) -> usize {
    program.steps.len() + 2
}

fn named(program: &Program, node: usize, shape: NodeShape) -> Node {
    let word = |title: &str| Node { title: title.into(), kind: "".into(), shape: NodeShape::End };
    match node.checked_sub(1).and_then(|step| program.steps.get(step)) {
        Some(step) => Node { title: Arc::clone(&step.id), kind: Arc::clone(&step.kind), shape },
        None if node == START => word("start"),
        None if node == done(program) => word("end"),
        None => word("failed"),
    }
}

/// A text as a label: one line of limited length, without control characters and invisible characters that change the text direction.
fn label(text: &str) -> String {
    const LONGEST: usize = 80;
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let shown = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !c.is_control() && !turns(*c));
    let mut label: String = shown.clone().take(LONGEST).collect();
    // A long label would make the diagram unreadable.
    if shown.clone().nth(LONGEST).is_some() {
        label.pop();
        label.push('…');
    }
    label
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn labels_are_one_line_without_invisible_characters() {
        assert_eq!(label("one\ntwo\tthree\u{2028}four\u{7}"), "one two three four");
        assert_eq!(label("approve\u{202e}reject"), "approvereject");
        assert_eq!(label(&"x".repeat(80)), "x".repeat(80));
        assert_eq!(label(&"x".repeat(81)), "x".repeat(79) + "…");
    }
}
