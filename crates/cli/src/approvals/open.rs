//! Open approvals, and how the command line names them.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, bail};
use branchpoint_core::ir::{Program, Status};
use branchpoint_expr::Value;
use branchpoint_host::host::Look;
use branchpoint_host::people::{OpenQuestion, QuestionKey, RESUME};
use branchpoint_host::store::{Filter, Run, RunNo, Store};

use crate::foreground::reference;
use crate::moment;
use crate::opened::Opened;
use crate::terminal;

/// An open approval.
pub(super) struct Open {
    pub(super) row: Run,
    pub(super) asked_ms: i64,
    pub(super) question: OpenQuestion,
}

impl Open {
    /// How it is named on the command line.
    pub(super) fn name(&self) -> String {
        reference(&self.row.id, &self.question.key)
    }

    pub(super) fn choices(&self) -> Vec<String> {
        self.question.choices().iter().map(ToString::to_string).collect()
    }

    /// Who has not voted; none if anybody may answer.
    pub(super) fn waits_for(&self) -> Option<Vec<String>> {
        let silent = || self.question.silent().iter().map(ToString::to_string).collect();
        self.question.request.as_ref().map(|_| silent())
    }

    /// Whether a part of a name means it: its number, or the id of its step.
    fn is_named(&self, name: &str) -> bool {
        match &self.question.key {
            QuestionKey::Vote(request) => request.0.to_string() == name || &*self.question.step == name,
            QuestionKey::Approval(node) => &**node == name,
            QuestionKey::Line => false,
        }
    }
}

/// Everything that waits for people, the oldest first.
pub(super) fn all(store: &Store) -> Result<Vec<Open>> {
    let mut runs: Vec<RunNo> = store.open_questions()?.into_iter().map(|question| question.run).collect();
    runs.extend(answerable(store)?);
    runs.sort_unstable();
    runs.dedup();
    let mut open = Vec::new();
    for run in runs {
        if let Some(look) = looked_at(store, run)? {
            open.extend(of_run(store, &look)?);
        }
    }
    open.sort_by_key(|open| open.asked_ms);
    Ok(open)
}

/// A run as it stands; none, with a warning, if it cannot be opened: it must not hide the others.
fn looked_at(store: &Store, run: RunNo) -> Result<Option<Look>> {
    match store.look(run) {
        Err(trouble) if trouble.is_of_one_run() => {
            terminal::tell(&format!("warning: run `{}` cannot be opened: {trouble}\n", store.row(run)?.id));
            Ok(None)
        }
        look => Ok(Some(look?)),
    }
}

/// The approvals of one run.
fn of_run(store: &Store, look: &Look) -> Result<Vec<Open>> {
    let asked = store.questions(look.row.run)?.into_iter().map(|question| (question.request, question.asked_ms));
    let asked: BTreeMap<_, _> = asked.collect();
    let questions = OpenQuestion::of(look, store)?.into_iter().filter(|question| question.key != QuestionKey::Line);
    let open = questions.map(|question| {
        let asked_ms = match &question.key {
            QuestionKey::Vote(request) => asked.get(request).copied(),
            _ => None,
        };
        Open { row: look.row.clone(), asked_ms: asked_ms.unwrap_or(look.row.touched_ms), question }
    });
    Ok(open.collect())
}

/// Runs that wait for an answer which is not a vote. Only runs whose program has that signal are looked at: sessions wait for
/// people too.
fn answerable(store: &Store) -> Result<Vec<RunNo>> {
    let mut takes: BTreeMap<(branchpoint_host::store::WorkflowNo, String), bool> = BTreeMap::new();
    let mut runs = Vec::new();
    let filter = Filter { status: Some(Status::WaitingPeople), children: true, ..Filter::default() };
    for row in store.runs(&filter)? {
        let key = (row.workflow, row.part.clone());
        if !takes.contains_key(&key) {
            let program = match store.program(row.workflow, &row.part) {
                // The run is reported when somebody looks at it.
                Err(trouble) if trouble.is_of_one_run() => None,
                program => program?,
            };
            takes.insert(key.clone(), program.is_some_and(|program| takes_answers(&program)));
        }
        if takes[&key] {
            runs.push(row.run);
        }
    }
    Ok(runs)
}

fn takes_answers(program: &Program) -> bool {
    program.signals.iter().any(|signal| &*signal.name == RESUME)
}

/// The approval of a name: a run with one approval, RUN/N or RUN/STEP.
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
    let names: Vec<String> = open.iter().map(|open| format!("{} ({})", open.name(), open.question.step)).collect();
    open.retain(|open| which.is_none_or(|which| open.is_named(which)));
    match open.len() {
        1 => Ok(open.remove(0)),
        0 if names.is_empty() || which.is_some() => {
            if let Some(expired) = expired(&opened.store, run.run, which)? {
                bail!("{expired}");
            }
            let status = opened.store.stands(run.run)?;
            if names.is_empty() {
                bail!(
                    "run `{}` has no open approval: it is {}\nhelp: `branchpoint approvals list` lists open approvals",
                    run.id,
                    status.as_str()
                );
            }
            bail!(
                "run `{}` has no open approval `{}`; it has:\n  {}",
                run.id,
                which.unwrap_or_default(),
                names.join("\n  ")
            )
        }
        _ => bail!("run `{}` has several open approvals; name one:\n  {}", run.id, names.join("\n  ")),
    }
}

/// The newest approval of a run whose deadline has passed, as a message.
fn expired(store: &Store, run: RunNo, which: Option<&str>) -> Result<Option<String>> {
    let id = store.row(run)?.id;
    for question in store.questions(run)?.into_iter().rev() {
        let step = question.spec.get("step").and_then(Value::as_str).unwrap_or_default();
        let number = question.request.0.to_string();
        if which.is_some_and(|which| which != number && which != step) {
            continue;
        }
        let timeout_ms = match question.spec.get("timeout_ms") {
            Some(Value::Int(timeout_ms)) => *timeout_ms,
            _ => return Ok(None),
        };
        let deadline_ms = question.asked_ms.saturating_add(timeout_ms);
        let expired = question.closed_ms.is_some_and(|closed_ms| closed_ms >= deadline_ms);
        return Ok(expired.then(|| late(&format!("{id}/{number}"), deadline_ms)));
    }
    Ok(None)
}

/// The message for a vote after the deadline.
pub(super) fn late(name: &str, deadline_ms: i64) -> String {
    format!("the deadline of `{name}` passed at {}", moment::at(deadline_ms))
}

/// The open approvals of a run and of those that it has called.
fn gather(store: &Store, run: RunNo, open: &mut Vec<Open>) -> Result<()> {
    open.extend(of_run(store, &store.look(run)?)?);
    for child in store.children(run)?.into_iter().filter(|child| !child.status.is_final()) {
        gather(store, child.run, open)?;
    }
    Ok(())
}

/// A text for payloads.
pub(super) fn text(text: &str) -> Value {
    Value::Str(Arc::from(text))
}
