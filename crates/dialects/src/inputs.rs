//! Declared inputs of a document: the key `inputs`, the same in every dialect without declarations of its own.
//!
//! A program checks its inputs when a run starts, on every host: [`Declared::list`] is a constant of the formulas
//! `withDefaults(given, declared)` and `inputProblems(values, declared)`.

use std::sync::Arc;

use branchpoint_core::ir::builder::Builder;
use branchpoint_expr::{Diagnostic, INPUT_TYPES, Kind, Located, Object, Shape, Span, Value, misfit};

use crate::DocumentKinds as _;
use crate::report::start_of;

/// The keys of a declaration.
const KEYS: [&str; 6] = ["name", "type", "required", "default", "description", "enum"];

/// How many parts a dotted name can have.
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
pub(crate) struct Declared {
    /// The declarations: `[{name, path, type, required, default, description, enum}]`.
    pub(crate) list: Value,
    /// The defaults by name.
    pub(crate) defaults: Value,
}

impl Declared {
    /// Shows the declarations to hosts: `inputs` for forms and help, `defaults` because some may be secret by their names.
    pub(crate) fn add_views(&self, builder: &mut Builder) {
        for (name, value) in [("inputs", &self.list), ("defaults", &self.defaults)] {
            let value = builder.value(value.clone());
            builder.view(name, value);
        }
    }
}

/// Reads the declared inputs of a document; none if it declares none.
pub(crate) fn read(document: &Located, names: Names, findings: &mut Vec<Diagnostic>) -> Option<Declared> {
    let written = document.get("inputs").filter(|inputs| !inputs.is_null())?;
    let mut reader = Reader { names, findings, seen: Vec::new() };
    let Some(items) = written.items() else {
        reader.wrong(written.span, format!("`inputs` must be a list, and it is {}", written.describe()), EXAMPLE);
        return None;
    };
    let read: Vec<Object> = items.iter().filter_map(|item| reader.declaration(item)).collect();
    let defaults = read.iter().filter_map(|declaration| {
        let name = declaration.get("name")?.as_str()?;
        Some((Arc::from(name), declaration.get("default")?.clone()))
    });
    let defaults = Value::from(defaults.collect::<Object>());
    Some(Declared { list: Value::from(read.into_iter().map(Value::from).collect::<Vec<_>>()), defaults })
}

const EXAMPLE: &str = "write `inputs: [{name: …, type: text, required: true}]`";

struct Reader<'f> {
    names: Names,
    findings: &'f mut Vec<Diagnostic>,
    /// The paths of the inputs read so far.
    seen: Vec<Vec<Arc<str>>>,
}

impl Reader<'_> {
    fn declaration(&mut self, item: &Located) -> Option<Object> {
        if !item.is_object() {
            self.wrong(item.span, format!("an input must be an object, and this is {}", item.describe()), EXAMPLE);
            return None;
        }
        self.unknown_keys(item);
        let (name, path) = self.name(item)?;
        let ty = self.ty(item);
        let mut declaration = object([("name", Value::Str(name)), ("path", texts(&path))]);
        declaration.extend(ty.map(|ty| ("type".into(), Value::from(ty))));
        if self.required(item) {
            declaration.insert("required".into(), Value::Bool(true));
        }
        let one_of = self.one_of(item, ty);
        if let Some(default) = given(item, "default") {
            let value = default.to_value();
            self.fits(default, &value, ty, one_of.as_deref());
            declaration.insert("default".into(), value);
        }
        declaration.extend(one_of.map(|one_of| ("enum".into(), Value::from(one_of))));
        if let Some(description) = given(item, "description") {
            match description.text() {
                Some(text) => drop(declaration.insert("description".into(), Value::Str(text.clone()))),
                None => self.wrong(description.span, "`description` must be text", "put it in quotes"),
            }
        }
        Some(declaration)
    }

    fn name(&mut self, item: &Located) -> Option<(Arc<str>, Vec<Arc<str>>)> {
        let help = match self.names {
            Names::Input => "a graph has one input, `input`, which replaces the text of its start node",
            Names::InputAndMetadata => "write `input`, or `metadata.` and a name, such as `metadata.customer`",
            Names::Variables => "write the name of a variable, with dots for objects, such as `user.tier`",
        };
        let Some(written) = given(item, "name") else {
            self.wrong(start_of(item), "an input needs a `name`", help);
            return None;
        };
        let name = written.text().filter(|name| self.is_name(name)).cloned();
        let Some(name) = name else {
            let shown = written.text().map_or_else(|| written.describe().to_owned(), |text| format!("`{text}`"));
            self.wrong(written.span, format!("{shown} cannot be the name of an input"), help);
            return None;
        };
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

    fn ty(&mut self, item: &Located) -> Option<&'static str> {
        let written = given(item, "type")?;
        let word = written.text().map_or("", |text| &**text);
        let known = INPUT_TYPES.into_iter().find(|known| *known == word);
        if known.is_none() {
            let words = INPUT_TYPES.map(|known| format!("`{known}`")).join(", ");
            let finding =
                Diagnostic::error(Kind::BadInputDeclaration, written.span, format!("`type` must be one of {words}"));
            self.findings.push(finding.with_help("use one of these words").suggest(word, INPUT_TYPES));
        }
        known
    }

    fn required(&mut self, item: &Located) -> bool {
        match given(item, "required").map(|required| (required, &required.shape)) {
            Some((_, Shape::Bool(required))) => *required,
            Some((required, _)) => {
                self.wrong(required.span, "`required` must be true or false", "write it without quotes");
                false
            }
            None => false,
        }
    }

    fn one_of(&mut self, item: &Located, ty: Option<&str>) -> Option<Vec<Value>> {
        let written = given(item, "enum")?;
        let Some(items) = written.items().filter(|items| !items.is_empty()) else {
            self.wrong(written.span, "`enum` must be a list of at least one value", "list the values it accepts");
            return None;
        };
        let values: Vec<Value> = items.iter().map(Located::to_value).collect();
        for (item, value) in items.iter().zip(&values) {
            self.fits(item, value, ty, None);
        }
        Some(values)
    }

    fn fits(&mut self, at: &Located, value: &Value, ty: Option<&str>, one_of: Option<&[Value]>) {
        if let Some(wrong) = ty.and_then(|ty| misfit(ty, value)) {
            let help = "change the value or the type";
            self.wrong(at.span, format!("a value of this input {wrong}"), help);
        } else if one_of.is_some_and(|one_of| !one_of.contains(value)) {
            self.wrong(at.span, "the default is not one of the values of `enum`", "add it there, or use one of them");
        }
    }

    fn unknown_keys(&mut self, item: &Located) {
        for field in item.fields().iter().filter(|field| !KEYS.contains(&&*field.key)) {
            let message = format!("the key `{}` has no meaning in a declaration of an input", field.key);
            let finding = Diagnostic::warning(Kind::UnknownKey, field.key_span, message);
            self.findings.push(finding.with_help("remove it").suggest(&field.key, KEYS));
        }
    }

    fn wrong(&mut self, span: Span, message: impl Into<String>, help: &str) {
        self.findings.push(Diagnostic::error(Kind::BadInputDeclaration, span, message).with_help(help));
    }
}

fn given<'d>(item: &'d Located, key: &str) -> Option<&'d Located> {
    item.get(key).filter(|value| !value.is_null())
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Object {
    fields.into_iter().map(|(key, value)| (key.into(), value)).collect()
}

fn texts(parts: &[Arc<str>]) -> Value {
    Value::from(parts.iter().cloned().map(Value::Str).collect::<Vec<_>>())
}
