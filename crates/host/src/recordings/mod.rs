//! Cassettes: what a run was answered, by the outside and by people, written down in the form of scripts, so that the same run
//! can be had again without either.
//!
//! A cassette is made from the journals of a run and its child runs, so it is whole whoever drove the run, and however often it was
//! interrupted.

mod form;
mod past;
mod variables;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use branchpoint_core::effect::Kind;
use branchpoint_expr::{Object, Value};

use crate::script::{RECORDED, UNTOLD, VOTES, WITHDRAWN};
use branchpoint_runners::Call;
use branchpoint_runners::Secrets;
use branchpoint_runners::agent;
pub use past::{Came, Happened, Past, Vote};
use variables::variable;
pub(crate) use variables::{fact_of, reads_variables};

/// What the host knows under these names is the same when a run is played again; and so are variables of the environment.
const FACTS: [&str; 8] =
    ["run_id", "working_dir", "document_dir", "user", "hostname", "account", "user_attached", "agent_id"];

impl Past {
    /// The script that replays the run: the entries of each step at each iteration path, in order. Secrets of the run and these are
    /// masked in responses, never in keys.
    pub fn script(&self, mask: &Secrets) -> Value {
        let mut mask = mask.clone();
        mask.add(self.secrets.values());
        mask.add(self.secret_variables().values());
        script(self, &mask)
    }
}

fn script(past: &Past, mask: &Secrets) -> Value {
    let mut steps: BTreeMap<Arc<str>, Vec<(&[u32], Value)>> = BTreeMap::new();
    let mut outside = BTreeSet::new();
    for happened in &past.happened {
        let (callers, step, path, entry) = match happened {
            Happened::Called { call, came } => {
                let Some(entry) = answered(call, came, mask) else { continue };
                if call.kind() == Kind::Run || agent::is_turn(call) {
                    outside.extend(call.step.clone());
                }
                (&call.callers, call.name(), &*call.path, entry)
            }
            Happened::Asked { callers, step, path, votes } => {
                let votes = Value::from(votes.iter().map(|vote| vote.written(mask)).collect::<Vec<_>>());
                (callers, step.clone(), &**path, object([(VOTES, votes)]))
            }
            Happened::Said { callers, step, what } => {
                (callers, step.clone(), &[][..], object([("$output", mask.mask_value(what))]))
            }
        };
        let key = if callers.is_empty() { step } else { format!("{callers}/{step}").into() };
        steps.entry(key).or_default().push((path, entry));
    }
    let outside = outside.into_iter().map(Value::Str).collect::<Vec<_>>();
    let untold = past.untold(mask);
    let mut recorded: Object =
        [(Arc::from("facts"), facts(past, &untold)), (Arc::from("outside"), Value::from(outside))]
            .into_iter()
            .collect();
    if !untold.is_empty() {
        let names = untold.into_iter().map(Value::Str).collect::<Vec<_>>();
        recorded.insert(UNTOLD.into(), Value::from(names));
    }
    let recorded = Value::from(recorded);
    let steps = steps.into_iter().map(|(step, entries)| (step, lines(entries)));
    Value::from([(Arc::from(RECORDED), recorded)].into_iter().chain(steps).collect::<Object>())
}

/// The entry of a call; none for one that has not come to an end, and for messages, which are told again.
fn answered(call: &Call, came: &Came, mask: &Secrets) -> Option<Value> {
    match came {
        _ if call.kind() == Kind::Notify => None,
        Came::Open => None,
        Came::Withdrawn => Some(object([(WITHDRAWN, Value::Bool(true))])),
        Came::Settled(result, usage) => Some(form::entry(call, result, *usage, mask)),
    }
}

/// What the host knew, aside from the variables that are not told.
fn facts(past: &Past, untold: &BTreeSet<Arc<str>>) -> Value {
    let is_told = |name: &str| match variable(name) {
        Some(variable) => !untold.contains(variable),
        None => FACTS.contains(&name),
    };
    let told = past.facts.iter().filter(|(name, _)| is_told(name));
    Value::from(told.map(|(name, fact)| (name.clone(), fact.clone())).collect::<Object>())
}

impl Vote {
    fn written(&self, mask: &Secrets) -> Value {
        let comment = self.comment.as_ref().map(|comment| Value::from(mask.mask(comment).as_ref()));
        let fields = [
            ("user", Some(Value::Str(self.user.clone()))),
            ("choice", Some(Value::Str(self.choice.clone()))),
            ("comment", comment),
        ];
        let fields = fields.into_iter().filter_map(|(key, value)| Some((Arc::from(key), value?)));
        Value::from(fields.collect::<Object>())
    }
}

/// The lists of a step: one, or one for each place if it stands in loops.
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

/// A script as YAML, an entry to a line; every entry is JSON too.
pub fn cassette(script: &Value) -> String {
    let mut text = String::from("# What a run was answered. Play it again with: branchpoint run --script\n");
    for (step, lines) in script.as_object().into_iter().flatten() {
        // Writing into text does not fail.
        let _ = match lines.get("$by_path").and_then(Value::as_object) {
            _ if &**step == RECORDED => writeln!(text, "{RECORDED}: {}", json(lines)),
            Some(places) => {
                let _ = writeln!(text, "{}:\n  $by_path:", json(&Value::Str(step.clone())));
                places.iter().try_for_each(|(place, lines)| listed(&mut text, place, lines, 4))
            }
            None => listed(&mut text, step, lines, 0),
        };
    }
    text
}

fn listed(text: &mut String, key: &Arc<str>, lines: &Value, indent: usize) -> std::fmt::Result {
    writeln!(text, "{:indent$}{}:", "", json(&Value::Str(key.clone())))?;
    let entries = lines.as_list().unwrap_or(std::slice::from_ref(lines));
    entries.iter().try_for_each(|entry| writeln!(text, "{:indent$}  - {}", "", json(entry)))
}

/// JSON in which every character is one that YAML takes as it is.
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
