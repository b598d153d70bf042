//! The inputs of a run.

use std::convert::Infallible;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use branchpoint_dialects::{STEPS_INPUTS, StartValues, start_values};
use branchpoint_expr::{Dialect, Object, Value};
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
            bail!("`-i {0}` has no `=`\nhelp: write -i {0}=TEXT, or -i {0}:=JSON", self.0);
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

/// The input and the facts of the start of a run. `account` has the possible approvers.
pub(crate) fn start(dialect: Option<Dialect>, typed: &[Input], account: Value) -> Result<(Value, Object)> {
    start_with(dialect, given(dialect, typed)?, account)
}

/// The same, with inputs that were read before.
pub(crate) fn start_with(dialect: Option<Dialect>, inputs: Object, account: Value) -> Result<(Value, Object)> {
    let StartValues { input, facts } = start_values(dialect, inputs, account).map_err(|unknown| anyhow!(unknown))?;
    Ok((input, facts))
}

/// The inputs by name.
pub(crate) fn given(dialect: Option<Dialect>, typed: &[Input]) -> Result<Object> {
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
            Some(fields) if !steps || fields.keys().all(|key| is_steps_input(key)) => {
                fields.iter().try_for_each(|(key, value)| put(key.clone(), value.clone()))?;
            }
            // Any other content of a file is the input of a workflow of steps.
            _ if steps => put("input".into(), document)?,
            _ => bail!("the inputs in {} are not a JSON object", input.0.trim_start_matches('@')),
        }
    }
    Ok(inputs)
}

/// Whether a key is an input of a workflow of steps, or a path in one, such as `metadata.customer`.
fn is_steps_input(key: &str) -> bool {
    let root = key.split('.').next().unwrap_or_default();
    STEPS_INPUTS.contains(&root)
}

/// Whether no `-i` can be the input of a workflow of steps.
pub(crate) fn lacks_input(typed: &[Input]) -> bool {
    typed.iter().all(|input| !input.0.starts_with('@') && input.0 != "-" && !input.0.starts_with("input"))
}

/// The start of a run with files: its input is the manifest that names them.
pub(crate) fn attaching(attachments: &Uploads, input: Value, mut facts: Object) -> (Value, Object) {
    if !attachments.files().is_empty() {
        facts.insert("content_type".into(), Value::from("application/json"));
    }
    (attachments.manifest(input), facts)
}
