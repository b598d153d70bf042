//! What loads and is hardly meant: steps that never become active, sequences that cannot go on.

use std::sync::Arc;

use branchpoint_expr::{Kind, Located, matches_name};

use super::raw::{Agent, Step};
use crate::report::Report;

pub(super) fn warn(agent: &Agent<'_>, report: &mut Report) {
    for (index, step) in agent.steps.iter().enumerate() {
        if step.conditions.is_none() && !step.is_default && agent.default != Some(index) {
            let message = format!("step `{}` can never become active", step.name);
            report.warn(Kind::UnreachableStep, step.span, message, "give it conditions, or make it the default step");
        }
        if let Some(earlier) = agent.steps[..index].iter().find(|earlier| shadows(earlier, step)) {
            let message = format!("whenever step `{}` could become active, `{}` does", step.name, earlier.name);
            report.warn(Kind::ShadowedStep, step.span, message, "list later phases first");
        }
        impossible_positions(step, report);
    }
}

/// Whether all that the earlier step asks for is among what the later one asks for.
fn shadows(earlier: &Step<'_>, later: &Step<'_>) -> bool {
    let entries = earlier.conditions.and_then(Located::items).unwrap_or_default();
    let wanted: Vec<_> = entries.iter().filter_map(tool_used).collect();
    let asked: Vec<_> =
        later.conditions.and_then(Located::items).unwrap_or_default().iter().filter_map(tool_used).collect();
    !entries.is_empty() && wanted.len() == entries.len() && wanted.iter().all(|tool| asked.contains(tool))
}

/// The tool that a `tool_used` condition asks for.
fn tool_used(condition: &Located) -> Option<&Arc<str>> {
    condition.get("type").and_then(Located::text).filter(|kind| &***kind == "tool_used")?;
    condition.get("value").and_then(Located::text)
}

fn impossible_positions(step: &Step<'_>, report: &mut Report) {
    let offered = |tool: &Arc<str>| {
        (step.allowed.is_empty() || step.allowed.iter().any(|pattern| matches_name(pattern, tool)))
            && !step.denied.iter().any(|pattern| matches_name(pattern, tool))
    };
    let written = step.sequence.and_then(Located::items).unwrap_or_default();
    for (position, located) in step.positions.iter().zip(written).filter(|(position, _)| !position.is_empty()) {
        if !position.iter().any(offered) {
            let message =
                format!("step `{}` does not offer {}, so its sequence stops here", step.name, named(position));
            report.warn(Kind::SequenceToolNotAllowed, located.span, message, "allow a tool that fits this position");
        }
    }
}

fn named(tools: &[Arc<str>]) -> String {
    tools.iter().map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(" or ")
}
