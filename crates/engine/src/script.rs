//! The scripted runner: answers that someone wrote down, by step.
//!
//! A script is an object: the id of a step, and the list of answers to its calls. Call n gets entry n, and the last entry
//! repeats; a call is one attempt. What is no list is one entry. `{"$by_path": {"0,1": [...]}}` has a list for each place
//! in enclosing loops over items, by their positions, outermost first.
//!
//! | entry | the call |
//! |---|---|
//! | `{"$error": text, "$kind": kind}` | fails; without a kind, with `step_failed` |
//! | `{"$hang": true}` | never answers, so the limit of its attempt fires |
//! | `{"$output": value, "$content_type": type}` | gives the value with that content type |
//! | `{"$prompt": true}` | model: answers with the prompt as it was sent |
//! | `{"$request": true}` | http: answers with `{method, url, headers, body}` as they were sent |
//! | `{"$status": n, "headers": {…}, "body": value}` | http: an answer with that status and decoded body |
//! | `{"$exit": n, "stdout": text, "stderr": text}` | process: ended so |
//! | text | model, agent: what it says; else the value |
//! | any other value | the value, as it is |

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::Failed;
use branchpoint_expr::{Object, Value};

use crate::runner::{Answer, Body, Call, Runner};

/// Answers by step.
#[derive(Clone, Debug, Default)]
pub struct Script {
    steps: BTreeMap<Arc<str>, Lines>,
    /// How many calls each list has answered, by step and, where the list is for one, by place.
    used: BTreeMap<(Arc<str>, Option<Arc<str>>), usize>,
}

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
        Ok(Self { steps: lines.collect::<Result<_, _>>()?, used: BTreeMap::new() })
    }

    /// Whether the script has answers for a step.
    pub fn knows(&self, step: &str) -> bool {
        self.steps.contains_key(step)
    }

    /// The next entry for a step at a place, as it is written: what answers a call, or a question to people.
    pub fn entry(&mut self, step: &Arc<str>, path: &[u32]) -> Option<&Value> {
        let place: Arc<str> = path.iter().map(u32::to_string).collect::<Vec<_>>().join(",").into();
        let (entries, key) = match self.steps.get(step)? {
            Lines::One(entries) => (entries, None),
            Lines::ByPath(places) => (places.get(&place)?, Some(place)),
        };
        let used = self.used.entry((step.clone(), key)).or_default();
        let entry = entries.get(*used).or(entries.last());
        *used += 1;
        entry
    }
}

impl Lines {
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
        match self.entry(&step, &call.path) {
            Some(entry) => answer(entry, call),
            None if call.step.is_none() => beside(call),
            None => unanswered(&step, &call.path),
        }
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
    Answer::Failed(Failed { kind: "step_failed".into(), message: message.into(), again: false, answered: false })
}

fn answer(entry: &Value, call: &Call) -> Answer {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let is = |key: &str| entry.get(key) == Some(&Value::Bool(true));
    if let Some(message) = entry.get("$error") {
        let kind = entry.get("$kind").and_then(Value::as_str).unwrap_or("step_failed");
        return Answer::failed(kind, message.to_string());
    }
    if is("$hang") {
        return Answer::Never;
    }
    if let Some(value) = entry.get("$output") {
        let content_type = entry.get("$content_type").and_then(Value::as_str).map(Into::into);
        return Answer::Data { value: value.clone(), content_type };
    }
    if is("$prompt") {
        return Answer::model(call.input.get("prompt").map(ToString::to_string).unwrap_or_default());
    }
    if is("$request") {
        return Answer::Http { status: 200, headers: Object::default(), body: Body::Decoded(request(&call.input)) };
    }
    if let Some(status) = entry.get("$status").and_then(number) {
        let headers = entry.get("headers").and_then(Value::as_object).cloned().unwrap_or_default();
        let body = Body::Decoded(entry.get("body").cloned().unwrap_or_default());
        return Answer::Http { status, headers, body };
    }
    if let Some(exit) = entry.get("$exit").and_then(number) {
        return Answer::Process { exit, stdout: text("stdout").into(), stderr: text("stderr").into() };
    }
    match entry {
        Value::Str(text) if matches!(&*call.kind, "model" | "agent") => Answer::model(text.clone()),
        value => Answer::data(value.clone()),
    }
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
