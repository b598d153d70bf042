//! A flow as written, with the spans of everything. Errors of structure are reported while it
//! is read; conditions and templates are compiled during lowering.

mod calls;
mod loops;
mod steps;
pub(super) mod tables;
mod variables;

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::{Diagnostic, Kind, Located, Span};

use crate::DocumentKinds as _;
use crate::fields::{Access, Check, Path, Style};
use crate::inputs::{self, DeclaredInputs, Names};
use crate::report::start_of;

pub(super) use calls::{Call, CallKind};
pub(super) use loops::{Loop, Rounds};
pub(super) use variables::{Assignment, Declaration};

/// A flow.
#[derive(Debug)]
pub(super) struct Flow<'d> {
    /// Its id, which is in the data of a `finish`.
    pub(super) uuid: Option<Arc<str>>,
    /// The step that declares variables, which runs first wherever it is listed.
    pub(super) variables: Option<Step<'d>>,
    /// The other steps.
    pub(super) steps: Vec<Step<'d>>,
    /// The declared inputs, if any are.
    pub(super) inputs: Option<DeclaredInputs>,
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
    /// The variable for its data.
    pub(super) result: Option<Arc<str>>,
    /// Whether its data ends the flow.
    pub(super) direct: bool,
    pub(super) kind: StepKind<'d>,
}

/// The work of a step.
#[derive(Debug)]
pub(super) enum StepKind<'d> {
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
    /// An invalid step. It does not run, but the steps inside it are checked.
    Refused(Vec<Step<'d>>),
}

/// A condition, in one of its two spellings.
#[derive(Clone, Copy, Debug)]
pub(super) enum Test<'d> {
    /// The typed group of this dialect.
    Group(&'d Located),
    /// The value of `if`, as in every dialect.
    If(&'d Located),
    /// Both, which was reported: the problems of each are reported, too.
    Both(&'d Located, &'d Located),
}

/// A case of a switch.
#[derive(Debug)]
pub(super) struct Case<'d> {
    /// The value that it matches; none if that was reported.
    pub(super) value: Option<&'d Located>,
    pub(super) blocks: Vec<Step<'d>>,
}

impl<'d> Flow<'d> {
    /// Reads a document and reports all errors of structure.
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
        let inner: Vec<&Vec<Self>> = match &self.kind {
            StepKind::Conditional { yes, no, .. } => vec![yes, no],
            StepKind::Switch { cases, otherwise, .. } => {
                cases.iter().map(|case| &case.blocks).chain(std::iter::once(otherwise)).collect()
            }
            StepKind::Loop(each) => vec![&each.blocks],
            StepKind::Refused(blocks) => vec![blocks],
            _ => Vec::new(),
        };
        inner.into_iter().flatten().for_each(|step| step.collect(all));
    }
}

/// A document that is being read.
#[derive(Debug, Default)]
struct Reading {
    findings: Vec<Diagnostic>,
    /// The number of steps read.
    steps: u32,
    ids: BTreeMap<Arc<str>, Span>,
    /// Whether variables are declared already.
    declared: bool,
}

impl Reading {
    fn flow<'d>(&mut self, document: &'d Located) -> Option<Flow<'d>> {
        if !self.check(tables::FLOW).object(Path::Root(""), document, &[tables::DOCUMENT]) {
            return None;
        }
        for (key, kind) in [("description", Kind::MissingDescription), ("uuid", Kind::MissingUuid)] {
            if document.given(key).is_none() {
                let message = format!("`{key}` is missing");
                self.warn(kind, start_of(document), message, &format!("add \"{key}\": \"…\""));
            }
        }
        let mut steps = self.steps(document.given("steps")?, "steps", None);
        let declares = steps.iter().position(|step| matches!(step.kind, StepKind::Declare(_)));
        let variables = declares.map(|at| steps.remove(at));
        let inputs = inputs::read(document, Names::Variables, &mut self.findings);
        Some(Flow { uuid: document.str("uuid").cloned(), variables, steps, inputs })
    }

    /// The checker of objects.
    fn check(&mut self, style: Style) -> Check<'_> {
        Check::new(style, &mut self.findings)
    }

    /// The checker of the settings of steps.
    fn check_config(&mut self) -> Check<'_> {
        self.check(tables::CONFIG)
    }

    fn error(&mut self, kind: Kind, span: Span, message: impl Into<String>, help: &str) {
        self.findings.push(Diagnostic::error(kind, span, message).with_help(help));
    }

    fn warn(&mut self, kind: Kind, span: Span, message: impl Into<String>, help: &str) {
        self.findings.push(Diagnostic::warning(kind, span, message).with_help(help));
    }
}
