//! The scripted runner: answers that someone wrote down, by step.
//!
//! A script is an object: the id of a step, and the list of answers to its calls. Call n gets entry n, and the last entry
//! repeats; a call is one attempt. What is no list is one entry. `{"$by_path": {"0,1": [...]}}` has a list for each place
//! in enclosing loops over items, by their positions, outermost first.
//!
//! | entry | the call |
//! |---|---|
//! | `{"$error": text, "$kind": kind}` | fails; without a kind, with `step_failed` |
//! | … with `"$again": false`, `"$answered": true` | is not tried again; the other side had answered |
//! | `{"$hang": true}` | never answers, so the limit of its attempt fires |
//! | `{"$output": value, "$content_type": type}` | gives the value with that content type |
//! | `{"$text": text}` | model: says this |
//! | `{"$reply": value}` | model: a reply `{text, toolCalls, usage}` |
//! | … with `"$usage": {"tokens": n, "cost_micros": n}` | has used up so much |
//! | `{"$prompt": true}` | model: answers with the prompt as it was sent |
//! | `{"$request": true}` | http: answers with `{method, url, headers, body}` as they were sent |
//! | `{"$status": n, "headers": {…}, "body": value}` | http: an answer with that status and decoded body |
//! | … with `"text"` for `"body"` | http: the body as it came over the wire |
//! | `{"$exit": n, "stdout": text, "stderr": text}` | process: ended so |
//! | `{"$timed_out": true, "stdout": text, "stderr": text}` | process: ended because it took too long |
//! | text | model, agent: what it says; else the value |
//! | any other value | the value, as it is |
//!
//! Beside any of these, `"$delay_ms": n` says how long the call takes under a virtual clock, and `"$match": text` that the
//! entry is for calls that were asked with this text. A call takes the first entry that is for it and was not taken yet,
//! then the last that is for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use branchpoint_core::{Again, Failed, Usage};
use branchpoint_expr::{Object, Value};

use crate::runner::{Answer, Body, Call, Runner};

/// Answers by step.
#[derive(Clone, Debug, Default)]
pub struct Script {
    steps: BTreeMap<Arc<str>, Lines>,
    /// How many calls each list has answered, by step and, where the list is for one, by place.
    used: BTreeMap<ListKey, usize>,
    /// Of lists in which entries are for certain calls: those that were taken.
    taken: BTreeMap<ListKey, BTreeSet<usize>>,
    /// How long the call takes that was performed last.
    delay_ms: u64,
}

/// A list: its step and, where it is for one, its place.
type ListKey = (Arc<str>, Option<Arc<str>>);

/// The lists of one step.
#[derive(Clone, Debug)]
enum Lines {
    /// One for all its calls.
    One(Vec<Value>),
    /// One for each place in the loops around it.
    ByPath(BTreeMap<Arc<str>, Vec<Value>>),
}

/// Why a value is no script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadScript {
    /// A script is an object.
    #[error("a script is an object: the ids of steps, and the answers to their calls")]
    NotAnObject,
    /// A list that nothing can be taken from.
    #[error("the script has no answer for step `{0}`; give its list at least one entry, or leave the step out")]
    NoEntries(Arc<str>),
    /// `$by_path` holds lists by place.
    #[error("`$by_path` of step `{0}` is an object: places such as \"0,1\", and the answers there")]
    BadPaths(Arc<str>),
}

impl Script {
    /// Reads a script.
    pub fn read(script: &Value) -> Result<Self, BadScript> {
        let steps = match script {
            Value::Null => return Ok(Self::default()),
            script => script.as_object().ok_or(BadScript::NotAnObject)?,
        };
        let lines = steps.iter().map(|(step, lines)| Ok((step.clone(), Lines::read(step, lines)?)));
        Ok(Self { steps: lines.collect::<Result<_, _>>()?, ..Self::default() })
    }

    /// Whether the script has answers for a step.
    pub fn knows(&self, step: &str) -> bool {
        self.steps.contains_key(step)
    }

    /// The next entry for a step at a place, as it is written: what answers a call, or a question to people.
    pub fn entry(&mut self, step: &Arc<str>, path: &[u32]) -> Option<&Value> {
        let (entries, key) = self.steps.get(step)?.at(path)?;
        let used = self.used.entry((step.clone(), key)).or_default();
        let entry = entries.get(*used).or(entries.last());
        *used += 1;
        entry
    }

    /// The entry that answers a call: the next one, or the one that is for what the call was asked with.
    fn entry_for(&mut self, step: &Arc<str>, call: &Call) -> Option<&Value> {
        let (entries, _) = self.steps.get(step)?.at(&call.path)?;
        if entries.iter().all(|entry| entry.get(MATCH).is_none()) {
            return self.entry(step, &call.path);
        }
        let (entries, key) = self.steps.get(step)?.at(&call.path)?;
        let asked = serde_json::to_string(&call.input).unwrap_or_default();
        let fits = |entry: &Value| match entry.get(MATCH).and_then(Value::as_str) {
            // As it stands in JSON, because that is what is searched.
            Some(text) => serde_json::to_string(text).is_ok_and(|text| asked.contains(text.trim_matches('"'))),
            None => true,
        };
        let taken = self.taken.entry((step.clone(), key)).or_default();
        let fitting: Vec<usize> = (0..entries.len()).filter(|at| fits(&entries[*at])).collect();
        let at = fitting.iter().find(|at| !taken.contains(at)).or(fitting.last()).copied()?;
        taken.insert(at);
        entries.get(at)
    }
}

/// What an entry is for.
const MATCH: &str = "$match";

impl Lines {
    /// The list for a place, and the place if the list is for one.
    fn at(&self, path: &[u32]) -> Option<(&Vec<Value>, Option<Arc<str>>)> {
        match self {
            Self::One(entries) => Some((entries, None)),
            Self::ByPath(places) => {
                let place: Arc<str> = path.iter().map(u32::to_string).collect::<Vec<_>>().join(",").into();
                Some((places.get(&place)?, Some(place)))
            }
        }
    }

    fn read(step: &Arc<str>, lines: &Value) -> Result<Self, BadScript> {
        let Some(places) = lines.get("$by_path") else { return entries(step, lines).map(Self::One) };
        let places = places.as_object().ok_or_else(|| BadScript::BadPaths(step.clone()))?;
        let places = places.iter().map(|(place, lines)| Ok((place.clone(), entries(step, lines)?)));
        places.collect::<Result<_, _>>().map(Self::ByPath)
    }
}

fn entries(step: &Arc<str>, lines: &Value) -> Result<Vec<Value>, BadScript> {
    match lines.as_list() {
        Some([]) => Err(BadScript::NoEntries(step.clone())),
        Some(entries) => Ok(entries.to_vec()),
        None => Ok(vec![lines.clone()]),
    }
}

impl Runner for Script {
    fn perform(&mut self, call: &Call) -> Answer {
        let step = call.step.clone().unwrap_or_else(|| call.kind.clone());
        let (answer, delay_ms) = match self.entry_for(&step, call) {
            Some(entry) => (answer(entry, call), entry.get("$delay_ms").and_then(number).unwrap_or_default()),
            None if call.step.is_none() => (beside(call), 0),
            None => (unanswered(&step, &call.path), 0),
        };
        self.delay_ms = delay_ms;
        answer
    }

    fn duration_ms(&mut self, _call: &Call) -> u64 {
        self.delay_ms
    }
}

/// Work beside the steps, such as a hook of a state, goes well unless the script has answers for its kind: whoever writes a
/// script thinks of the steps.
fn beside(call: &Call) -> Answer {
    match &*call.kind {
        "log" => Answer::data(Value::Null),
        "shell" => Answer::Process { exit: 0, stdout: "".into(), stderr: "".into() },
        kind => unanswered(kind, &call.path),
    }
}

/// A call that the script does not know must not look like an answer, and would not be known a second time.
fn unanswered(step: &str, path: &[u32]) -> Answer {
    let place = if path.is_empty() { String::new() } else { format!(" at {path:?}") };
    let message = format!("the script has no answer for step `{step}`{place}");
    Answer::Failed(Failed { kind: "step_failed".into(), message: message.into(), again: Again::Never, answered: false })
}

fn answer(entry: &Value, call: &Call) -> Answer {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let is = |key: &str| entry.get(key) == Some(&Value::Bool(true));
    if let Some(message) = entry.get("$error") {
        let kind = entry.get("$kind").and_then(Value::as_str).unwrap_or("step_failed");
        let answered = is("$answered");
        let again = match entry.get("$again") {
            Some(Value::Bool(false)) => Again::Never,
            Some(Value::Int(ms)) => Again::After(u64::try_from(*ms).unwrap_or_default()),
            _ => Again::Soon,
        };
        return Answer::Failed(Failed { kind: kind.into(), message: message.to_string().into(), again, answered });
    }
    if is("$hang") {
        return Answer::Never;
    }
    if let Some(value) = entry.get("$output") {
        let content_type = entry.get("$content_type").and_then(Value::as_str).map(Into::into);
        return Answer::Data { value: value.clone(), content_type };
    }
    if let Some(said) = entry.get("$text").and_then(Value::as_str) {
        return Answer::Model { text: said.into(), usage: usage(entry) };
    }
    if let Some(value) = entry.get("$reply") {
        return Answer::Reply { value: value.clone(), usage: usage(entry) };
    }
    if is("$prompt") {
        return Answer::model(call.input.get("prompt").map(ToString::to_string).unwrap_or_default());
    }
    if is("$request") {
        return Answer::Http { status: 200, headers: Object::default(), body: Body::Decoded(request(&call.input)) };
    }
    if let Some(status) = entry.get("$status").and_then(number) {
        let headers = entry.get("headers").and_then(Value::as_object).cloned().unwrap_or_default();
        let body = match entry.get("text").and_then(Value::as_str) {
            Some(text) => Body::Text(text.into()),
            None => Body::Decoded(entry.get("body").cloned().unwrap_or_default()),
        };
        return Answer::Http { status, headers, body };
    }
    if let Some(exit) = entry.get("$exit").and_then(number) {
        return Answer::Process { exit, stdout: text("stdout").into(), stderr: text("stderr").into() };
    }
    if is("$timed_out") {
        return Answer::TimedOut { stdout: text("stdout").into(), stderr: text("stderr").into() };
    }
    match entry {
        Value::Str(text) if matches!(&*call.kind, "model" | "agent") => Answer::model(text.clone()),
        value => Answer::data(value.clone()),
    }
}

fn usage(entry: &Value) -> Usage {
    let count = |key: &str| entry.get("$usage").and_then(|usage| usage.get(key)).and_then(number).unwrap_or_default();
    Usage { tokens: count("tokens"), cost_micros: count("cost_micros") }
}

/// The parts of a request that its author wrote.
fn request(input: &Value) -> Value {
    let parts = ["method", "url", "headers", "body"];
    let parts = parts.map(|part| (Arc::from(part), input.get(part).cloned().unwrap_or_default()));
    Value::from(parts.into_iter().collect::<Object>())
}

fn number<N: TryFrom<i64>>(value: &Value) -> Option<N> {
    match value {
        Value::Int(int) => N::try_from(*int).ok(),
        _ => None,
    }
}
