//! The steps of a session as they are written.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_expr::{Kind, Located, Span};

use super::required_text;
use crate::DocumentKinds as _;
use crate::report::{Report, start_of};

const STEP_KEYS: [&str; 7] =
    ["name", "description", "isDefault", "conditions", "sequence", "availableTools", "resetSequenceOn"];

/// One step.
#[derive(Debug)]
pub(in crate::session) struct Step<'d> {
    /// What it is called; no two steps share it.
    pub(in crate::session) name: Arc<str>,
    /// For people and for the model.
    pub(in crate::session) description: Option<Arc<str>>,
    /// Whether it is marked as the start.
    pub(in crate::session) is_default: bool,
    /// What must hold for it to become active; none if there is nothing.
    pub(in crate::session) conditions: Option<&'d Located>,
    /// As written, for the conditions that look at it.
    pub(in crate::session) sequence: Option<&'d Located>,
    /// By position, the tools that fit.
    pub(in crate::session) positions: Vec<Vec<Arc<str>>>,
    /// Patterns of the tools it offers; none is all.
    pub(in crate::session) allowed: Vec<Arc<str>>,
    /// Patterns of the tools it does not offer.
    pub(in crate::session) denied: Vec<Arc<str>>,
    /// Where it stands.
    pub(in crate::session) span: Span,
}

impl<'d> Step<'d> {
    pub(super) fn read_all(orchestration: &'d Located, report: &mut Report) -> Vec<Self> {
        let Some(found) = orchestration.get("steps") else {
            let span = start_of(orchestration);
            report.error(Kind::InvalidOrchestration, span, "`steps` is missing", "add \"steps\": []");
            return Vec::new();
        };
        let Some(items) = found.items() else {
            report.odd(Kind::InvalidOrchestration, found, "`steps` is a list");
            return Vec::new();
        };
        let mut steps: Vec<Self> = Vec::new();
        let mut names = BTreeSet::new();
        for item in items {
            let Some(step) = Self::read(item, report) else { continue };
            if !names.insert(step.name.clone()) {
                let span = item.get("name").map_or(item.span, |name| name.span);
                let message = format!("there are two steps named `{}`", step.name);
                report.error(Kind::DuplicateStep, span, message, "the name identifies the step: give this one another");
            }
            steps.push(step);
        }
        steps
    }

    fn read(item: &'d Located, report: &mut Report) -> Option<Self> {
        if !item.is_object() {
            report.odd(Kind::InvalidStep, item, "a step is an object");
            return None;
        }
        report.unknown_keys(item, &STEP_KEYS);
        if let Some(field) = item.fields().iter().find(|field| &*field.key == "resetSequenceOn") {
            let help = "leave it out; a sequence begins anew when its step is left and entered again";
            report.warn(Kind::IgnoredKey, field.key_span, "`resetSequenceOn` has no effect", help);
        }
        let name = required_text(report, Kind::InvalidStep, item, "name").unwrap_or_default();
        if let Some(found) = item.get("name").filter(|found| found.text().is_some_and(|name| name.is_empty())) {
            report.error(Kind::InvalidStep, found.span, "a step needs a name", "the name identifies the step");
        }
        let (allowed, denied) = tools(item, report);
        Some(Self {
            name,
            description: report.optional_text(Kind::InvalidStep, item, "description"),
            is_default: report.flag(Kind::InvalidStep, item, "isDefault").unwrap_or(false),
            conditions: item.get("conditions").filter(|found| found.items().is_none_or(|items| !items.is_empty())),
            sequence: item.get("sequence"),
            positions: positions(item, report),
            allowed,
            denied,
            span: item.span,
        })
    }
}

fn positions(item: &Located, report: &mut Report) -> Vec<Vec<Arc<str>>> {
    let Some(found) = item.get("sequence") else { return Vec::new() };
    let Some(items) = found.items() else {
        report.odd(Kind::InvalidStep, found, "`sequence` is a list");
        return Vec::new();
    };
    items.iter().map(|position| fitting(position, report)).collect()
}

/// A position is a tool, or a list of tools any of which fits.
fn fitting(position: &Located, report: &mut Report) -> Vec<Arc<str>> {
    if let Some(tool) = position.text() {
        return vec![tool.clone()];
    }
    let Some(items) = position.items() else {
        report.odd(Kind::InvalidStep, position, "a position of a sequence is a tool or a list of tools");
        return Vec::new();
    };
    if items.is_empty() {
        let help = "name a tool, or leave the position out";
        report.error(Kind::InvalidStep, position.span, "no tool fits this position", help);
    }
    for item in items.iter().filter(|item| item.text().is_none()) {
        report.odd(Kind::InvalidStep, item, "the name of a tool is text");
    }
    items.iter().filter_map(Located::text).cloned().collect()
}

fn tools(item: &Located, report: &mut Report) -> (Vec<Arc<str>>, Vec<Arc<str>>) {
    let Some(found) = item.get("availableTools") else { return Default::default() };
    if !found.is_object() {
        report.odd(Kind::InvalidStep, found, "`availableTools` is an object with `allowed` and `denied`");
        return Default::default();
    }
    report.unknown_keys(found, &["allowed", "denied"]);
    let allowed = report.texts(Kind::InvalidStep, found, "allowed");
    if let Some(list) = found.get("allowed").filter(|list| list.items().is_some_and(<[_]>::is_empty)) {
        let help = "leave it out to allow every tool, or deny `*` to offer none";
        report.warn(Kind::EmptyAllowed, list.span, "an empty list allows every tool", help);
    }
    (allowed.unwrap_or_default(), report.texts(Kind::InvalidStep, found, "denied").unwrap_or_default())
}
