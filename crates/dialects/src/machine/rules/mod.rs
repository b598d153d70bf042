//! Checks the document as a whole, without evaluating or lowering anything.

mod reach;
mod structure;
mod texts;

pub(super) use texts::Uses;

use super::raw::{Document, Findings};

/// Checks everything and returns the names that the texts of the document read.
pub(super) fn check(document: &Document, findings: &mut Findings) -> Uses {
    structure::check(document, findings);
    reach::check(document, findings);
    texts::check(document, findings)
}
