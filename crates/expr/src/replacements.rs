//! Compiles replacements in a text: `[{pattern, substitution}]`, each applied to the result of the one before.

use std::sync::Arc;

use crate::Kind;
use crate::located::Located;
use crate::pattern::Pattern;
use crate::program::{Access, Id, Node};
use crate::unit::Unit;

impl Unit<'_> {
    pub(crate) fn replacements(&mut self, rules: &Located) -> Id {
        let mut text = self.known_path(&["input"], Access::Blank, rules.span);
        let Some(items) = rules.items() else {
            self.wrong_shape(Kind::BadField, rules, "the rules must be a list");
            return text;
        };
        for rule in items {
            if let Some(replacement) = self.replacement(rule) {
                text = self.program.emit(Node::Replace { text, replacement }, rule.span);
            }
        }
        self.emit_all(Node::Template, &[text], rules.span)
    }

    fn replacement(&mut self, rule: &Located) -> Option<u32> {
        self.unknown_keys(rule, &["pattern", "substitution"]);
        let text = |key: &str| rule.get(key).and_then(Located::text);
        let Some(written) = text("pattern") else {
            self.error(Kind::BadField, rule.span, "`pattern` is missing or not text");
            return None;
        };
        let substitution = text("substitution").cloned().unwrap_or_else(|| Arc::from(""));
        let compiled =
            Pattern::python(written).and_then(|pattern| pattern.check_substitution(&substitution).map(|()| pattern));
        match compiled {
            Ok(pattern) => {
                self.program.replacements.push((pattern, substitution));
                u32::try_from(self.program.replacements.len() - 1).ok()
            }
            Err(error) => {
                self.error(Kind::BadRegex, rule.span, error.to_string());
                None
            }
        }
    }
}
