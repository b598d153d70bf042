//! Loads the workflows that a document calls; their errors are errors of the document. Dialects define which documents
//! have calls and what can be called.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_expr::{Diagnostic, Kind, Located, Severity, Span};

use crate::DocumentKinds as _;
use crate::load::Library;

/// A call of a workflow.
pub(crate) struct Call {
    /// The name of the workflow.
    pub(crate) name: Arc<str>,
    /// The span of the name.
    pub(crate) span: Span,
    /// The outputs of the called workflow that the call reads, each with its span.
    pub(crate) wanted: Vec<(Arc<str>, Span)>,
}

/// The program of a called workflow, if it is valid, and the findings about its document.
pub(crate) type Child = (Option<Program>, Vec<Diagnostic>);

/// The calls of a dialect.
pub(crate) trait Calls {
    /// The calls of a document in the order of the text, or the errors of invalid calls.
    fn of(&self, document: &Located) -> Vec<Result<Call, Diagnostic>>;

    /// The finding for a workflow that is not in the library.
    fn unknown_workflow(&self, call: &Call) -> Option<Diagnostic>;

    /// The program of a called document, or the error that its dialect cannot be called.
    fn load(&self, call: &Call, document: &Located) -> Result<Child, Diagnostic>;

    /// The findings for outputs that the called document does not have.
    fn missing_outputs(&self, _call: &Call, _document: &Located) -> Vec<Diagnostic> {
        Vec::new()
    }
}

/// The programs of all workflows that a document calls, by name, and the findings about them.
pub(crate) fn children(
    document: &Located,
    calls: &dyn Calls,
    library: &dyn Library,
) -> (BTreeMap<Arc<str>, Program>, Vec<Diagnostic>) {
    let mut walk = Walk { calls, library, documents: BTreeMap::new(), programs: BTreeMap::new(), callers: Vec::new() };
    let findings = walk.document(document);
    (walk.programs, findings)
}

/// The text and the document of a called workflow.
struct CalledWorkflow {
    text: String,
    document: Located,
}

struct Walk<'c> {
    calls: &'c dyn Calls,
    library: &'c dyn Library,
    /// The documents that were read, because a workflow may be called many times.
    documents: BTreeMap<Arc<str>, Arc<CalledWorkflow>>,
    programs: BTreeMap<Arc<str>, Program>,
    /// The enclosing calls, outermost first.
    callers: Vec<Arc<str>>,
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
        let mut findings = self.calls.missing_outputs(call, document);
        if self.programs.contains_key(&call.name) {
            return findings;
        }
        match self.calls.load(call, document) {
            Ok((mut program, found)) => {
                if let Some(program) = &mut program {
                    program.locate(&called.text);
                }
                findings.extend(errors_at_call(found, call));
                self.programs.extend(program.map(|program| (Arc::clone(&call.name), program)));
                self.callers.push(Arc::clone(&call.name));
                findings.extend(errors_at_call(self.document(document), call));
                self.callers.pop();
            }
            Err(refused) => findings.push(refused),
        }
        findings
    }

    fn read(&mut self, call: &Call) -> Result<Arc<CalledWorkflow>, Vec<Diagnostic>> {
        if self.callers.is_empty() && !self.library.may_call(&call.name) {
            return Err(self.calls.unknown_workflow(call).into_iter().collect());
        }
        if let Some(document) = self.documents.get(&call.name) {
            return Ok(Arc::clone(document));
        }
        let Some(text) = self.library.workflow(&call.name) else {
            let Some(reason) = self.library.unreadable(&call.name) else {
                return Err(self.calls.unknown_workflow(call).into_iter().collect());
            };
            let message = format!("cannot read the workflow `{}`: {reason}", call.name);
            return Err(vec![Diagnostic::error(Kind::BadField, call.span, message)]);
        };
        let document = crate::read(&text).map_err(|found| errors_at_call(found, call).collect::<Vec<_>>())?;
        let called = Arc::new(CalledWorkflow { text, document });
        self.documents.insert(Arc::clone(&call.name), Arc::clone(&called));
        Ok(called)
    }

    fn is_circular(&self, name: &str) -> bool {
        self.library.root().is_some_and(|root| root == name) || self.callers.iter().any(|callers| &**callers == name)
    }
}

/// Reports the errors of a called workflow at the call, because its own text is another one.
fn errors_at_call(found: Vec<Diagnostic>, call: &Call) -> impl Iterator<Item = Diagnostic> {
    let errors = found.into_iter().filter(|finding| finding.severity == Severity::Error);
    errors.map(|finding| {
        let message = format!("in the workflow `{}`: {}", call.name, finding.message);
        Diagnostic { span: call.span, message, ..finding }
    })
}
