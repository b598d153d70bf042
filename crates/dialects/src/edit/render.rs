//! Writes new values: as JSON, in the brackets of YAML, or as YAML blocks.

use branchpoint_expr::{Located, Shape, Value};

use crate::reader::is_plain_text;

/// The longest value that is written in brackets in a YAML block, in characters.
const INLINE: usize = 100;

/// The number of blanks by which blocks are indented.
pub(super) const STEP: usize = 2;

/// The notation of new values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    Json,
    Yaml,
}

/// A value in one line.
pub(super) fn inline(value: &Located, notation: Notation) -> String {
    let mut out = String::new();
    write_inline(&mut out, value, notation);
    out
}

/// A value as compact JSON.
fn json_text(value: &Value) -> String {
    format!("{value:?}")
}

/// A value in one line, with the quotes of the text that it replaces.
pub(super) fn inline_like(old: &str, value: &Located, notation: Notation) -> String {
    match &value.shape {
        Shape::Str { text, .. } if old.starts_with('"') => json_text(&Value::Str(text.clone())),
        Shape::Str { text, .. } if old.starts_with('\'') && !text.contains(char::is_control) => {
            format!("'{}'", text.replace('\'', "''"))
        }
        _ => inline(value, notation),
    }
}

fn write_inline(out: &mut String, value: &Located, notation: Notation) {
    match &value.shape {
        Shape::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_inline(out, item, notation);
            }
            out.push(']');
        }
        Shape::Object(fields) => {
            out.push('{');
            for (at, field) in fields.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                out.push_str(&key(&field.key, notation));
                out.push_str(": ");
                write_inline(out, &field.value, notation);
            }
            out.push('}');
        }
        Shape::Str { text, .. } if notation == Notation::Yaml && is_plain(text, true) => out.push_str(text),
        _ => out.push_str(&json_text(&value.to_value())),
    }
}

/// A key.
pub(super) fn key(key: &str, notation: Notation) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_-.$".contains(c);
    if notation == Notation::Yaml && is_plain(key, true) && key.chars().all(is_word) {
        key.to_owned()
    } else {
        json_text(&Value::from(key))
    }
}

/// A JSON value over several lines, with one value in each line.
pub(super) fn spread(value: &Located, column: usize, notation: Notation) -> String {
    let line = |column: usize| format!("\n{}", " ".repeat(column));
    let inner = column + STEP;
    let (open, close, parts): (_, _, Vec<String>) = match &value.shape {
        Shape::List(items) if !items.is_empty() => {
            ('[', ']', items.iter().map(|item| spread(item, inner, notation)).collect())
        }
        Shape::Object(fields) if !fields.is_empty() => {
            let field = |field: &branchpoint_expr::Field| {
                format!("{}: {}", key(&field.key, notation), spread(&field.value, inner, notation))
            };
            ('{', '}', fields.iter().map(field).collect())
        }
        _ => return inline(value, notation),
    };
    format!("{open}{}{}{}{close}", line(inner), parts.join(&format!(",{}", line(inner))), line(column))
}

/// What follows the colon of a key, or the dash of an item: a value in the same line, or a block whose parent is at `column`.
pub(super) fn block(value: &Located, column: usize) -> String {
    match block_lines(value, column) {
        Some(lines) => lines,
        None => format!(" {}", inline(value, Notation::Yaml)),
    }
}

/// A block below a key; none if the value is written in one line.
pub(super) fn block_lines(value: &Located, column: usize) -> Option<String> {
    let fits = || inline(value, Notation::Yaml).chars().count() <= INLINE;
    let is_short = || fits() && !has_several_lines(value) && !has_steps(value);
    match &value.shape {
        Shape::Str { text, .. } => literal(text, column + STEP),
        Shape::List(items) if !items.is_empty() && !is_short() => {
            let line = |item: &Located| format!("\n{}{}", " ".repeat(column + STEP), item_lines(item, column + STEP));
            Some(items.iter().map(line).collect())
        }
        Shape::Object(fields) if !fields.is_empty() && !is_short() => {
            let line = |text: String| format!("\n{}{text}", " ".repeat(column + STEP));
            Some(field_lines(fields, column + STEP).into_iter().map(line).collect())
        }
        _ => None,
    }
}

/// An item of a block list whose dashes are at `column`, from its dash.
pub(super) fn item_lines(value: &Located, column: usize) -> String {
    match &value.shape {
        Shape::Object(fields) if !fields.is_empty() => {
            let lines = field_lines(fields, column + STEP);
            format!("- {}", lines.join(&format!("\n{}", " ".repeat(column + STEP))))
        }
        _ => format!("-{}", block(value, column)),
    }
}

/// The fields of a block object whose keys are at `column`.
fn field_lines(fields: &[branchpoint_expr::Field], column: usize) -> Vec<String> {
    let line = |field: &branchpoint_expr::Field| {
        format!("{}:{}", key(&field.key, Notation::Yaml), block(&field.value, column))
    };
    fields.iter().map(line).collect()
}

fn has_several_lines(value: &Located) -> bool {
    match &value.shape {
        Shape::Str { text, .. } => literal(text, 0).is_some(),
        Shape::List(items) => items.iter().any(has_several_lines),
        Shape::Object(fields) => fields.iter().any(|field| has_several_lines(&field.value)),
        _ => false,
    }
}

/// Whether a value is a list of steps, which are written one below the other.
fn has_steps(value: &Located) -> bool {
    value.items().is_some_and(|items| items.iter().any(|item| item.get("step_type").is_some()))
}

/// Text in literal style; none if it has one line, or if its lines cannot be written as they are.
fn literal(text: &str, column: usize) -> Option<String> {
    let content = text.strip_suffix('\n').unwrap_or(text);
    let is_printable = |c: char| c == '\n' || c == '\t' || !c.is_control() && !"\u{feff}\u{2028}\u{2029}".contains(c);
    let is_literal = content.contains('\n')
        && !content.ends_with('\n')
        && !content.starts_with([' ', '\n', '\t'])
        && content.chars().all(is_printable);
    is_literal.then(|| {
        let header = if content.len() == text.len() { " |-" } else { " |" };
        let line = |line: &str| match line {
            "" => "\n".to_owned(),
            line => format!("\n{}{line}", " ".repeat(column)),
        };
        std::iter::once(header.to_owned()).chain(content.split('\n').map(line)).collect()
    })
}

/// Whether a text can be written without quotes. Texts that only may be are quoted.
fn is_plain(text: &str, in_brackets: bool) -> bool {
    let is_first = |c: char| c.is_alphanumeric() || "_$/.".contains(c);
    let is_inner = |c: char| c.is_alphanumeric() || " _$/.-+()!=<>%;?'".contains(c) || !in_brackets && c == ',';
    text.starts_with(is_first)
        && !text.ends_with(' ')
        && text.chars().all(is_inner)
        && !text.starts_with("...")
        && is_plain_text(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(value: serde_json::Value, expect_inline: &str, expect_block: &str) {
        let located = Located::from(&Value::from(&value));
        assert_eq!(inline(&located, Notation::Yaml), expect_inline);
        assert_eq!(block(&located, 0), expect_block);
        for text in [format!("key: {expect_inline}\n"), format!("key:{expect_block}\n")] {
            let read = crate::read(&text).expect("what is written can be read");
            assert_eq!(read.get("key").map(Located::to_value), Some(Value::from(&value)), "{text}");
        }
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&inline(&located, Notation::Json)).ok(),
            Some(value.clone())
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&spread(&located, 4, Notation::Json)).ok(), Some(value));
    }

    #[test]
    fn values_are_written_as_people_write_them() {
        check(json!("Hello there"), "Hello there", " Hello there");
        check(json!("true"), "\"true\"", " \"true\"");
        check(json!("1.5"), "\"1.5\"", " \"1.5\"");
        check(json!("{{input}}"), "\"{{input}}\"", " \"{{input}}\"");
        check(json!("a: b"), "\"a: b\"", " \"a: b\"");
        check(json!("- a"), "\"- a\"", " \"- a\"");
        check(json!("a # b"), "\"a # b\"", " \"a # b\"");
        check(json!(""), "\"\"", " \"\"");
        check(json!("one\ntwo"), "\"one\\ntwo\"", " |-\n  one\n  two");
        check(json!("one\n\n  two\n"), "\"one\\n\\n  two\\n\"", " |\n  one\n\n    two");
        check(json!(" one\ntwo"), "\" one\\ntwo\"", " \" one\\ntwo\"");
        check(json!([1, {"a": null}]), "[1, {a: null}]", " [1, {a: null}]");
        check(
            json!({"text": "one\ntwo", "list": [true]}),
            "{text: \"one\\ntwo\", list: [true]}",
            "\n  text: |-\n    one\n    two\n  list: [true]",
        );
        check(json!([{"text": "one\ntwo"}]), "[{text: \"one\\ntwo\"}]", "\n  - text: |-\n      one\n      two");
    }
}
