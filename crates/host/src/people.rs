//! What runs ask people: votes, approvals that one answer settles, and lines of a conversation.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::{Event, Offer, Request, RequestNo};
use branchpoint_expr::{Object, Value};

use crate::host::Look;
use crate::script::Script;
use crate::store::{Store, Trouble};

/// The signal that carries a line of the user.
const LINE: &str = "line";

/// The signal that answers an approval which has no votes.
pub const RESUME: &str = "resume";

/// The choices of such an approval.
const DECISIONS: [&str; 2] = ["approve", "reject"];

/// Identifies an open question within its run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuestionKey {
    /// A request that people vote on.
    Vote(RequestNo),
    /// An approval that the first answer settles, by the id of its step.
    Approval(Arc<str>),
    /// The next line of a conversation.
    Line,
}

/// A question that a run waits for people to answer.
#[derive(Clone, Debug)]
pub struct OpenQuestion {
    /// Which question of the run it is.
    pub key: QuestionKey,
    /// The step that asks.
    pub step: Arc<str>,
    /// The text that people read.
    pub prompt: String,
    /// The request as the workflow wrote it; null if people do not vote.
    pub spec: Value,
    /// Recipients, votes, quorum and deadline, if people vote.
    pub request: Option<Request>,
}

impl OpenQuestion {
    /// The questions of a run that makes these offers: `specs` are the requests of the run by number, `result` is what the run
    /// shows as its result so far.
    pub fn list(offers: &[Offer], specs: &BTreeMap<RequestNo, Value>, result: &Value) -> Vec<Self> {
        let mut open = Vec::new();
        for offer in offers {
            match offer {
                Offer::Vote { request, asked } => {
                    let spec = specs.get(request).cloned().unwrap_or_default();
                    open.push(Self::vote(*request, asked, spec));
                }
                Offer::Signal { name, .. } if &**name == LINE => open.push(Self::line()),
                Offer::Signal { name, .. } if &**name == RESUME => {
                    let nodes = result.get("waiting").and_then(Value::as_list).unwrap_or_default();
                    open.extend(nodes.iter().filter_map(Value::as_str).map(|node| Self::approval(node, result)));
                }
                Offer::Signal { .. } => {}
            }
        }
        open
    }

    /// The questions of a run in the store.
    pub fn of(look: &Look, store: &Store) -> Result<Vec<Self>, Trouble> {
        let asked = store.questions(look.row.run)?.into_iter().map(|question| (question.request, question.spec));
        Ok(Self::list(&look.offers(), &asked.collect(), &look.result().unwrap_or_default()))
    }

    fn vote(request: RequestNo, asked: &Request, spec: Value) -> Self {
        let part = |key: &str| spec.get(key).filter(|value| **value != Value::Null).map(Value::to_string);
        Self {
            key: QuestionKey::Vote(request),
            step: part("step").unwrap_or_else(|| "people".into()).into(),
            prompt: part("prompt").unwrap_or_default(),
            spec,
            request: Some(asked.clone()),
        }
    }

    fn line() -> Self {
        Self { key: QuestionKey::Line, step: LINE.into(), prompt: String::new(), spec: Value::Null, request: None }
    }

    fn approval(node: &str, result: &Value) -> Self {
        let logs = result.get("logs").and_then(Value::as_list).unwrap_or_default();
        let text = |entry: &Value, key: &str| entry.get(key).map(Value::to_string).unwrap_or_default();
        let waits = |entry: &&Value| text(entry, "type") == "wait_input" && text(entry, "nodeId") == node;
        Self {
            key: QuestionKey::Approval(node.into()),
            step: node.into(),
            prompt: logs.iter().rfind(waits).map(|entry| text(entry, "content")).unwrap_or_default(),
            spec: Value::Null,
            request: None,
        }
    }

    /// The possible answers; none if any text is one.
    pub fn choices(&self) -> Vec<Arc<str>> {
        match (&self.request, &self.key) {
            (Some(request), _) => request.choices.clone(),
            (None, QuestionKey::Approval(_)) => DECISIONS.map(Arc::from).to_vec(),
            (None, _) => Vec::new(),
        }
    }

    /// Who may answer; empty if anybody may.
    pub fn recipients(&self) -> &[Arc<str>] {
        self.request.as_ref().map_or(&[], |request| &request.recipients)
    }

    /// Who has voted.
    pub fn voters(&self) -> impl Iterator<Item = &Arc<str>> {
        self.request.iter().flat_map(|request| &request.votes).map(|vote| &vote.user)
    }

    /// Recipients who have not voted.
    pub fn silent(&self) -> Vec<Arc<str>> {
        self.recipients().iter().filter(|user| !self.voters().any(|voter| voter == *user)).cloned().collect()
    }

    /// When the question settles by itself.
    pub fn deadline_ms(&self) -> Option<i64> {
        self.request.as_ref().and_then(|request| request.deadline_ms)
    }

    /// Whether the deadline has passed.
    pub fn is_overdue(&self, now_ms: i64) -> bool {
        self.deadline_ms().is_some_and(|deadline_ms| deadline_ms <= now_ms)
    }

    /// The name under which a script has the answer: approvals may share one name.
    pub fn name_in(&self, script: &Script) -> Arc<str> {
        match self.key {
            QuestionKey::Approval(_) if !script.knows(&self.step) => RESUME.into(),
            _ => self.step.clone(),
        }
    }

    /// The event that carries an answer of a user.
    pub fn answer(&self, user: Option<&str>, choice: &Value, comment: Option<&str>) -> Event {
        let comment = comment.map(Value::from);
        let (name, payload) = match &self.key {
            QuestionKey::Vote(RequestNo(number)) => {
                let number = Value::Int(i64::try_from(*number).unwrap_or(i64::MAX));
                let choice = choice.as_str().map_or_else(|| Value::from(choice.to_string()), Value::from);
                ("vote", object([("request", Some(number)), ("choice", Some(choice)), ("comment", comment)]))
            }
            QuestionKey::Approval(node) => {
                let input = match comment {
                    Some(note) => object([("decision", Some(choice.clone())), ("note", Some(note))]),
                    None => choice.clone(),
                };
                (RESUME, object([("id", Some(Value::Str(node.clone()))), ("input", Some(input))]))
            }
            QuestionKey::Line => (LINE, choice.clone()),
        };
        Event::Signal { name: name.into(), payload, sender: user.map(Into::into), key: None }
    }
}

/// One vote as a script writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenVote {
    /// Who votes.
    pub user: Arc<str>,
    /// For which choice.
    pub choice: Arc<str>,
    /// The comment with it.
    pub comment: Option<Arc<str>>,
}

/// The votes of an entry `{$votes: [...]}` of a script; none for other entries.
pub fn written_votes(entry: &Value) -> Option<Vec<WrittenVote>> {
    let votes = entry.get("$votes")?.as_list()?.iter().map(|vote| {
        let text = |key: &str| vote.get(key).and_then(Value::as_str).map(Arc::from);
        WrittenVote {
            user: text("user").unwrap_or_default(),
            choice: text("choice").unwrap_or_default(),
            comment: text("comment"),
        }
    });
    Some(votes.collect())
}

fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let fields = fields.into_iter().filter_map(|(key, value)| Some((Arc::from(key), value?)));
    Value::from(fields.collect::<Object>())
}
