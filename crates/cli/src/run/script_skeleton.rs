//! The skeleton of an answers file: an example answer for each call of a workflow, and for each question that a dry run comes to.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use branchpoint_core::Approval;
use branchpoint_core::effect::{Format, Kind};
use branchpoint_core::ir::{Effect, Index, Program};
use branchpoint_expr::Value;
use serde_json::json;

/// The example answers so far, by step.
pub(crate) struct Skeleton {
    path: PathBuf,
    entries: BTreeMap<Arc<str>, Entry>,
}

struct Entry {
    answer: Value,
    comment: String,
}

impl Skeleton {
    pub(crate) fn new(path: &Path) -> Result<Self> {
        if path.exists() {
            return Err(anyhow!("{} already exists\nhelp: choose another file for --write-script", path.display()));
        }
        Ok(Self { path: path.to_owned(), entries: BTreeMap::new() })
    }

    /// The example answer to a call.
    pub(crate) fn call(&mut self, step: &Arc<str>, effect: &Effect) -> Value {
        let entry = Entry { answer: example(effect), comment: effect.kind.as_str().to_owned() };
        self.entries.entry(Arc::clone(step)).or_insert(entry).answer.clone()
    }

    /// The first choice of a question; none for a question without choices.
    pub(crate) fn approval(&mut self, approval: &Approval) -> Option<Value> {
        let choices = approval.choices();
        let answer = Value::Str(Arc::clone(choices.first()?));
        let comment = format!("one of: {}", choices.join(", "));
        let entry = Entry { answer, comment };
        Some(self.entries.entry(Arc::clone(&approval.step)).or_insert(entry).answer.clone())
    }

    /// Writes the answers in the order of the document, those of calls that the dry run did not come to included.
    pub(crate) fn write(mut self, program: &Program, origin: &str) -> Result<PathBuf> {
        for effect in &program.effects {
            if let Some(step) = effect.step {
                let id = Arc::clone(&program.steps[step.index()].id);
                self.call(&id, effect);
            }
        }
        let text = self.text(program, origin);
        let file = OpenOptions::new().write(true).create_new(true).open(&self.path);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| anyhow!("cannot write {}: {error}", self.path.display()))?;
        Ok(self.path)
    }

    fn text(&self, program: &Program, origin: &str) -> String {
        let mut text = format!(
            "# Example answers to the calls and questions of {origin}: edit them.\n\
             # Each step has a list with one entry for each call; the last entry repeats.\n"
        );
        if self.entries.is_empty() {
            text += "{}\n";
        }
        let place = |step: &Arc<str>| program.steps.iter().position(|known| known.id == *step);
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by_key(|(step, _)| place(step).unwrap_or(usize::MAX));
        for (step, entry) in entries {
            // JSON is YAML, and needs no rules for quotes. Writing into a text cannot fail.
            let answers = json!([entry.answer]);
            let _ = writeln!(text, "{}: {answers}  # {}", key(step), entry.comment);
        }
        text
    }
}

/// A step's id as a key of YAML.
fn key(step: &str) -> String {
    let is_plain = step.starts_with(|c: char| c.is_ascii_alphabetic())
        && step.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        && !matches!(step, "true" | "false" | "null" | "yes" | "no" | "on" | "off");
    if is_plain { step.to_owned() } else { json!(step).to_string() }
}

/// An answer that a call of this kind can get.
fn example(effect: &Effect) -> Value {
    let response = &effect.response;
    let wants_json = matches!(response.format, Format::Json | Format::JsonBlock) || response.output_schema.is_some();
    let json = match effect.kind {
        _ if response.pass_threshold.is_some() => json!({"score": 1}),
        Kind::Model if wants_json => json!("{}"),
        Kind::Process => json!({"$exit": 0, "stdout": "output"}),
        Kind::Http | Kind::Webhook => json!({"$status": 200, "body": {}}),
        Kind::Mail => json!("delivered"),
        Kind::Search | Kind::Retrieval => json!([]),
        _ => json!("An answer."),
    };
    Value::from(&json)
}
