//! The history of a run and its child runs, read from their journals: calls with their outcomes, approvals with their votes, signals.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_core::{
    AttemptError, Command, DELEGATE, EffectNo, Event, Fold, LINE, RESUME, RequestNo, State, Usage, VOTE,
};
use branchpoint_expr::{Object, Value};

use crate::host::RunPlace;
use crate::store::{Run, RunNo, Store, StoreError};
use branchpoint_runners::Call;
use branchpoint_runners::Secrets;

/// The calls, approvals and signals of a run and its child runs.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Entries run by run, each run's in the order of its journal.
    pub entries: Vec<HistoryEntry>,
    /// Facts that the host gave to the runs.
    pub facts: Object,
    /// The secrets of all these runs.
    pub secrets: Secrets,
}

/// A call, an approval or a signal of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum HistoryEntry {
    /// An attempt of an effect that is not a child run.
    Call {
        /// The call.
        call: Call,
        /// Its outcome.
        outcome: CallOutcome,
    },
    /// A request to people.
    Approval {
        /// The steps that called the run, as in [`Call::callers`].
        callers: Arc<str>,
        /// The step that requests the approval.
        step: Arc<str>,
        /// The positions of the items around it, as in [`Call::path`].
        path: Vec<u32>,
        /// The votes, in order.
        votes: Vec<Vote>,
    },
    /// An answer that is not a vote: the approval of a node, or a line of a conversation.
    Signal {
        /// The steps that called the run, as in [`Call::callers`].
        callers: Arc<str>,
        /// The node, or the name of the signal.
        step: Arc<str>,
        /// The payload.
        payload: Value,
    },
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum CallOutcome {
    /// The call has ended, with this result and usage.
    Settled(Result<Value, AttemptError>, Usage),
    /// The run withdrew the call.
    Withdrawn,
    /// The call has not ended.
    Pending,
}

/// One person's answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vote {
    /// The person.
    pub user: Arc<str>,
    /// The choice.
    pub choice: Arc<str>,
    /// The comment.
    pub comment: Option<Arc<str>>,
    /// The form.
    pub form: Option<Value>,
    /// The approver whose delegate the person is.
    pub on_behalf_of: Option<Arc<str>>,
}

impl Store {
    /// Reads the history of a run and its child runs.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert!(store.history(run).unwrap().entries.is_empty(), "the run has no calls");
    /// ```
    pub fn history(&self, run: RunNo) -> Result<History, StoreError> {
        let root = self.row(run)?;
        let mut history = History::default();
        history.add(self, &root, root.status.is_final(), RunPlace::default())?;
        Ok(history)
    }
}

/// The request that the payload of a signal names.
fn request_in(payload: &Value) -> Option<RequestNo> {
    match payload.get("request")? {
        Value::Int(number) => u64::try_from(*number).ok().map(RequestNo),
        _ => None,
    }
}

/// A run while its journal is read.
struct RunReader<'r> {
    row: &'r Run,
    program: &'r Program,
    place: RunPlace,
    /// Attempts that are child runs, with their places once these are known.
    children: BTreeMap<(EffectNo, u32), RunPlace>,
    /// Positions of the entries of pending attempts and requests.
    calls: BTreeMap<EffectNo, usize>,
    requests: BTreeMap<RequestNo, usize>,
    /// The approvers by request and delegate.
    delegations: BTreeMap<(RequestNo, Arc<str>), Arc<str>>,
}

impl RunReader<'_> {
    fn add_delegation(&mut self, payload: &Value, sender: Option<&Arc<str>>) {
        let (Some(request), Some(recipient)) = (request_in(payload), sender) else { return };
        self.delegations.retain(|(of, _), other| *of != request || other != recipient);
        if let Some(to) = payload.get("to").and_then(Value::as_str) {
            self.delegations.insert((request, to.into()), recipient.clone());
        }
    }
}

impl History {
    fn add(&mut self, store: &Store, row: &Run, ended: bool, place: RunPlace) -> Result<(), StoreError> {
        let program = store.program(row.workflow, &row.part)?;
        let program = program.ok_or_else(|| StoreError::Missing(format!("program of run `{}`", row.id)))?;
        self.secrets.add(store.secrets(row.run)?.values());
        let children = store.children(row.run)?;
        let call_of = |child: &Run| child.parent.map(|at| (EffectNo(at.effect), at.attempt));
        let placeless = children.iter().filter_map(call_of).map(|call| (call, RunPlace::default())).collect();
        let (calls, requests) = (BTreeMap::new(), BTreeMap::new());
        let mut reader = RunReader {
            row,
            program: &program,
            place,
            children: placeless,
            calls,
            requests,
            delegations: BTreeMap::new(),
        };
        let mut fold = Fold::new(&program, State::new(), store.journal(row.run)?);
        while let Some(folded) = fold.next() {
            let folded = folded.map_err(StoreError::in_journal_of(&row.id))?;
            self.add_event(&mut reader, &folded.event);
            folded
                .outcome
                .commands
                .into_iter()
                .for_each(|command| self.add_command(&mut reader, fold.state(), command));
        }
        if ended || row.status.is_final() {
            reader.calls.into_values().for_each(|at| self.set_outcome(at, CallOutcome::Withdrawn));
        }
        for child in &children {
            let place = call_of(child).and_then(|call| reader.children.remove(&call));
            self.add(store, child, ended, place.unwrap_or_default())?;
        }
        Ok(())
    }

    fn add_event(&mut self, reader: &mut RunReader<'_>, event: &Event) {
        match event {
            Event::Start { facts, .. } => {
                for (name, fact) in facts.iter().filter(|(name, _)| reader.row.parent.is_none() || &***name != "run_id")
                {
                    self.facts.entry(name.clone()).or_insert_with(|| fact.clone());
                }
            }
            Event::Settled { effect, result, usage, .. } => {
                if let Some(at) = reader.calls.remove(effect) {
                    self.set_outcome(at, CallOutcome::Settled(result.clone(), *usage));
                }
            }
            Event::Signal { name, payload, sender, .. } => match &**name {
                VOTE => self.add_vote(reader, payload, sender.as_ref()),
                DELEGATE => reader.add_delegation(payload, sender.as_ref()),
                RESUME | LINE => {
                    let node = payload.get("id").and_then(Value::as_str).filter(|_| &**name == RESUME);
                    let answer = if &**name == RESUME { payload.get("input").unwrap_or(payload) } else { payload };
                    let step = node.map_or_else(|| name.clone(), Arc::from);
                    let callers = reader.place.callers.clone();
                    self.entries.push(HistoryEntry::Signal { callers, step, payload: answer.clone() });
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn add_vote(&mut self, reader: &RunReader<'_>, payload: &Value, sender: Option<&Arc<str>>) {
        let Some(request) = request_in(payload) else { return };
        let at = reader.requests.get(&request);
        let Some(HistoryEntry::Approval { votes, .. }) = at.and_then(|at| self.entries.get_mut(*at)) else { return };
        let text = |key: &str| payload.get(key).and_then(Value::as_str).map(Arc::from);
        let user = sender.cloned().unwrap_or_default();
        votes.push(Vote {
            choice: text("choice").unwrap_or_default(),
            comment: text("comment"),
            form: payload.get("form").filter(|form| **form != Value::Null).cloned(),
            on_behalf_of: reader.delegations.get(&(request, user.clone())).cloned(),
            user,
        });
    }

    fn add_command(&mut self, reader: &mut RunReader<'_>, state: &State, command: Command) {
        match command {
            Command::Perform { effect, attempt, .. } => {
                let (id, folder) = (reader.row.id.as_str().into(), reader.row.folder.as_str().into());
                let Some(call) = Call::from_command(reader.program, &id, &folder, command) else { return };
                let call = reader.place.locate(call);
                if let Some(child) = reader.children.get_mut(&(effect, attempt)) {
                    *child = RunPlace::called_by(&call);
                    return;
                }
                reader.calls.insert(effect, self.entries.len());
                self.entries.push(HistoryEntry::Call { call, outcome: CallOutcome::Pending });
            }
            Command::Withdraw { effect } => {
                if let Some(at) = reader.calls.remove(&effect) {
                    self.set_outcome(at, CallOutcome::Withdrawn);
                }
            }
            Command::Ask { request, spec } => {
                // A request that the same event has withdrawn was never shown to people.
                let Some(path) = state.request_path(reader.program, request) else { return };
                let step = spec.get("step").and_then(Value::as_str).unwrap_or("people").into();
                let RunPlace { callers, path } = reader.place.within(&path);
                reader.requests.insert(request, self.entries.len());
                self.entries.push(HistoryEntry::Approval { callers, step, path, votes: Vec::new() });
            }
            _ => {}
        }
    }

    fn set_outcome(&mut self, at: usize, settled: CallOutcome) {
        if let HistoryEntry::Call { outcome, .. } = &mut self.entries[at] {
            *outcome = settled;
        }
    }
}
