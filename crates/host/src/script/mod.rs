//! The scripted runner: answers that someone wrote down, by step.
//!
//! A script is an object: the id of a step, and the list of answers to its calls. Call n gets entry n, and the last entry
//! repeats; a call is one attempt. What is no list is one entry. `{"$by_path": {"0,1": [...]}}` has a list for each place
//! in enclosing loops over items, by their positions, outermost first. Calls that belong to no step have their kind for an id.
//!
//! | entry | the call |
//! |---|---|
//! | `{"$error": text, "$kind": kind}` | fails; without a kind, with `step_failed` |
//! | … with `"$again": false`, `"$answered": true` | is not tried again; the other side had answered |
//! | … with `"$judged": true` | fails so, whatever the step makes of failures |
//! | `{"$hang": true}` | never answers, so the limit of its attempt fires |
//! | `{"$withdrawn": true}` | does not answer before somebody calls it off |
//! | `{"$output": value, "$content_type": type}` | gives the value with that content type |
//! | `{"$value": value}` | gives the value of the step, whatever the step makes of answers |
//! | `{"$text": text}` | model: says this |
//! | `{"$reply": value}` | model: a reply `{text, toolCalls, usage}` |
//! | … with `"$usage": {"tokens": n, "cost_micros": n, "input_tokens": n}` | has used up so much |
//! | `{"$prompt": true}` | model: answers with the prompt as it was sent |
//! | `{"$request": true}` | http: answers with `{method, url, headers, body}` as they were sent |
//! | `{"$status": n, "headers": {…}, "body": value}` | http: an answer with that status and decoded body |
//! | … with `"text"` for `"body"` | http: the body as it came over the wire |
//! | `{"$exit": n, "stdout": text, "stderr": text}` | process: ended so |
//! | `{"$timed_out": true, "stdout": text, "stderr": text}` | process: ended because it took too long |
//! | `{"$votes": [{"user": …, "choice": …, "comment": …}]}` | a question to people: who said what |
//! | text | model, agent: what it says; people: what everyone says; else the value |
//! | any other value | the value, as it is |
//!
//! Beside any of these, `"$delay_ms": n` says how long the call takes, and `"$match": text` that the entry is for calls that were
//! asked with this text. A call takes the first entry that is for it and was not taken yet, then the last that is for it.
//!
//! A recorded script has `$recorded` at its top. It answers every call, so a call that it does not know fails, and each of its
//! entries answers once. Calls of child runs stand under the steps that called the run: `caller/step`.

mod delay;
mod entry;
mod list;
mod recorded;
mod votes;

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::effect;
use branchpoint_core::effect::ProcessResult;
use branchpoint_core::{Again, Failed};
use branchpoint_expr::{Kind, Object, Value};

use branchpoint_runners::Secrets;
use branchpoint_runners::{Answer, Call};

use crate::virtual_driver::Rehearsed;
pub(crate) use entry::{VOTES, WITHDRAWN};
use entry::{answer, check, delay_ms};
use list::List;
pub use recorded::Recorded;
pub(crate) use recorded::{RECORDED, UNTOLD};
pub use votes::written_votes;

/// Lists by place.
const BY_PATH: &str = "$by_path";

/// So much of what a call was asked with is told.
const TOLD_CHARS: usize = 300;

/// Answers by step.
#[derive(Clone, Debug, Default)]
pub struct Script {
    steps: BTreeMap<Arc<str>, Lines>,
    recorded: Option<Recorded>,
    /// Secrets that messages must not show.
    mask: Secrets,
}

/// What a script says to a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The answer.
    pub answer: Answer,
    /// How long it takes.
    pub delay_ms: u64,
    /// Whether it does not come before somebody calls the call off.
    pub withdrawn: bool,
    /// The entry that it is.
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
enum Lines {
    /// One for all its calls.
    One(List),
    /// One for each place in the loops around it.
    ByPath(BTreeMap<Arc<str>, List>),
}

/// Why a value is no script.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
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
    /// Variables that it does not tell, and nobody else does.
    #[error("the script was recorded with {}, and does not tell what is secret; set it, to any value that stands nowhere else, since nothing goes outside", quoted(.0))]
    Untold(Vec<Arc<str>>),
    /// An entry that stands for no answer, or a key at the top that is no step.
    #[error("{} of the script: {}", place(.at), .wrong.message)]
    Wrong {
        /// Where: keys, and positions in lists.
        at: Vec<Value>,
        /// What.
        wrong: Wrong,
    },
}

/// What is wrong with a part of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The kind of the finding: an unknown key or a bad value.
    pub kind: Kind,
    /// Its key.
    pub key: Arc<str>,
    /// One sentence.
    pub message: String,
    /// What to do, if there is something to say.
    pub help: String,
}

impl Script {
    /// Reads a script.
    pub fn read(script: &Value) -> Result<Self, BadScript> {
        let steps = match script {
            Value::Null => return Ok(Self::default()),
            script => script.as_object().ok_or(BadScript::NotAnObject)?,
        };
        let mut read = Self::default();
        for (step, lines) in steps {
            if &**step == RECORDED {
                read.recorded = Some(Recorded::read(lines)?);
            } else if step.starts_with('$') {
                let message = format!("`{step}` is neither a step nor known here");
                return Err(BadScript::Wrong { at: Vec::new(), wrong: Wrong::unknown(step, message, [RECORDED]) });
            } else {
                read.steps.insert(step.clone(), Lines::read(step, lines)?);
            }
        }
        Ok(read)
    }

    /// Masks these secrets too in messages about calls.
    pub fn mask_with(&mut self, secrets: &[String]) {
        self.mask
            .add(secrets.iter().filter(|secret| !self.mask.values().contains(secret)).cloned().collect::<Vec<_>>());
    }

    /// Looks for the variables of the environment that a recorded script does not tell. They need not be what they were, only be there:
    /// a run that finds nothing in the place of a secret goes otherwise.
    pub fn look_up(&mut self, find: impl Fn(&str) -> Option<String>) -> Result<(), BadScript> {
        let Some(recorded) = &mut self.recorded else { return Ok(()) };
        let secrets = recorded.look_up(find)?;
        self.mask_with(secrets.values());
        Ok(())
    }

    /// What it knows beside answers, if it was recorded.
    pub fn recorded(&self) -> Option<&Recorded> {
        self.recorded.as_ref()
    }

    /// Whether the script has answers for a step.
    pub fn knows(&self, step: &str) -> bool {
        self.steps.contains_key(step)
    }

    /// The steps that it has answers for.
    pub fn steps(&self) -> impl Iterator<Item = &Arc<str>> {
        self.steps.keys()
    }

    /// Whether the script has answers for the step of a call.
    pub(crate) fn knows_call(&self, call: &Call) -> bool {
        self.knows(&self.key_of_step(&call.callers, &call.name()))
    }

    /// The key of the list for a step of a run that these steps called.
    fn key_of_step(&self, callers: &str, step: &Arc<str>) -> Arc<str> {
        let qualified = if callers.is_empty() { step.clone() } else { format!("{callers}/{step}").into() };
        // Who writes a script by hand need not know who calls the run.
        if self.recorded.is_some() || self.knows(&qualified) { qualified } else { step.clone() }
    }

    /// The answer to a request of a step to people.
    pub fn said(&mut self, step: &Arc<str>, callers: &str, path: &[u32], asked: &Value) -> Option<Value> {
        self.said_at(step, callers, path, asked).map(|(_, said)| said)
    }

    /// The same, with the key of the entry.
    pub(crate) fn said_at(
        &mut self,
        step: &Arc<str>,
        callers: &str,
        path: &[u32],
        asked: &Value,
    ) -> Option<(EntryKey, Value)> {
        let (step, is_recorded) = (self.key_of_step(callers, step), self.recorded.is_some());
        let (path, list) = self.steps.get_mut(&step)?.at(path, is_recorded)?;
        let index = list.take(!is_recorded, || asked.to_string())?;
        let said = list.entry(index).clone();
        Some((EntryKey { step, path, index }, said))
    }

    /// The answer to a call, or one sentence about why there is none.
    pub fn reply(&mut self, call: &Call) -> Result<Reply, String> {
        let (step, is_recorded) = (self.key_of_step(&call.callers, &call.name()), self.recorded.is_some());
        let list = self.steps.get_mut(&step).and_then(|lines| lines.at(&call.path, is_recorded));
        let taken = list.and_then(|(path, list)| Some((list.take(!is_recorded, || asked(call))?, path)));
        let Some((index, path)) = taken else { return Err(self.why_not(&step, call)) };
        self.reply_with(EntryKey { step, path, index }, call).unwrap_or_else(|| Err("the entry is gone".into()))
    }

    /// The answer to a call with a given entry, which is used from now on; none if there is no such entry.
    pub(crate) fn reply_with(&mut self, entry: EntryKey, call: &Call) -> Option<Result<Reply, String>> {
        let written = self.use_entry(&entry)?;
        let (delay_ms, withdrawn) = (delay_ms(&written), written.get(WITHDRAWN).is_some());
        let answer = answer(&written, call);
        let answer = match &self.recorded {
            Some(recorded) => recorded.filled(call, answer).map_err(|untold| untold.to_string()),
            None => Ok(answer),
        };
        Some(answer.map(|answer| Reply { answer, delay_ms, withdrawn, entry }))
    }

    /// Marks an entry as used and returns it; none if the script has no such entry.
    pub(crate) fn use_entry(&mut self, entry: &EntryKey) -> Option<Value> {
        let list = match self.steps.get_mut(&entry.step)? {
            Lines::One(list) => list,
            Lines::ByPath(lists) => lists.get_mut(&entry.path)?,
        };
        list.mark_used(entry.index).cloned()
    }

    /// Why a call has no answer.
    fn why_not(&mut self, step: &str, call: &Call) -> String {
        let place = if call.path.is_empty() { String::new() } else { format!(" at {:?}", call.path) };
        let told: String = self.mask.mask(&asked(call)).chars().take(TOLD_CHARS).collect();
        let list = self.steps.get_mut(step).and_then(|lines| lines.at(&call.path, self.recorded.is_some()));
        match (list.map(|(_, list)| list), &self.recorded) {
            (None, None) => format!("the script has no answer for step `{step}`{place}"),
            (None, Some(_)) => format!(
                "the recorded script has no answer for step `{step}`{place}: it was not called there when it was recorded"
            ),
            (Some(list), _) if list.matches => {
                let matches = list.matches().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", ");
                format!("no `$match` of step `{step}`{place} fits what it was asked with, {told}; there are: {matches}")
            }
            (Some(_), _) => format!(
                "the recorded script has no answer left for step `{step}`{place}: the step was called less often when the script \
                 was recorded. This call is {told}. Record the run again"
            ),
        }
    }
}

/// What a call was asked with, as it is searched and told.
fn asked(call: &Call) -> String {
    serde_json::to_string(&call.input).unwrap_or_default()
}

impl Lines {
    /// The list for an iteration path, with its key. A list for all paths is for no path in particular if `exact`.
    fn at(&mut self, path: &[u32], exact: bool) -> Option<(Arc<str>, &mut List)> {
        match self {
            Self::One(list) => (path.is_empty() || !exact).then(|| ("".into(), list)),
            Self::ByPath(places) => {
                let key = path.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
                places.get_mut(key.as_str()).map(|list| (key.into(), list))
            }
        }
    }

    fn read(step: &Arc<str>, lines: &Value) -> Result<Self, BadScript> {
        let at = vec![Value::Str(step.clone())];
        let Some(places) = lines.get(BY_PATH) else { return list(step, at, lines).map(Self::One) };
        if let Some(other) = lines.as_object().into_iter().flat_map(Object::keys).find(|key| &***key != BY_PATH) {
            let wrong = Wrong::at(other, format!("`{other}` says nothing beside `{BY_PATH}`"), "");
            return Err(BadScript::Wrong { at, wrong });
        }
        let places = places.as_object().ok_or_else(|| BadScript::BadPaths(step.clone()))?;
        let places = places.iter().map(|(place, lines)| {
            let at = [at.as_slice(), &[Value::from(BY_PATH), Value::Str(place.clone())]].concat();
            Ok((place.clone(), list(step, at, lines)?))
        });
        places.collect::<Result<_, _>>().map(Self::ByPath)
    }
}

fn list(step: &Arc<str>, at: Vec<Value>, lines: &Value) -> Result<List, BadScript> {
    let wrong_at = |at: Vec<Value>| move |wrong: Wrong| BadScript::Wrong { at, wrong };
    let Some(entries) = lines.as_list() else {
        check(lines).map_err(wrong_at(at))?;
        return Ok(List::of(vec![lines.clone()]));
    };
    if entries.is_empty() {
        return Err(BadScript::NoEntries(step.clone()));
    }
    for (position, entry) in (0..).zip(entries) {
        check(entry).map_err(wrong_at([at.as_slice(), &[Value::Int(position)]].concat()))?;
    }
    Ok(List::of(entries.to_vec()))
}

fn quoted(variables: &[Arc<str>]) -> String {
    variables.iter().map(|name| format!("the variable `{name}`")).collect::<Vec<_>>().join(" and ")
}

/// A place as a person says it.
fn place(at: &[Value]) -> String {
    let mut told = String::new();
    for part in at {
        told = match part {
            Value::Int(position) => format!("answer {} of {told}", position.saturating_add(1)),
            key if told.is_empty() => format!("`{key}`"),
            key => format!("`{key}` of {told}"),
        };
    }
    if told.is_empty() { "the top".to_owned() } else { told }
}

impl Script {
    /// The answer of a call, and how long it takes.
    pub fn rehearse(&mut self, call: &Call) -> Rehearsed {
        let beside = call.step.is_none() && self.recorded.is_none() && !self.knows_call(call);
        let reply = if beside { Err(String::new()) } else { self.reply(call) };
        match reply {
            Ok(reply) => Rehearsed { duration_ms: reply.delay_ms, ..reply.answer.into() },
            Err(_) if beside => {
                self::beside(call).unwrap_or_else(|| unanswered(self.why_not(&call.name(), call))).into()
            }
            Err(why) => unanswered(why).into(),
        }
    }
}

/// Work beside the steps, such as a hook of a state, goes well unless the script has answers for its kind: whoever writes a
/// script thinks of the steps.
fn beside(call: &Call) -> Option<Answer> {
    match call.kind() {
        effect::Kind::Notify => Some(Answer::data(Value::Null)),
        effect::Kind::Process => Some(Answer::Process(ProcessResult::new(0, "", ""))),
        _ => None,
    }
}

/// A call that the script does not know must not look like an answer, and would not be known a second time.
pub(crate) fn unanswered(why: String) -> Answer {
    Answer::Failed(Failed { kind: "step_failed".into(), message: why.into(), again: Again::Never, answered: false })
}
