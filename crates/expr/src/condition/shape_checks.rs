//! Shape checks that all structured conditions share, with the same messages.

use crate::Kind;
use crate::diagnostic::Diagnostic;
use crate::located::Located;
use crate::unit::Unit;

impl Unit<'_> {
    /// Reports a value of the wrong shape: "a condition must be an object, but this is text".
    pub(crate) fn wrong_shape(&mut self, kind: Kind, found: &Located, wanted: &str) -> &mut Diagnostic {
        self.error(kind, found.span, format!("{wanted}, but this is {}", found.describe()))
    }

    /// The entries of `conditions`, which must be a list.
    pub(crate) fn entries<'l>(&mut self, conditions: &'l Located, kind: Kind) -> Option<&'l [Located]> {
        let items = conditions.items();
        if items.is_none() {
            self.wrong_shape(kind, conditions, "`conditions` must be a list").help =
                Some("put the conditions in square brackets".into());
        }
        items
    }

    /// Warns about unknown keys, which are usually misspelt.
    pub(crate) fn unknown_keys(&mut self, located: &Located, known: &[&'static str]) {
        let names = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        for field in located.fields() {
            if !known.contains(&&*field.key) {
                self.warn(Kind::UnknownKey, field.key_span, format!("unknown key `{}`", field.key)).help =
                    Some(format!("remove it, or use one of the keys {names}"));
                self.suggest(&field.key, known.iter().copied());
            }
        }
    }

    /// Adds a suggestion to the latest finding.
    pub(crate) fn suggest<'c>(&mut self, written: &str, candidates: impl IntoIterator<Item = &'c str>) {
        if let Some(finding) = self.findings.pop() {
            self.findings.push(finding.suggest(written, candidates));
        }
    }
}
