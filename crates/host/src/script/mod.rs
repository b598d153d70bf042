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
//! | … with `"$usage": {"tokens": n, "cost_micros": n}` | has used up so much |
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
//! Whoever recorded a script has put `$recorded` at its top, and `"$call"` into each entry, the identity of the call that it
//! answered: it answers no other, and only once. A recorded script answers everything, so a call that it does not know fails.

mod delay;
mod entry;
mod list;
mod position;
mod recorded;
mod votes;

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::effect;
use branchpoint_core::{Again, Failed};
use branchpoint_expr::{Kind, Object, Value};

use crate::recordings::{self, Times};
use branchpoint_runners::Secrets;
use branchpoint_runners::{Answer, Call, Runner};
pub(crate) use entry::{CALL, VOTES, WITHDRAWN};
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
    /// What the identities of calls must not depend on.
    mask: Secrets,
    /// What of it stays, whatever else is masked: variables that a recorded script does not tell.
    hidden: Secrets,
    /// From when to when it is played, as far as that has come.
    played: Option<Times>,
    /// How long the call takes that was performed last.
    delay_ms: u64,
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
    /// The index of the entry that it is.
    pub(crate) entry: usize,
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

    /// What the identities of calls must not depend on: these secrets are masked in what calls were asked with.
    pub fn mask_with(&mut self, mask: Secrets) {
        self.mask = mask;
        if !self.hidden.values().is_empty() {
            self.mask.add(self.hidden.values());
        }
    }

    /// Nor must they depend on these, whatever else is masked: variables of the environment that are secret.
    pub fn hide(&mut self, variables: &Secrets) {
        self.hidden.add(variables.values());
        self.mask.add(variables.values());
    }

    /// Looks for the variables of the environment that a recorded script does not tell. They need not be what they were, only be there:
    /// a run that finds nothing in the place of a secret goes otherwise.
    pub fn look_up(&mut self, find: impl Fn(&str) -> Option<String>) -> Result<(), BadScript> {
        let Some(recorded) = &mut self.recorded else { return Ok(()) };
        let secrets = recorded.look_up(find)?;
        self.hide(&secrets);
        Ok(())
    }

    /// Since when it is played: moments from then to the present are taken for those of the time when it was recorded.
    pub fn played_since(&mut self, since_ms: i64) {
        let until_ms = self.played.map_or(since_ms, |Times(_, until_ms)| until_ms.max(since_ms));
        self.played = Some(Times(since_ms, until_ms));
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

    /// What people say to a question of a step, as it is written.
    pub fn said(&mut self, step: &str, question: &Value) -> Option<Value> {
        self.said_at(step, question).map(|(_, said)| said)
    }

    /// The same, with the index of the entry.
    pub(crate) fn said_at(&mut self, step: &str, question: &Value) -> Option<(usize, Value)> {
        let (mask, times) = (&self.mask, self.times());
        let list = self.steps.get_mut(step)?.at(&[])?;
        let identities = times.iter().map(|times| recordings::identity_of_question(question, mask, times));
        let at = list.take(identities, || question.to_string())?;
        Some((at, list.entry(at).clone()))
    }

    /// What it says to a call; or one sentence about why it says nothing.
    pub fn reply(&mut self, call: &Call) -> Result<Reply, String> {
        let step = &call.name();
        let (mask, times) = (&self.mask, self.times());
        let list = self.steps.get_mut(step).and_then(|lines| lines.at(&call.path));
        let identities = times.iter().map(|times| recordings::identity(call, mask, times));
        let taken = list.and_then(|list| list.take(identities, || asked(call)).map(|at| (at, list.entry(at))));
        let Some((at, entry)) = taken else { return Err(self.why_not(step, call)) };
        let mut answer = answer(entry, call);
        if let Some(recorded) = &self.recorded {
            answer = recorded.filled(call, answer).map_err(|untold| untold.to_string())?;
        }
        let withdrawn = entry.get(WITHDRAWN).is_some();
        Ok(Reply { answer, delay_ms: delay_ms(entry), withdrawn, entry: at })
    }

    /// The times whose moments say nothing. Those of the recording come first, because what was there then may come again; what is
    /// said now of the present stands for what was said then of the time then.
    fn times(&self) -> Vec<Vec<Times>> {
        let then = self.recorded.as_ref().and_then(|recorded| recorded.times);
        let then: Vec<Times> = then.into_iter().collect();
        let both = then.iter().copied().chain(self.played).collect();
        vec![then, both]
    }

    /// Why a call has no answer.
    fn why_not(&mut self, step: &str, call: &Call) -> String {
        let place = if call.path.is_empty() { String::new() } else { format!(" at {:?}", call.path) };
        let told: String = self.mask.mask(&asked(call)).chars().take(TOLD_CHARS).collect();
        let list = self.steps.get_mut(step).and_then(|lines| lines.at(&call.path));
        match (list, &self.recorded) {
            (None, None) => format!("the script has no answer for step `{step}`{place}"),
            (None, Some(_)) => format!(
                "the recorded script has no answer for step `{step}`{place}: it was not called there when it was recorded"
            ),
            (Some(list), _) if list.matches => {
                let matches = list.matches().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", ");
                format!("no `$match` of step `{step}`{place} fits what it was asked with, {told}; there are: {matches}")
            }
            (Some(_), _) => format!(
                "the recorded script has no answer left for this call of step `{step}`{place}: it was asked otherwise, or less \
                 often, when it was recorded. Now it is asked with {told}. Record it anew; or leave `$call` out of an \
                 entry, which then answers in order"
            ),
        }
    }
}

/// What a call was asked with, as it is searched and told.
fn asked(call: &Call) -> String {
    serde_json::to_string(&call.input).unwrap_or_default()
}

impl Lines {
    /// The list for a place.
    fn at(&mut self, path: &[u32]) -> Option<&mut List> {
        match self {
            Self::One(list) => Some(list),
            Self::ByPath(places) => {
                places.get_mut(path.iter().map(u32::to_string).collect::<Vec<_>>().join(",").as_str())
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

impl Runner for Script {
    fn at(&mut self, now_ms: i64) {
        if let Some(Times(_, until_ms)) = &mut self.played {
            *until_ms = now_ms.max(*until_ms);
        }
    }

    fn perform(&mut self, call: &Call) -> Answer {
        let beside = call.step.is_none() && self.recorded.is_none() && !self.knows(call.kind().as_str());
        let reply = if beside { Err(String::new()) } else { self.reply(call) };
        self.delay_ms = reply.as_ref().map_or(0, |reply| reply.delay_ms);
        match reply {
            Ok(reply) => reply.answer,
            Err(_) if beside => self::beside(call).unwrap_or_else(|| unanswered(self.why_not(&call.name(), call))),
            Err(why) => unanswered(why),
        }
    }

    fn duration_ms(&mut self, _call: &Call) -> u64 {
        self.delay_ms
    }
}

/// Work beside the steps, such as a hook of a state, goes well unless the script has answers for its kind: whoever writes a
/// script thinks of the steps.
fn beside(call: &Call) -> Option<Answer> {
    match call.kind() {
        effect::Kind::Notify => Some(Answer::data(Value::Null)),
        effect::Kind::Shell => Some(Answer::Process { exit: 0, stdout: "".into(), stderr: "".into(), cut: None }),
        _ => None,
    }
}

/// A call that the script does not know must not look like an answer, and would not be known a second time.
pub(crate) fn unanswered(why: String) -> Answer {
    Answer::Failed(Failed { kind: "step_failed".into(), message: why.into(), again: Again::Never, answered: false })
}
