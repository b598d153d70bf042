//! Warns about probable mistakes: steps that never become active, sequences that cannot continue.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::functions::matches_name;
use branchpoint_expr::{Kind, Located};

use super::raw::{Agent, Step};
use crate::DocumentKinds as _;
use crate::report::Report;

pub(super) fn warn(agent: &Agent<'_>, report: &mut Report) {
    let mut earlier = EarlierSteps::default();
    for (index, step) in agent.steps.iter().enumerate() {
        if step.conditions.is_none() && !step.is_default && agent.default != Some(index) {
            let message = format!("step `{}` can never become active", step.name);
            report.warn(Kind::UnreachableStep, step.span, message, "give it conditions, or make it the default step");
        }
        if let Some(winner) = earlier.shadowing(step) {
            let message = format!("whenever step `{}` could become active, `{winner}` does", step.name);
            report.warn(Kind::ShadowedStep, step.span, message, "list later phases first");
        }
        earlier.push(step);
        impossible_positions(step, report);
    }
}

/// The earlier steps whose conditions are all `tool_used`, by their first tool.
#[derive(Default)]
struct EarlierSteps<'a> {
    by_tool: BTreeMap<&'a str, Vec<RequiredTools<'a>>>,
}

/// The name of a step, and the tools it requires.
type RequiredTools<'a> = (&'a str, Vec<&'a Arc<str>>);

impl<'a> EarlierSteps<'a> {
    fn push(&mut self, step: &'a Step<'_>) {
        let entries = step.conditions.and_then(Located::items).unwrap_or_default();
        let required: Vec<_> = entries.iter().filter_map(tool_used).collect();
        if let Some(first) = required.first().filter(|_| required.len() == entries.len()) {
            self.by_tool.entry(first).or_default().push((&step.name, required));
        }
    }

    /// An earlier step all of whose conditions are among those of this one.
    fn shadowing(&self, step: &Step<'_>) -> Option<&'a str> {
        let entries = step.conditions.and_then(Located::items).unwrap_or_default();
        let used_tools: Vec<_> = entries.iter().filter_map(tool_used).collect();
        let candidates = used_tools.iter().filter_map(|tool| self.by_tool.get(&***tool)).flatten();
        let all = |required: &[&Arc<str>]| required.iter().all(|tool| used_tools.contains(tool));
        candidates.filter(|(_, required)| all(required)).map(|(name, _)| *name).next()
    }
}

/// The tool of a `tool_used` condition.
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
                format!("step `{}` does not offer {}, so its sequence stops here", step.name, tool_list(position));
            report.warn(Kind::SequenceToolNotAllowed, located.span, message, "allow a tool that fits this position");
        }
    }
}

fn tool_list(tools: &[Arc<str>]) -> String {
    tools.iter().map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(" or ")
}
