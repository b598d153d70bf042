//! What a run starts with.

use std::convert::Infallible;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use branchpoint_expr::{Dialect, Object, Value, nearest};
use branchpoint_runners::storage::Uploads;

use crate::source::Source;

/// One `-i`, as it was typed. Its errors are reported with those of other inputs, not by the parser of arguments.
#[derive(Clone)]
pub(crate) struct Input(String);

impl FromStr for Input {
    type Err = Infallible;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        Ok(Self(typed.to_owned()))
    }
}

impl Input {
    /// Whether it is read from stdin.
    pub(crate) fn is_stdin(&self) -> bool {
        self.0 == "-" || self.0 == "@-"
    }

    /// The JSON of a file (`@file`) or of stdin (`-`); none for an input that is typed.
    fn document(&self) -> Result<Option<Value>> {
        let path = match self.0.strip_prefix('@') {
            Some(path) => Path::new(path),
            None if self.0 == "-" => Path::new("-"),
            None => return Ok(None),
        };
        let source = Source::values(path)?;
        let value = serde_json::from_str(&source.text);
        value.map(Some).with_context(|| format!("the inputs in {} are not JSON", source.origin))
    }

    /// The key and the value: JSON after `:=`, text after `=`.
    fn read(&self) -> Result<(&str, Value)> {
        let Some((key, text)) = self.0.split_once('=') else {
            bail!("`{}` is not an input\nhelp: write -i key=text, or -i key:=json", self.0);
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

/// What the start of a run of that dialect carries: its input and its facts. `account` tells who can be asked.
pub(crate) fn start(dialect: Option<Dialect>, typed: &[Input], account: Value) -> Result<(Value, Object)> {
    let steps = dialect == Some(Dialect::Steps);
    let mut inputs = Object::default();
    let mut put = |key: Arc<str>, value: Value| match inputs.insert(Arc::clone(&key), value) {
        Some(_) => bail!("the input `{key}` is given twice"),
        None => Ok(()),
    };
    for input in typed {
        let Some(document) = input.document()? else {
            let (key, value) = input.read()?;
            put(key.into(), value)?;
            continue;
        };
        match document.as_object() {
            Some(fields) if !steps || fields.keys().all(|key| STEPS.contains(&&**key)) => {
                fields.iter().try_for_each(|(key, value)| put(key.clone(), value.clone()))?;
            }
            // Whatever else a file holds is what a step tree works on.
            _ if steps => put("input".into(), document)?,
            _ => bail!("the inputs in {} are not a JSON object", input.0.trim_start_matches('@')),
        }
    }
    if dialect == Some(Dialect::Graph)
        && let Some(unknown) = inputs.keys().find(|key| !GRAPH.contains(&&***key))
    {
        let near = nearest(unknown, GRAPH).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        bail!("a graph has no input `{unknown}`\nhelp: {near}`-i input=TEXT` replaces the text of its start node");
    }
    if steps { self::steps(inputs, account) } else { Ok((Value::from(inputs), Object::default())) }
}

/// Whether no `-i` can hold the input of a step tree: a file may hold anything.
pub(crate) fn lacks_input(typed: &[Input]) -> bool {
    typed.iter().all(|input| !input.0.starts_with('@') && input.0 != "-" && !input.0.starts_with("input"))
}

/// What a graph is started with.
const GRAPH: [&str; 5] = ["input", "runId", "model", "reasoningEffort", "stepLimit"];

/// The inputs of a step tree. `metadata` may also be given by path, such as `metadata.customer`.
const STEPS: [&str; 3] = ["input", "metadata", "account"];

/// A step tree has one input and metadata: `input`, and `metadata.` with a path.
fn steps(inputs: Object, mut account: Value) -> Result<(Value, Object)> {
    let mut input = Value::from("");
    let mut metadata = Object::default();
    for (key, value) in inputs {
        match (&*key, key.strip_prefix("metadata."), value.as_object()) {
            ("input", ..) => input = value,
            ("account", ..) => account = value,
            ("metadata", _, Some(fields)) => metadata.extend(fields.clone()),
            (_, Some(path), _) => put(&mut metadata, path, value),
            _ => bail!(unknown_of_steps(&key)),
        }
    }
    let content_type = if input.as_str().is_some() { "text/plain" } else { "application/json" };
    let facts = object([
        ("metadata", Value::from(metadata)),
        ("content_type", Value::from(content_type)),
        ("account", account),
    ]);
    Ok((input, facts))
}

fn unknown_of_steps(key: &str) -> String {
    let (root, path) = key.split_once('.').map_or((key, None), |(root, path)| (root, Some(path)));
    let help = match (nearest(root, STEPS), path) {
        (Some(near), None) => format!("did you mean `{near}`? "),
        (Some("metadata"), Some(path)) => format!("did you mean `metadata.{path}`? "),
        _ => String::new(),
    };
    format!(
        "a workflow of steps has no input `{key}`\nhelp: {help}`-i input=TEXT` gives its input, `-i metadata.NAME=TEXT` what it \
         reads as `metadata.NAME`"
    )
}

/// The start of a run with files: its input is the manifest that names them.
pub(crate) fn attaching(attachments: &Uploads, input: Value, mut facts: Object) -> (Value, Object) {
    if !attachments.files().is_empty() {
        facts.insert("content_type".into(), Value::from("application/json"));
    }
    (attachments.manifest(input), facts)
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
                inner.edit(|fields| put(fields, rest, value));
            }
        }
    }
}
