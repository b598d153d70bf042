//! Cassettes: what the outside answered, written down in the form of scripts, so that the same run can be had again without
//! the outside.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use branchpoint_core::{Again, Usage};
use branchpoint_expr::{Object, Value};

use crate::outside::Outside;
use crate::runner::{Answer, Body, Call};
use crate::secrets::Secrets;
use crate::stop::Stop;

/// Headers of answers that are nobody's business.
const SECRET_HEADERS: [&str; 4] = ["set-cookie", "authorization", "www-authenticate", "proxy-authenticate"];

/// Lets another outside perform calls, and keeps what came back.
pub struct Recorder<O> {
    inner: O,
    mask: Secrets,
    kept: Mutex<BTreeMap<Arc<str>, Vec<Kept>>>,
}

/// One call: its place, what it was asked with if its order is no sure sign, and what came back. A call that is under way has
/// its place in the list already, because entries are in the order of the calls.
struct Kept {
    path: Vec<u32>,
    asked: Option<Arc<str>>,
    entry: Option<Value>,
}

impl<O: Outside> Recorder<O> {
    /// Records what an outside answers. Secrets are masked in what is kept, not in what is handed on.
    pub fn new(inner: O, mask: Secrets) -> Self {
        Self { inner, mask, kept: Mutex::default() }
    }

    /// What was kept, as a script. Calls that were never answered are not in it.
    pub fn script(&self) -> Value {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let steps = kept.iter().filter_map(|(step, calls)| Some((step.clone(), lines(calls)?)));
        Value::from(steps.collect::<Object>())
    }

    fn begin(&self, call: &Call) -> (Arc<str>, usize) {
        let step = call.step.clone().unwrap_or_else(|| call.kind.clone());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = kept.entry(step.clone()).or_default();
        let asked = asked(call).map(|text| self.mask.mask(&text).as_ref().into());
        calls.push(Kept { path: call.path.clone(), asked, entry: None });
        (step, calls.len() - 1)
    }

    fn keep(&self, (step, at): (Arc<str>, usize), call: &Call, answer: &Answer) {
        let entry = masked(&entry(call, answer), &self.mask);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.get_mut(&step).and_then(|calls| calls.get_mut(at)) {
            kept.entry = Some(entry);
        }
    }
}

impl<O: Outside> Outside for Recorder<O> {
    fn perform(&self, call: &Call, stop: &Stop) -> Answer {
        let place = self.begin(call);
        let answer = self.inner.perform(call, stop);
        // A call that was called off has no answer that anybody saw.
        if !(answer == Answer::Never && stop.is_set()) {
            self.keep(place, call, &answer);
        }
        answer
    }

    fn at_once(&self, call: &Call) -> Option<Answer> {
        let answer = self.inner.at_once(call)?;
        let place = self.begin(call);
        self.keep(place, call, &answer);
        Some(answer)
    }

    fn fact(&self, name: &str) -> Value {
        self.inner.fact(name)
    }

    fn line(&self) -> Option<String> {
        self.inner.line()
    }
}

/// A script as YAML, an entry to a line; every entry is JSON too.
pub fn cassette(script: &Value) -> String {
    let mut text =
        String::from("# What each step was answered, in order. Play it again with: branchpoint run --script\n");
    for (step, lines) in script.as_object().into_iter().flatten() {
        // Writing into text does not fail.
        let _ = match lines.get("$by_path").and_then(Value::as_object) {
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

/// The lists of a step: one, or one for each place if it stands in loops.
fn lines(calls: &[Kept]) -> Option<Value> {
    let answered: Vec<(&Kept, Value)> = calls.iter().filter_map(|call| Some((call, call.written()?))).collect();
    if answered.is_empty() {
        return None;
    }
    if answered.iter().all(|(call, _)| call.path.is_empty()) {
        return Some(Value::from(answered.into_iter().map(|(_, entry)| entry).collect::<Vec<_>>()));
    }
    let mut places: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (call, entry) in answered {
        let place = call.path.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        places.entry(place).or_default().push(entry);
    }
    let places: Object = places.into_iter().map(|(place, entries)| (place.into(), Value::from(entries))).collect();
    Some(object([("$by_path", Value::from(places))]))
}

impl Kept {
    fn written(&self) -> Option<Value> {
        let entry = self.entry.clone()?;
        let (Some(asked), Some(fields)) = (&self.asked, entry.as_object()) else { return Some(entry) };
        let mut fields = fields.clone();
        fields.insert("$match".into(), Value::Str(asked.clone()));
        Some(Value::from(fields))
    }
}

/// Agents work at the same time under the same names, so their calls are told apart by what was said last.
fn asked(call: &Call) -> Option<String> {
    if !call.step.as_ref().is_some_and(|step| step.starts_with("agent.")) {
        return None;
    }
    let last = call.input.get("messages").and_then(Value::as_list).and_then(<[Value]>::last);
    let said =
        last.and_then(|last| last.get("content").filter(|content| **content != Value::Null).or(last.get("error")));
    match said.or_else(|| call.input.get("id")) {
        Some(Value::Str(text)) if !text.is_empty() => Some(text.to_string()),
        _ => None,
    }
}

/// An answer in the form of a script's entry.
fn entry(call: &Call, answer: &Answer) -> Value {
    let text = |text: &Arc<str>| Value::Str(text.clone());
    let is_plain = matches!(&*call.kind, "model" | "agent") && asked(call).is_none();
    match answer {
        Answer::Model { text, usage } if is_plain && *usage == Usage::default() => Value::Str(text.clone()),
        Answer::Model { text: said, usage } => with_usage([("$text", text(said))], *usage),
        Answer::Reply { value, usage } => with_usage([("$reply", value.clone())], *usage),
        Answer::Data { value, content_type: Some(content_type) } => {
            object([("$output", value.clone()), ("$content_type", text(content_type))])
        }
        Answer::Data { value, content_type: None } => object([("$output", value.clone())]),
        Answer::Http { status, headers, body } => {
            let shown = headers.iter().filter(|(name, _)| !SECRET_HEADERS.contains(&&*name.to_ascii_lowercase()));
            let headers: Object = shown.map(|(name, value)| (name.clone(), value.clone())).collect();
            let body = match body {
                Body::Text(body) => ("text", text(body)),
                Body::Decoded(body) => ("body", body.clone()),
            };
            object([("$status", Value::Int((*status).into())), ("headers", Value::from(headers)), body])
        }
        Answer::Process { exit, stdout, stderr } => {
            object([("$exit", Value::Int((*exit).into())), ("stdout", text(stdout)), ("stderr", text(stderr))])
        }
        Answer::TimedOut { stdout, stderr } => {
            object([("$timed_out", Value::Bool(true)), ("stdout", text(stdout)), ("stderr", text(stderr))])
        }
        Answer::Failed(failed) => object([
            ("$error", text(&failed.message)),
            ("$kind", text(&failed.kind)),
            ("$again", again(failed.again)),
            ("$answered", Value::Bool(failed.answered)),
        ]),
        Answer::Never => object([("$hang", Value::Bool(true))]),
    }
}

/// Whether another attempt makes sense; a number of milliseconds if it does not before that time.
fn again(again: Again) -> Value {
    match again {
        Again::After(ms) => Value::Int(i64::try_from(ms).unwrap_or(i64::MAX)),
        again => Value::Bool(again.is_worth_it()),
    }
}

fn with_usage<const N: usize>(fields: [(&str, Value); N], usage: Usage) -> Value {
    let mut all: Object = fields.into_iter().map(|(key, value)| (key.into(), value)).collect();
    if usage != Usage::default() {
        let count = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
        let usage = object([("tokens", count(usage.tokens)), ("cost_micros", count(usage.cost_micros))]);
        all.insert("$usage".into(), usage);
    }
    Value::from(all)
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::from(fields.into_iter().map(|(key, value)| (key.into(), value)).collect::<Object>())
}

/// The same value with every secret in its texts masked.
fn masked(value: &Value, mask: &Secrets) -> Value {
    match value {
        Value::Str(text) => Value::from(mask.mask(text).as_ref()),
        Value::List(items) => Value::from(items.iter().map(|item| masked(item, mask)).collect::<Vec<_>>()),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (mask.mask(key).as_ref().into(), masked(value, mask)));
            Value::from(fields.collect::<Object>())
        }
        other => other.clone(),
    }
}
