//! Edits of documents as a canvas makes them.

mod graph;
mod palette;
mod properties;
mod steps;

use branchpoint_dialects::{EditErrorKind, Edited, Operation, Position, TextEdit, edit};

/// The text with edits, applied from the last to the first.
fn applied(source: &str, edits: &[TextEdit]) -> String {
    let mut text = source.to_owned();
    for edit in edits.iter().rev() {
        text.replace_range(edit.start..edit.end, &edit.text);
    }
    text
}

/// An edit that must be possible.
#[track_caller]
fn edited(source: &str, operation: &Operation) -> Edited {
    let edited = edit(source, None, operation).unwrap_or_else(|error| panic!("{error}\n{operation:?}\n{source}"));
    assert_eq!(applied(source, &edited.edits), edited.text, "the edits make the text");
    edited
}

#[track_caller]
fn check(source: &str, operation: &Operation, expect: &str) {
    let edited = edited(source, operation);
    assert_eq!(edited.text, expect, "\n{}", edited.text);
}

/// An edit that must be rejected.
#[track_caller]
fn rejected(source: &str, operation: &Operation, kind: EditErrorKind, expect: &str) {
    let error = edit(source, None, operation).expect_err("the edit is rejected");
    assert_eq!(error.kind, kind, "{error}");
    assert!(error.to_string().contains(expect), "{error}");
}

fn remove(step: &str) -> Operation {
    Operation::Remove { steps: vec![step.to_owned()], with_children: false }
}

fn rename(step: &str, id: &str) -> Operation {
    Operation::Rename { step: step.to_owned(), id: id.to_owned() }
}

fn add(step_type: &str, position: Position) -> Operation {
    Operation::Add { step_type: step_type.to_owned(), position, id: None, fields: branchpoint_expr::Object::default() }
}

fn move_to(step: &str, position: Position) -> Operation {
    Operation::Move { step: step.to_owned(), position }
}

fn edge(from: &str, branch: Option<&str>, to: &str) -> Position {
    Position::Edge { from: from.to_owned(), branch: branch.map(str::to_owned), to: to.to_owned() }
}

fn branch(step: &str, branch: &str) -> Position {
    Position::Branch { step: step.to_owned(), branch: branch.to_owned(), index: None }
}
