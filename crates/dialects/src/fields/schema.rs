//! Generates JSON Schemas from tables.

use branchpoint_expr::Dialect;
use serde_json::{Map, Value, json};

use super::{Content, Field, MAX, Style, Table, Type};

/// The form of a duration as text, and of a number of seconds as text.
const DURATION: &str = r"^\s*([0-9]+(\.[0-9]*)?\s*(ms|s|m|h|d)\s*)+$";
const SECONDS: &str = r"^\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$";
const PLACEHOLDER: &str = r"\{\{";

/// Writes the schema of objects in the style of a dialect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Generator(pub(crate) Style);

impl Generator {
    /// The schema of an object with the fields of some tables.
    pub(crate) fn object(self, tables: &[Table]) -> Value {
        let all =
            || tables.iter().flat_map(|table| table.iter()).filter(|field| !matches!(field.ty, Type::Unsupported));
        let can_be_absent = |field: &Field| !field.is_required || all().any(|other| other.replaces == Some(field.name));
        let property = |field: &Field| (field.name.into(), self.property(field, can_be_absent(field)));
        let properties: Map<String, Value> = all().map(property).collect();
        let mut rules = Vec::new();
        for first in all().filter(|field| field.replaces.is_none()) {
            let group: Vec<&Field> =
                all().filter(|field| field.name == first.name || field.replaces == Some(first.name)).collect();
            if first.is_required {
                rules.push(is_one_of(group.iter().map(|field| self.given(field)).collect()));
            }
            let pairs =
                group.iter().enumerate().flat_map(|(at, one)| group[at + 1..].iter().map(move |other| (one, other)));
            rules.extend(pairs.map(|(one, other)| json!({"not": {"allOf": [self.given(one), self.given(other)]}})));
        }
        if rules.is_empty() {
            let ty = if self.0.is_lenient { json!(["object", "null"]) } else { json!("object") };
            return json!({"type": ty, "properties": properties});
        }
        json!({"type": "object", "properties": properties, "allOf": rules})
    }

    /// The schema of the values of a field.
    pub(crate) fn field(self, field: &Field) -> Value {
        self.property(field, !field.is_required)
    }

    fn property(self, field: &Field, can_be_absent: bool) -> Value {
        let mut alternatives = vec![self.value(field.ty)];
        let can_be_computed = self.0.has_placeholders && field.content != Content::Fixed;
        if can_be_computed
            && !matches!(field.ty, Type::Any | Type::Nullable | Type::Ref(_) | Type::Own(_) | Type::Text | Type::Filled)
        {
            alternatives.push(self.value(Type::Placeholder));
        }
        let mut schema = is_one_of(alternatives);
        if can_be_absent && !matches!(field.ty, Type::Any) {
            schema = self.or_absent(schema, field);
        }
        schema["description"] = field.about.into();
        if !field.default.is_empty() {
            schema["default"] = serde_json::from_str(field.default).unwrap_or_else(|_| field.default.into());
        }
        schema
    }

    /// The schema of a field, extended by the values that count as absent.
    fn or_absent(self, mut schema: Value, field: &Field) -> Value {
        let Some(absent) = self.absent(field) else { return schema };
        match schema.get_mut("type").filter(|_| absent["type"] == "null") {
            Some(Value::Array(types)) if types.contains(&"null".into()) => {}
            Some(Value::Array(types)) => types.push("null".into()),
            Some(ty) => *ty = json!([ty.take(), "null"]),
            None => return is_one_of(vec![schema, absent]),
        }
        schema
    }

    /// The values of a field that count as absent.
    fn absent(self, field: &Field) -> Option<Value> {
        let is_empty_absent = self.0.is_lenient && field.ty.is_absent_if_empty();
        let absent = if is_empty_absent { json!({"enum": [null, ""]}) } else { json!({"type": "null"}) };
        field.is_absent_if_null(self.0).then_some(absent)
    }

    /// The schema of an object that has a field.
    fn given(self, field: &Field) -> Value {
        let mut schema = json!({"required": [field.name]});
        if let Some(absent) = self.absent(field) {
            schema["properties"] = json!({field.name: {"not": absent}});
        }
        schema
    }

    /// The schema of the values of a type.
    pub(crate) fn value(self, ty: Type) -> Value {
        let lenient = self.0.is_lenient;
        let text =
            || if lenient { json!({"type": ["string", "number", "boolean"]}) } else { json!({"type": "string"}) };
        match ty {
            Type::Any | Type::Nullable | Type::Unsupported => json!({}),
            Type::Ref(name) => reference(name),
            Type::Own(ty) => self.value(*ty),
            Type::Text => text(),
            Type::Filled => json!({"type": text()["type"], "pattern": r"\S"}),
            Type::Form(pattern, ..) => json!({"type": "string", "pattern": pattern}),
            Type::Words(words) if lenient => {
                is_one_of(vec![json!({"enum": words}), json!({"type": "string", "pattern": any_case(words)})])
            }
            Type::Words(words) => json!({"enum": words}),
            Type::Flag => json!({"type": "boolean"}),
            Type::Int(i64::MIN, MAX) => json!({"type": "integer"}),
            Type::Int(low, MAX) => json!({"type": "integer", "minimum": low}),
            Type::Int(low, high) => json!({"type": "integer", "minimum": low, "maximum": high}),
            Type::Number(f64::MIN, f64::MAX) => json!({"type": "number"}),
            Type::Number(f64::MIN_POSITIVE, f64::MAX) => json!({"type": "number", "exclusiveMinimum": 0}),
            Type::Number(low, f64::MAX) => json!({"type": "number", "minimum": low}),
            Type::Number(low, high) => json!({"type": "number", "minimum": low, "maximum": high}),
            Type::Duration => {
                let pattern = if lenient { format!("{DURATION}|{SECONDS}") } else { DURATION.to_owned() };
                json!({"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": pattern}]})
            }
            Type::List(item) => json!({"type": "array", "items": self.value(*item)}),
            Type::Entries(item) => json!({"type": "array", "items": self.value(*item), "minItems": 1}),
            Type::Several(item) => is_one_of(vec![self.value(Type::List(item)), self.value(*item)]),
            Type::Object(tables) | Type::Open(tables) => self.object(tables),
            Type::Map(item) => json!({"type": "object", "additionalProperties": self.value(*item)}),
            Type::Placeholder => json!({"type": "string", "pattern": PLACEHOLDER}),
            Type::Either(types) => is_one_of(types.iter().map(|ty| self.value(*ty)).collect()),
        }
    }
}

/// The schema of a document: the schema of its root and the definitions that it references.
pub(crate) fn document(dialect: Dialect, about: &str, mut root: Value, definitions: Value) -> Value {
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    root["title"] = format!("Branchpoint workflow ({})", dialect.as_str()).into();
    root["description"] = about.into();
    root["$defs"] = definitions;
    root
}

/// Prints a schema; values that fit into a line are printed in one line.
pub(crate) fn print(schema: &Value, indent: usize) -> String {
    const WIDTH: usize = 120;
    let flat = schema.to_string();
    let (parts, [open, close]): (Vec<String>, _) = match schema {
        _ if flat.len() + indent <= WIDTH => return flat,
        Value::Object(fields) => {
            let part = |(key, value): (&String, &Value)| format!("{}: {}", json!(key), print(value, indent + 2));
            (fields.iter().map(part).collect(), ['{', '}'])
        }
        Value::Array(items) => (items.iter().map(|item| print(item, indent + 2)).collect(), ['[', ']']),
        _ => return flat,
    };
    let (line, end) = (format!("\n{:1$}", "", indent + 2), format!("\n{:1$}", "", indent));
    format!("{open}{line}{}{end}{close}", parts.join(&format!(",{line}")))
}

/// A reference to a definition.
pub(crate) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

/// Adds conditional schemas for objects to the schema of all objects.
pub(crate) fn add_variants(schema: &mut Value, variants: impl IntoIterator<Item = (Value, Value)>) {
    let variants = variants.into_iter().map(|(condition, then)| json!({"if": condition, "then": then}));
    match &mut schema["allOf"] {
        Value::Array(rules) => rules.extend(variants),
        rules => *rules = variants.collect(),
    }
}

/// The schema of objects whose field has one of the words.
pub(crate) fn has_word(field: &str, words: &[&str]) -> Value {
    json!({"required": [field], "properties": {field: {"enum": words}}})
}

/// The schema of values that at least one of the schemas accepts.
pub(crate) fn is_one_of(mut schemas: Vec<Value>) -> Value {
    if schemas.len() == 1 { schemas.remove(0) } else { json!({"anyOf": schemas}) }
}

/// The pattern of the words in any case.
fn any_case(words: &[&str]) -> String {
    let letter = |letter: char| format!("[{letter}{}]", letter.to_ascii_uppercase());
    let words: Vec<String> = words.iter().map(|word| word.chars().map(letter).collect()).collect();
    format!("^({})$", words.join("|"))
}
