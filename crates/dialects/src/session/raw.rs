//! The document of a session as written. Errors of structure are reported while it is read;
//! conditions are compiled during lowering.

mod steps;
pub(super) mod tables;
mod template;

use std::sync::Arc;

use branchpoint_expr::{Kind, Located};

use crate::DocumentKinds as _;
use crate::fields::{Access, Path};
use crate::report::Report;

use tables::{ORCHESTRATION, ORCHESTRATION_STYLE};

pub(super) use steps::{Persona, Step};
pub(super) use template::{Policy, Template};

/// An agent: its steps, and the rest of its template if there is one.
#[derive(Debug, Default)]
pub(super) struct Agent<'d> {
    /// The template without its steps.
    pub(super) template: Option<Template>,
    /// What the steps are for.
    pub(super) description: Option<String>,
    /// In document order.
    pub(super) steps: Vec<Step<'d>>,
    /// Which step is the start.
    pub(super) default: Option<usize>,
}

impl<'d> Agent<'d> {
    /// Reads a template, or the object with the steps alone.
    pub(super) fn read(document: &'d Located, report: &mut Report) -> Self {
        if document.get("steps").is_some() && document.get("nodes").is_none() {
            return Self::orchestration(document, report);
        }
        let template = Template::read(document, report);
        let steps = document.get("orchestration").map(|found| Self::orchestration(found, report));
        Self { template, ..steps.unwrap_or_default() }
    }

    fn orchestration(object: &'d Located, report: &mut Report) -> Self {
        let path = Path::Root("orchestration");
        if !report.check(ORCHESTRATION_STYLE).object(path, object, &[ORCHESTRATION]) {
            return Self::default();
        }
        let steps = Step::read_all(object, report);
        let default = default_step(object, &steps, report);
        Self { template: None, description: lines(object, "description"), steps, default }
    }
}

/// The step that `defaultStep` names, else the first one that is marked.
fn default_step(object: &Located, steps: &[Step<'_>], report: &mut Report) -> Option<usize> {
    let marked: Vec<usize> = (0..steps.len()).filter(|step| steps[*step].is_default).collect();
    let default = match (object.str("defaultStep"), object.get("defaultStep")) {
        (Some(name), Some(found)) => {
            let known = steps.iter().position(|step| step.name == *name);
            if known.is_none() {
                unknown_default(name, found, steps, report);
            }
            known
        }
        _ => marked.first().copied(),
    };
    for step in marked.into_iter().filter(|step| default.is_some_and(|default| default != *step)) {
        let message = format!("step `{}` is marked as the default, and another one is", steps[step].name);
        report.warn(Kind::SeveralDefaults, steps[step].span, message, "mark one step, or name it in `defaultStep`");
    }
    default
}

fn unknown_default(name: &Arc<str>, found: &Located, steps: &[Step<'_>], report: &mut Report) {
    let message = format!("there is no step `{name}`");
    let names = steps.iter().map(|step| &*step.name);
    report.unknown(Kind::UnknownDefaultStep, found.span, message, name, names);
}

/// A text, or a list of texts which are lines of one.
fn lines(object: &Located, key: &str) -> Option<String> {
    let lines: Vec<_> = object.texts(key)?.iter().map(|line| line.text().to_string()).collect();
    Some(lines.join("\n"))
}

/// A list of texts.
fn texts(object: &Located, key: &str) -> Vec<Arc<str>> {
    object.list(key).iter().filter_map(Located::text).cloned().collect()
}
