//! A session as a picture: its steps, and what makes each the active one. The first whose conditions are true becomes active.

use branchpoint_core::ir::picture::{Arrow, Node, NodeShape, Picture};
use branchpoint_expr::{Condition, Dialect, Located, Options};

use super::raw::{Agent, Step};
use crate::picture::{condition_text, end};
use crate::report::Report;

/// The picture of a session.
pub(crate) fn picture(document: &Located, source: &str) -> Picture {
    let agent = Agent::read(document, &mut Report::default());
    let mut nodes = vec![end("event")];
    nodes.extend(agent.steps.iter().map(|step| Node {
        title: step.name.clone(),
        kind: "step".into(),
        shape: NodeShape::Work,
    }));
    let mut arrows = Vec::new();
    for (at, step) in agent.steps.iter().enumerate() {
        let mut arrow = |label: String| arrows.push(Arrow { from: 0, to: at + 1, label, failure: false });
        if let Some(condition) = condition(step) {
            arrow(condition_text(&condition, source));
        }
        if agent.default == Some(at) {
            arrow("default".to_owned());
        }
    }
    Picture { nodes, arrows }
}

fn condition(step: &Step<'_>) -> Option<Condition> {
    Condition::history(step.conditions?, step.sequence, Options::dialect(Dialect::Session)).ok()
}
