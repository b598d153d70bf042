//! What is wrong or suspicious about a document as a whole. Nothing is evaluated and nothing is lowered here.

mod reach;
mod structure;
mod texts;

pub(super) use texts::Uses;

use super::raw::{Document, Findings};

/// Checks everything and tells what the texts of the document read.
pub(super) fn check(document: &Document, found: &mut Findings) -> Uses {
    structure::check(document, found);
    reach::check(document, found);
    texts::check(document, found)
}
