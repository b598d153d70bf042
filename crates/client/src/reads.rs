//! What is read of a server, computed from rows, programs, states and events.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use branchpoint_backend::{
    ApprovalRecord, BackendError, Bytes, Filter, JournalPart, OpenApproval, OpenApprovals, OpenRuns, ReadRequest,
    Rejection, Replayed, Run, RunNo, RunState, RunView, WorkflowNo,
};
use branchpoint_core::ir::Program;
use branchpoint_core::{ApprovalKey, Fold, JournalRow, Note, RequestNo, State, approvals, codec};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Shared;

/// The most runs of one request.
const PAGE: u32 = 1_000;

/// Programs, which never change, and responses while the server is followed.
#[derive(Default)]
pub(crate) struct Cache {
    programs: Mutex<HashMap<(WorkflowNo, String), Arc<Program>>>,
    responses: Mutex<Responses>,
}

/// Responses that are current until the version changes.
#[derive(Default)]
struct Responses {
    version: i64,
    by_request: HashMap<String, Value>,
}

/// The most responses that are kept.
const KEPT: usize = 200;

impl Shared {
    /// Sends a request to read. While the server is followed live, a response is used again until something changes.
    pub(crate) fn read<T: DeserializeOwned>(&self, request: &ReadRequest) -> Result<T, BackendError> {
        let invalid = |error: serde_json::Error| {
            BackendError::Incompatible(format!(
                "the response of the server at {} is unexpected: {error}",
                self.connection.address()
            ))
        };
        let request = serde_json::to_value(request).map_err(invalid)?;
        if !self.is_followed() {
            return self.connection.read(&request);
        }
        let key = request.to_string();
        let version = self.version.load(Ordering::Acquire);
        let known = {
            let mut responses = self.cache.responses.lock().unwrap_or_else(PoisonError::into_inner);
            if responses.version != version || responses.by_request.len() > KEPT {
                *responses = Responses { version, by_request: HashMap::new() };
            }
            responses.by_request.get(&key).cloned()
        };
        let value = if let Some(value) = known {
            value
        } else {
            let value: Value = self.connection.read(&request)?;
            let mut responses = self.cache.responses.lock().unwrap_or_else(PoisonError::into_inner);
            if responses.version == version {
                responses.by_request.insert(key, value.clone());
            }
            value
        };
        serde_json::from_value(value).map_err(invalid)
    }

    pub(crate) fn runs(&self, filter: &Filter) -> Result<Vec<Run>, BackendError> {
        let mut runs: Vec<Run> = Vec::new();
        let mut page = filter.clone();
        loop {
            let missing = filter.limit.map(|limit| limit.saturating_sub(u32::try_from(runs.len()).unwrap_or(u32::MAX)));
            page.limit = Some(missing.unwrap_or(PAGE).min(PAGE));
            if page.limit == Some(0) {
                return Ok(runs);
            }
            let listed: Vec<Run> = self.read(&ReadRequest::Runs { filter: page.clone() })?;
            let is_end = listed.len() < page.limit.unwrap_or(PAGE) as usize;
            page.before = listed.last().map(Run::cursor);
            runs.extend(listed);
            if is_end {
                return Ok(runs);
            }
        }
    }

    pub(crate) fn program(&self, workflow: WorkflowNo, part: &str) -> Result<Option<Arc<Program>>, BackendError> {
        let key = (workflow, part.to_owned());
        let known = self.cache.programs.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if known.is_some() {
            return Ok(known);
        }
        let bytes: Option<Bytes> = self.read(&ReadRequest::Program { workflow, part: part.to_owned() })?;
        let Some(bytes) = bytes else { return Ok(None) };
        let program = Arc::new(codec::decode_program(&bytes.0).map_err(|error| incompatible(&error))?);
        self.cache.programs.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&program));
        Ok(Some(program))
    }

    fn view(&self, RunState { row, state }: RunState) -> Result<RunView, BackendError> {
        let missing = || BackendError::from(Rejection::NoPart(row.part.clone()));
        let program = self.program(row.workflow, &row.part)?.ok_or_else(missing)?;
        Ok(RunView { program, state: codec::decode_state(&state.0).map_err(|error| incompatible(&error))?, row })
    }

    /// Loads a run. Listeners have received all its events then.
    pub(crate) fn load(&self, run: RunNo) -> Result<RunView, BackendError> {
        let view = self.load_stored(run)?;
        self.report_followed()?;
        Ok(view)
    }

    pub(crate) fn load_stored(&self, run: RunNo) -> Result<RunView, BackendError> {
        self.view(self.read(&ReadRequest::State { run })?)
    }

    /// Sends a request to read, whatever was read before.
    pub(crate) fn read_now<T: DeserializeOwned>(&self, request: &ReadRequest) -> Result<T, BackendError> {
        let request = serde_json::to_value(request).map_err(|error| BackendError::Refused(error.to_string()))?;
        self.connection.read(&request)
    }

    /// All events of a run.
    pub(crate) fn journal(&self, run: RunNo) -> Result<Vec<JournalRow>, BackendError> {
        decoded(self.read(&ReadRequest::Journal { run, after: 0 })?)
    }

    /// The events after the first so many, whatever was read before.
    pub(crate) fn journal_now(&self, run: RunNo, after: u64) -> Result<Vec<JournalRow>, BackendError> {
        decoded(self.read_now(&ReadRequest::Journal { run, after })?)
    }

    /// Replays a part of a run as a store does, except that it begins at the start of the run, not at a snapshot.
    pub(crate) fn replay_part(
        &self,
        run: RunNo,
        from: Option<u64>,
        max_ops: u64,
        notes: &mut dyn FnMut(Note),
    ) -> Result<Replayed, BackendError> {
        let view = self.load(run)?;
        let rows = self.journal(run)?;
        let ops = view.state.ops();
        // Without a start, the newest part within the limit.
        let begins = |state: &State| match from {
            Some(from) => state.seq() >= from.min(view.state.seq()),
            None => ops <= max_ops || state.ops().saturating_add(max_ops) >= ops,
        };
        let mut fold = Fold::new(&view.program, State::new(), rows);
        let (mut first, mut recorded_from) = (None, 0);
        while fold.state().seq() < view.state.seq() {
            if first.is_none() && begins(fold.state()) {
                (first, recorded_from) = (Some(fold.state().seq()), fold.state().ops());
            }
            if first.is_some() && from.is_some() && fold.state().ops() - recorded_from > max_ops {
                break;
            }
            let folded = if first.is_some() { fold.replay_next(notes) } else { fold.next() };
            let Some(folded) = folded else { break };
            folded.map_err(|error| {
                BackendError::Damaged(format!("the journal of run `{}` cannot be replayed: {error}", view.row.id))
            })?;
        }
        let (first, last) = (first.unwrap_or(view.state.seq()), fold.state().seq());
        Ok(Replayed { first, last, is_whole: first == 0 && last == view.state.seq(), view })
    }

    pub(crate) fn approvals_of(&self, open_runs: OpenRuns) -> Result<OpenApprovals, BackendError> {
        let mut open = OpenApprovals::default();
        for (state, records) in open_runs.runs {
            let view = self.view(state)?;
            open.open.extend(open_approvals(&view, records));
        }
        open.open.retain(|open| open.approval.key != ApprovalKey::Line);
        open.open.sort_by_key(|open| open.requested_ms);
        open.unreadable =
            open_runs.unreadable.into_iter().map(|(id, reason)| (id, BackendError::Damaged(reason))).collect();
        Ok(open)
    }
}

/// The open approvals of a run.
pub(crate) fn open_approvals(view: &RunView, records: Vec<ApprovalRecord>) -> Vec<OpenApproval> {
    let (mut specs, mut requested) = (BTreeMap::new(), BTreeMap::<RequestNo, i64>::new());
    for record in records {
        requested.insert(record.request, record.requested_ms);
        specs.insert(record.request, record.spec);
    }
    let open = approvals(&view.program, &view.state, &specs).into_iter().map(|approval| {
        let requested_ms = match &approval.key {
            ApprovalKey::Request(request) => requested.get(request).copied(),
            _ => None,
        };
        OpenApproval {
            run: view.row.run,
            id: view.row.id.clone(),
            workflow: view.row.workflow,
            requested_ms: requested_ms.unwrap_or(view.row.updated_ms),
            approval,
        }
    });
    open.collect()
}

fn decoded(part: JournalPart) -> Result<Vec<JournalRow>, BackendError> {
    let decoded = part.events.into_iter().map(|(bytes, check)| {
        let (stamp, event) = codec::decode_event(&bytes.0).map_err(|error| incompatible(&error))?;
        Ok((stamp, event, check))
    });
    decoded.collect()
}

fn incompatible(error: &codec::CodecError) -> BackendError {
    BackendError::Incompatible(error.to_string())
}
