//! Connections. The rules of the dialect decide which are possible.

use std::collections::BTreeSet;

use branchpoint_expr::{Diagnostic, Dialect, Severity};

use super::outline::Outline;
use crate::DocumentKinds as _;
use crate::LoadOptions;
use crate::edit::draft::Draft;
use crate::edit::fragment::Fragment;
use crate::edit::{EditError, EditErrorKind, values};
use crate::load::lower;

/// Connects two nodes, unless a rule of the dialect forbids it.
pub(super) fn connect(draft: &mut Draft<'_>, source: &str, handle: &str, target: &str) -> Result<(), EditError> {
    let outline = Outline::of(&draft.document);
    let node = outline.node(source)?;
    outline.node(target)?;
    let known = node.handles();
    let handle = match (handle, &known[..]) {
        ("" | "output", [only]) => only.as_str(),
        ("subagent", _) => handle,
        _ if known.iter().any(|known| known == handle) => handle,
        (_, []) => {
            let message = format!("Nothing can follow `{source}`: it ends its branch.");
            return Err(EditError::new(EditErrorKind::UnknownBranch, message));
        }
        _ => {
            let message = format!("`{source}` has no handle `{handle}`.");
            let help = format!("Its handles are {}.", known.join(", "));
            return Err(EditError::new(EditErrorKind::UnknownBranch, message).with_help(help));
        }
    };
    if outline.connection(source, Some(handle), target).is_ok() {
        let message = format!("`{source}` is connected to `{target}` by this handle already.");
        return Err(EditError::new(EditErrorKind::DuplicateConnection, message));
    }
    let before = findings(draft);
    let ends = [("source", source), ("target", target), ("sourceHandle", handle), ("targetHandle", "input")];
    let connection = values::object(ends.map(|(key, value)| (key, values::text(value))));
    draft.insert(&["connections".into()], outline.connections.len(), &[Fragment::of(&connection)])?;
    let known: BTreeSet<(&str, &str)> =
        before.iter().map(|finding| (finding.kind.as_str(), &*finding.message)).collect();
    let is_new = |finding: &&Diagnostic| !known.contains(&(finding.kind.as_str(), &*finding.message));
    let is_bad = |finding: &&Diagnostic| {
        finding.severity == Severity::Error || finding.kind == branchpoint_expr::Kind::DeadConnection
    };
    match findings(draft).iter().filter(is_bad).find(is_new) {
        Some(finding) => Err(EditError { finding: Some(finding.kind.as_str()), ..rejection(finding) }),
        None => Ok(()),
    }
}

/// What the rules of the dialect say about a graph.
fn findings(draft: &Draft<'_>) -> Vec<Diagnostic> {
    lower(&draft.document, Dialect::Graph, &LoadOptions::default()).1
}

fn rejection(finding: &Diagnostic) -> EditError {
    let sentence = |text: &str| {
        let mut chars = text.chars();
        let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
        format!("{first}{}.", chars.as_str())
    };
    let error = EditError::new(EditErrorKind::InvalidConnection, sentence(&finding.message));
    match &finding.help {
        Some(help) => error.with_help(sentence(help)),
        None => error,
    }
}

/// Removes a connection.
pub(super) fn disconnect(
    draft: &mut Draft<'_>,
    source: &str,
    handle: Option<&str>,
    target: &str,
) -> Result<(), EditError> {
    let connection = Outline::of(&draft.document).connection(source, handle, target)?.index;
    draft.remove_items(&["connections".into()], &[connection])
}
