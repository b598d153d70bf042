//! Tables of fields from the JSON Schema of a dialect.

use std::fmt::Write as _;

use branchpoint_expr::Value;

use super::types::{list, object, parts, text, type_of};

/// How deep objects inside of objects are described in the table of the outer one.
const DEPTH: usize = 4;

/// The tables of a document: its own fields, and those of every definition.
pub(super) fn reference(schema: &Value) -> String {
    let mut out = String::new();
    section(schema, schema, "Document", &mut out);
    for (name, definition) in object(schema, "$defs") {
        if has_section(&definition) {
            section(schema, &definition, &format!("`{name}`"), &mut out);
        }
    }
    out
}

/// Whether a definition has fields of its own.
pub(super) fn has_section(definition: &Value) -> bool {
    !object(definition, "properties").is_empty() || !variants(definition).is_empty()
}

fn section(schema: &Value, definition: &Value, title: &str, out: &mut String) {
    let _ = write!(out, "\n## {title}\n");
    if title != "Document"
        && let Some(about) = text(definition, "description")
    {
        let _ = write!(out, "\n{about}\n");
    }
    let mut rows = Vec::new();
    add_rows(schema, definition, "", 0, &mut rows);
    table(&rows, out);
    let forms: Vec<String> = ["then", "else", "anyOf"].iter().flat_map(|key| forms(schema, definition, key)).collect();
    if rows.is_empty() && !forms.is_empty() {
        let _ = write!(out, "\nOne of: {}.\n", forms.join(", "));
    }
    for (names, variant) in variants(definition) {
        if text(&variant, "$ref").is_some() {
            continue;
        }
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let _ = write!(out, "\n### {}\n", names.join(", "));
        if let Some(about) = text(&variant, "description") {
            let _ = write!(out, "\n{about}\n");
        }
        let mut rows = Vec::new();
        add_rows(schema, &variant, "", 0, &mut rows);
        table(&rows, out);
    }
}

/// The definitions that an object may have the form of, as links.
fn forms(schema: &Value, definition: &Value, key: &str) -> Vec<String> {
    let alternatives = list(definition, key);
    let single = definition.get(key).filter(|form| form.get("$ref").is_some()).cloned();
    let all = alternatives.into_iter().chain(single).map(|form| type_of(schema, &form));
    all.filter(|form| form.starts_with('[')).collect()
}

fn table(rows: &[[String; 4]], out: &mut String) {
    if rows.is_empty() {
        return;
    }
    out.push_str("\n| field | type | default | meaning |\n|---|---|---|---|\n");
    for row in rows {
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
}

/// Parts of an object that depend on the value of one of its fields: these values, and the part.
fn variants(definition: &Value) -> Vec<(Vec<String>, Value)> {
    let conditional = list(definition, "allOf").into_iter().filter_map(|entry| {
        let (condition, then) = (entry.get("if")?.clone(), entry.get("then")?.clone());
        let names = object(&condition, "properties").into_iter().flat_map(|(_, value)| list(&value, "enum"));
        Some((names.map(|name| name.to_string()).collect(), then))
    });
    conditional.collect()
}

/// Adds a row for each field, and for the fields of objects in it.
fn add_rows(schema: &Value, definition: &Value, prefix: &str, depth: usize, rows: &mut Vec<[String; 4]>) {
    let required = required(definition);
    for (name, field) in object(definition, "properties") {
        let path = format!("{prefix}{name}");
        let default = match text(&field, "default").or_else(|| field.get("default").map(ToString::to_string)) {
            _ if required.contains(&name) => "required".to_owned(),
            Some(default) => format!("`{default}`"),
            None => String::new(),
        };
        let referenced = text(&field, "$ref").and_then(|target| super::types::resolve(schema, &target));
        let about = text(&field, "description").or_else(|| referenced.and_then(|target| text(&target, "description")));
        let cells = [format!("`{path}`"), type_of(schema, &field), default, about.unwrap_or_default()];
        rows.push(cells.map(|cell| cell.replace('|', "\\|").replace('\n', " ")));
        if depth < DEPTH {
            for (part, is_entry) in parts(schema, &field) {
                let prefix = if is_entry { format!("{path}[].") } else { format!("{path}.") };
                add_rows(schema, &part, &prefix, depth + 1, rows);
            }
        }
    }
}

/// The fields that every object must have.
fn required(definition: &Value) -> Vec<String> {
    let inner = list(definition, "allOf").into_iter().filter(|entry| entry.get("if").is_none());
    let all = inner.flat_map(|entry| list(&entry, "required")).chain(list(definition, "required"));
    all.map(|name| name.to_string()).collect()
}
