//! Fields of objects in documents: a table with a row for each field, a checker for objects against tables, typed
//! access to checked objects, and the JSON Schema of the tables.

mod access;
mod check;
pub(crate) mod schema;

use branchpoint_expr::Kind;

pub(crate) use access::{Access, Text, integer};
pub(crate) use check::{Check, Path};
pub(crate) use schema::Generator;

/// The fields of an object, or a part of them: objects may have several tables.
pub(crate) type Table = &'static [Field];

/// One field of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) ty: Type,
    /// The meaning of the field, in one line.
    pub(crate) about: &'static str,
    pub(crate) is_required: bool,
    /// The value of an absent field: JSON, or a word; empty if there is none.
    pub(crate) default: &'static str,
    /// The field that this one replaces: an object has only one of the two.
    pub(crate) replaces: Option<&'static str>,
    /// Whether this is an alias of the field that it replaces.
    pub(crate) is_alias: bool,
    /// The kind of findings about this field, if it differs from the style.
    pub(crate) kind: Option<Kind>,
    pub(crate) content: Content,
}

/// The values that a field accepts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Type {
    /// Any value.
    Any,
    /// Any value, null included.
    Nullable,
    /// A value that the dialect checks itself; the schema has a definition of that name.
    Ref(&'static str),
    /// A value that the dialect checks itself, including whether it is present; only the schema uses the type.
    Own(&'static Type),
    /// No value: a field of other systems that Branchpoint does not support.
    Unsupported,
    Text,
    /// Text that is not blank.
    Filled,
    /// Text of a form: the pattern, the test for it, and its name in messages.
    Form(&'static str, fn(&str) -> bool, &'static str),
    Words(&'static [&'static str]),
    Flag,
    /// An integer from the first to the last.
    Int(i64, i64),
    /// A number from the first to the last.
    Number(f64, f64),
    Duration,
    List(&'static Type),
    /// A list of at least one entry.
    Entries(&'static Type),
    /// A list, or one entry of it.
    Several(&'static Type),
    Object(&'static [Table]),
    /// An object that may have other fields, too.
    Open(&'static [Table]),
    /// An object with any keys.
    Map(&'static Type),
    /// Text with a placeholder.
    Placeholder,
    /// A value of the first of these types that fits.
    Either(&'static [Type]),
}

impl Type {
    /// Whether empty text is the same as an absent field, for lenient dialects.
    fn is_absent_if_empty(self) -> bool {
        matches!(self, Self::Filled | Self::Form(..) | Self::Words(_) | Self::Duration | Self::Either(_))
    }
}

/// The content of a text field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Text with placeholders; a placeholder can replace the whole value.
    Template,
    /// A shell command with placeholders.
    Command,
    /// JSON with placeholders in its texts.
    Json,
    /// Text that is used as written.
    Fixed,
}

/// The rules by which a dialect reads its objects.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "dialects differ in each of them on its own")]
pub(crate) struct Style {
    /// The kind of findings about wrong values.
    pub(crate) wrong: Kind,
    pub(crate) missing: Kind,
    pub(crate) conflict: Kind,
    /// Whether null is the same as an absent field.
    pub(crate) null_is_absent: bool,
    /// Whether numbers and booleans are accepted as text, words in any case, null as an object, and empty text as absent.
    pub(crate) is_lenient: bool,
    /// Whether a placeholder can replace any value that is not text.
    pub(crate) has_placeholders: bool,
    pub(crate) unknown: Unknown,
    /// Whether a missing field is reported at the first character of its object, not at the whole object.
    pub(crate) missing_at_start: bool,
}

impl Style {
    /// Findings of one kind; null is absent, and every unknown field is reported.
    pub(crate) const fn of(kind: Kind) -> Self {
        Self {
            wrong: kind,
            missing: kind,
            conflict: kind,
            null_is_absent: true,
            is_lenient: false,
            has_placeholders: false,
            unknown: Unknown::All,
            missing_at_start: true,
        }
    }
}

/// Which unknown fields are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    All,
    /// Fields with a name similar to a known one.
    Similar,
    None,
}

/// The upper limit of integers without an explicit one.
pub(crate) const MAX: i64 = i64::MAX;

pub(crate) const TEXTS: Type = Type::List(&Type::Text);
pub(crate) const INTEGER: Type = Type::Int(i64::MIN, MAX);
pub(crate) const ABOVE_ZERO: Type = Type::Number(f64::MIN_POSITIVE, f64::MAX);
pub(crate) const NUMBER: Type = Type::Number(f64::MIN, f64::MAX);

pub(crate) const fn field(name: &'static str, ty: Type, about: &'static str) -> Field {
    Field {
        name,
        ty,
        about,
        is_required: false,
        default: "",
        replaces: None,
        is_alias: false,
        kind: None,
        content: Content::Template,
    }
}

/// A field of other systems that is not supported.
pub(crate) const fn unsupported(name: &'static str) -> Field {
    field(name, Type::Unsupported, "")
}

impl Field {
    pub(crate) const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    pub(crate) const fn or(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    pub(crate) const fn instead_of(self, name: &'static str) -> Self {
        Self { replaces: Some(name), ..self }
    }

    pub(crate) const fn alias_of(self, name: &'static str) -> Self {
        Self { replaces: Some(name), is_alias: true, ..self }
    }

    pub(crate) const fn kind(self, kind: Kind) -> Self {
        Self { kind: Some(kind), ..self }
    }

    pub(crate) const fn content(self, content: Content) -> Self {
        Self { content, ..self }
    }

    fn is_absent_if_null(&self, style: Style) -> bool {
        style.null_is_absent && !matches!(self.ty, Type::Nullable)
    }
}

/// The names of all fields of some tables.
pub(crate) fn names(tables: &[Table]) -> impl Iterator<Item = &'static str> {
    tables.iter().flat_map(|table| table.iter()).map(|field| field.name)
}
