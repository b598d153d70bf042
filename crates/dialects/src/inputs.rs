//! Declared inputs of a document: the key `inputs`, the same in every dialect without declarations of its own.
//!
//! A program checks its inputs when a run starts, on every host: [`Declared::list`] is a constant of the formulas
//! `withDefaults(given, declared)` and `inputProblems(values, declared)`.

use std::sync::Arc;

use branchpoint_core::functions::{INPUT_TYPES, type_mismatch};
use branchpoint_core::ir::builder::Builder;
use branchpoint_expr::{Diagnostic, Kind, Located, Object, Span, Value};

use crate::DocumentKinds as _;
use crate::fields::{Access, Check, Path, Style, Table, Type, field};

/// The style of declarations.
pub(crate) const STYLE: Style = Style::of(Kind::BadInputDeclaration);

/// The fields of a declaration.
pub(crate) const FIELDS: Table = &[
    field("name", Type::Text, "Its name; dots make objects.").required(),
    field("type", Type::Words(&INPUT_TYPES), "The type of its value; any if absent."),
    field("required", Type::Flag, "Whether a run needs it.").or("false"),
    field("default", Type::Any, "The value of a run that gives none."),
    field("description", Type::Text, "For people."),
    field("enum", Type::Entries(&Type::Any), "The values it accepts."),
];

/// The largest number of parts of a dotted name.
const MOST_PARTS: usize = 16;

/// The names that the inputs of a dialect can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// `input` alone.
    Input,
    /// `input`, and `metadata.` with a path.
    InputAndMetadata,
    /// Names of variables, with dots for objects in objects.
    Variables,
}

/// The declared inputs of a document.
#[derive(Debug)]
pub(crate) struct DeclaredInputs {
    /// The declarations: `[{name, path, type, required, default, description, enum}]`.
    pub(crate) list: Value,
    /// The defaults by name.
    pub(crate) defaults: Value,
}

impl DeclaredInputs {
    /// Exposes the declarations to hosts: `inputs` for forms and help, `defaults` because some may be secret by name.
    pub(crate) fn add_views(&self, builder: &mut Builder) {
        for (name, value) in [("inputs", &self.list), ("defaults", &self.defaults)] {
            let value = builder.value(value.clone());
            builder.view(name, value);
        }
    }
}

/// Reads the declared inputs of a document; none if it declares none.
pub(crate) fn read(document: &Located, names: Names, findings: &mut Vec<Diagnostic>) -> Option<DeclaredInputs> {
    let written = document.given("inputs")?;
    let path = Path::Root("inputs");
    let mut check = Check::new(STYLE, findings);
    let Some(items) = written.items() else {
        check.wrong(path, written, Type::List(&Type::Any), STYLE.wrong);
        return None;
    };
    let checked = items.iter().enumerate().filter(|(at, item)| check.object(Path::Item(&path, *at), item, &[FIELDS]));
    let checked: Vec<&Located> = checked.map(|(_, item)| item).collect();
    let mut reader = Reader { names, findings, seen: Vec::new() };
    let read: Vec<Object> = checked.into_iter().filter_map(|item| reader.declaration(item)).collect();
    let defaults = read.iter().filter_map(|declaration| {
        let name = declaration.get("name")?.as_str()?;
        Some((Arc::from(name), declaration.get("default")?.clone()))
    });
    let defaults = Value::from(defaults.collect::<Object>());
    Some(DeclaredInputs { list: Value::from(read.into_iter().map(Value::from).collect::<Vec<_>>()), defaults })
}

struct Reader<'f> {
    names: Names,
    findings: &'f mut Vec<Diagnostic>,
    /// The paths of the inputs read until now.
    seen: Vec<Vec<Arc<str>>>,
}

impl Reader<'_> {
    fn declaration(&mut self, item: &Located) -> Option<Object> {
        let (name, path) = self.name(item)?;
        let ty = item.str("type").and_then(|ty| INPUT_TYPES.into_iter().find(|known| *known == &**ty));
        let one_of: Vec<Value> = item.list("enum").iter().map(Located::to_value).collect();
        for (item, value) in item.list("enum").iter().zip(&one_of) {
            self.check_value(item, value, ty, &[]);
        }
        let default = item.given("default").map(|default| (default, default.to_value()));
        if let Some((at, value)) = &default {
            self.check_value(at, value, ty, &one_of);
        }
        let path = Value::from(path.into_iter().map(Value::Str).collect::<Vec<_>>());
        let fields = [
            ("name", Some(Value::Str(name))),
            ("path", Some(path)),
            ("type", ty.map(Value::from)),
            ("required", item.flag("required").filter(|required| *required).map(Value::Bool)),
            ("default", default.map(|(_, value)| value)),
            ("enum", (!one_of.is_empty()).then(|| Value::from(one_of))),
            ("description", item.str("description").cloned().map(Value::Str)),
        ];
        Some(fields.into_iter().filter_map(|(key, value)| Some((key.into(), value?))).collect())
    }

    fn name(&mut self, item: &Located) -> Option<(Arc<str>, Vec<Arc<str>>)> {
        let help = match self.names {
            Names::Input => "a graph has one input, `input`, which replaces the text of its start node",
            Names::InputAndMetadata => "write `input`, or `metadata.` and a name, such as `metadata.customer`",
            Names::Variables => "write the name of a variable, with dots for objects, such as `user.tier`",
        };
        let written = item.get("name")?;
        let name = written.text()?.clone();
        if !self.is_name(&name) {
            self.wrong(written.span, format!("`{name}` cannot be the name of an input"), help);
            return None;
        }
        let path: Vec<Arc<str>> = name.split('.').map(Arc::from).collect();
        if self.seen.contains(&path) {
            self.wrong(written.span, format!("the input `{name}` is declared twice"), "remove one of the declarations");
        } else if let Some(other) = self.seen.iter().find(|seen| seen.starts_with(&path) || path.starts_with(seen)) {
            let message = format!("the inputs `{name}` and `{}` are inside each other", other.join("."));
            self.wrong(written.span, message, "declare the whole object, or its parts");
        }
        self.seen.push(path.clone());
        Some((name, path))
    }

    fn is_name(&self, name: &str) -> bool {
        let mut parts = name.split('.');
        let is_sane = |part: &str| !part.trim().is_empty() && part.trim() == part;
        if name.split('.').count() > MOST_PARTS || !name.split('.').all(is_sane) {
            return false;
        }
        match self.names {
            Names::Input => name == "input",
            Names::InputAndMetadata => name == "input" || parts.next() == Some("metadata") && parts.next().is_some(),
            Names::Variables => true,
        }
    }

    fn check_value(&mut self, at: &Located, value: &Value, ty: Option<&str>, one_of: &[Value]) {
        if let Some(wrong) = ty.and_then(|ty| type_mismatch(ty, value)) {
            let help = "change the value or the type";
            self.wrong(at.span, format!("a value of this input {wrong}"), help);
        } else if !one_of.is_empty() && !one_of.contains(value) {
            self.wrong(at.span, "the default is not one of the values of `enum`", "add it there, or use one of them");
        }
    }

    fn wrong(&mut self, span: Span, message: impl Into<String>, help: &str) {
        self.findings.push(Diagnostic::error(Kind::BadInputDeclaration, span, message).with_help(help));
    }
}
