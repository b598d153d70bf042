//! Reports unknown, missing, conflicting and wrong fields of objects.

use std::collections::BTreeSet;
use std::fmt;

use branchpoint_expr::{Diagnostic, Kind, Located, Shape, Span, duration_ms, nearest};

use super::access::{duration, number};
use super::{Content, Field, MAX, Style, Table, Text, Type, Unknown, names};
use crate::report::start_of;

/// The most fields that a remedy lists.
const LISTED: usize = 12;

/// A path in a document for messages, such as `states.build.retry`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Path<'p> {
    /// The path at which the check begins; empty for the document.
    Root(&'p str),
    /// The settings of the step at a path.
    Config(&'p str),
    Key(&'p Path<'p>, &'p str),
    Item(&'p Path<'p>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(root) => f.write_str(root),
            Self::Config(step) => write!(f, "{step}.config"),
            Self::Key(Path::Root(""), key) => f.write_str(key),
            Self::Key(path, key) => write!(f, "{path}.{key}"),
            Self::Item(path, at) => write!(f, "{path}[{at}]"),
        }
    }
}

/// Checks objects against their tables and collects the findings.
#[derive(Debug)]
pub(crate) struct Check<'f> {
    pub(crate) style: Style,
    pub(crate) findings: &'f mut Vec<Diagnostic>,
    /// Fields of the next object that belong in a nested block, and the name of the block.
    pub(crate) misplaced: Option<(Vec<Table>, &'static str)>,
}

impl<'f> Check<'f> {
    pub(crate) fn new(style: Style, findings: &'f mut Vec<Diagnostic>) -> Self {
        Self { style, findings, misplaced: None }
    }

    /// Checks an object and everything in it. Returns `false` if the value is not an object.
    pub(crate) fn object(&mut self, path: Path<'_>, object: &Located, tables: &[Table]) -> bool {
        if !self.is_of_type(object, Type::Object(&[])) {
            self.wrong(path, object, Type::Object(&[]), self.style.wrong);
            return false;
        }
        self.unknown(path, object, tables);
        for field in tables.iter().flat_map(|table| table.iter()) {
            self.field(path, object, field, tables);
        }
        true
    }

    fn unknown(&mut self, path: Path<'_>, object: &Located, tables: &[Table]) {
        let misplaced = self.misplaced.take();
        if self.style.unknown == Unknown::None {
            return;
        }
        for field in object.fields().iter().filter(|field| names(tables).all(|name| name != &*field.key)) {
            if let Some((tables, block)) = &misplaced
                && names(tables).any(|name| name == &*field.key)
            {
                if !field.value.is_null() {
                    let message = format!("`{}` belongs in the block `{block}`", Path::Key(&path, &field.key));
                    self.error(self.style.conflict, field.value.span, message, &format!("move it into `{block}`"));
                }
                continue;
            }
            let similar = nearest(&field.key, names(tables));
            if similar.is_some() || self.style.unknown == Unknown::All {
                let message = format!("`{}` is an unknown field and has no effect", Path::Key(&path, &field.key));
                let help =
                    similar.map_or_else(|| without_similar(tables), |similar| format!("did you mean `{similar}`?"));
                self.findings.push(Diagnostic::warning(Kind::UnknownKey, field.key_span, message).with_help(help));
            }
        }
    }

    fn field(&mut self, path: Path<'_>, object: &Located, field: &Field, tables: &[Table]) {
        let path_of_field = Path::Key(&path, field.name);
        if let Type::Own(_) = field.ty {
            return;
        }
        if let Type::Unsupported = field.ty {
            for written in object.fields().iter().filter(|written| *written.key == *field.name) {
                let help = "use a command, an agent or a workflow of its own instead";
                self.error(Kind::Unsupported, written.key_span, format!("`{path_of_field}` is not supported"), help);
            }
            return;
        }
        // The fields that exclude each other: a field and those that replace it.
        let first = field.replaces.unwrap_or(field.name);
        let group = || {
            let all = tables.iter().flat_map(|table| table.iter());
            all.filter(move |other| other.name == first || other.replaces == Some(first))
        };
        match self.given(object, field) {
            Some(value) => {
                let before = group().take_while(|other| other.name != field.name);
                if let Some(other) = before.into_iter().find(|other| self.given(object, other).is_some()) {
                    let message =
                        format!("`{}` and `{path_of_field}` exclude each other", Path::Key(&path, other.name));
                    let kind = field.kind.unwrap_or(self.style.conflict);
                    self.error(kind, value.span, message, "keep one of them");
                }
                self.value(path_of_field, value, field);
            }
            None if field.is_required && group().all(|other| self.given(object, other).is_none()) => {
                let all: Vec<String> = group().map(|other| Path::Key(&path, other.name).to_string()).collect();
                self.missing(object, &all.join("` or `"), field.kind, &add(field.about));
            }
            None => {}
        }
    }

    /// The value of a field that is not absent.
    fn given<'o>(&self, object: &'o Located, field: &Field) -> Option<&'o Located> {
        let is_absent = |value: &Located| value.is_null() && field.is_absent_if_null(self.style);
        let value = object.get(field.name).filter(|value| !is_absent(value))?;
        let is_empty = value.text().is_some_and(|text| text.is_empty());
        Some(value).filter(|_| !(is_empty && self.style.is_lenient && field.ty.is_absent_if_empty()))
    }

    fn value(&mut self, path: Path<'_>, value: &Located, field: &Field) {
        let outer = self.style;
        if let Some(kind) = field.kind {
            self.style = Style { wrong: kind, missing: kind, ..outer };
        }
        self.style.has_placeholders &= field.content != Content::Fixed;
        let is_template = value.text().is_some_and(|text| text.contains("{{"));
        let is_computed = self.style.has_placeholders && is_template;
        if !is_computed || matches!(field.ty, Type::Text | Type::Filled) {
            let before = self.findings.len();
            self.nested_values(path, value, field.ty);
            let finding = self.findings.get_mut(before).filter(|finding| finding.span == value.span);
            let help = finding.and_then(|finding| finding.help.as_mut()).filter(|help| !help.ends_with('?'));
            if let Some(help) = help.filter(|_| !field.default.is_empty()) {
                *help = format!("{help}; it is `{}` if absent", field.default);
            }
        }
        self.style = outer;
    }

    fn nested_values(&mut self, path: Path<'_>, value: &Located, ty: Type) {
        if !self.is_of_type(value, ty) {
            return self.wrong(path, value, ty, self.style.wrong);
        }
        match ty {
            Type::List(item) | Type::Entries(item) | Type::Several(item) => {
                let items = value.items().unwrap_or(std::slice::from_ref(value));
                for (at, value) in items.iter().enumerate() {
                    self.nested_values(Path::Item(&path, at), value, *item);
                }
            }
            Type::Object(tables) => {
                self.object(path, value, tables);
            }
            Type::Open(tables) => {
                let unknown = std::mem::replace(&mut self.style.unknown, Unknown::None);
                self.object(path, value, tables);
                self.style.unknown = unknown;
            }
            Type::Map(item) => {
                for field in value.fields() {
                    self.nested_values(Path::Key(&path, &field.key), &field.value, *item);
                }
            }
            Type::Either(types) => {
                let fitting = types.iter().find(|ty| self.is_of_type(value, **ty));
                if let Some(ty) = fitting {
                    self.nested_values(path, value, *ty);
                }
            }
            _ => {}
        }
    }

    /// Whether a value is of a type, regardless of nested values.
    fn is_of_type(&self, value: &Located, ty: Type) -> bool {
        let lenient = self.style.is_lenient;
        let text = value.text().map(|text| &**text);
        let is_scalar = lenient && matches!(value.shape, Shape::Bool(_) | Shape::Int(_) | Shape::Float(_));
        match ty {
            Type::Any | Type::Nullable | Type::Ref(_) | Type::Own(_) => true,
            Type::Unsupported => false,
            Type::Text => is_scalar || text.is_some(),
            Type::Filled => is_scalar || text.is_some_and(|text| !text.trim().is_empty()),
            Type::Form(_, has_form, _) => text.is_some_and(has_form),
            Type::Words(words) if lenient => {
                words.iter().any(|word| text.is_some_and(|text| text.eq_ignore_ascii_case(word)))
            }
            Type::Words(words) => words.iter().any(|word| text == Some(*word)),
            Type::Flag => matches!(value.shape, Shape::Bool(_)),
            Type::Int(low, high) => matches!(value.shape, Shape::Int(int) if low <= int && int <= high),
            Type::Number(low, high) => number(value).is_some_and(|number| (low..=high).contains(&number)),
            Type::Duration if lenient => duration(value).is_some(),
            Type::Duration => duration(value).is_some() && text.is_none_or(|text| duration_ms(text).is_some()),
            Type::List(_) => value.items().is_some(),
            Type::Entries(_) => value.items().is_some_and(|items| !items.is_empty()),
            Type::Several(item) => value.items().is_some() || self.is_of_type(value, *item),
            Type::Object(_) | Type::Open(_) | Type::Map(_) => value.is_object() || value.is_null() && lenient,
            Type::Placeholder => text.is_some_and(|text| text.contains("{{")),
            Type::Either(types) => types.iter().any(|ty| self.is_of_type(value, *ty)),
        }
    }

    /// Reports a value of the wrong type.
    pub(crate) fn wrong(&mut self, path: Path<'_>, value: &Located, ty: Type, kind: Kind) {
        let subject = if let Path::Root("") = path { "the document".to_owned() } else { format!("`{path}`") };
        let message = format!("{subject} must be {}, but is {}", name(ty), preview(value));
        let finding = Diagnostic::error(kind, value.span, message).with_help(remedy(ty));
        let words = if let Type::Words(words) = ty { words } else { &[] };
        let written = value.text().map_or("", |text| &**text);
        self.findings.push(finding.suggest(written, words.iter().copied()));
    }

    /// Reports a missing field.
    pub(crate) fn missing(&mut self, object: &Located, path: &str, kind: Option<Kind>, help: &str) {
        let span = if self.style.missing_at_start { start_of(object) } else { object.span };
        self.error(kind.unwrap_or(self.style.missing), span, format!("`{path}` is missing"), help);
    }

    pub(crate) fn error(&mut self, kind: Kind, span: Span, message: impl Into<String>, help: &str) {
        self.findings.push(Diagnostic::error(kind, span, message).with_help(help));
    }
}

/// The help for a missing field: what it means, in the first sentence of its description.
fn add(about: &str) -> String {
    let sentence = about.split(". ").next().unwrap_or(about).trim_end_matches('.');
    let mut letters = sentence.chars();
    match letters.next() {
        Some(first) => format!("add it: {}{}", first.to_lowercase(), letters.as_str()),
        None => "add the field".to_owned(),
    }
}

/// The description of a type for messages.
fn name(ty: Type) -> String {
    match ty {
        Type::Any | Type::Nullable | Type::Ref(_) | Type::Own(_) => "a value".into(),
        Type::Unsupported => "absent".into(),
        Type::Text => "text".into(),
        Type::Filled => "text that is not blank".into(),
        Type::Form(_, _, name) => name.into(),
        Type::Words(words) => format!("one of `{}`", words.join("`, `")),
        Type::Flag => "true or false".into(),
        Type::Int(i64::MIN, MAX) => "an integer".into(),
        Type::Int(low, MAX) => format!("an integer of at least {low}"),
        Type::Int(low, high) => format!("an integer from {low} to {high}"),
        Type::Number(f64::MIN, f64::MAX) => "a number".into(),
        Type::Number(f64::MIN_POSITIVE, f64::MAX) => "a number above 0".into(),
        Type::Number(low, f64::MAX) => format!("a number of at least {low}"),
        Type::Number(low, high) => format!("a number from {low} to {high}"),
        Type::Duration => "a duration".into(),
        Type::List(Type::Text) => "a list of texts".into(),
        Type::Several(Type::Text) => "text or a list of texts".into(),
        Type::List(_) | Type::Several(_) => "a list".into(),
        Type::Entries(_) => "a list of at least one entry".into(),
        Type::Object(_) | Type::Open(_) | Type::Map(_) => "an object".into(),
        Type::Placeholder => "a placeholder".into(),
        Type::Either(types) => types.iter().map(|ty| name(*ty)).collect::<Vec<_>>().join(" or "),
    }
}

/// The remedy for an unknown field without a similar name: all names, if they are few.
fn without_similar(tables: &[Table]) -> String {
    let known: BTreeSet<&str> = names(tables).collect();
    if known.is_empty() || known.len() > LISTED {
        return "remove it".to_owned();
    }
    let known: Vec<String> = known.into_iter().map(|name| format!("`{name}`")).collect();
    format!("remove it, or use one of the fields {}", known.join(", "))
}

fn remedy(ty: Type) -> &'static str {
    match ty {
        Type::Text | Type::Filled | Type::Form(..) => "write it as text, in quotes",
        Type::Words(_) => "use one of these words",
        Type::Flag => "write true or false, without quotes",
        Type::Int(..) | Type::Number(..) => "write a number in this range, without quotes",
        Type::Duration => "write it like `500ms`, `30s`, `1m30s`, `2h` or `1d`, or as a number of seconds",
        Type::List(_) | Type::Entries(_) => "write its entries in square brackets, or after a `-` each",
        Type::Object(_) | Type::Open(_) | Type::Map(_) => "write its fields in braces, or below it",
        Type::Either([first, ..]) | Type::Several(first) => remedy(*first),
        _ => "change it, or remove it",
    }
}

/// A value for messages; only short values are shown in full.
fn preview(value: &Located) -> String {
    const LONGEST: usize = 40;
    match Text::of(value) {
        Some(text) if text.text().chars().count() <= LONGEST => format!("`{}`", text.text()),
        _ => value.describe().to_owned(),
    }
}
