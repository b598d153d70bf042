//! The control flow of a program as its author would draw it: one box for each step, an arrow for each way on.
//!
//! Places are contracted to the steps they belong to: from every place where a step begins or decides, the code is followed
//! until the next step begins. Ways that only end a failed run are left out, or every box would have one.

mod dot;
mod mermaid;
mod node_shape;
mod owners;
mod path_facts;
mod walk;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Index, Program, StepId};

pub use dot::dot;
pub use mermaid::mermaid;

/// Boxes and arrows.
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
    /// The step's id, or a word for the start and the ends.
    pub title: Arc<str>,
    /// The step's type; empty for the start and the ends.
    pub kind: Arc<str>,
    /// What it looks like.
    pub shape: NodeShape,
}

/// What a box stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeShape {
    /// The start or an end of the run.
    End,
    /// Anything that does its work and goes on.
    Work,
    /// It decides which way to go.
    Decision,
    /// It runs something several times.
    Loop,
    /// It asks people.
    People,
    /// It brings ways together.
    Merge,
}

/// A way from one box to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrow {
    /// The position of the box it comes from.
    pub from: usize,
    /// The position of the box it leads to.
    pub to: usize,
    /// What must hold for it to be taken; empty if nothing.
    pub label: String,
    /// Whether it is taken when something failed.
    pub failure: bool,
}

/// Draws a program. `source` is the text of the document, from which conditions are shown as they were written.
///
/// ```
/// let program = branchpoint_core::ir::builder::Builder::sample();
/// let picture = branchpoint_core::ir::picture::picture(&program, "");
/// assert!(!picture.nodes.is_empty());
/// ```
pub fn picture(program: &Program, source: &str) -> Picture {
    let drawn = walk::draw(program, source);
    let used: BTreeSet<usize> = drawn.arrows.iter().flat_map(|arrow| [arrow.from, arrow.to]).collect();
    let mut shown: Vec<Option<usize>> = vec![None; drawn.looks.len()];
    let mut nodes = Vec::new();
    for (node, shape) in drawn.looks.iter().enumerate() {
        if used.contains(&node) {
            shown[node] = Some(nodes.len());
            nodes.push(named(program, node, *shape));
        }
    }
    let arrows = drawn
        .arrows
        .into_iter()
        .filter_map(|arrow| Some(Arrow { from: shown[arrow.from]?, to: shown[arrow.to]?, ..arrow }));
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

/// A text as it can stand in a picture: on one line, of bounded length, without signs that nobody sees but that turn others
/// around.
fn label(text: &str) -> String {
    const LONGEST: usize = 80;
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let shown = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !c.is_control() && !turns(*c));
    let mut label: String = shown.clone().take(LONGEST).collect();
    // A label that is longer than a line says less than one that is cut.
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
    fn labels_are_one_line_that_reads_as_it_is_written() {
        assert_eq!(label("one\ntwo\tthree\u{2028}four\u{7}"), "one two three four");
        assert_eq!(label("approve\u{202e}reject"), "approvereject");
        assert_eq!(label(&"x".repeat(80)), "x".repeat(80));
        assert_eq!(label(&"x".repeat(81)), "x".repeat(79) + "…");
    }
}
