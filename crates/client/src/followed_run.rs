//! Reports the events of a run to listeners while a server drives it, as the driver of a store does for its own runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use branchpoint_backend::{BackendError, ReadRequest, RequestChange, Run, RunEvent, RunEventKind, RunNo};
use branchpoint_core::ir::Status;
use branchpoint_core::{Fold, RequestNo, State};

use crate::Shared;

/// The pause between two looks at the version.
const PAUSE: Duration = Duration::from_millis(20);

/// The runs that are reported: one that was named, and those that it calls.
pub(crate) struct FollowedRuns {
    root: RunNo,
    runs: BTreeMap<RunNo, FollowedRun>,
}

/// Starts to report the events of a run and of the runs that it calls, after the first so many events.
pub(crate) fn follow(shared: &Arc<Shared>, root: RunNo, after: u64) {
    let runs = BTreeMap::from([(root, FollowedRun::new(after))]);
    *shared.followed.lock().unwrap_or_else(PoisonError::into_inner) = Some(FollowedRuns { root, runs });
    let weak = Arc::downgrade(shared);
    thread::spawn(move || {
        if let Err(error) = follow_until_end(&weak)
            && let Some(shared) = weak.upgrade()
        {
            shared.report(root, "", RunEventKind::Broken(error.to_string()));
            shared.report(root, "", RunEventKind::Status(Status::Failed, None));
        }
    });
}

fn follow_until_end(shared: &Weak<Shared>) -> Result<(), BackendError> {
    let mut version = None;
    while let Some(shared) = shared.upgrade() {
        let now = Some(Shared::live_version(&shared)?);
        if now != version {
            version = now;
            if shared.report_followed()? {
                return Ok(());
            }
        }
        drop(shared);
        thread::sleep(PAUSE);
    }
    Ok(())
}

impl Shared {
    /// Reports what is new of the followed runs. Returns whether there is nothing more to come.
    pub(crate) fn report_followed(&self) -> Result<bool, BackendError> {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(FollowedRuns { root, runs }) = followed.as_mut() else { return Ok(true) };
        let mut called = BTreeSet::new();
        for (run, followed) in runs.iter_mut() {
            called.extend(followed.report(self, *run)?);
        }
        for child in called {
            runs.entry(child).or_insert_with(|| FollowedRun::new(0)).report(self, child)?;
        }
        let has_ended = runs.get(root).is_some_and(|root| root.has_ended);
        if has_ended {
            *followed = None;
        }
        Ok(has_ended)
    }
}

/// How far a run was reported.
struct FollowedRun {
    after: u64,
    state: State,
    status: Option<Status>,
    open: BTreeSet<RequestNo>,
    has_ended: bool,
}

impl FollowedRun {
    fn new(after: u64) -> Self {
        Self { after, state: State::new(), status: None, open: BTreeSet::new(), has_ended: false }
    }

    /// Reports what is new. Returns the runs that it called.
    fn report(&mut self, shared: &Shared, run: RunNo) -> Result<Vec<RunNo>, BackendError> {
        if self.has_ended {
            return Ok(Vec::new());
        }
        let row: Run = shared.read_now(&ReadRequest::Row { run })?;
        if row.seq > self.state.seq() {
            self.report_notes(shared, &row)?;
        }
        let requests: Vec<branchpoint_backend::ApprovalRecord> =
            shared.read_now(&ReadRequest::ApprovalRecords { run })?;
        for request in requests {
            let (is_open, number) = (request.closed_ms.is_none(), request.request);
            if is_open && self.open.insert(number) {
                let opened = RequestChange::Opened(request.spec);
                shared.report(run, &row.id, RunEventKind::Request(number, opened));
            } else if !is_open && self.open.remove(&number) {
                shared.report(run, &row.id, RunEventKind::Request(number, RequestChange::Closed(None)));
            }
        }
        let children: Vec<Run> = shared.read_now(&ReadRequest::Children { run })?;
        if self.status.replace(row.status) != Some(row.status) {
            let result = self.state.result().map(|(_, result)| result.clone());
            shared.report(run, &row.id, RunEventKind::Status(row.status, result));
        }
        self.has_ended = row.status.is_final();
        Ok(children.into_iter().map(|child| child.run).collect())
    }

    /// Folds the new events, and reports the notes of those that were not reported before.
    fn report_notes(&mut self, shared: &Shared, row: &Run) -> Result<(), BackendError> {
        let Some(program) = shared.program(row.workflow, &row.part)? else { return Ok(()) };
        let rows = shared.journal_now(row.run, self.state.seq())?;
        let state = std::mem::replace(&mut self.state, State::new());
        let mut fold = Fold::new(&program, state, rows);
        let mut notes = Vec::new();
        loop {
            let is_new = fold.state().seq() >= self.after;
            let folded = if is_new { fold.replay_next(&mut |note| notes.push(note)) } else { fold.next() };
            let Some(folded) = folded else { break };
            folded.map_err(|error| {
                BackendError::Damaged(format!("the journal of run `{}` cannot be replayed: {error}", row.id))
            })?;
        }
        self.state = fold.into_parts().0;
        if !notes.is_empty() {
            shared.report(row.run, &row.id, RunEventKind::Notes(notes));
        }
        Ok(())
    }
}

impl Shared {
    fn report(&self, run: RunNo, id: &str, kind: RunEventKind) {
        let event = RunEvent { run, id: id.into(), kind };
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        for listener in listeners.iter_mut() {
            listener(&event);
        }
    }
}
