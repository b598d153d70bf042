//! Edits of documents as a canvas makes them: add a step, move it, connect it, rename it. Each operation becomes edits of the source,
//! so comments, order and notation of everything else stay as the author wrote them.
//!
//! `operation` is what can be asked for. `steps` and `graph` find the places in a document of their dialect and make the changes with
//! `draft`, which checks that the text reads as expected after each of them. `block_edits` edits blocks of YAML, `bracket_edits` JSON and
//! brackets of YAML, `render` writes new values, `pieces` keeps the edits of the source.
//!
//! **Invariant:** the source is edited, never written anew. A notation that cannot be edited is rejected.

mod block_edits;
mod bracket_edits;
mod draft;
mod entries;
mod error;
mod fragment;
mod graph;
mod operation;
mod palette;
mod pieces;
mod render;
mod steps;
mod values;

use branchpoint_expr::Dialect;

use crate::read;
use crate::recognise::recognise;
use draft::Draft;

pub use error::{EditError, EditErrorKind};
pub use operation::{Operation, Position};
pub use palette::{PaletteEntry, palette};

/// The replacement of a range of bytes of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    /// The first byte that is replaced.
    pub start: usize,
    /// The byte after the last one that is replaced.
    pub end: usize,
    /// The new text.
    pub text: String,
}

/// The result of an edit.
#[derive(Clone, Debug, Default)]
pub struct Edited {
    /// The edits of the source, in its order. They do not overlap.
    pub edits: Vec<TextEdit>,
    /// The source with the edits.
    pub text: String,
    /// The step to select.
    pub selected: Option<String>,
    /// The references that the edit changed, or that name a step that it removed.
    pub affected: Vec<Affected>,
    /// The steps that the edit removed, with those inside of them.
    pub removed: Vec<String>,
}

/// A place that refers to a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affected {
    /// The step with the reference; none for the document.
    pub step: Option<String>,
    /// The path of the field in the step, such as `elif[0].if`.
    pub field: String,
    /// The step that it names.
    pub names: String,
    /// The position of the reference in the new text, or in the source if the edit removes it.
    pub start: usize,
    /// The line of the reference there, from 1.
    pub line: u32,
}

/// Applies an operation to a document of the dialect `steps` or `graph`, which is detected by its content if it is not given.
///
/// ```
/// use branchpoint_dialects::{Operation, edit};
///
/// let source = "name: hello\nsteps:\n  - {id: a, step_type: text, template: Hello}  # greets\n";
/// let rename = Operation::Rename { step: "a".to_owned(), id: "greet".to_owned() };
/// let edited = edit(source, None, &rename)?;
/// assert_eq!(edited.text, source.replace("id: a", "id: greet"));
/// assert_eq!((edited.edits[0].start, edited.edits[0].end), (28, 29));
/// # Ok::<(), branchpoint_dialects::EditError>(())
/// ```
///
/// # Errors
///
/// The document cannot be read, the operation does not apply to it, or its notation cannot be edited.
pub fn edit(source: &str, dialect: Option<Dialect>, operation: &Operation) -> Result<Edited, EditError> {
    let document = read(source).map_err(|findings| EditError::invalid(&findings))?;
    let dialect = match dialect {
        Some(dialect) => dialect,
        None => recognise(&document).map_err(|finding| EditError::invalid(&[*finding]))?,
    };
    let mut draft = Draft::new(source)?;
    let mut edited = match dialect {
        Dialect::Steps => steps::edit(&mut draft, operation)?,
        Dialect::Graph => graph::edit(&mut draft, operation)?,
        other => return Err(EditError::dialect(other)),
    };
    edited.edits = draft.edits();
    edited.text = draft.text;
    Ok(edited)
}

/// Whether documents of a dialect can be edited with [`edit`].
///
/// ```
/// use branchpoint_expr::Dialect;
///
/// assert!(branchpoint_dialects::is_editable(Dialect::Graph));
/// assert!(!branchpoint_dialects::is_editable(Dialect::Machine));
/// ```
pub fn is_editable(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Steps | Dialect::Graph)
}
