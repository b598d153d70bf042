//! The workflows that a document of steps calls, which are of `steps` or `flow`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_expr::{Diagnostic, Dialect, Kind, Located};

use super::raw;
use super::tree::Step;
use crate::calls::{Call, Calls, Child};
use crate::export;
use crate::load::{Library, LoadOptions};
use crate::recognise::recognise;

/// The programs of all workflows that a document calls, by name, and the findings about them.
pub(crate) fn children(
    document: &Located,
    options: &LoadOptions,
    library: &dyn Library,
) -> (BTreeMap<Arc<str>, Program>, Vec<Diagnostic>) {
    let steps = Steps { scripted: &options.scripted };
    let (programs, findings) = crate::calls::children(document, &steps, library);
    (programs, findings.into_iter().map(crate::help::with_help).collect())
}

struct Steps<'o> {
    /// Steps with scripted answers, which call no workflow.
    scripted: &'o BTreeSet<String>,
}

impl Calls for Steps<'_> {
    fn of(&self, document: &Located) -> Vec<Result<Call, Diagnostic>> {
        let exported = export::definition(document);
        let read = raw::read(exported.as_ref().unwrap_or(document), &mut Vec::new());
        let calls = read.steps.iter().filter(|step| !self.scripted.contains(&*step.id));
        let named = calls.filter_map(Step::callee);
        named.map(|(name, span)| Ok(Call { name, span, wanted: Vec::new() })).collect()
    }

    /// If the callees are in the options, the rules report missing ones.
    fn unknown_workflow(&self, _call: &Call) -> Option<Diagnostic> {
        None
    }

    fn load(&self, call: &Call, document: &Located) -> Result<Child, Diagnostic> {
        match recognise(document) {
            Ok(Dialect::Steps) => {
                // The library alone decides whether its own callees exist.
                let options = LoadOptions { scripted: self.scripted.clone(), ..LoadOptions::default() };
                let exported = export::definition(document);
                Ok(super::load(exported.as_ref().unwrap_or(document), &options))
            }
            Ok(Dialect::Flow) => Ok(crate::flow::load(document)),
            Ok(other) => {
                let (name, dialect) = (&call.name, other.as_str());
                let message = format!("`{name}` is a document of the dialect `{dialect}`, which steps cannot call");
                let finding = Diagnostic::error(Kind::Unsupported, call.span, message);
                Err(finding.with_help("call a document of `steps` or `flow`"))
            }
            Err(finding) => Ok((None, vec![*finding])),
        }
    }
}
