//! The values that a condition can read: the context file, and values that a host adds.

use std::path::Path;

use anyhow::anyhow;
use branchpoint_expr::{Diagnostic, Dialect, Kind, Located, Object, Span, Value};

use super::Stop;
use crate::source::Source;

/// Reads the context; without a file it is empty.
pub(super) fn read(path: Option<&Path>, dialect: Dialect) -> Result<Value, Stop> {
    let mut names = match path {
        Some(path) => parse(Source::values(path)?)?,
        None => Object::default(),
    };
    match dialect {
        Dialect::Steps => add_clock(&mut names),
        Dialect::Graph => add_text(&mut names),
        Dialect::Machine | Dialect::Flow | Dialect::Session => {}
    }
    Ok(Value::from(names))
}

fn parse(source: Source) -> Result<Object, Stop> {
    match serde_json::from_str(&source.text) {
        Ok(Value::Object(names)) => Ok(names.into_parts()),
        Ok(other) => {
            let (origin, found) = (&source.origin, Located::from(&other).describe());
            let help = "write an object; its keys are the names that the condition can see";
            Err(anyhow!("a context must be a JSON object, but {origin} has {found}\nhelp: {help}").into())
        }
        Err(error) => {
            let findings = vec![not_json(&error, &source.text)];
            Err(Stop::Found { source, findings })
        }
    }
}

/// What serde says, with its line and column turned into a place.
fn not_json(error: &serde_json::Error, text: &str) -> Diagnostic {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let start = (before + error.column().saturating_sub(1)).min(text.len());
    let message = error.to_string();
    let reason = match message.rsplit_once(" at line ") {
        _ if text.trim().is_empty() => "it is empty",
        Some((reason, _)) => reason,
        None => &message,
    };
    let finding = Diagnostic::error(Kind::BadJson, Span::new(start, start + 1), format!("invalid JSON: {reason}"));
    if text.trim().is_empty() { finding.with_help("an empty context is written {}") } else { finding }
}

/// Adds the current time, as a host does, unless the context has one.
fn add_clock(names: &mut Object) {
    let datetime = names.entry("datetime".into()).or_insert_with(|| Value::from(Object::default()));
    if let Value::Object(datetime) = datetime
        && !datetime.contains_key("now")
    {
        let now = jiff::Timestamp::now().to_string();
        datetime.edit(|fields| fields.insert("now".into(), Value::from(now)));
    }
}

/// A graph's conditions can also see the text of `input` in lower case.
fn add_text(names: &mut Object) {
    let text = match names.get("input") {
        None | Some(Value::Null) => String::new(),
        Some(input) => input.to_string().to_lowercase(),
    };
    names.entry("text".into()).or_insert_with(|| Value::from(text));
}
