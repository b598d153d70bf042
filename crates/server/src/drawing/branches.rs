//! The branches of decisions.

use branchpoint_core::ir::{Branch, DecisionKind as Kind, Program, StepId};
use branchpoint_dialects::OutlineBranch;

use super::short_condition::shorten_condition;
use super::{DrawingBranch, Sheet};

/// The branches of a node: those of its program, or as they are written in a document with errors.
pub(super) fn branches(sheet: &Sheet<'_>, at: usize, is_sketch: bool) -> Vec<DrawingBranch> {
    let step = sheet.steps[at].zip(sheet.program);
    let lowered = step.and_then(|(step, program)| branches_of(program, step)).filter(|_| !is_sketch);
    if let Some(branches) = lowered {
        let is_node = |target: &str| sheet.picture.nodes.iter().any(|node| &*node.title == target);
        // What happens without a word of the author, such as the failure of the run, is not a branch.
        let is_written =
            |branch: &&Branch| branch.targets.is_empty() || branch.targets.iter().any(|target| is_node(target));
        let written: Vec<&Branch> = branches.iter().filter(is_written).collect();
        return if written.len() > 1 { written.into_iter().map(from_program).collect() } else { Vec::new() };
    }
    let written = sheet.outlines[at].map(|outline| &outline.branches[..]).unwrap_or_default();
    written.iter().map(|branch| from_document(branch, sheet.text)).collect()
}

fn branches_of(program: &Program, step: StepId) -> Option<&[Branch]> {
    let is_choice = |kind: Kind| matches!(kind, Kind::Branch | Kind::Switch | Kind::Gate | Kind::Transition);
    let mut decisions = program.decisions.iter().filter(|decision| decision.step == step && is_choice(decision.kind));
    decisions.next().map(|decision| &decision.branches[..])
}

fn from_program(branch: &Branch) -> DrawingBranch {
    DrawingBranch {
        name: branch.name.to_string(),
        condition: branch.text.as_ref().map(ToString::to_string),
        condition_short: branch.text.as_ref().map(|text| shorten_condition(text)),
        default: branch.is_default,
        targets: branch.targets.iter().map(ToString::to_string).collect(),
        line: branch.position.map(|(line, _)| line),
    }
}

fn from_document(branch: &OutlineBranch, text: &str) -> DrawingBranch {
    DrawingBranch {
        name: branch.name.clone(),
        condition_short: branch.condition.as_deref().map(shorten_condition),
        condition: branch.condition.clone(),
        default: branch.is_default,
        targets: branch.targets.iter().map(ToString::to_string).collect(),
        line: branch.span.and_then(|span| u32::try_from(span.line_column(text).0).ok()),
    }
}
