//! Settings of a step, by what they must be.

use std::sync::Arc;

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Diagnostic, Kind, Located, Shape};

use super::{Reading, Test, start_of};

/// Settings that every step may have.
pub(super) const COMMON: [&str; 3] = ["resultVariable", "responseVariable", "directOutput"];

/// The settings of one step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Config<'d> {
    pub(super) located: &'d Located,
}

impl<'d> Config<'d> {
    /// A setting; null is none.
    pub(super) fn get(self, key: &str) -> Option<&'d Located> {
        self.located.get(key).filter(|value| !value.is_null())
    }
}

impl Reading {
    /// Refuses a setting that cannot be as it is.
    pub(super) fn odd(&mut self, found: &Located, wanted: &str, help: &str) {
        self.error(Kind::InvalidConfig, found.span, format!("{wanted}, and this is {}", found.describe()), help);
    }

    /// A setting that must be there, whatever it is.
    pub(super) fn required<'d>(&mut self, config: Config<'d>, key: &str) -> Option<&'d Located> {
        let found = config.get(key);
        if found.is_none() {
            let message = format!("this step needs `{key}`");
            self.error(Kind::InvalidConfig, start_of(config.located), message, &format!("add \"{key}\" to `config`"));
        }
        found
    }

    /// A setting that must be there as text that is not blank. It may hold placeholders.
    pub(super) fn required_text<'d>(&mut self, config: Config<'d>, key: &str) -> Option<&'d Located> {
        let found = self.required(config, key)?;
        match found.text() {
            Some(text) if !text.trim().is_empty() => Some(found),
            Some(_) => {
                self.error(Kind::InvalidConfig, found.span, format!("`{key}` must not be blank"), "say what is meant");
                None
            }
            None => {
                self.odd(found, &format!("`{key}` is text"), "put it in quotes");
                None
            }
        }
    }

    /// A setting that is text if it is there. It may hold placeholders.
    pub(super) fn optional_text<'d>(&mut self, config: Config<'d>, key: &str) -> Option<&'d Located> {
        let found = config.get(key)?;
        if found.text().is_none() {
            self.odd(found, &format!("`{key}` is text"), "put it in quotes");
            return None;
        }
        Some(found)
    }

    /// A list, or a text with a placeholder for one; none is an empty list.
    pub(super) fn list_or_placeholder<'d>(&mut self, config: Config<'d>, key: &str) -> Option<&'d Located> {
        let found = config.get(key)?;
        if found.items().is_none() && !has_placeholder(found) {
            self.odd(found, &format!("`{key}` must be a list"), "put it in square brackets");
            return None;
        }
        Some(found)
    }

    /// An object, or a text with a placeholder for one.
    pub(super) fn object_or_placeholder<'d>(&mut self, config: Config<'d>, key: &str) -> Option<&'d Located> {
        let found = config.get(key)?;
        if !found.is_object() && !has_placeholder(found) {
            self.odd(found, &format!("`{key}` must be an object"), "put it in braces, with keys and values");
            return None;
        }
        Some(found)
    }

    /// A number that must be written in the document, because it is part of how a call is made.
    pub(super) fn number(&mut self, config: Config<'_>, key: &str, low: i32, high: i32, whole: bool) -> Option<f64> {
        let found = config.get(key)?;
        let number = match found.shape {
            Shape::Int(int) => Some(int as f64),
            Shape::Float(float) if !whole => Some(float),
            _ => None,
        };
        let number = number.filter(|number| (f64::from(low)..=f64::from(high)).contains(number));
        if number.is_none() {
            let kind = if whole { "an integer" } else { "a number" };
            self.error(
                Kind::InvalidConfig,
                found.span,
                format!("`{key}` is {kind} from {low} to {high}"),
                "write it into the document; a placeholder cannot stand here",
            );
        }
        number
    }

    /// True or false, written in the document.
    pub(super) fn flag(&mut self, config: Config<'_>, key: &str, default: bool) -> bool {
        match config.get(key).map(|found| (found, &found.shape)) {
            None => default,
            Some((_, Shape::Bool(flag))) => *flag,
            Some((found, _)) => {
                self.odd(found, &format!("`{key}` is true or false"), "write true or false, without quotes");
                default
            }
        }
    }

    /// One of a few words, taken literally.
    pub(super) fn word(&mut self, config: Config<'_>, key: &str, known: &[&'static str]) -> Option<&'static str> {
        let found = config.get(key)?;
        let written = found.text().map_or("", |text| &**text);
        let word = known.iter().find(|word| **word == written).copied();
        if word.is_none() {
            let list = known.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
            let finding = Diagnostic::error(Kind::InvalidConfig, found.span, format!("`{key}` is one of {list}"));
            self.findings.push(finding.with_help("take one of these words").suggest(written, known.iter().copied()));
        }
        word
    }

    /// The name of a variable: letters, digits and `_`, not beginning with a digit.
    pub(super) fn identifier(&mut self, config: Config<'_>, key: &str) -> Option<Arc<str>> {
        let found = config.get(key)?;
        let name = found.text().filter(|name| is_identifier(name));
        if name.is_none() {
            let message = format!("`{key}` is the name of a variable");
            self.error(
                Kind::InvalidConfig,
                found.span,
                message,
                "a name is letters, digits and `_`, and does not begin with a digit",
            );
        }
        name.cloned()
    }

    /// The condition of a step, in exactly one of its spellings.
    pub(super) fn condition<'d>(&mut self, config: Config<'d>) -> Option<Test<'d>> {
        match (config.located.get("condition"), config.located.get("if")) {
            (Some(group), Some(second)) => {
                let message = "this step has both `condition` and `if`";
                self.error(Kind::TwoConditions, second.span, message, "keep one of them");
                Some(Test::Both(group, second))
            }
            (Some(group), None) => Some(Test::Group(group)),
            (None, Some(condition)) => Some(Test::If(condition)),
            (None, None) => {
                self.required(config, "condition");
                None
            }
        }
    }

    /// Warns of settings that no table lists: most of them are misspelt.
    pub(super) fn unknown_keys(&mut self, located: &Located, known: &[&[&'static str]]) {
        for field in located.fields() {
            if !known.iter().any(|known| known.contains(&&*field.key)) {
                let message = format!("the key `{}` has no meaning here", field.key);
                let finding = Diagnostic::warning(Kind::UnknownKey, field.key_span, message);
                self.findings.push(
                    finding
                        .with_help("remove it")
                        .suggest(&field.key, known.iter().flat_map(|known| known.iter().copied())),
                );
            }
        }
    }
}

fn has_placeholder(found: &Located) -> bool {
    found.text().is_some_and(|text| text.contains("{{"))
}

fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && letters.all(|c| c.is_alphanumeric() || c == '_')
}
