//! Recordings: scripts made from the journals of a run and its child runs, with which the run can be replayed without runners and
//! without people.
//!
//! Journals are complete, so a recording does not depend on which processes drove the run or how often it was interrupted.

mod entry;
mod history;
mod variables;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use branchpoint_core::effect::Kind;
use branchpoint_expr::{Object, Value};

use crate::script::{OMITTED_VARIABLES, RECORDED, VOTES, WITHDRAWN};
use branchpoint_runners::Call;
use branchpoint_runners::Secrets;
use branchpoint_runners::agent;
pub use history::{CallOutcome, History, HistoryEntry, Vote};
use variables::variable;
pub(crate) use variables::{fact_of, reads_variables};

/// Facts that a replay gets from the recording, beside environment variables.
const FACTS: [&str; 8] =
    ["run_id", "working_dir", "document_dir", "user", "hostname", "account", "user_attached", "agent_id"];

impl History {
    /// The script that replays the run: the entries of each step at each iteration path, in order. Secrets of the run and these are
    /// masked in responses, never in keys.
    ///
    /// ```
    #[doc = include_str!("../../docs/virtual.txt")]
    /// driver.run_until_idle(&mut |_call| Answer::data("hello").into());
    /// let recording = driver.history().script(&Default::default());
    /// assert!(recording.get("ask").is_some());
    /// assert!(Script::read(&recording).unwrap().recording().is_some());
    /// ```
    pub fn script(&self, mask: &Secrets) -> Value {
        let mut mask = mask.clone();
        mask.add(self.secrets.values());
        mask.add(self.secret_variables().values());
        script(self, &mask)
    }
}

fn script(history: &History, mask: &Secrets) -> Value {
    let mut steps: BTreeMap<Arc<str>, Vec<(&[u32], Value)>> = BTreeMap::new();
    let mut executed = BTreeSet::new();
    for event in &history.entries {
        let (callers, step, path, entry) = match event {
            HistoryEntry::Call { call, outcome } => {
                let Some(entry) = call_entry(call, outcome, mask) else { continue };
                if call.kind() == Kind::Run || agent::is_turn(call) {
                    executed.extend(call.step.clone());
                }
                (&call.callers, call.name(), &*call.path, entry)
            }
            HistoryEntry::Approval { callers, step, path, votes } => {
                let votes = Value::from(votes.iter().map(|vote| vote.to_value(mask)).collect::<Vec<_>>());
                (callers, step.clone(), &**path, object([(VOTES, votes)]))
            }
            HistoryEntry::Signal { callers, step, payload } => {
                (callers, step.clone(), &[][..], object([("$output", mask.mask_value(payload))]))
            }
        };
        let key = if callers.is_empty() { step } else { format!("{callers}/{step}").into() };
        steps.entry(key).or_default().push((path, entry));
    }
    let executed = executed.into_iter().map(Value::Str).collect::<Vec<_>>();
    let omitted = history.omitted_variables(mask);
    let mut recorded: Object =
        [(Arc::from("facts"), facts(history, &omitted)), (Arc::from("outside"), Value::from(executed))]
            .into_iter()
            .collect();
    if !omitted.is_empty() {
        let names = omitted.into_iter().map(Value::Str).collect::<Vec<_>>();
        recorded.insert(OMITTED_VARIABLES.into(), Value::from(names));
    }
    let recorded = Value::from(recorded);
    let steps = steps.into_iter().map(|(step, entries)| (step, lines(entries)));
    Value::from([(Arc::from(RECORDED), recorded)].into_iter().chain(steps).collect::<Object>())
}

/// The entry of a call. Pending calls have none, and neither do messages, which a replay prints again.
fn call_entry(call: &Call, outcome: &CallOutcome, mask: &Secrets) -> Option<Value> {
    match outcome {
        _ if call.kind() == Kind::Notify => None,
        CallOutcome::Pending => None,
        CallOutcome::Withdrawn => Some(object([(WITHDRAWN, Value::Bool(true))])),
        CallOutcome::Settled(result, usage) => Some(entry::of_call(call, result, *usage, mask)),
    }
}

/// The facts of the runs, without the omitted variables.
fn facts(history: &History, omitted: &BTreeSet<Arc<str>>) -> Value {
    let is_recorded = |name: &str| match variable(name) {
        Some(variable) => !omitted.contains(variable),
        None => FACTS.contains(&name),
    };
    let recorded = history.facts.iter().filter(|(name, _)| is_recorded(name));
    Value::from(recorded.map(|(name, fact)| (name.clone(), fact.clone())).collect::<Object>())
}

impl Vote {
    fn to_value(&self, mask: &Secrets) -> Value {
        let comment = self.comment.as_ref().map(|comment| Value::from(mask.mask(comment).as_ref()));
        let fields = [
            ("user", Some(Value::Str(self.user.clone()))),
            ("choice", Some(Value::Str(self.choice.clone()))),
            ("comment", comment),
            ("form", self.form.as_ref().map(|form| mask.mask_value(form))),
            ("on_behalf_of", self.on_behalf_of.clone().map(Value::Str)),
        ];
        let fields = fields.into_iter().filter_map(|(key, value)| Some((Arc::from(key), value?)));
        Value::from(fields.collect::<Object>())
    }
}

/// The entries of a step: one list, or one list for each iteration path if the step is inside of loops.
fn lines(entries: Vec<(&[u32], Value)>) -> Value {
    if entries.iter().all(|(path, _)| path.is_empty()) {
        return Value::from(entries.into_iter().map(|(_, entry)| entry).collect::<Vec<_>>());
    }
    let mut places: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (path, entry) in entries {
        let place = path.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        places.entry(place).or_default().push(entry);
    }
    let places: Object = places.into_iter().map(|(place, entries)| (place.into(), Value::from(entries))).collect();
    object([("$by_path", Value::from(places))])
}

/// A script as YAML with one entry per line. Every entry is also JSON.
///
/// ```
#[doc = include_str!("../../docs/virtual.txt")]
/// driver.run_until_idle(&mut |_call| Answer::data("hello").into());
/// let recording = driver.history().script(&Default::default());
/// assert!(recording_yaml(&recording).starts_with("# A recording."));
/// ```
pub fn recording_yaml(script: &Value) -> String {
    let mut text = String::from("# A recording. Replay it with: branchpoint run --script\n");
    for (step, lines) in script.as_object().into_iter().flatten() {
        // Writing into text does not fail.
        let _ = match lines.get("$by_path").and_then(Value::as_object) {
            _ if &**step == RECORDED => writeln!(text, "{RECORDED}: {}", json(lines)),
            Some(places) => {
                let _ = writeln!(text, "{}:\n  $by_path:", json(&Value::Str(step.clone())));
                places.iter().try_for_each(|(place, lines)| write_list(&mut text, place, lines, 4))
            }
            None => write_list(&mut text, step, lines, 0),
        };
    }
    text
}

fn write_list(text: &mut String, key: &Arc<str>, lines: &Value, indent: usize) -> std::fmt::Result {
    writeln!(text, "{:indent$}{}:", "", json(&Value::Str(key.clone())))?;
    let entries = lines.as_list().unwrap_or(std::slice::from_ref(lines));
    entries.iter().try_for_each(|entry| writeln!(text, "{:indent$}  - {}", "", json(entry)))
}

/// JSON that is also valid YAML.
fn json(value: &Value) -> String {
    let written = serde_json::to_string(value).unwrap_or_default();
    let mut text = String::with_capacity(written.len());
    for c in written.chars() {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}' => {
                let _ = write!(text, "\\u{:04x}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::from(fields.into_iter().map(|(key, value)| (key.into(), value)).collect::<Object>())
}
