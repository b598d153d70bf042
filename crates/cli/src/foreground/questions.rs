//! What a run waits for people with: votes on questions, approvals of a graph, lines of a conversation.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_core::{Event, Offer, Request, RequestNo, offers};
use branchpoint_engine::Memory;
use branchpoint_engine::host::Look;
use branchpoint_engine::store::{RunNo, Store, Trouble};
use branchpoint_expr::{Object, Value, shell};

use crate::run::Answers;

/// The signal that brings a line of the user.
const LINE: &str = "line";

/// The signal that answers an approval of a graph.
const RESUME: &str = "resume";

/// The answers to an approval of a graph.
const DECISIONS: [&str; 2] = ["approve", "reject"];

/// One thing that somebody has to answer.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) run: RunNo,
    /// The id of the run.
    pub(crate) id: String,
    pub(crate) what: What,
    /// The step that asks.
    pub(crate) step: Arc<str>,
    /// What it asks.
    pub(crate) prompt: String,
    /// What can be answered; nothing: any text.
    pub(crate) choices: Vec<Arc<str>>,
    /// Who is asked; nobody: anybody.
    pub(crate) recipients: Vec<Arc<str>>,
    /// Who has answered.
    pub(crate) voted: Vec<Arc<str>>,
    /// The whole question, for whoever has written down what is said to it.
    pub(crate) question: Value,
    /// Whether it settles by itself after some time.
    pub(crate) expires: bool,
}

/// Which kind of thing it is, and its name in the run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    Vote(RequestNo),
    Approval(Arc<str>),
    Line,
}

/// A run that may wait for people.
struct Waiting {
    run: RunNo,
    id: String,
    offers: Vec<Offer>,
    /// Everything that was asked, by number.
    asked: BTreeMap<RequestNo, Value>,
    result: Value,
}

impl Waiting {
    /// What it waits for, oldest first.
    fn open(&self) -> Vec<Open> {
        let mut open = Vec::new();
        for offer in &self.offers {
            match offer {
                Offer::Vote { request, asked } => open.push(self.vote(*request, asked)),
                Offer::Signal { name, .. } if &**name == LINE => open.push(self.blank(What::Line, LINE.into())),
                Offer::Signal { name, .. } if &**name == RESUME => {
                    let nodes = self.result.get("waiting").and_then(Value::as_list).unwrap_or_default();
                    open.extend(nodes.iter().filter_map(Value::as_str).map(|node| self.approval(node)));
                }
                Offer::Signal { .. } => {}
            }
        }
        open
    }

    fn vote(&self, request: RequestNo, asked: &Request) -> Open {
        let question = self.asked.get(&request).cloned().unwrap_or_default();
        let part = |key: &str| question.get(key).filter(|value| **value != Value::Null).map(Value::to_string);
        let step = part("step").unwrap_or_else(|| "people".into()).into();
        Open {
            prompt: part("prompt").unwrap_or_default(),
            choices: asked.choices.clone(),
            expires: asked.deadline_ms.is_some(),
            voted: asked.votes.iter().map(|vote| vote.user.clone()).collect(),
            recipients: asked.recipients.clone(),
            question,
            ..self.blank(What::Vote(request), step)
        }
    }

    fn approval(&self, node: &str) -> Open {
        Open {
            prompt: approval_prompt(&self.result, node),
            choices: DECISIONS.map(Arc::from).to_vec(),
            ..self.blank(What::Approval(node.into()), node.into())
        }
    }

    fn blank(&self, what: What, step: Arc<str>) -> Open {
        Open {
            run: self.run,
            id: self.id.clone(),
            what,
            step,
            prompt: String::new(),
            choices: Vec::new(),
            recipients: Vec::new(),
            voted: Vec::new(),
            question: Value::Null,
            expires: false,
        }
    }
}

impl Open {
    /// What a run waits for, oldest first.
    pub(crate) fn of(look: &Look, store: &Store) -> Result<Vec<Self>, Trouble> {
        let asked = store.questions(look.row.run)?.into_iter().map(|question| (question.request, question.spec));
        let (run, id, offers) = (look.row.run, look.row.id.clone(), look.offers());
        Ok(Waiting { run, id, offers, asked: asked.collect(), result: look.result().unwrap_or_default() }.open())
    }

    /// What a run waits for that is only tried, and has no name.
    pub(crate) fn of_trial(program: &Program, trial: &Memory<'_>) -> Vec<Self> {
        let asked = trial.questions().iter().map(|question| (question.request, question.spec.clone()));
        let (run, id, offers) = (RunNo::default(), String::new(), offers(program, trial.state()));
        Waiting { run, id, offers, asked: asked.collect(), result: trial.view("result").unwrap_or_default() }.open()
    }

    /// The name under which a script answers it: approvals may stand under one name for all.
    pub(crate) fn name_in(&self, answers: &Answers) -> Arc<str> {
        match self.what {
            What::Approval(_) if !answers.knows(&self.step) => RESUME.into(),
            _ => self.step.clone(),
        }
    }

    /// Everyone who may answer and has not; nobody in particular, where anybody may.
    pub(crate) fn everyone(&self) -> Vec<Option<&str>> {
        match self.what {
            What::Vote(_) => {
                self.recipients.iter().filter(|user| !self.voted.contains(user)).map(|user| Some(&**user)).collect()
            }
            _ => vec![None],
        }
    }

    /// The event that brings an answer of somebody.
    pub(crate) fn answer(&self, user: Option<&str>, choice: &Value, comment: Option<&str>) -> Event {
        let comment = comment.map(Value::from);
        let (name, payload) = match &self.what {
            What::Vote(RequestNo(number)) => {
                let number = Value::Int(i64::try_from(*number).unwrap_or(i64::MAX));
                let choice = choice.as_str().map_or_else(|| Value::from(choice.to_string()), Value::from);
                ("vote", object([("request", Some(number)), ("choice", Some(choice)), ("comment", comment)]))
            }
            What::Approval(node) => {
                let input = match comment {
                    Some(note) => object([("decision", Some(choice.clone())), ("note", Some(note))]),
                    None => choice.clone(),
                };
                (RESUME, object([("id", Some(Value::Str(node.clone()))), ("input", Some(input))]))
            }
            What::Line => (LINE, choice.clone()),
        };
        Event::Signal { name: name.into(), payload, sender: user.map(Into::into), key: None }
    }

    /// The question as a person reads it.
    pub(crate) fn shown(&self) -> String {
        let prompt = self.prompt.trim_end().replace('\n', "\n  ");
        let choices: Vec<&str> = self.choices.iter().map(|choice| &**choice).collect();
        let shown = format!("The step `{}` asks people:\n  {prompt}\nChoices: {}\n", self.step, choices.join(", "));
        let people = |word: &str, people: &[Arc<str>]| {
            if people.is_empty() { String::new() } else { format!("{word}: {}\n", people.join(", ")) }
        };
        shown + &people("Asked", &self.recipients) + &people("Answered", &self.voted)
    }

    /// How it is named to commands about approvals.
    pub(crate) fn reference(&self) -> String {
        reference(&self.id, &self.what)
    }

    /// What to type to answer it.
    pub(crate) fn command(&self) -> Option<String> {
        let user = self.recipients.iter().find(|user| !self.voted.contains(user));
        Some(command(&self.reference(), self.choices.first()?, user.map(|user| &**user)))
    }

    /// The question for programs.
    pub(crate) fn to_value(&self) -> Value {
        let texts =
            |texts: &[Arc<str>]| Value::from(texts.iter().map(|text| Value::Str(text.clone())).collect::<Vec<_>>());
        object([
            ("approval", Some(Value::from(self.reference()))),
            ("step", Some(Value::Str(self.step.clone()))),
            ("question", Some(Value::from(self.prompt.as_str()))),
            ("choices", Some(texts(&self.choices))),
            ("recipients", Some(texts(&self.recipients))),
            ("voted", Some(texts(&self.voted))),
            ("command", self.command().map(Value::from)),
        ])
    }
}

/// How a question is named to commands about approvals: the run, and what it is called there.
pub(crate) fn reference(run: &str, what: &What) -> String {
    match what {
        What::Vote(RequestNo(number)) => format!("{run}/{number}"),
        What::Approval(node) => format!("{run}/{node}"),
        What::Line => run.to_owned(),
    }
}

/// The command that answers an approval as a user, quoted for a shell.
pub(crate) fn command(reference: &str, choice: &str, user: Option<&str>) -> String {
    // A word that begins with a dash would be read as an option.
    let is_option = |word: &str| word.starts_with('-');
    let user = user.map(|user| format!(" --as{}{}", if is_option(user) { '=' } else { ' ' }, quoted(user)));
    let (user, words) = (user.unwrap_or_default(), format!("{} {}", quoted(reference), quoted(choice)));
    if is_option(reference) || is_option(choice) {
        format!("branchpoint approvals vote{user} -- {words}")
    } else {
        format!("branchpoint approvals vote {words}{user}")
    }
}

/// A word of a shell command, in quotes unless it needs none.
pub(crate) fn quoted(text: &str) -> String {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./@:+".contains(c));
    if plain { text.to_owned() } else { shell::word(text) }
}

/// What a graph said when it began to wait at a node.
fn approval_prompt(result: &Value, node: &str) -> String {
    let logs = result.get("logs").and_then(Value::as_list).unwrap_or_default();
    let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let waits = |entry: &&Value| text(entry, "type") == "wait_input" && text(entry, "nodeId") == node;
    logs.iter().rfind(waits).map(|entry| text(entry, "content")).unwrap_or_default()
}

fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let fields = fields.into_iter().filter_map(|(key, value)| Some((Arc::from(key), value?)));
    Value::from(fields.collect::<Object>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(reference: &str, choice: &str, user: Option<&str>, expect: &str) {
        assert_eq!(command(reference, choice, user), format!("branchpoint approvals vote {expect}"));
    }

    #[test]
    fn the_suggested_command_is_quoted_for_a_shell() {
        check("k/1", "approve", Some("ada"), "k/1 approve --as ada");
        check("k/a b; rm -rf ~", "$(id)", None, "'k/a b; rm -rf ~' '$(id)'");
        check("k/1", "it's fine", Some("a`b"), r"k/1 'it'\''s fine' --as 'a`b'");
        check("k/1", "--json", Some("-x"), "--as=-x -- k/1 --json");
        check("k/1", "", None, "k/1 ''");
    }
}
