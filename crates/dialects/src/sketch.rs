//! Drawings of documents with errors: the structure is drawn even if a field or a condition is wrong.

use branchpoint_core::ir::Program;
use branchpoint_core::ir::picture::Picture;
use branchpoint_expr::{Dialect, Field, Located, Shape, Span, Value};

use crate::load::lower;
use crate::{LoadOptions, export, graph, read, steps};

/// The fields with the structure of a step tree.
const STRUCTURE: [&str; 14] = [
    "id",
    "step_type",
    "child_steps",
    "steps",
    "then",
    "then_steps",
    "else",
    "else_steps",
    "elif",
    "cases",
    "branches",
    "body",
    "on_error",
    "on_match",
];

/// The control steps that keep their type. All others become steps without rules of their own.
const CONTROL: [&str; 8] =
    ["if_else", "conditional", "switch", "gate", "for_each", "while", "parallel", "human_in_the_loop"];

/// The structure of a document that may have errors.
#[derive(Debug)]
pub struct Sketch {
    /// The picture.
    pub picture: Picture,
    /// A program of the same structure; none for graphs. Its conditions are not those of the document.
    pub program: Option<Program>,
}

/// Draws the structure of a `steps` or `graph` document that may have errors; none if it has no structure to draw.
///
/// ```
/// use branchpoint_expr::Dialect;
///
/// // The prompt is missing, so the document does not load.
/// let source = "steps:\n  - {id: ask, step_type: human_in_the_loop}\n";
/// assert!(branchpoint_dialects::load(source, None).program.is_none());
/// let sketch = branchpoint_dialects::sketch(source, Dialect::Steps).unwrap();
/// assert!(sketch.picture.nodes.iter().any(|node| &*node.title == "ask"));
/// ```
pub fn sketch(source: &str, dialect: Dialect) -> Option<Sketch> {
    let document = read(source).ok()?;
    match dialect {
        Dialect::Graph => graph::picture(&document, source).map(|picture| Sketch { picture, program: None }),
        Dialect::Steps => {
            let root = export::written_definition(&document).unwrap_or(&document);
            let list = root.get("steps").or_else(|| root.get("child_steps"))?;
            let mut reduced = object([("steps", reduced_steps(list))], root.span);
            reduced.span = root.span;
            let mut program = lower(&reduced, dialect, &LoadOptions::default()).0?;
            program.locate(source);
            let picture = branchpoint_core::ir::picture::picture(&program, source);
            Some(Sketch { picture, program: Some(program) })
        }
        Dialect::Flow | Dialect::Machine | Dialect::Session => None,
    }
}

fn reduced_steps(list: &Located) -> Located {
    let items = list.items().unwrap_or_default().iter().filter(|item| item.is_object()).map(reduced_step);
    Located { shape: Shape::List(items.collect()), span: list.span }
}

/// A step with its structure alone, and with values that are always valid.
fn reduced_step(step: &Located) -> Located {
    let written = step.get("step_type").and_then(Located::text).map_or("", |text| text);
    let known = steps::current_type(written).unwrap_or_default();
    let lacks = |list: &str| step.get(list).and_then(Located::items).is_none_or(<[_]>::is_empty);
    let is_complete = !(known == "switch" && lacks("cases") || known == "parallel" && lacks("branches"));
    let kind = if CONTROL.contains(&known) && is_complete { known } else { "text" };
    let has_list = |field: &&Field| field.value.items().is_some();
    let mut fields: Vec<Field> = Vec::new();
    for field in step.fields().iter().filter(|field| STRUCTURE.contains(&&*field.key)) {
        let value = match &*field.key {
            "id" => field.value.clone(),
            "on_match" if field.value.text().is_some() && kind == "gate" => field.value.clone(),
            "step_type" => text(kind, field.value.span),
            "elif" | "cases" | "branches" if has_list(&field) => entries(&field.value, &field.key),
            _ if has_list(&field) => reduced_steps(&field.value),
            _ => continue,
        };
        fields.push(Field { value, ..field.clone() });
    }
    let needed: &[(&str, &str)] = match kind {
        "if_else" | "conditional" | "gate" | "while" => &[("if", "true")],
        "for_each" => &[("input_template", "{{input}}")],
        "human_in_the_loop" => &[("prompt_template", "-")],
        _ => &[],
    };
    let needed = needed.iter().map(|(key, value)| new_field(key, text(value, step.span)));
    fields.extend(needed);
    if step.get("step_type").is_none() {
        fields.push(new_field("step_type", text(kind, step.span)));
    }
    if ["for_each", "while"].contains(&kind) && lacks("body") {
        fields.retain(|field| &*field.key != "body");
        let nothing = object([("step_type", text("text", step.span))], step.span);
        fields.push(new_field("body", Located { shape: Shape::List(vec![nothing]), span: step.span }));
    }
    Located { shape: Shape::Object(fields), span: step.span }
}

/// Branches with their steps and names alone.
fn entries(list: &Located, key: &str) -> Located {
    let entry = |(at, entry): (usize, &Located)| {
        let steps = |name: &'static str| (name, entry.get(name).map_or_else(|| reduced_steps(entry), reduced_steps));
        let name = entry.get("name").and_then(Located::text).map_or_else(|| format!("{key}-{at}"), ToString::to_string);
        let name = ("name", text(&name, entry.span));
        match key {
            "elif" => object([("if", text("true", entry.span)), steps("then")], entry.span),
            "cases" => object([name, ("match", text(&at.to_string(), entry.span)), steps("steps")], entry.span),
            _ => object([name, steps("steps")], entry.span),
        }
    };
    let items = list.items().unwrap_or_default().iter().enumerate().map(entry);
    Located { shape: Shape::List(items.collect()), span: list.span }
}

fn object<const N: usize>(fields: [(&str, Located); N], span: Span) -> Located {
    Located { shape: Shape::Object(fields.into_iter().map(|(key, value)| new_field(key, value)).collect()), span }
}

fn new_field(key: &str, value: Located) -> Field {
    Field { key: key.into(), key_span: value.span, value }
}

fn text(text: &str, span: Span) -> Located {
    Located { span, ..Located::from(&Value::from(text)) }
}
