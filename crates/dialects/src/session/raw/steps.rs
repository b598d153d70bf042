//! The steps of a session as they are written.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::{Diagnostic, Kind, Located, Shape, Span, Value};

use super::tables::{STEP, STEP_STYLE};
use super::{lines, texts};
use crate::DocumentKinds as _;
use crate::fields::{Access, Path};
use crate::report::Report;

/// One step.
#[derive(Debug)]
pub(in crate::session) struct Step<'d> {
    /// The name, which is unique.
    pub(in crate::session) name: Arc<str>,
    /// For people and for the model.
    pub(in crate::session) description: Option<Arc<str>>,
    /// Whether it is marked as the start.
    pub(in crate::session) is_default: bool,
    /// The conditions for it to become active.
    pub(in crate::session) conditions: Option<&'d Located>,
    /// The sequence as written, for the conditions that read it.
    pub(in crate::session) sequence: Option<&'d Located>,
    /// By position, the tools that fit.
    pub(in crate::session) positions: Vec<Vec<Arc<str>>>,
    /// Patterns of the tools it offers; none is all.
    pub(in crate::session) allowed: Vec<Arc<str>>,
    /// Patterns of the tools it does not offer.
    pub(in crate::session) denied: Vec<Arc<str>>,
    /// How the agent answers while it is active.
    pub(in crate::session) persona: Option<Persona>,
    /// The span of the step.
    pub(in crate::session) span: Span,
}

/// How an agent answers during a step.
#[derive(Debug)]
pub(in crate::session) struct Persona {
    /// A part of the system prompt.
    pub(in crate::session) prompt: Option<String>,
    /// None: the model of the agent.
    pub(in crate::session) model: Option<Arc<str>>,
    /// Sampling options in the document's spelling.
    pub(in crate::session) options: Option<Value>,
}

impl<'d> Step<'d> {
    pub(super) fn read_all(orchestration: &'d Located, report: &mut Report) -> Vec<Self> {
        let mut names = BTreeMap::new();
        let mut steps = Vec::new();
        for (at, item) in orchestration.list("steps").iter().enumerate() {
            if !report.check(STEP_STYLE).object(Path::Item(&Path::Root("steps"), at), item, &[STEP]) {
                continue;
            }
            let step = Self::read(item, report);
            let span = item.get("name").map_or(item.span, |name| name.span);
            if let Some(first) = names.insert(step.name.clone(), span) {
                let finding =
                    Diagnostic::error(Kind::DuplicateStep, span, format!("two steps are named `{}`", step.name));
                let finding = finding.with_related(first, format!("the first step `{}` is here", step.name));
                report.findings.push(finding.with_help("give one of the two steps another name"));
            }
            steps.push(step);
        }
        steps
    }

    fn read(item: &'d Located, report: &mut Report) -> Self {
        if let Some(field) = item.fields().iter().find(|field| &*field.key == "resetSequenceOn") {
            let help = "remove it; a sequence begins anew when its step is left and entered again";
            report.warn(Kind::IgnoredKey, field.key_span, "`resetSequenceOn` has no effect", help);
        }
        let nothing = Located { shape: Shape::Null, span: item.span };
        let tools = item.get("availableTools").unwrap_or(&nothing);
        if let Some(list) = tools.get("allowed").filter(|list| list.items().is_some_and(<[_]>::is_empty)) {
            let help = "remove it to allow every tool, or deny `*` to offer none";
            report.warn(Kind::EmptyAllowed, list.span, "an empty list allows every tool", help);
        }
        Self {
            name: item.str("name").cloned().unwrap_or_default(),
            description: item.str("description").cloned(),
            is_default: item.flag("isDefault").unwrap_or(false),
            conditions: item.get("conditions").filter(|found| found.items().is_none_or(|items| !items.is_empty())),
            sequence: item.get("sequence"),
            positions: item.list("sequence").iter().map(fitting).collect(),
            allowed: texts(tools, "allowed"),
            denied: texts(tools, "denied"),
            persona: item.get("persona").filter(|persona| persona.is_object()).map(Persona::read),
            span: item.span,
        }
    }
}

impl Persona {
    fn read(persona: &Located) -> Self {
        Self {
            prompt: lines(persona, "prompt"),
            model: persona.str("model").cloned(),
            options: persona.get("options").filter(|options| options.is_object()).map(Located::to_value),
        }
    }
}

/// A position is a tool, or a list of tools any of which fits.
fn fitting(position: &Located) -> Vec<Arc<str>> {
    let tools = position.items().unwrap_or(std::slice::from_ref(position));
    tools.iter().filter_map(Located::text).cloned().collect()
}
