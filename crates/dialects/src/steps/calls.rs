//! The workflows that a document of steps calls: they are loaded with it, and what is wrong with them is wrong with it.
//!
//! One that is not there is no business of this file: whoever knows what there is says so in the options.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_expr::{Diagnostic, Dialect, Kind, Located, Severity};

use super::raw;
use crate::load::{Library, LoadOptions};
use crate::recognise::recognise;

/// The programs of everything that a document calls, by name, and what was found on the way.
pub(crate) fn children(
    document: &Located,
    options: &LoadOptions,
    library: &dyn Library,
) -> (BTreeMap<Arc<str>, Program>, Vec<Diagnostic>) {
    // A child is what its own text shows, and whether its callees exist is asked of the library alone.
    let options = LoadOptions { dialect: None, callees: None, scripted: options.scripted.clone() };
    let mut children = Children { library, options, programs: BTreeMap::new(), around: Vec::new() };
    let mut findings = Vec::new();
    children.of(document, &mut findings);
    (children.programs, findings)
}

struct Children<'c> {
    library: &'c dyn Library,
    options: LoadOptions,
    programs: BTreeMap<Arc<str>, Program>,
    /// The calls around, outermost first.
    around: Vec<Arc<str>>,
}

impl Children<'_> {
    fn of(&mut self, document: &Located, findings: &mut Vec<Diagnostic>) {
        let read = raw::read(document, &mut Vec::new());
        // A step whose answers someone wrote down calls nobody.
        for step in read.steps.iter().filter(|step| step.is("call_workflow")) {
            if let Some(name) = step.get("workflow").filter(|_| !self.options.scripted.contains(&*step.id)) {
                self.child(name, findings);
            }
        }
    }

    fn child(&mut self, called: &Located, findings: &mut Vec<Diagnostic>) {
        let Some(name) = called.text() else { return };
        if self.is_circular(name) {
            let message = format!("`{name}` is called from within itself");
            let finding = Diagnostic::error(Kind::CircularCall, called.span, message);
            findings.push(finding.with_help("repeat with a loop, or with a retry"));
            return;
        }
        if self.programs.contains_key(name) {
            return;
        }
        let Some(text) = self.library.workflow(name) else { return };
        let document = match crate::read(&text) {
            Ok(document) => document,
            Err(found) => return told(found, called, findings),
        };
        let (program, found) = match recognise(&document) {
            Ok(Dialect::Steps) => super::load(&document, &self.options),
            Ok(Dialect::Flow) => crate::flow::load(&document),
            Ok(other) => {
                let message =
                    format!("`{name}` is a document of the dialect `{}`, which steps cannot call", other.as_str());
                let finding = Diagnostic::error(Kind::Unsupported, called.span, message);
                findings.push(finding.with_help("call a document of `steps` or `flow`"));
                return;
            }
            Err(finding) => return told(vec![*finding], called, findings),
        };
        told(found, called, findings);
        self.programs.extend(program.map(|program| (name.clone(), program)));
        let mut below = Vec::new();
        self.around.push(name.clone());
        if recognise(&document) == Ok(Dialect::Steps) {
            self.of(&document, &mut below);
        }
        self.around.pop();
        told(below, called, findings);
    }

    fn is_circular(&self, name: &str) -> bool {
        self.library.root().is_some_and(|root| root == name) || self.around.iter().any(|around| &**around == name)
    }
}

/// Errors of a child stand where it is called: its own text is another one.
fn told(found: Vec<Diagnostic>, called: &Located, findings: &mut Vec<Diagnostic>) {
    let name = called.text().map_or("", |name| &**name);
    for finding in found.into_iter().filter(|finding| finding.severity == Severity::Error) {
        let message = format!("in the workflow `{name}`: {}", finding.message);
        findings.push(Diagnostic { span: called.span, message, ..finding });
    }
}
