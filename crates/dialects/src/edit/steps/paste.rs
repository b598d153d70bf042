//! Steps that were copied as text.

use std::collections::BTreeMap;

use branchpoint_expr::{Located, Shape};

use super::outline::Outline;
use super::position::place;
use super::{insert, references, unique_id};
use crate::edit::draft::Draft;
use crate::edit::fragment::Fragment;
use crate::edit::{EditError, EditErrorKind, Edited, Position};
use crate::read;
use crate::steps::is_leaf;

/// The largest number of steps that are pasted at once.
const MOST_STEPS: usize = 500;

pub(super) fn paste(draft: &mut Draft<'_>, fragment: &str, position: &Position) -> Result<Edited, EditError> {
    let text = as_document(fragment).ok_or_else(invalid)?;
    let mut copied = Draft::new(&text).map_err(|_| invalid())?;
    let outline = Outline::of(&copied.document);
    if outline.steps.is_empty() || outline.steps.len() > MOST_STEPS || has_other_items(&copied.document) {
        return Err(invalid());
    }
    let present = Outline::of(&draft.document);
    let mut ids = present.ids();
    ids.extend(outline.ids());
    let mut renamed = BTreeMap::new();
    for step in outline.steps.iter().filter(|step| step.is_named && present.find(&step.id).is_some()) {
        let id = unique_id(&step.id, &ids);
        ids.insert(id.as_str().into());
        renamed.insert(step.id.clone(), id);
    }
    references::rename(&mut copied, &renamed)?;
    let copied_outline = Outline::of(&copied.document);
    let roots: Vec<_> = copied_outline.steps.iter().filter(|step| step.parent.is_none()).collect();
    let place = place(draft, &present, position)?;
    if place.above.is_some() && (roots.len() > 1 || is_leaf(&roots[0].kind)) {
        let message = "Several steps cannot stand on an edge between steps that run side by side.";
        return Err(EditError::new(EditErrorKind::InvalidPosition, message).with_help("Paste them one by one."));
    }
    let mut fragments = Vec::new();
    for root in &roots {
        let written = copied.fragment(&root.path).filter(|_| copied.notation == draft.notation);
        fragments.push(match written {
            Some(written) => written,
            None => Fragment::of(copied.get(&root.path).ok_or_else(invalid)?),
        });
    }
    insert(draft, &place, &fragments)?;
    Ok(Edited { selected: Some(roots[0].id.to_string()), ..Edited::default() })
}

fn invalid() -> EditError {
    let message = "The text is not a step, a list of steps or a workflow.";
    EditError::new(EditErrorKind::InvalidFragment, message).with_help("Copy whole steps of a workflow.")
}

/// Whether the list has something that is not a step.
fn has_other_items(document: &Located) -> bool {
    let items = document.get("steps").and_then(Located::items).unwrap_or_default();
    items.iter().any(|item| item.get("step_type").is_none())
}

/// The copied text as a document with a list of steps.
fn as_document(fragment: &str) -> Option<String> {
    let text = aligned(&fragment.replace("\r\n", "\n"));
    let value = read(&text).ok()?;
    let is_json = crate::reader::is_json(&text);
    match &value.shape {
        Shape::List(_) if is_json => Some(format!("{{\"steps\": {text}}}")),
        Shape::List(_) => Some(format!("steps:\n{}\n", indented(&text, 2))),
        Shape::Object(_) if value.get("step_type").is_some() && is_json => Some(format!("{{\"steps\": [{text}]}}")),
        Shape::Object(_) if value.get("step_type").is_some() => {
            Some(format!("steps:\n  - {}\n", indented(&text, 4).trim_start()))
        }
        Shape::Object(_) if value.get("steps").is_some() => Some(text),
        _ => None,
    }
}

/// Text whose first line begins where the others do. The first line of a copied part often lacks its indentation.
fn aligned(text: &str) -> String {
    let text = text.trim_matches('\n').trim_end();
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default();
    let rest: Vec<&str> = lines.collect();
    let least = rest.iter().filter(|line| !line.trim().is_empty()).map(|line| indent(line)).min().unwrap_or(0);
    // A part that was copied from its first character.
    let by = if indent(first) == 0 && read(text).is_err() { least } else { indent(first).min(least) };
    let cut = |line: &&str| line.get(by.min(indent(line))..).unwrap_or_default().to_owned();
    let first = first.get(by.min(indent(first))..).unwrap_or_default().to_owned();
    std::iter::once(first).chain(rest.iter().map(cut)).collect::<Vec<_>>().join("\n")
}

fn indented(text: &str, by: usize) -> String {
    let line = |line: &str| if line.trim().is_empty() { String::new() } else { format!("{}{line}", " ".repeat(by)) };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}
