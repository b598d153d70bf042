//! What every structured spelling asks of a document, in the same words.

use crate::Kind;
use crate::diagnostic::Diagnostic;
use crate::located::Located;
use crate::unit::Unit;

impl Unit<'_> {
    /// Refuses a value of another shape than the one that must stand there: "a condition is an object, and this is text".
    pub(crate) fn odd_shape(&mut self, kind: Kind, found: &Located, wanted: &str) -> &mut Diagnostic {
        self.error(kind, found.span, format!("{wanted}, and this is {}", found.describe()))
    }

    /// The entries of `conditions`, which is a list.
    pub(crate) fn entries<'l>(&mut self, conditions: &'l Located, kind: Kind) -> Option<&'l [Located]> {
        let items = conditions.items();
        if items.is_none() {
            self.odd_shape(kind, conditions, "`conditions` is a list").help =
                Some("put the conditions in square brackets".into());
        }
        items
    }

    /// Warns of keys that no table lists: most of them are misspelt.
    pub(crate) fn unknown_keys(&mut self, located: &Located, known: &[&'static str]) {
        for field in located.fields() {
            if !known.contains(&&*field.key) {
                self.warn(Kind::UnknownKey, field.key_span, format!("the key `{}` has no meaning here", field.key))
                    .help = Some("remove it".into());
                self.suggest(&field.key, known.iter().copied());
            }
        }
    }

    /// Adds a "did you mean" to the newest finding.
    pub(crate) fn suggest<'c>(&mut self, written: &str, candidates: impl IntoIterator<Item = &'c str>) {
        if let Some(finding) = self.findings.pop() {
            self.findings.push(finding.suggest(written, candidates));
        }
    }
}
