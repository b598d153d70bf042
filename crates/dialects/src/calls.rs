//! The workflows that a document calls: they are loaded with it, and what is wrong with them is wrong with it. Where calls
//! stand and what can be called is the dialect's to say.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_expr::{Diagnostic, Kind, Located, Severity, Span};

use crate::DocumentKinds as _;
use crate::load::Library;

/// One call.
pub(crate) struct Call {
    /// The name of the workflow.
    pub(crate) name: Arc<str>,
    /// Where the name stands.
    pub(crate) span: Span,
    /// The parts of the called workflow whose results are wanted, each with its place.
    pub(crate) wanted: Vec<(Arc<str>, Span)>,
}

/// The program of a called workflow, as far as there is one, and what was found in its document.
pub(crate) type Child = (Option<Program>, Vec<Diagnostic>);

/// What a dialect says about calls.
pub(crate) trait Calls {
    /// The calls of a document, in the order of the text, or why one can be none.
    fn of(&self, document: &Located) -> Vec<Result<Call, Diagnostic>>;

    /// What is said of a workflow that the library does not have.
    fn missing(&self, call: &Call) -> Option<Diagnostic>;

    /// The program of a called document, or why its dialect cannot be called.
    fn load(&self, call: &Call, document: &Located) -> Result<Child, Diagnostic>;

    /// What a call wants of a document that the document does not have.
    fn lacking(&self, _call: &Call, _document: &Located) -> Vec<Diagnostic> {
        Vec::new()
    }
}

/// The programs of everything that a document calls, by name, and what was found on the way.
pub(crate) fn children(
    document: &Located,
    calls: &dyn Calls,
    library: &dyn Library,
) -> (BTreeMap<Arc<str>, Program>, Vec<Diagnostic>) {
    let mut walk = Walk { calls, library, documents: BTreeMap::new(), programs: BTreeMap::new(), around: Vec::new() };
    let findings = walk.document(document);
    (walk.programs, findings)
}

/// A called workflow: its text and what it holds.
struct Called {
    text: String,
    document: Located,
}

struct Walk<'c> {
    calls: &'c dyn Calls,
    library: &'c dyn Library,
    /// What was read already: a workflow may be called a thousand times.
    documents: BTreeMap<Arc<str>, Arc<Called>>,
    programs: BTreeMap<Arc<str>, Program>,
    /// The calls around, outermost first.
    around: Vec<Arc<str>>,
}

impl Walk<'_> {
    fn document(&mut self, document: &Located) -> Vec<Diagnostic> {
        let calls = self.calls.of(document);
        calls.into_iter().flat_map(|call| call.map_or_else(|refused| vec![refused], |call| self.call(&call))).collect()
    }

    fn call(&mut self, call: &Call) -> Vec<Diagnostic> {
        if self.is_circular(&call.name) {
            let message = format!("`{}` is called from within itself", call.name);
            return vec![Diagnostic::error(Kind::CircularCall, call.span, message)];
        }
        let called = match self.read(call) {
            Ok(called) => called,
            Err(findings) => return findings,
        };
        let document = &called.document;
        let mut findings = self.calls.lacking(call, document);
        if self.programs.contains_key(&call.name) {
            return findings;
        }
        match self.calls.load(call, document) {
            Ok((mut program, found)) => {
                if let Some(program) = &mut program {
                    program.locate(&called.text);
                }
                findings.extend(told(found, call));
                self.programs.extend(program.map(|program| (Arc::clone(&call.name), program)));
                self.around.push(Arc::clone(&call.name));
                findings.extend(told(self.document(document), call));
                self.around.pop();
            }
            Err(refused) => findings.push(refused),
        }
        findings
    }

    fn read(&mut self, call: &Call) -> Result<Arc<Called>, Vec<Diagnostic>> {
        if let Some(known) = self.documents.get(&call.name) {
            return Ok(Arc::clone(known));
        }
        let Some(text) = self.library.workflow(&call.name) else {
            let Some(reason) = self.library.unreadable(&call.name) else {
                return Err(self.calls.missing(call).into_iter().collect());
            };
            let message = format!("cannot read the workflow `{}`: {reason}", call.name);
            return Err(vec![Diagnostic::error(Kind::BadField, call.span, message)]);
        };
        let document = crate::read(&text).map_err(|found| told(found, call).collect::<Vec<_>>())?;
        let called = Arc::new(Called { text, document });
        self.documents.insert(Arc::clone(&call.name), Arc::clone(&called));
        Ok(called)
    }

    fn is_circular(&self, name: &str) -> bool {
        self.library.root().is_some_and(|root| root == name) || self.around.iter().any(|around| &**around == name)
    }
}

/// Errors of a child stand where it is called: its own text is another one.
fn told(found: Vec<Diagnostic>, call: &Call) -> impl Iterator<Item = Diagnostic> {
    let errors = found.into_iter().filter(|finding| finding.severity == Severity::Error);
    errors.map(|finding| {
        let message = format!("in the workflow `{}`: {}", call.name, finding.message);
        Diagnostic { span: call.span, message, ..finding }
    })
}
