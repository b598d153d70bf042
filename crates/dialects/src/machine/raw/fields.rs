//! Reading the fields of an object: each is taken by name, and what nobody takes is told.

use std::sync::Arc;

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Diagnostic, Field, Kind, Located, Shape, Span, duration_ms, seconds_ms};

use crate::DocumentKinds as _;

/// Everything that was found so far.
#[derive(Debug, Default)]
pub(in crate::machine) struct Findings(pub(in crate::machine) Vec<Diagnostic>);

impl Findings {
    pub(in crate::machine) fn error(&mut self, kind: Kind, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.push(Diagnostic::error(kind, span, message))
    }

    pub(in crate::machine) fn warn(&mut self, kind: Kind, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.push(Diagnostic::warning(kind, span, message))
    }

    /// The same finding is told once, however often it is met.
    pub(in crate::machine) fn push(&mut self, finding: Diagnostic) -> &mut Diagnostic {
        let known = self.0.iter().position(|known| {
            known.kind == finding.kind && known.span == finding.span && known.message == finding.message
        });
        let at = known.unwrap_or_else(|| {
            self.0.push(finding);
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// With a "did you mean".
    pub(in crate::machine) fn suggest<'c>(
        &mut self,
        finding: Diagnostic,
        written: &str,
        candidates: impl IntoIterator<Item = &'c str>,
    ) {
        self.push(finding.suggest(written, candidates));
    }
}

/// A text of the document, with its place. Numbers and booleans that stand where text is wanted are taken as their text.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Text(pub(in crate::machine) Located);

impl Text {
    pub(in crate::machine) fn of(located: &Located) -> Option<Self> {
        match located.shape {
            Shape::Str { .. } => Some(Self(located.clone())),
            Shape::Bool(_) | Shape::Int(_) | Shape::Float(_) => {
                let text = located.to_value().to_string().into();
                Some(Self(Located { shape: Shape::Str { text, verbatim: None }, span: located.span }))
            }
            _ => None,
        }
    }

    pub(in crate::machine) fn text(&self) -> &Arc<str> {
        self.0.text().expect("it was made of text")
    }

    pub(in crate::machine) fn span(&self) -> Span {
        self.0.span
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        &**self.text() == other
    }
}

/// The fields of one object, as far as they were not taken yet.
pub(in crate::machine) struct Fields<'d> {
    /// Where the object stands in the document, for messages: `states.build.retry`.
    path: String,
    pub(in crate::machine) span: Span,
    fields: &'d [Field],
    asked: Vec<&'static str>,
    taken: Vec<bool>,
}

impl<'d> Fields<'d> {
    /// None, with a finding, if this is no object. Null is an object without fields.
    pub(in crate::machine) fn of(located: &'d Located, path: impl Into<String>, found: &mut Findings) -> Option<Self> {
        let path = path.into();
        if !located.is_object() && !located.is_null() {
            let message = format!("`{path}` is an object, and this is {}", located.describe());
            found.error(Kind::BadValue, located.span, message);
            return None;
        }
        let fields = located.fields();
        Some(Self { path, span: located.span, fields, asked: Vec::new(), taken: vec![false; fields.len()] })
    }

    pub(in crate::machine) fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The value of a key. Null counts as absent.
    pub(in crate::machine) fn take(&mut self, key: &'static str) -> Option<&'d Located> {
        self.asked.push(key);
        let at = self.fields.iter().position(|field| &*field.key == key)?;
        self.taken[at] = true;
        Some(&self.fields[at].value).filter(|value| !value.is_null())
    }

    /// A value that is not the empty text, which says as little as null where a word or a number is wanted.
    pub(in crate::machine) fn said(&mut self, key: &'static str) -> Option<&'d Located> {
        self.take(key).filter(|value| value.text().is_none_or(|text| !text.is_empty()))
    }

    /// Whether a key says anything.
    pub(in crate::machine) fn says(&self, key: &str) -> bool {
        let says = |value: &Located| value.text().is_none_or(|text| !text.is_empty());
        self.has(key) && self.fields.iter().any(|field| &*field.key == key && says(&field.value))
    }

    /// Whether a key is there, whatever becomes of it.
    pub(in crate::machine) fn has(&self, key: &str) -> bool {
        self.fields.iter().any(|field| &*field.key == key && !field.value.is_null())
    }

    /// One thing in two spellings; both at once are refused.
    pub(in crate::machine) fn either(
        &mut self,
        first: &'static str,
        second: &'static str,
        found: &mut Findings,
    ) -> Option<&'d Located> {
        let (one, other) = (self.take(first), self.take(second));
        if let (Some(_), Some(other)) = (one, other) {
            let message = format!("`{}` and `{}` say the same thing", self.path(first), self.path(second));
            found.error(Kind::Conflict, other.span, message).help = Some("keep one of them".into());
        }
        one.or(other)
    }

    pub(in crate::machine) fn text(&mut self, key: &'static str, found: &mut Findings) -> Option<Text> {
        let value = self.take(key)?;
        let text = Text::of(value);
        if text.is_none() {
            self.bad(key, value, "text", found);
        }
        text
    }

    /// A text in which nothing written is nothing said, as everywhere in the original: a name, a directory, a remark.
    pub(in crate::machine) fn filled(&mut self, key: &'static str, found: &mut Findings) -> Option<Text> {
        self.text(key, found).filter(|text| !text.text().is_empty())
    }

    /// A required text.
    pub(in crate::machine) fn needed(&mut self, key: &'static str, found: &mut Findings) -> Option<Text> {
        if !self.has(key) {
            self.take(key);
            self.missing(key, found);
            return None;
        }
        self.text(key, found).filter(|text| {
            let blank = text.text().trim().is_empty();
            if blank {
                self.missing(key, found);
            }
            !blank
        })
    }

    pub(in crate::machine) fn missing(&self, key: &str, found: &mut Findings) {
        let message = format!("`{}` is required", self.path(key));
        found.error(Kind::MissingField, self.span, message);
    }

    pub(in crate::machine) fn flag(&mut self, key: &'static str, found: &mut Findings) -> Option<bool> {
        let value = self.take(key)?;
        if let Shape::Bool(flag) = value.shape {
            return Some(flag);
        }
        self.bad(key, value, "true or false", found);
        None
    }

    pub(in crate::machine) fn integer(
        &mut self,
        key: &'static str,
        allowed: std::ops::RangeInclusive<i64>,
        found: &mut Findings,
    ) -> Option<i64> {
        let value = self.take(key)?;
        match &value.shape {
            Shape::Int(int) if allowed.contains(int) => Some(*int),
            _ if *allowed.end() == i64::MAX => {
                self.bad(key, value, &format!("a whole number of at least {}", allowed.start()), found);
                None
            }
            _ => {
                let wanted = format!("a whole number from {} to {}", allowed.start(), allowed.end());
                self.bad(key, value, &wanted, found);
                None
            }
        }
    }

    pub(in crate::machine) fn number(&mut self, key: &'static str, found: &mut Findings) -> Option<f64> {
        let value = self.take(key)?;
        match &value.shape {
            Shape::Int(int) => Some(*int as f64),
            Shape::Float(float) => Some(*float),
            _ => {
                self.bad(key, value, "a number", found);
                None
            }
        }
    }

    /// Milliseconds: `1m30s`, `500ms`, or a number of seconds.
    pub(in crate::machine) fn duration(&mut self, key: &'static str, found: &mut Findings) -> Option<u64> {
        let value = self.said(key)?;
        let ms = match &value.shape {
            Shape::Int(int) => seconds_ms(*int as f64),
            Shape::Float(float) => seconds_ms(*float),
            Shape::Str { text, .. } => duration_ms(text).or_else(|| seconds_ms(text.trim().parse().ok()?)),
            _ => None,
        };
        if ms.is_none() {
            self.bad(key, value, "a duration such as `1m30s`, `500ms` or a number of seconds", found);
        }
        ms
    }

    /// One of some words, in any case.
    pub(in crate::machine) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&'static str, T)],
        found: &mut Findings,
    ) -> Option<T> {
        let value = self.said(key)?;
        let text = Text::of(value);
        let written = text.as_ref().map_or("", |text| text.text().as_ref());
        let known = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(written));
        if known.is_none() {
            let names = words.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(", ");
            let message = format!("`{}` is one of {names}", self.path(key));
            let finding = Diagnostic::error(Kind::BadValue, value.span, message);
            found.suggest(finding, written, words.iter().map(|(word, _)| *word));
        }
        known.map(|(_, meant)| *meant)
    }

    /// A list of texts; a single text is a list of one.
    pub(in crate::machine) fn texts(&mut self, key: &'static str, found: &mut Findings) -> Option<Vec<Text>> {
        let value = self.take(key)?;
        let items = match value.items() {
            Some(items) => items,
            None if Text::of(value).is_some() => std::slice::from_ref(value),
            None => {
                self.bad(key, value, "a list of texts", found);
                return None;
            }
        };
        let mut texts = Vec::new();
        for item in items {
            match Text::of(item) {
                Some(text) => texts.push(text),
                None => self.bad(key, item, "a list of texts", found),
            }
        }
        Some(texts)
    }

    /// The elements of a list.
    pub(in crate::machine) fn list(&mut self, key: &'static str, found: &mut Findings) -> &'d [Located] {
        let Some(value) = self.take(key) else { return &[] };
        value.items().unwrap_or_else(|| {
            self.bad(key, value, "a list", found);
            &[]
        })
    }

    /// The fields of an object below this one.
    pub(in crate::machine) fn object(&mut self, key: &'static str, found: &mut Findings) -> Option<Fields<'d>> {
        let value = self.take(key)?;
        Fields::of(value, self.path(key), found)
    }

    pub(in crate::machine) fn bad(&self, key: &str, value: &Located, wanted: &str, found: &mut Findings) {
        let message = format!("`{}` is {wanted}, and this is {}", self.path(key), shown(value));
        found.error(Kind::BadValue, value.span, message);
    }

    /// Keys without a meaning that are fine all the same.
    pub(in crate::machine) fn ignore(&mut self, keys: &[&'static str]) {
        for key in keys {
            self.take(key);
        }
    }

    /// What was not taken belongs to somebody else.
    pub(in crate::machine) fn ignore_rest(&mut self) {
        self.taken.fill(true);
    }

    /// Keys of the original system that are not offered; tells whether any is there.
    pub(in crate::machine) fn unsupported(&mut self, keys: &[&'static str], found: &mut Findings) -> bool {
        let mut any = false;
        for key in keys {
            if let Some(at) = self.fields.iter().position(|field| &*field.key == *key) {
                (self.taken[at], any) = (true, true);
                let message = format!("`{}` is not offered", self.path(key));
                found.error(Kind::Unsupported, self.fields[at].key_span, message);
            }
        }
        any
    }

    /// Tells the keys that nobody asked for.
    pub(in crate::machine) fn finish(self, found: &mut Findings) {
        for (field, _) in self.fields.iter().zip(&self.taken).filter(|(_, taken)| !**taken) {
            let message = format!("`{}` is not known here and has no effect", self.path(&field.key));
            let finding = Diagnostic::warning(Kind::UnknownKey, field.key_span, message);
            found.suggest(finding, &field.key, self.asked.iter().copied());
        }
    }
}

fn shown(value: &Located) -> String {
    const LONGEST: usize = 40;
    match Text::of(value) {
        Some(text) if text.text().chars().count() <= LONGEST => format!("`{}`", text.text()),
        _ => value.describe().to_owned(),
    }
}
