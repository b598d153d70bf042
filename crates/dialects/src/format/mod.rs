//! Formats documents. Only the parts of the source that differ from the format are edited, so the rest
//! stays as its author wrote it, comments included.
//!
//! YAML gets, in this order:
//!
//! - line breaks are `\n`, trailing blanks are removed, the text ends with one newline ([`blanks`]);
//! - the keys of a step have the order `id`, `step_type`, `name`, `purpose`, then the others as written ([`step_order`]);
//! - block objects and lists are indented by two blanks, lists under a key too, and one blank follows a dash
//!   ([`indent`]).
//!
//! JSON, which has no comments, is laid out with one value a line ([`json`]).
//!
//! Every stage is checked: a stage whose result is not the same document with the same comments is skipped.

mod blanks;
pub(crate) mod edit;
pub(crate) mod equivalence;
mod indent;
mod json;
pub(crate) mod lines;
mod step_order;

use branchpoint_expr::{Diagnostic, Dialect, Located};

use crate::read;
use crate::recognise::recognise;

/// Formats a document. Without a dialect, the content decides; only documents of the
/// `steps` dialect have an order of keys.
///
/// ```
/// let written = "steps:\n- step_type:  text   # hi\n  id: greet";
/// let formatted = branchpoint_dialects::format(written, None).unwrap();
/// assert_eq!(formatted, "steps:\n  - id: greet\n    step_type:  text   # hi\n");
/// ```
///
/// # Errors
///
/// The errors of [`read`].
pub fn format(source: &str, dialect: Option<Dialect>) -> Result<String, Vec<Diagnostic>> {
    let document = read(source)?;
    let dialect = dialect.or_else(|| recognise(&document).ok());
    let ordered = dialect == Some(Dialect::Steps);
    if crate::reader::is_json(source) {
        return Ok(json::format(source, &document, ordered));
    }
    let mut text = apply_stage(source.to_owned(), blanks::normalize_blanks);
    if ordered {
        // Each round sorts the outermost steps that are not in order.
        for _ in 0..crate::reader::limits::DEPTH {
            let next = apply_stage(text.clone(), step_order::sort);
            if next == text {
                break;
            }
            text = next;
        }
    }
    Ok(apply_stage(text, indent::indent))
}

/// Applies one stage; keeps the text if the stage would change its meaning.
fn apply_stage(text: String, rewrite: impl Fn(&str, &Located) -> Option<String>) -> String {
    let Ok(document) = read(&text) else { return text };
    match rewrite(&text, &document) {
        Some(next) if next != text && equivalence::is_equivalent(&text, &document, &next) => next,
        _ => text,
    }
}
