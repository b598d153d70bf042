//! The rules of documents. Every rule checks the whole document, so that all problems are reported together.

mod branching;
mod budgets;
mod guards;
mod jumps;
mod loops;
mod order;
mod people;
mod placement;
mod policies;
mod texts;
mod trigger;

pub(super) use policies::rules as mask_rules;

use std::sync::Arc;

use branchpoint_expr::{Diagnostic, Kind, Located, Span};

use super::tree::{Document, Step, StepIndex};
use super::types::{DOCUMENT, STYLE};
use crate::DocumentKinds as _;
use crate::fields::{self, Access, Path};
use crate::load::LoadOptions;

/// Reports the errors and warnings of the steps of a document.
pub(super) fn check(document: &Document<'_>, options: &LoadOptions, findings: &mut Vec<Diagnostic>) {
    Check { document, options, findings, references: None, suggestions: 0 }.run();
}

/// Every place of a document that names a step: the id with the span of the reference, or of the text around it.
pub(super) fn references(document: &Document<'_>) -> Vec<(Arc<str>, Span)> {
    let (options, mut findings) = (LoadOptions::default(), Vec::new());
    let references = Some(Vec::new());
    let mut check = Check { document, options: &options, findings: &mut findings, references, suggestions: 0 };
    check.run();
    check.references.unwrap_or_default()
}

struct Check<'c, 'd> {
    document: &'c Document<'d>,
    options: &'c LoadOptions,
    findings: &'c mut Vec<Diagnostic>,
    /// The references to steps, if they are collected.
    references: Option<Vec<(Arc<str>, Span)>>,
    /// The number of names that were compared with all ids.
    suggestions: usize,
}

/// The largest number of suggestions, because each compares all ids.
const MOST_SUGGESTIONS: usize = 50;

impl<'d> Check<'_, 'd> {
    fn run(&mut self) {
        let document = self.document;
        self.document();
        for (index, step) in document.steps.iter().enumerate() {
            // A step of an unknown type is reported once; its keys are not checked.
            if !step.kind.name.is_empty() {
                self.step(index, step);
            }
        }
        self.placements();
        self.jumps();
    }

    /// Collects a place that names a step.
    fn refers(&mut self, id: &Arc<str>, span: Span) {
        if let Some(references) = &mut self.references {
            references.push((Arc::clone(id), span));
        }
    }

    fn document(&mut self) {
        let located = self.document.located;
        fields::Check::new(STYLE, self.findings).object(Path::Root(""), located, &[DOCUMENT]);
        self.trigger();
        self.document_policies();
        self.budget(located, true);
        if let Some(value) = located.given("input_content_type") {
            self.template(value);
        }
    }

    fn step(&mut self, index: StepIndex, step: &Step<'d>) {
        let mut fields = fields::Check::new(step.kind.style(), self.findings);
        fields.object(Path::Root(&step.id), step.located, &step.kind.tables());
        self.guards(step);
        self.step_policies(index, step);
        self.budget(step.located, super::budget::can_have_one(step));
        match step.kind.name {
            "if_else" | "while" | "gate" => self.condition_of(step),
            "conditional" => self.conditional(step),
            "switch" => self.switch(step),
            "human_in_the_loop" => self.people(step),
            "wait" => self.wait(step),
            "regex_replace" => self.replacements(step),
            "call_workflow" | "call_agent" => self.callee(step),
            _ => {}
        }
        match step.kind.name {
            "for_each" => self.for_each(step),
            "while" => self.body(step),
            "parallel" => self.parallel(step),
            "prompt_call" | "agent" | "extract_data" | "evaluate_step" => {
                self.attachment_rules(step, &["attachment_rules"]);
            }
            _ => {}
        }
        // A wait calls no runner, unless it has a scripted answer.
        if step.kind.is_effect() && !step.is("wait") {
            self.effect(step);
        } else {
            self.templates(step);
        }
        if step.kind.is_leaf() && step.list(super::tree::Role::Children).is_some_and(|list| !list.steps.is_empty()) {
            let message = format!("nothing can stand below a {} step", step.kind.name);
            let span = self.document.steps[index].span();
            self.error(Kind::ChildrenNotAllowed, span, message, "put the steps after it, or beside it");
        }
    }

    /// Warns about a reference to a step that does not exist.
    fn unknown_step(&mut self, id: &str, span: Span, message: String) {
        let mut finding = Diagnostic::warning(Kind::UnknownReference, span, message);
        finding = finding.with_help("name a step of this document");
        if self.suggestions < MOST_SUGGESTIONS {
            self.suggestions += 1;
            finding = finding.suggest(id, self.document.ids.keys().map(|id| &**id));
        }
        self.findings.push(finding);
    }

    /// Checks that a called workflow exists, if the workflows are known.
    fn callee(&mut self, step: &Step<'_>) {
        let (Some(known), Some((name, span))) = (&self.options.callees, step.callee()) else { return };
        // A step with scripted answers calls no workflow.
        if self.options.scripted.contains(&*step.id) {
            return;
        }
        if !known.contains(&*name) {
            let finding = Diagnostic::error(Kind::WorkflowNotFound, span, format!("unknown workflow `{name}`"));
            let finding = finding.with_help("put its file beside this one");
            self.findings.push(finding.suggest(&name, known.iter().map(String::as_str)));
        }
    }

    fn error(&mut self, kind: Kind, span: Span, message: impl Into<String>, help: &str) {
        self.findings.push(Diagnostic::error(kind, span, message).with_help(help));
    }

    fn unknown_keys(&mut self, located: &Located, known: &[&str], what: &str) {
        for field in located.fields() {
            if !known.contains(&&*field.key) {
                self.unknown_key(field, known, what);
            }
        }
    }

    fn unknown_key(&mut self, field: &branchpoint_expr::Field, known: &[&str], what: &str) {
        let message = format!("the key `{}` has no meaning in {what}", field.key);
        let finding = Diagnostic::warning(Kind::UnknownKey, field.key_span, message);
        let help = "leave it out, or look for its name in docs/spec/steps.md";
        self.findings.push(finding.with_help(help).suggest(&field.key, known.iter().copied()));
    }
}
