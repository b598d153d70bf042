//! The workflows that a state machine calls, which are state machines themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_expr::{Diagnostic, Kind, Located};

use super::raw::{Document, Findings, StateKind};
use crate::DocumentKinds as _;
use crate::calls::{Call, Calls, Child};
use crate::load::Library;

/// The programs of all workflows that a document calls, by name, and the findings about them.
pub(crate) fn children(document: &Located, library: &dyn Library) -> (BTreeMap<Arc<str>, Program>, Vec<Diagnostic>) {
    let (programs, findings) = crate::calls::children(document, &States, library);
    let mut unique = Findings::default();
    for finding in super::kinds_for_invalid_text(findings) {
        unique.push(super::help::with_help(finding));
    }
    (programs, unique.0)
}

/// The help for an unknown key of `outputs`.
const OUTPUTS: &str = "name an output that the called workflow declares under `outputs`, or one of its states";

struct States;

impl Calls for States {
    fn of(&self, document: &Located) -> Vec<Result<Call, Diagnostic>> {
        let Some(read) = Document::read(document, &mut Findings::default()) else { return Vec::new() };
        let calls = read.states.iter().filter_map(|state| match &state.kind {
            StateKind::Call(call) => Some((call.workflow.as_ref()?, &call.outputs)),
            _ => None,
        });
        let call = |(name, outputs): (&super::raw::Text, &Vec<(Arc<str>, _, _)>)| {
            if name.text().contains('/') {
                let message = format!("`{}` is a workflow of a pack, and packs are not offered", name.text());
                return Err(Diagnostic::error(Kind::Unsupported, name.span(), message));
            }
            let wanted = outputs.iter().map(|(state, span, _)| (Arc::clone(state), *span)).collect();
            Ok(Call { name: Arc::clone(name.text()), span: name.span(), wanted })
        };
        calls.map(call).collect()
    }

    fn unknown_workflow(&self, call: &Call) -> Option<Diagnostic> {
        let message = format!("unknown workflow `{}`", call.name);
        Some(Diagnostic::error(Kind::UnknownWorkflow, call.span, message))
    }

    fn load(&self, _call: &Call, document: &Located) -> Result<Child, Diagnostic> {
        Ok(super::load(document))
    }

    fn missing_outputs(&self, call: &Call, document: &Located) -> Vec<Diagnostic> {
        let Some(read) = Document::read(document, &mut Findings::default()) else { return Vec::new() };
        let declares = |name: &str| read.outputs.iter().any(|output| output.name == *name);
        let unknown = call.wanted.iter().filter(|(name, _)| !declares(name) && read.state(name).is_none());
        let findings = unknown.map(|(name, span)| {
            let message =
                format!("the workflow `{}` declares no output `{name}` and has no state of that name", call.name);
            let finding = Diagnostic::error(Kind::UnknownState, *span, message);
            let outputs = read.outputs.iter().map(|output| &**output.name.text());
            let finding = finding.suggest(name, outputs.chain(read.states.iter().map(|state| &*state.name)));
            if finding.help.is_none() { finding.with_help(OUTPUTS) } else { finding }
        });
        findings.collect()
    }
}
