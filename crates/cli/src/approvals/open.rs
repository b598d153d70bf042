//! Questions that are open: those with votes, and those that one answer settles.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, bail};
use branchpoint_core::ir::{Program, Status};
use branchpoint_core::{Offer, Request, RequestNo};
use branchpoint_engine::host::Look;
use branchpoint_engine::store::{Filter, Question, Run, RunNo, Store};
use branchpoint_expr::Value;

use crate::opened::Opened;

/// The signal that settles an approval by one answer.
pub(super) const RESUME: &str = "resume";

/// An open question.
pub(super) struct Open {
    pub(super) row: Run,
    pub(super) asked_ms: i64,
    pub(super) asked: Asked,
}

/// What is asked.
pub(super) enum Asked {
    /// People vote.
    Vote { request: RequestNo, spec: Value, asked: Box<Request> },
    /// Somebody answers.
    Answer {
        /// What waits, by its id in the document.
        node: String,
        prompt: String,
    },
}

impl Open {
    /// How it is named on the command line.
    pub(super) fn name(&self) -> String {
        match &self.asked {
            Asked::Vote { request, .. } => format!("{}/{}", self.row.id, request.0),
            Asked::Answer { node, .. } => format!("{}/{node}", self.row.id),
        }
    }

    pub(super) fn step(&self) -> String {
        match &self.asked {
            Asked::Vote { spec, .. } => spec.get("step").map(Value::to_string).unwrap_or_default(),
            Asked::Answer { node, .. } => node.clone(),
        }
    }

    pub(super) fn prompt(&self) -> String {
        match &self.asked {
            Asked::Vote { spec, .. } => spec.get("prompt").map(Value::to_string).unwrap_or_default(),
            Asked::Answer { prompt, .. } => prompt.clone(),
        }
    }

    pub(super) fn choices(&self) -> Vec<String> {
        match &self.asked {
            Asked::Vote { asked, .. } => asked.choices.iter().map(ToString::to_string).collect(),
            Asked::Answer { .. } => vec!["approve".into(), "reject".into()],
        }
    }

    /// Who was asked and has not voted; none if anybody may answer.
    pub(super) fn waits_for(&self) -> Option<Vec<String>> {
        let Asked::Vote { asked, .. } = &self.asked else { return None };
        let silent = asked.recipients.iter().filter(|user| !asked.votes.iter().any(|vote| vote.user == **user));
        Some(silent.map(ToString::to_string).collect())
    }

    pub(super) fn deadline_ms(&self) -> Option<i64> {
        match &self.asked {
            Asked::Vote { asked, .. } => asked.deadline_ms,
            Asked::Answer { .. } => None,
        }
    }
}

/// Everything that waits for people, the oldest first.
pub(super) fn all(store: &Store) -> Result<Vec<Open>> {
    let mut questions: BTreeMap<RunNo, Vec<Question>> = BTreeMap::new();
    for question in store.open_questions()? {
        questions.entry(question.run).or_default().push(question);
    }
    let mut open = Vec::new();
    for (run, questions) in questions {
        open.extend(voted(&store.look(run)?, questions));
    }
    open.extend(answered(store)?);
    open.sort_by_key(|open| open.asked_ms);
    Ok(open)
}

/// The questions of a run that are put to a vote.
fn voted(look: &Look, questions: Vec<Question>) -> Vec<Open> {
    let offers = look.offers();
    let open = questions.into_iter().filter_map(|question| {
        let asked = offers.iter().find_map(|offer| match offer {
            Offer::Vote { request, asked } if *request == question.request => Some(asked.clone()),
            _ => None,
        })?;
        let asked = Asked::Vote { request: question.request, spec: question.spec, asked: Box::new(asked) };
        Some(Open { row: look.row.clone(), asked_ms: question.asked_ms, asked })
    });
    open.collect()
}

/// Approvals of runs that take an answer. Only runs whose program has that signal are looked at: sessions wait for people too.
fn answered(store: &Store) -> Result<Vec<Open>> {
    let mut takes: BTreeMap<(branchpoint_engine::store::WorkflowNo, String), bool> = BTreeMap::new();
    let mut open = Vec::new();
    let filter = Filter { status: Some(Status::WaitingPeople), children: true, ..Filter::default() };
    for row in store.runs(&filter)? {
        let key = (row.workflow, row.part.clone());
        if !takes.contains_key(&key) {
            let program = store.program(row.workflow, &row.part)?;
            takes.insert(key.clone(), program.is_some_and(|program| takes_answers(&program)));
        }
        if takes[&key] {
            open.extend(answerable(&store.look(row.run)?));
        }
    }
    Ok(open)
}

fn takes_answers(program: &Program) -> bool {
    program.signals.iter().any(|signal| &*signal.name == RESUME)
}

fn answerable(look: &Look) -> Vec<Open> {
    let takes = look.offers().iter().any(|offer| matches!(offer, Offer::Signal { name, .. } if &**name == RESUME));
    let result = look.result().filter(|_| takes).unwrap_or_default();
    let waiting = result.get("waiting").and_then(Value::as_list).unwrap_or_default();
    let open = waiting.iter().map(|node| {
        let node = node.to_string();
        let asked = Asked::Answer { prompt: prompt(&result, &node), node };
        Open { row: look.row.clone(), asked_ms: look.row.touched_ms, asked }
    });
    open.collect()
}

/// What an approval shows to the person: the newest that the log says of it.
fn prompt(result: &Value, node: &str) -> String {
    let logs = result.get("logs").and_then(Value::as_list).unwrap_or_default();
    let asks = |entry: &&Value| {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        text("nodeId") == Some(node) && text("type") == Some("wait_input")
    };
    let newest = logs.iter().rev().find(asks);
    newest.and_then(|entry| entry.get("content")).map(Value::to_string).unwrap_or_default()
}

/// The question of a name: a run that asks one, or RUN/N.
pub(super) fn named(opened: &Opened, name: &str) -> Result<Open> {
    let split = name.rsplit_once('/');
    let (run, which) = match opened.run(name) {
        Ok(run) => (run, None),
        Err(unknown) => match split {
            Some((run, which)) => (opened.run(run)?, Some(which)),
            None => return Err(unknown),
        },
    };
    let mut open = Vec::new();
    gather(&opened.store, run.run, &mut open)?;
    let names: Vec<String> = open.iter().map(Open::name).collect();
    let is_meant = |open: &Open| match &open.asked {
        Asked::Vote { request, .. } => which.is_none_or(|which| request.0.to_string() == which),
        Asked::Answer { node, .. } => which.is_none_or(|which| node == which),
    };
    open.retain(is_meant);
    match open.len() {
        1 => Ok(open.remove(0)),
        0 if names.is_empty() => bail!(
            "run `{}` asks nobody: it is {}\nhelp: `branchpoint approvals list` lists what waits for people",
            run.id,
            opened.store.stands(run.run)?.as_str()
        ),
        _ => bail!("run `{}` asks these questions, and one must be named:\n  {}", run.id, names.join("\n  ")),
    }
}

/// The open questions of a run and of those that it has called.
fn gather(store: &Store, run: RunNo, open: &mut Vec<Open>) -> Result<()> {
    let look = store.look(run)?;
    let questions = store.questions(run)?.into_iter().filter(|question| question.closed_ms.is_none()).collect();
    open.extend(voted(&look, questions));
    if look.status() == Status::WaitingPeople && takes_answers(&look.program) {
        open.extend(answerable(&look));
    }
    for child in store.children(run)?.into_iter().filter(|child| !child.status.is_final()) {
        gather(store, child.run, open)?;
    }
    Ok(())
}

/// A text for payloads.
pub(super) fn text(text: &str) -> Value {
    Value::Str(Arc::from(text))
}
