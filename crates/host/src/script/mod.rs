//! Scripts: answers by step, written by a person or recorded.
//!
//! A script is an object: the id of a step, and the list of answers to its calls. Call n gets entry n, and the last entry
//! repeats; a call is one attempt. A value that is not a list is one entry. `{"$by_path": {"0,1": [...]}}` has a list for each
//! iteration of the enclosing loops, by the positions of the items, outermost first. Calls without a step use their kind as id.
//!
//! | entry | the call |
//! |---|---|
//! | `{"$error": text, "$kind": kind}` | fails; without a kind, with `step_failed` |
//! | … with `"$again": false`, `"$answered": true` | is not retried; the other side had answered |
//! | … with `"$judged": true` | fails exactly so; the failure is not judged |
//! | `{"$hang": true}` | never answers, so its attempt times out |
//! | `{"$withdrawn": true}` | does not answer before it is cancelled |
//! | `{"$output": value, "$content_type": type}` | gives the value with that content type |
//! | `{"$value": value}` | gives the value of the step; the answer is not judged |
//! | `{"$text": text}` | model: replies with this text |
//! | `{"$reply": value}` | model: a reply `{text, toolCalls, usage}` |
//! | … with `"$usage": {"tokens": n, "cost_micros": n, "input_tokens": n}` | reports this usage |
//! | `{"$prompt": true}` | model: answers with the prompt as it was sent |
//! | `{"$request": true}` | http: answers with `{method, url, headers, body}` as they were sent |
//! | `{"$status": n, "headers": {…}, "body": value}` | http: an answer with that status and decoded body |
//! | … with `"text"` for `"body"` | http: the body as it came over the wire |
//! | `{"$exit": n, "stdout": text, "stderr": text}` | process: ends with this exit code and output |
//! | `{"$timed_out": true, "stdout": text, "stderr": text}` | process: ends because of its time limit |
//! | `{"$votes": [{"user": …, "choice": …, "comment": …}]}` | an approval: the votes |
//! | text | model, agent: the reply; approval: the choice of every approver; otherwise the value |
//! | any other value | the value, as it is |
//!
//! Beside any of these, `"$delay_ms": n` is the duration of the call, and `"$match": text` restricts the entry to calls that are
//! requested with this text. A call uses the first matching entry that is unused, then the last matching entry.
//!
//! A recorded script has `$recorded` at its top. It answers every call: a call without an entry fails, and each entry
//! answers once. Calls of child runs are listed under the steps that called the run: `caller/step`.

mod delay;
mod entry;
mod list;
mod recording;
mod votes;

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::effect;
use branchpoint_core::effect::ProcessResult;
use branchpoint_core::{AttemptError, RetryHint};
use branchpoint_expr::{Kind, Object, Value};

use branchpoint_runners::Secrets;
use branchpoint_runners::{Answer, Call};

use crate::virtual_driver::SimulatedAnswer;
pub(crate) use entry::{VOTES, WITHDRAWN};
use entry::{answer, check, delay_ms};
use list::List;
pub use recording::Recording;
pub(crate) use recording::{OMITTED_VARIABLES, RECORDED};
pub use votes::{scripted_answer, votes_in_entry};

/// The key of lists by iteration path.
const BY_PATH: &str = "$by_path";

/// The most characters of a request in a message.
const SHOWN_CHARS: usize = 300;

/// Answers by step.
#[derive(Clone, Debug, Default)]
pub struct Script {
    steps: BTreeMap<Arc<str>, StepEntries>,
    recorded: Option<Recording>,
    /// Secrets that messages must not show.
    mask: Secrets,
}

/// A script's reply to a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The answer.
    pub answer: Answer,
    /// How long the call takes.
    pub delay_ms: u64,
    /// Whether the call stays unanswered until it is cancelled.
    pub withdrawn: bool,
    /// The entry of the script.
    pub(crate) entry: EntryKey,
}

/// Identifies an entry of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryKey {
    /// The key of its list.
    pub(crate) step: Arc<str>,
    /// The iteration path of its list; empty if the list is for all paths.
    pub(crate) path: Arc<str>,
    /// Its index in the list.
    pub(crate) index: usize,
}

/// The lists of one step.
#[derive(Clone, Debug)]
enum StepEntries {
    /// One list for all calls.
    One(List),
    /// One list for each iteration path.
    ByPath(BTreeMap<Arc<str>, List>),
}

/// Why a value is not a script.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScriptError {
    /// A script is an object.
    #[error("a script must be an object: the ids of steps, and the answers to their calls")]
    NotAnObject,
    /// An empty list.
    #[error("the script has no answer for step `{0}`; give its list at least one entry, or leave the step out")]
    NoEntries(Arc<str>),
    /// `$by_path` holds lists by iteration path.
    #[error("`$by_path` of step `{0}` must be an object: iteration paths such as \"0,1\", and the answers for them")]
    BadPaths(Arc<str>),
    /// Variables that the recording leaves out and the environment does not have.
    #[error("the recording leaves out the value of {}, which is secret. Set it to any unique value; a replay sends it nowhere", quoted(.0))]
    MissingVariables(Vec<Arc<str>>),
    /// An invalid entry, or an unknown key at the top.
    #[error("{} of the script: {}", location(.at), .error.message)]
    Entry {
        /// Location: keys, and positions in lists.
        at: Vec<Value>,
        /// The problem.
        error: EntryError,
    },
}

/// A problem with a part of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryError {
    /// The kind of the finding: an unknown key or a bad value.
    pub kind: Kind,
    /// The key of the part.
    pub key: Arc<str>,
    /// One sentence.
    pub message: String,
    /// The remedy; may be empty.
    pub help: String,
}

impl Script {
    /// Reads a script.
    ///
    /// ```
    /// use branchpoint_expr::Value;
    /// use branchpoint_host::Script;
    ///
    /// let entries: Value = serde_json::from_str(r#"{"ask": ["hello", {"$error": "down"}]}"#).unwrap();
    /// let mut script = Script::read(&entries).unwrap();
    /// assert!(Script::read(&Value::from("ask")).is_err());
    /// ```
    pub fn read(script: &Value) -> Result<Self, ScriptError> {
        let steps = match script {
            Value::Null => return Ok(Self::default()),
            script => script.as_object().ok_or(ScriptError::NotAnObject)?,
        };
        let mut read = Self::default();
        for (step, lines) in steps {
            if &**step == RECORDED {
                read.recorded = Some(Recording::read(lines)?);
            } else if step.starts_with('$') {
                let message = format!("`{step}` is unknown; step ids do not begin with `$`");
                return Err(ScriptError::Entry {
                    at: Vec::new(),
                    error: EntryError::unknown(step, message, [RECORDED]),
                });
            } else {
                read.steps.insert(step.clone(), StepEntries::read(step, lines)?);
            }
        }
        Ok(read)
    }

    /// Masks these secrets in messages about calls, too.
    ///
    /// ```
    /// use branchpoint_expr::Value;
    /// use branchpoint_host::Script;
    ///
    /// let entries: Value = serde_json::from_str(r#"{"ask": ["hello", {"$error": "down"}]}"#).unwrap();
    /// let mut script = Script::read(&entries).unwrap();
    /// script.add_secrets(&["pa55word".to_owned()]);
    /// ```
    pub fn add_secrets(&mut self, secrets: &[String]) {
        self.mask
            .add(secrets.iter().filter(|secret| !self.mask.values().contains(secret)).cloned().collect::<Vec<_>>());
    }

    /// Looks up the environment variables that a recording leaves out. Any value will do, but a run may behave differently without one.
    ///
    /// ```
    /// use branchpoint_expr::Value;
    /// use branchpoint_host::Script;
    ///
    /// let entries: Value = serde_json::from_str(r#"{"ask": ["hello", {"$error": "down"}]}"#).unwrap();
    /// let mut script = Script::read(&entries).unwrap();
    /// script.resolve_variables(|name| std::env::var(name).ok()).unwrap();
    /// ```
    pub fn resolve_variables(&mut self, find: impl Fn(&str) -> Option<String>) -> Result<(), ScriptError> {
        let Some(recorded) = &mut self.recorded else { return Ok(()) };
        let secrets = recorded.resolve_variables(find)?;
        self.add_secrets(secrets.values());
        Ok(())
    }

    /// The facts of a recording; none for a script that a person wrote.
    ///
    /// ```
    /// use branchpoint_expr::Value;
    /// use branchpoint_host::Script;
    ///
    /// let entries: Value = serde_json::from_str(r#"{"ask": ["hello", {"$error": "down"}]}"#).unwrap();
    /// let mut script = Script::read(&entries).unwrap();
    /// assert!(script.recording().is_none(), "a person wrote it");
    /// ```
    pub fn recording(&self) -> Option<&Recording> {
        self.recorded.as_ref()
    }

    /// Whether the script has answers for a step.
    ///
    /// ```
    /// use branchpoint_expr::Value;
    /// use branchpoint_host::Script;
    ///
    /// let entries: Value = serde_json::from_str(r#"{"ask": ["hello", {"$error": "down"}]}"#).unwrap();
    /// let mut script = Script::read(&entries).unwrap();
    /// assert!(script.has_step("ask") && !script.has_step("other"));
    /// ```
    pub fn has_step(&self, step: &str) -> bool {
        self.steps.contains_key(step)
    }

    /// The steps with answers.
    ///
    /// ```
    /// use branchpoint_expr::Value;
    /// use branchpoint_host::Script;
    ///
    /// let entries: Value = serde_json::from_str(r#"{"ask": ["hello", {"$error": "down"}]}"#).unwrap();
    /// let mut script = Script::read(&entries).unwrap();
    /// assert_eq!(script.steps().map(|step| &**step).collect::<Vec<_>>(), ["ask"]);
    /// ```
    pub fn steps(&self) -> impl Iterator<Item = &Arc<str>> {
        self.steps.keys()
    }

    /// Whether the script has answers for the step of a call.
    pub(crate) fn has_step_of(&self, call: &Call) -> bool {
        self.has_step(&self.key_of_step(&call.callers, &call.name()))
    }

    /// The key of the list for a step of a run that these steps called.
    fn key_of_step(&self, callers: &str, step: &Arc<str>) -> Arc<str> {
        let qualified = if callers.is_empty() { step.clone() } else { format!("{callers}/{step}").into() };
        // A person who writes a script need not know which steps call the run.
        if self.recorded.is_some() || self.has_step(&qualified) { qualified } else { step.clone() }
    }

    /// The answer to a request of a step to people.
    ///
    /// ```
    /// use branchpoint_expr::Value;
    /// use branchpoint_host::Script;
    ///
    /// let entries: Value = serde_json::from_str(r#"{"check": ["approve"]}"#).unwrap();
    /// let mut script = Script::read(&entries).unwrap();
    /// let answer = script.approval_answer(&"check".into(), "", &[], &Value::Null);
    /// assert_eq!(answer, Some("approve".into()));
    /// ```
    pub fn approval_answer(&mut self, step: &Arc<str>, callers: &str, path: &[u32], spec: &Value) -> Option<Value> {
        self.approval_entry(step, callers, path, spec).map(|(_, answer)| answer)
    }

    /// The answer to a request of a step to people, with the key of its entry.
    pub(crate) fn approval_entry(
        &mut self,
        step: &Arc<str>,
        callers: &str,
        path: &[u32],
        spec: &Value,
    ) -> Option<(EntryKey, Value)> {
        let (step, is_recorded) = (self.key_of_step(callers, step), self.recorded.is_some());
        let (path, list) = self.steps.get_mut(&step)?.list_for(path, is_recorded)?;
        let index = list.take(!is_recorded, || spec.to_string())?;
        let answer = list.entry(index).clone();
        Some((EntryKey { step, path, index }, answer))
    }

    /// The answer to a call, or one sentence about why there is none.
    ///
    /// ```
    #[doc = include_str!("../../docs/virtual.txt")]
    /// let entries: Value = serde_json::from_str(r#"{"ask": ["hello", {"$error": "down"}]}"#).unwrap();
    /// let mut script = Script::read(&entries).unwrap();
    /// driver.run_until_idle(&mut |call| {
    ///     let reply = script.reply(call).unwrap();
    ///     SimulatedAnswer { duration_ms: reply.delay_ms, ..reply.answer.into() }
    /// });
    /// assert_eq!(driver.result(), Some(&"hello".into()));
    /// ```
    pub fn reply(&mut self, call: &Call) -> Result<Reply, String> {
        let (step, is_recorded) = (self.key_of_step(&call.callers, &call.name()), self.recorded.is_some());
        let list = self.steps.get_mut(&step).and_then(|entries| entries.list_for(&call.path, is_recorded));
        let entry = list.and_then(|(path, list)| Some((list.take(!is_recorded, || request_text(call))?, path)));
        let Some((index, path)) = entry else { return Err(self.missing_reason(&step, call)) };
        self.reply_with(EntryKey { step, path, index }, call).unwrap_or_else(|| Err("the entry is gone".into()))
    }

    /// The answer to a call with a given entry, which is used from now on; none if there is no such entry.
    pub(crate) fn reply_with(&mut self, entry: EntryKey, call: &Call) -> Option<Result<Reply, String>> {
        let written = self.use_entry(&entry)?;
        let (delay_ms, withdrawn) = (delay_ms(&written), written.get(WITHDRAWN).is_some());
        let answer = answer(&written, call);
        let answer = match &self.recorded {
            Some(recorded) => recorded.fill(call, answer).map_err(|missing| missing.to_string()),
            None => Ok(answer),
        };
        Some(answer.map(|answer| Reply { answer, delay_ms, withdrawn, entry }))
    }

    /// Marks an entry as used and returns it; none if the script has no such entry.
    pub(crate) fn use_entry(&mut self, entry: &EntryKey) -> Option<Value> {
        let list = match self.steps.get_mut(&entry.step)? {
            StepEntries::One(list) => list,
            StepEntries::ByPath(lists) => lists.get_mut(&entry.path)?,
        };
        list.mark_used(entry.index).cloned()
    }

    /// Why a call has no answer.
    fn missing_reason(&mut self, step: &str, call: &Call) -> String {
        let place = if call.path.is_empty() { String::new() } else { format!(" at {:?}", call.path) };
        let request: String = self.mask.mask(&request_text(call)).chars().take(SHOWN_CHARS).collect();
        let list = self.steps.get_mut(step).and_then(|entries| entries.list_for(&call.path, self.recorded.is_some()));
        match (list.map(|(_, list)| list), &self.recorded) {
            (None, None) => format!("the script has no answer for step `{step}`{place}"),
            (None, Some(_)) => format!(
                "the recorded script has no answer for step `{step}`{place}: it was not called there when it was recorded"
            ),
            (Some(list), _) if list.matches => {
                let matches = list.matches().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", ");
                format!("no `$match` of step `{step}`{place} matches the request {request}; the matches are {matches}")
            }
            (Some(_), _) => format!(
                "the recorded script has no answer left for step `{step}`{place}: the step was called less often when the script \
                 was recorded. This call is {request}. Record the run again"
            ),
        }
    }
}

/// The request of a call as text, which `$match` searches and messages show.
fn request_text(call: &Call) -> String {
    serde_json::to_string(&call.input).unwrap_or_default()
}

impl StepEntries {
    /// The list for an iteration path, with its key. A list for all paths is for no path in particular if `exact`.
    fn list_for(&mut self, path: &[u32], exact: bool) -> Option<(Arc<str>, &mut List)> {
        match self {
            Self::One(list) => (path.is_empty() || !exact).then(|| ("".into(), list)),
            Self::ByPath(places) => {
                let key = path.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
                places.get_mut(key.as_str()).map(|list| (key.into(), list))
            }
        }
    }

    fn read(step: &Arc<str>, lines: &Value) -> Result<Self, ScriptError> {
        let at = vec![Value::Str(step.clone())];
        let Some(places) = lines.get(BY_PATH) else { return read_list(step, at, lines).map(Self::One) };
        if let Some(other) = lines.as_object().into_iter().flat_map(Object::keys).find(|key| &***key != BY_PATH) {
            let error = EntryError::at(other, format!("`{other}` cannot be combined with `{BY_PATH}`"), "");
            return Err(ScriptError::Entry { at, error });
        }
        let places = places.as_object().ok_or_else(|| ScriptError::BadPaths(step.clone()))?;
        let places = places.iter().map(|(place, lines)| {
            let at = [at.as_slice(), &[Value::from(BY_PATH), Value::Str(place.clone())]].concat();
            Ok((place.clone(), read_list(step, at, lines)?))
        });
        places.collect::<Result<_, _>>().map(Self::ByPath)
    }
}

fn read_list(step: &Arc<str>, at: Vec<Value>, lines: &Value) -> Result<List, ScriptError> {
    let error_at = |at: Vec<Value>| move |error: EntryError| ScriptError::Entry { at, error };
    let Some(entries) = lines.as_list() else {
        check(lines).map_err(error_at(at))?;
        return Ok(List::of(vec![lines.clone()]));
    };
    if entries.is_empty() {
        return Err(ScriptError::NoEntries(step.clone()));
    }
    for (position, entry) in (0..).zip(entries) {
        check(entry).map_err(error_at([at.as_slice(), &[Value::Int(position)]].concat()))?;
    }
    Ok(List::of(entries.to_vec()))
}

fn quoted(variables: &[Arc<str>]) -> String {
    variables.iter().map(|name| format!("the variable `{name}`")).collect::<Vec<_>>().join(" and ")
}

/// Describes a location in a script, such as "answer 2 of `review`".
fn location(at: &[Value]) -> String {
    let mut text = String::new();
    for part in at {
        text = match part {
            Value::Int(position) => format!("answer {} of {text}", position.saturating_add(1)),
            key if text.is_empty() => format!("`{key}`"),
            key => format!("`{key}` of {text}"),
        };
    }
    if text.is_empty() { "the top".to_owned() } else { text }
}

impl Script {
    /// The simulated answer of a call, with its duration.
    ///
    /// ```
    #[doc = include_str!("../../docs/virtual.txt")]
    /// let entries: Value = serde_json::from_str(r#"{"ask": ["hello", {"$error": "down"}]}"#).unwrap();
    /// let mut script = Script::read(&entries).unwrap();
    /// driver.run_until_idle(&mut |call| script.simulate(call));
    /// assert_eq!(driver.result(), Some(&"hello".into()));
    /// ```
    pub fn simulate(&mut self, call: &Call) -> SimulatedAnswer {
        let is_default = call.step.is_none() && self.recorded.is_none() && !self.has_step_of(call);
        let reply = if is_default { Err(String::new()) } else { self.reply(call) };
        match reply {
            Ok(reply) => SimulatedAnswer { duration_ms: reply.delay_ms, ..reply.answer.into() },
            Err(_) if is_default => {
                default_answer(call).unwrap_or_else(|| unanswered(self.missing_reason(&call.name(), call))).into()
            }
            Err(why) => unanswered(why).into(),
        }
    }
}

/// The answer of a call without a step, such as a hook of a state, for which the script has no entry: it succeeds, because the author of
/// a script thinks of the steps.
fn default_answer(call: &Call) -> Option<Answer> {
    match call.kind() {
        effect::Kind::Notify => Some(Answer::data(Value::Null)),
        effect::Kind::Process => Some(Answer::Process(ProcessResult::new(0, "", ""))),
        _ => None,
    }
}

/// The failure of a call that the script does not answer. A retry would fail, too.
pub(crate) fn unanswered(why: String) -> Answer {
    Answer::Failed(AttemptError {
        kind: "step_failed".into(),
        message: why.into(),
        retry: RetryHint::Never,
        answered: false,
    })
}
