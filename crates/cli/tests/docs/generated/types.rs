//! The type of a field in words, from its JSON Schema.

use branchpoint_expr::Value;

use super::fields::has_section;

/// The entries of an object below `key`, none if there is none.
pub(super) fn object(value: &Value, key: &str) -> Vec<(String, Value)> {
    let entries = value.get(key).and_then(Value::as_object).into_iter().flat_map(|object| object.iter());
    entries.map(|(key, value)| (key.to_string(), value.clone())).collect()
}

pub(super) fn list(value: &Value, key: &str) -> Vec<Value> {
    value.get(key).and_then(Value::as_list).unwrap_or_default().to_vec()
}

pub(super) fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(String::from)
}

/// The definition that a reference names.
pub(super) fn resolve(schema: &Value, target: &str) -> Option<Value> {
    schema.get("$defs")?.get(target.strip_prefix("#/$defs/")?).cloned()
}

/// The objects that a field may hold, and whether they are entries of a list. Objects with a section of their own are left out.
pub(super) fn parts(schema: &Value, field: &Value) -> Vec<(Value, bool)> {
    if let Some(target) = text(field, "$ref") {
        let definition = resolve(schema, &target).filter(|definition| !has_section(definition));
        return definition.map(|definition| parts(schema, &definition)).unwrap_or_default();
    }
    let alternatives = list(field, "anyOf");
    let mut types: Vec<(Value, bool)> = alternatives.iter().flat_map(|part| parts(schema, part)).collect();
    if !object(field, "properties").is_empty() {
        types.push((field.clone(), false));
    }
    let entries = field.get("items").map(|items| parts(schema, items)).unwrap_or_default();
    types.extend(entries.into_iter().map(|(part, _)| (part, true)));
    // A list of objects and one such object have the same fields.
    let mut seen: Vec<Value> = Vec::new();
    types.retain(|(part, _)| {
        let fields = part.get("properties").cloned().unwrap_or_default();
        let is_new = !seen.contains(&fields);
        seen.push(fields);
        is_new
    });
    types
}

/// The type in words, such as "list of text".
pub(super) fn type_of(schema: &Value, field: &Value) -> String {
    let mut names = names(schema, field);
    if names.iter().any(|name| name == "duration") {
        names.retain(|name| !name.starts_with("number"));
    }
    let mut unique: Vec<String> = Vec::new();
    for name in names {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    if unique.is_empty() { "any".to_owned() } else { unique.join(" or ") }
}

fn names(schema: &Value, field: &Value) -> Vec<String> {
    if let Some(target) = text(field, "$ref") {
        let name = target.rsplit('/').next().unwrap_or_default().to_owned();
        return match resolve(schema, &target) {
            Some(definition) if has_section(&definition) => vec![format!("[{name}](#{name})")],
            Some(definition) => names(schema, &definition),
            None => vec![name],
        };
    }
    let alternatives = list(field, "anyOf");
    if !alternatives.is_empty() {
        return alternatives.iter().flat_map(|alternative| names(schema, alternative)).collect();
    }
    let words: Vec<String> = list(field, "enum")
        .iter()
        .filter(|word| **word != Value::Null && word.as_str() != Some(""))
        .map(|word| format!("`{word}`"))
        .collect();
    if field.get("enum").is_some() {
        return if words.is_empty() { words } else { vec![words.join(", ")] };
    }
    let types: Vec<String> = match field.get("type") {
        Some(Value::Str(name)) => vec![name.to_string()],
        _ => list(field, "type").iter().map(ToString::to_string).collect(),
    };
    let pattern = text(field, "pattern").unwrap_or_default();
    if pattern.contains("(ms|s|m|h|d)") {
        return vec!["duration".into()];
    }
    // A placeholder may replace any value, and words may be written in any case.
    if pattern == r"\{\{" || pattern.contains("[sS]") {
        return Vec::new();
    }
    let is_text = types.iter().any(|name| name == "string");
    let scalars = types.into_iter().filter(|name| !(is_text && matches!(&**name, "number" | "boolean")));
    scalars.filter_map(|name| named(schema, field, &name)).collect()
}

fn named(schema: &Value, field: &Value, name: &str) -> Option<String> {
    Some(match name {
        "null" => return None,
        "string" => "text".into(),
        "array" => match field.get("items").map(|items| type_of(schema, items)) {
            Some(entry) if entry != "any" => format!("list of {entry}"),
            _ => "list".into(),
        },
        "integer" | "number" => name.to_owned() + &range(field),
        other => other.into(),
    })
}

/// The least and the largest number, in words.
fn range(field: &Value) -> String {
    let bound = |key: &str| field.get(key).map(ToString::to_string);
    match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(largest)) if largest.len() < 18 => format!(" from {least} to {largest}"),
        (Some(least), _) if least.len() < 18 => format!(", at least {least}"),
        (None, Some(largest)) => format!(", at most {largest}"),
        _ => String::new(),
    }
}
