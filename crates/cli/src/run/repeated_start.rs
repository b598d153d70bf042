//! A second start with the id of an existing run: the workflow and the inputs must be the same.

use anyhow::{Result, bail};
use branchpoint_backend::{Backend, Run, WorkflowNo};
use branchpoint_expr::{Object, Value};
use branchpoint_runners::Secrets;
use branchpoint_runners::storage::ContentKey;

use crate::excerpt;
use crate::runs::start_of;

/// The workflow, the input and the script of a start.
pub(crate) struct RequestedStart<'a> {
    /// The workflow, if the store has it.
    pub(crate) workflow: Option<WorkflowNo>,
    /// The name and the origin of the workflow.
    pub(crate) name: String,
    pub(crate) input: &'a Value,
    /// Whether it has files. A start without any means those of the run.
    pub(crate) has_attachments: bool,
    pub(crate) facts: &'a Object,
    pub(crate) script: Option<&'a Value>,
    pub(crate) secrets: &'a Secrets,
}

/// Facts of the host, which may differ between the starts.
const OF_HOST: [&str; 2] = ["account", "document_dir"];

/// Rejects a start that differs from the run with its id, and shows the differences.
pub(crate) fn check(store: &dyn Backend, run: &Run, wanted: &RequestedStart<'_>) -> Result<()> {
    let mut differences = Vec::new();
    if wanted.workflow != Some(run.workflow) {
        let document = store.document(run.workflow)?;
        let was = format!("`{}` from {}", document.name, document.origin);
        let version = if was == wanted.name { " in another version" } else { "" };
        differences.push(format!("workflow: the run has {was}, this start has {}{version}", wanted.name));
    }
    let mut secrets = store.secrets(run.run)?;
    secrets.add(wanted.secrets.values());
    let (mut input, mut facts) = start_of(store, run)?;
    if !wanted.has_attachments
        && let Some(text) = text_of_manifest(&input)
    {
        input = text;
        facts.extend(wanted.facts.get_key_value("content_type").map(|(name, fact)| (name.clone(), fact.clone())));
    }
    differences.extend(differing("input", &input, wanted.input, &secrets));
    for (name, fact) in wanted.facts.iter().filter(|(name, _)| !OF_HOST.contains(&&***name)) {
        let was = facts.get(name).cloned().unwrap_or_default();
        differences.extend(differing(name, &was, fact, &secrets));
    }
    match (store.script(run.run)?, wanted.script) {
        (Some(bound), Some(script)) if bound.script != *script => differences.push("script: another one".into()),
        (None, Some(_)) => differences.push("script: the run has none".into()),
        // The result of a start without a script must not come from one.
        (Some(bound), None) if run.status.is_final() && bound.live_ms.is_none() => {
            differences.push("script: a script answered the calls of the run, this start has none".into());
        }
        _ => {}
    }
    if differences.is_empty() {
        return Ok(());
    }
    bail!(
        "run `{}` already exists, and this start differs from it\n  {}\nhelp: choose another --id, or repeat the first start",
        run.id,
        differences.join("\n  ")
    );
}

/// The text of an input that names stored files.
fn text_of_manifest(input: &Value) -> Option<Value> {
    let attachments = input.get("attachments")?.as_list()?;
    let is_stored = |file: &Value| {
        let key = file.get("storage_key").and_then(Value::as_str);
        key.is_some_and(|key| ContentKey::parse(key).is_some())
    };
    let is_manifest = !attachments.is_empty() && attachments.iter().all(is_stored);
    input.get("text").filter(|_| is_manifest).cloned()
}

/// How two values differ, field by field.
fn differing(name: &str, was: &Value, now: &Value, secrets: &Secrets) -> Vec<String> {
    if was == now {
        return Vec::new();
    }
    let (Some(before), Some(after)) = (was.as_object(), now.as_object()) else {
        return vec![difference(name, Some(was), Some(now), secrets)];
    };
    let names = before.keys().chain(after.keys().filter(|key| !before.contains_key(*key)));
    let changed = names.filter(|key| before.get(*key) != after.get(*key));
    changed.map(|key| difference(&format!("{name}.{key}"), before.get(key), after.get(key), secrets)).collect()
}

fn difference(name: &str, was: Option<&Value>, now: Option<&Value>, secrets: &Secrets) -> String {
    let show = |value: Option<&Value>| match value {
        None => "no value".to_owned(),
        Some(value) if value.as_str() == Some("") => "empty text".to_owned(),
        Some(value) => excerpt::value(secrets, value),
    };
    format!("{name}: the run has {}, this start has {}", show(was), show(now))
}
