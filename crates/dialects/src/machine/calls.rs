//! The workflows that a document calls: they are loaded with it, and what is wrong with them is wrong with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_expr::{Diagnostic, Kind, Located, Severity, Span};

use super::raw::{Call, Document, Findings, Text, What};
use crate::load::Library;

/// The programs of everything that a document calls, by name, and what was found on the way.
pub(crate) fn children(document: &Located, library: &dyn Library) -> (BTreeMap<Arc<str>, Program>, Vec<Diagnostic>) {
    let mut found = Findings::default();
    let mut programs = BTreeMap::new();
    if let Some(read) = Document::read(document, &mut Findings::default()) {
        let mut around = Vec::new();
        Children { library, programs: &mut programs, around: &mut around }.of(&read, &mut found);
    }
    (programs, found.0.into_iter().map(super::help::with_help).collect())
}

struct Children<'c> {
    library: &'c dyn Library,
    programs: &'c mut BTreeMap<Arc<str>, Program>,
    /// The calls around, outermost first.
    around: &'c mut Vec<Arc<str>>,
}

impl Children<'_> {
    fn of(&mut self, document: &Document, found: &mut Findings) {
        for state in &document.states {
            if let What::Call(call) = &state.what
                && let Some(name) = &call.workflow
            {
                self.child(name, call, found);
            }
        }
    }

    fn child(&mut self, name: &Text, call: &Call, found: &mut Findings) {
        if name.text().contains('/') {
            let message = format!("`{}` is a workflow of a pack, and packs are not offered", name.text());
            found.error(Kind::Unsupported, name.span(), message);
            return;
        }
        if self.is_circular(name.text()) {
            let message = format!("`{}` is called from within itself", name.text());
            found.error(Kind::CircularCall, name.span(), message);
            return;
        }
        let Some(text) = self.library.workflow(name.text()) else {
            let message = format!("there is no workflow `{}`", name.text());
            found.error(Kind::UnknownWorkflow, name.span(), message);
            return;
        };
        let document = match crate::read(&text) {
            Ok(document) => document,
            Err(findings) => return told(findings, name, found),
        };
        let Some(read) = Document::read(&document, &mut Findings::default()) else { return };
        for (state, span, _) in &call.outputs {
            if read.state(state).is_none() {
                let message = format!("the workflow `{}` has no state `{state}`", name.text());
                let finding = Diagnostic::error(Kind::UnknownState, *span, message);
                found.suggest(finding, state, read.states.iter().map(|state| &*state.name));
            }
        }
        if self.programs.contains_key(name.text()) {
            return;
        }
        let (program, findings) = super::load(&document);
        told(findings, name, found);
        self.programs.extend(program.map(|program| (name.text().clone(), program)));
        self.around.push(name.text().clone());
        let mut below = Findings::default();
        self.of(&read, &mut below);
        self.around.pop();
        told(below.0, name, found);
    }

    fn is_circular(&self, name: &str) -> bool {
        self.library.root().is_some_and(|root| root == name) || self.around.iter().any(|around| &**around == name)
    }
}

/// Errors of a child stand where it is called: its own text is another one.
fn told(findings: Vec<Diagnostic>, name: &Text, found: &mut Findings) {
    let span: Span = name.span();
    for finding in findings.into_iter().filter(|finding| finding.severity == Severity::Error) {
        let message = format!("in the workflow `{}`: {}", name.text(), finding.message);
        found.push(Diagnostic { span, message, ..finding });
    }
}
