//! Open approvals of stored runs.

use std::collections::BTreeMap;

use branchpoint_core::ir::{Program, Status};
use branchpoint_core::{ApprovalKey, RESUME, RequestNo, approvals};

use super::{Filter, OpenApproval, OpenApprovals, RunNo, Store, StoreError, WorkflowNo};
use crate::host::RunView;

impl Store {
    /// The open approvals of all runs.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert!(store.open_approvals().unwrap().open.is_empty());
    /// ```
    pub fn open_approvals(&self) -> Result<OpenApprovals, StoreError> {
        let mut runs = self.runs_with_open_requests()?;
        runs.extend(self.runs_to_resume()?);
        runs.sort_unstable();
        runs.dedup();
        self.approvals_of(&runs)
    }

    /// The open approvals of a run and its child runs.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert!(store.approvals(run).unwrap().open.is_empty());
    /// ```
    pub fn approvals(&self, run: RunNo) -> Result<OpenApprovals, StoreError> {
        let mut runs = vec![run];
        let mut next = 0;
        while let Some(run) = runs.get(next) {
            runs.extend(
                self.children(*run)?.into_iter().filter(|child| !child.status.is_final()).map(|child| child.run),
            );
            next += 1;
        }
        self.approvals_of(&runs)
    }

    fn approvals_of(&self, runs: &[RunNo]) -> Result<OpenApprovals, StoreError> {
        let mut approvals = OpenApprovals::default();
        for run in runs {
            match self.load(*run).and_then(|view| self.approvals_in(&view)) {
                Ok(open) => approvals.open.extend(open),
                Err(error) if error.is_of_one_run() => approvals.unreadable.push((self.row(*run)?.id, error.into())),
                Err(error) => return Err(error),
            }
        }
        approvals.open.retain(|open| open.approval.key != ApprovalKey::Line);
        approvals.open.sort_by_key(|open| open.requested_ms);
        Ok(approvals)
    }

    /// The open approvals of a run without its child runs, including a conversation that waits for a line.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// let view = store.load(run).unwrap();
    /// assert!(store.approvals_in(&view).unwrap().is_empty());
    /// ```
    pub fn approvals_in(&self, view: &RunView) -> Result<Vec<OpenApproval>, StoreError> {
        let (mut specs, mut requested) = (BTreeMap::new(), BTreeMap::<RequestNo, i64>::new());
        for record in self.approval_records(view.row.run)? {
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
        Ok(open.collect())
    }

    /// Runs that may wait for the signal `resume`. Sessions, which also wait for people, are not loaded.
    fn runs_to_resume(&self) -> Result<Vec<RunNo>, StoreError> {
        let mut resumable: BTreeMap<(WorkflowNo, String), bool> = BTreeMap::new();
        let mut runs = Vec::new();
        let filter = Filter { status: Some(Status::WaitingPeople), children: true, ..Filter::default() };
        for row in self.runs(&filter)? {
            let key = (row.workflow, row.part);
            if !resumable.contains_key(&key) {
                let has_signal = match self.shared_program(key.0, &key.1) {
                    Ok(program) => program.is_some_and(|program| has_resume(&program)),
                    // The run is reported as unreadable when it is opened.
                    Err(error) if error.is_of_one_run() => true,
                    Err(error) => return Err(error),
                };
                resumable.insert(key.clone(), has_signal);
            }
            if resumable[&key] {
                runs.push(row.run);
            }
        }
        Ok(runs)
    }
}

fn has_resume(program: &Program) -> bool {
    program.signals.iter().any(|signal| &*signal.name == RESUME)
}
