//! Exported agents: `{export_version, agent: {definition: {…}}}`. The workflow is the definition.

use branchpoint_expr::{Diagnostic, Field, Located};

use crate::DocumentKinds as _;

/// Fields of an export that describe it and configure nothing.
const DESCRIPTIVE: [&str; 3] = ["export_version", "exported_at", "agent"];

/// Texts of an agent that its definition may omit.
const SHARED: [&str; 2] = ["name", "description"];

/// The workflow in an exported agent, with the agent's name and description; none if the document is not an export.
pub(crate) fn definition(document: &Located) -> Option<Located> {
    let (agent, definition) = (document.get("agent")?, written_definition(document)?);
    let is_absent = |field: &&Field| SHARED.contains(&&*field.key) && definition.get(&field.key).is_none();
    let added = agent.fields().iter().filter(is_absent).cloned();
    let fields = definition.fields().iter().cloned().chain(added).collect();
    Some(Located { shape: branchpoint_expr::Shape::Object(fields), span: definition.span })
}

/// The definition in an exported agent as written.
pub(crate) fn written_definition(document: &Located) -> Option<&Located> {
    document.get("export_version")?;
    document.get("agent")?.get("definition").filter(|definition| definition.is_object())
}

/// Warnings about the parts of an export that have no effect, such as its trigger and its alerts.
pub(crate) fn ignored(document: &Located) -> Vec<Diagnostic> {
    let is_used = |field: &&Field| !DESCRIPTIVE.contains(&&*field.key) && !field.value.is_null();
    let warn = |field: &Field| {
        let message = format!("`{}` of an exported agent has no effect", field.key);
        let help = "move what the workflow needs into `agent.definition`";
        Diagnostic::warning(branchpoint_expr::Kind::IgnoredKey, field.key_span, message).with_help(help)
    };
    document.fields().iter().filter(is_used).map(warn).collect()
}
