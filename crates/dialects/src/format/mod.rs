//! One way to write a document. The source is edited where it is not written that way; it is never written anew, so what
//! is not touched stays as its author wrote it, comments included.
//!
//! YAML gets, in this order:
//!
//! - line ends are a newline, blanks at the end of lines go, the text ends with one newline ([`blanks`]);
//! - the keys of a step come in the order `id`, `step_type`, `name`, `purpose`, then the others as written ([`order`]);
//! - what is nested by indentation is indented by two blanks, lists under a key too, and one blank follows a dash
//!   ([`indent`]).
//!
//! JSON, which has no comments, is laid out with one value a line ([`json`]).
//!
//! Every stage is checked: unless the result reads as the same document with the same comments, the stage is left out.

mod blanks;
mod edit;
mod indent;
mod json;
mod lines;
mod order;
mod same;

use branchpoint_expr::{Diagnostic, Dialect, Located};

use crate::read;
use crate::recognise::recognise;

/// The same document, written the one way. Where the dialect is not given, the content shows it; only documents of the
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
/// What keeps the text from being read; see [`read`].
pub fn format(source: &str, dialect: Option<Dialect>) -> Result<String, Vec<Diagnostic>> {
    let document = read(source)?;
    let dialect = dialect.or_else(|| recognise(&document).ok());
    let ordered = dialect == Some(Dialect::Steps);
    if crate::reader::is_json(source) {
        return Ok(json::format(source, &document, ordered));
    }
    let mut text = stage(source.to_owned(), blanks::clean);
    if ordered {
        // Each round settles the outermost steps that are not in order yet.
        for _ in 0..crate::reader::limits::DEPTH {
            let next = stage(text.clone(), order::sort);
            if next == text {
                break;
            }
            text = next;
        }
    }
    Ok(stage(text, indent::indent))
}

/// One stage, or nothing if it would change what the text says.
fn stage(text: String, rewrite: impl Fn(&str, &Located) -> Option<String>) -> String {
    let Ok(document) = read(&text) else { return text };
    match rewrite(&text, &document) {
        Some(next) if next != text && same::same(&text, &document, &next) => next,
        _ => text,
    }
}
