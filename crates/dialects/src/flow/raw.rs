//! A flow as it is written, with the places of everything. What is wrong with the shape of the document is found while it
//! is read; what stands in conditions and templates is left as it is, for lowering to compile.

mod calls;
mod fields;
mod loops;
mod steps;
mod variables;

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_expr::{Diagnostic, Kind, Located, Span};

use crate::DocumentKinds as _;
use crate::inputs::{self, Declared, Names};

pub(super) use calls::{Asked, Call};
pub(super) use loops::{Loop, Rounds};
pub(super) use variables::{Assignment, Declaration};

/// A flow.
#[derive(Debug)]
pub(super) struct Flow<'d> {
    /// Its id, which a `finish` tells.
    pub(super) uuid: Option<Arc<str>>,
    /// The step that declares variables, which runs first wherever it is listed.
    pub(super) variables: Option<Step<'d>>,
    /// The other steps.
    pub(super) steps: Vec<Step<'d>>,
    /// The declared inputs, if any are.
    pub(super) inputs: Option<Declared>,
}

/// A step, at whatever depth.
#[derive(Debug)]
pub(super) struct Step<'d> {
    /// Which step of the document it is, counted from 0.
    pub(super) number: u32,
    /// Its id, or its position.
    pub(super) name: Arc<str>,
    /// Its type as written.
    pub(super) ty: Arc<str>,
    /// The step around it.
    pub(super) parent: Option<u32>,
    pub(super) span: Span,
    /// The variable that takes its data.
    pub(super) result: Option<Arc<str>>,
    /// Whether its data ends the flow.
    pub(super) direct: bool,
    pub(super) what: What<'d>,
}

/// What a step does.
#[derive(Debug)]
pub(super) enum What<'d> {
    Declare(Vec<Declaration<'d>>),
    Assign(Vec<Assignment<'d>>),
    Conditional {
        condition: Option<Test<'d>>,
        yes: Vec<Step<'d>>,
        no: Vec<Step<'d>>,
    },
    Switch {
        variable: &'d Located,
        cases: Vec<Case<'d>>,
        otherwise: Vec<Step<'d>>,
    },
    Loop(Loop<'d>),
    Call(Call<'d>),
    Finish {
        message: Option<&'d Located>,
        data: Option<&'d Located>,
    },
    /// Something that was refused. Nothing is run of it, but what stands inside it is looked at all the same.
    Refused(Vec<Step<'d>>),
}

/// A condition, in one of its two spellings.
#[derive(Clone, Copy, Debug)]
pub(super) enum Test<'d> {
    /// The typed group of this dialect.
    Group(&'d Located),
    /// What stands under `if`, as in every dialect.
    If(&'d Located),
    /// Both, which was refused: what is wrong in either is told all the same.
    Both(&'d Located, &'d Located),
}

/// A case of a switch.
#[derive(Debug)]
pub(super) struct Case<'d> {
    /// What it matches; none only where that was refused.
    pub(super) value: Option<&'d Located>,
    pub(super) blocks: Vec<Step<'d>>,
}

impl<'d> Flow<'d> {
    /// Reads a document and tells everything that is wrong with its shape.
    pub(super) fn read(document: &'d Located) -> (Option<Self>, Vec<Diagnostic>) {
        let mut reading = Reading::default();
        let flow = reading.flow(document);
        (flow, reading.findings)
    }

    /// Every step in document order, those inside others included.
    pub(super) fn all(&self) -> Vec<&Step<'d>> {
        let mut all = Vec::new();
        self.variables.iter().chain(&self.steps).for_each(|step| step.collect(&mut all));
        all.sort_by_key(|step| step.number);
        all
    }
}

impl Step<'_> {
    fn collect<'s>(&'s self, all: &mut Vec<&'s Self>) {
        all.push(self);
        let inner: Vec<&Vec<Self>> = match &self.what {
            What::Conditional { yes, no, .. } => vec![yes, no],
            What::Switch { cases, otherwise, .. } => {
                cases.iter().map(|case| &case.blocks).chain(std::iter::once(otherwise)).collect()
            }
            What::Loop(each) => vec![&each.blocks],
            What::Refused(blocks) => vec![blocks],
            _ => Vec::new(),
        };
        inner.into_iter().flatten().for_each(|step| step.collect(all));
    }
}

/// A document that is being read.
#[derive(Debug, Default)]
struct Reading {
    findings: Vec<Diagnostic>,
    /// How many steps have begun.
    steps: u32,
    ids: BTreeSet<Arc<str>>,
    /// Whether variables are declared already.
    declared: bool,
}

impl Reading {
    fn flow<'d>(&mut self, document: &'d Located) -> Option<Flow<'d>> {
        if !document.is_object() {
            let message = format!("a flow is an object, and this is {}", document.describe());
            self.error(Kind::InvalidFlow, document.span, message, "write {\"name\": …, \"steps\": […]}");
            return None;
        }
        self.heading(document);
        let Some(steps) = document.get("steps") else {
            self.error(
                Kind::InvalidFlow,
                start_of(document),
                "a flow needs `steps`",
                "add a list `steps` with at least one step",
            );
            return None;
        };
        match steps.items() {
            Some([]) => {
                let message = "a flow needs at least one step";
                self.error(Kind::InvalidFlow, steps.span, message, "add a step to `steps`");
            }
            Some(_) => {}
            None => {
                let message = format!("`steps` is a list of steps, and this is {}", steps.describe());
                self.error(Kind::InvalidFlow, steps.span, message, "write \"steps\": [{…}, …]");
            }
        }
        let mut steps = self.steps(steps, "steps", None);
        let declares = steps.iter().position(|step| matches!(step.what, What::Declare(_)));
        let variables = declares.map(|at| steps.remove(at));
        let uuid = document.get("uuid").and_then(Located::text).cloned();
        let inputs = inputs::read(document, Names::Variables, &mut self.findings);
        Some(Flow { uuid, variables, steps, inputs })
    }

    /// What stands beside the steps.
    fn heading(&mut self, document: &Located) {
        match document.get("name").map(|name| (name, name.text())) {
            Some((_, Some(name))) if !name.trim().is_empty() => {}
            Some((name, _)) => {
                self.error(
                    Kind::InvalidFlow,
                    name.span,
                    "the `name` of a flow is text that is not blank",
                    "say what the flow is called",
                );
            }
            None => {
                let at = start_of(document);
                self.error(Kind::InvalidFlow, at, "a flow needs a `name`", "add \"name\": \"…\"");
            }
        }
        for (key, kind) in [("description", Kind::MissingDescription), ("uuid", Kind::MissingUuid)] {
            match document.get(key).filter(|value| !value.is_null()) {
                None => {
                    let message = format!("this flow has no `{key}`");
                    self.warn(kind, start_of(document), message, &format!("add \"{key}\": \"…\""));
                }
                Some(value) if value.text().is_none() => {
                    let message = format!("`{key}` is text, and this is {}", value.describe());
                    self.error(Kind::InvalidFlow, value.span, message, "put it in quotes, or leave it out");
                }
                Some(_) => {}
            }
        }
        if let Some(active) =
            document.get("active").filter(|active| !matches!(active.shape, branchpoint_expr::Shape::Bool(_)))
        {
            let message = format!("`active` is true or false, and this is {}", active.describe());
            self.error(Kind::InvalidFlow, active.span, message, "write true or false, or leave it out");
        }
    }

    /// Whoever refuses something says what to do about it.
    fn error(&mut self, kind: Kind, span: Span, message: impl Into<String>, help: &str) {
        self.findings.push(Diagnostic::error(kind, span, message).with_help(help));
    }

    fn warn(&mut self, kind: Kind, span: Span, message: impl Into<String>, help: &str) {
        self.findings.push(Diagnostic::warning(kind, span, message).with_help(help));
    }
}

/// Where something begins: what lacks a part is pointed at by its first character.
fn start_of(located: &Located) -> Span {
    Span { start: located.span.start, end: located.span.end.min(located.span.start + 1) }
}
