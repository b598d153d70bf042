//! What a run starts with.

use std::convert::Infallible;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Result, bail};
use branchpoint_expr::{Dialect, Object, Value};

/// One `-i`, as it was typed. What is wrong with it is told with the others, not by the parser of arguments.
#[derive(Clone)]
pub(crate) struct Input(String);

impl FromStr for Input {
    type Err = Infallible;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        Ok(Self(typed.to_owned()))
    }
}

impl Input {
    /// The key and the value: JSON after `:=`, text after `=`.
    fn read(&self) -> Result<(&str, Value)> {
        let Some((key, text)) = self.0.split_once('=') else {
            bail!("`{}` is no input\nhelp: write -i key=text, or -i key:=json", self.0);
        };
        let (key, value) = match key.strip_suffix(':') {
            None => (key, Value::from(text)),
            Some(key) => match serde_json::from_str(text) {
                Ok(value) => (key, value),
                Err(error) => bail!("the input `{key}` is not JSON: {error}\nhelp: for text write -i {key}=..."),
            },
        };
        if key.is_empty() {
            bail!("`{}` has no name\nhelp: write -i key=text, or -i key:=json", self.0);
        }
        Ok((key, value))
    }
}

/// What the start of a run of that dialect carries: its input and its facts.
pub(crate) fn start(dialect: Option<Dialect>, typed: &[Input]) -> Result<(Value, Object)> {
    let mut inputs = Object::default();
    for input in typed {
        let (key, value) = input.read()?;
        if inputs.insert(key.into(), value).is_some() {
            bail!("the input `{key}` is given twice");
        }
    }
    match dialect {
        Some(Dialect::Steps) => steps(inputs),
        _ => Ok((Value::from(inputs), Object::default())),
    }
}

/// A step tree has one input and metadata: `input`, and `metadata.` with a path. `account` tells who can be asked.
fn steps(inputs: Object) -> Result<(Value, Object)> {
    let mut input = Value::from("");
    let mut metadata = Object::default();
    let mut account = account();
    for (key, value) in inputs {
        match (&*key, key.strip_prefix("metadata.")) {
            ("input", _) => input = value,
            ("account", _) => account = value,
            (_, Some(path)) => put(&mut metadata, path, value),
            _ => bail!(
                "a workflow of steps has no input `{key}`\nhelp: -i input=... is what it works on, -i metadata.{key}=... \
                 what its conditions and templates see as `metadata.{key}`"
            ),
        }
    }
    let content_type = if input.as_str().is_some() { "text/plain" } else { "application/json" };
    let facts = object([
        ("metadata", Value::from(metadata)),
        ("content_type", Value::from(content_type)),
        ("account", account),
        ("attachments", Value::from(Object::default())),
        ("run_id", Value::from("run")),
        ("agent_id", Value::from("agent")),
    ]);
    Ok((input, facts))
}

/// The people of a run in memory, unless `account` says otherwise.
fn account() -> Value {
    let admins = vec![Value::from("admin-1"), Value::from("admin-2")];
    Value::from(object([("owner", Value::from("owner")), ("admins", Value::from(admins))]))
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Object {
    fields.into_iter().map(|(key, value)| (Arc::from(key), value)).collect()
}

/// Puts a value under a path of keys; objects on the way are made.
fn put(object: &mut Object, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            object.insert(path.into(), value);
        }
        Some((key, rest)) => {
            let inner = object.entry(key.into()).or_insert_with(|| Value::from(Object::default()));
            if let Value::Object(inner) = inner {
                put(Arc::make_mut(inner), rest, value);
            }
        }
    }
}
