//! Moves a waiting run to a changed workflow, in one turn: a run of the same id continues from its replayed journal, and the earlier one
//! keeps its journal under another id and is cancelled. The transaction of the turn writes both, or nothing.

use std::sync::Arc;

use branchpoint_backend::NotMovable;
use branchpoint_core::Event;

use super::claim::Readiness;
use super::fork::ForkMoment;
use super::{Accepted, CallSource, Host, Order, Rejection, Requester, RunNo, Ticket};
use crate::store::{Run, StoreError, WorkflowNo};

impl Host {
    /// Queues the move of a waiting run to a changed workflow.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// let workflow = host.store().row(run).unwrap().workflow;
    /// host.migrate(run, workflow, Ticket::default());
    /// let outputs = host.turn(2).unwrap();
    /// let is_rejected = |output: &TurnOutput| matches!(output, TurnOutput::OrderDone { outcome: Err(_), .. });
    /// assert!(outputs.iter().any(is_rejected), "the run has ended");
    /// ```
    pub fn migrate(&mut self, run: RunNo, workflow: WorkflowNo, ticket: Ticket) {
        self.schedule.queue.push_back(Order::Migrate { run, workflow, requester: Requester::Caller(ticket) });
    }

    pub(super) fn migrate_run(
        &mut self,
        run: RunNo,
        workflow: WorkflowNo,
        requester: Requester,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        match self.readiness(run, requester) {
            Some(Readiness::Ready) => {}
            Some(Readiness::Rejection(rejection)) => {
                self.answer(requester, Err(rejection));
                return Ok(());
            }
            Some(Readiness::NextTurn) => {
                self.schedule.queue.push_back(Order::Migrate { run, workflow, requester });
                return Ok(());
            }
            None => return Ok(()),
        }
        let journal = self.store.journal(run)?;
        let open = &self.open[&run];
        // Events of this turn are not in the journal yet, and timers that are due come first.
        let is_due = open.timers.first().is_some_and(|(due_ms, _)| due_ms <= now_ms);
        if journal.len() as u64 != open.state.seq() || is_due {
            self.schedule.queue.push_back(Order::Migrate { run, workflow, requester });
            return Ok(());
        }
        let migrated = match self.migrate_waiting(run, journal, workflow, now_ms) {
            Err(error) if error.is_of_one_run() => Err(Rejection::Broken(error.to_string())),
            migrated => migrated?,
        };
        self.answer(requester, migrated);
        Ok(())
    }

    fn migrate_waiting(
        &mut self,
        run: RunNo,
        journal: Vec<branchpoint_core::JournalRow>,
        workflow: WorkflowNo,
        now_ms: i64,
    ) -> Result<Result<Accepted, Rejection>, StoreError> {
        let row = self.store.row(run)?;
        if let Some(reason) = self.store.unmovable(&row)? {
            return Ok(Err(Rejection::NotMovable(reason)));
        }
        let open = &self.open[&run];
        if !open.flights.is_empty() || open.state.is_unfinished() || !open.waiting.is_empty() {
            return Ok(Err(Rejection::NotMovable(NotMovable::NotWaiting)));
        }
        let (old_program, watched) = (Arc::clone(&open.program), open.watched);
        let packing = self.packing(run)?;
        let facts = Arc::clone(&self.settings.facts);
        let replayed = self.store.replay_to_migrate(&row, journal.clone(), workflow, &|name| facts(name), &packing)?;
        let (program, mut continued) = match replayed {
            Ok(continued) => continued,
            Err(rejection) => return Ok(Err(rejection)),
        };
        let moment = ForkMoment::of(&old_program, journal, &row.id)?;
        continued.skip_numbers(&program, now_ms);
        let archived_id = self.archived_id(&row.id)?;
        self.end_migrated(run, &row.id, now_ms)?;
        self.store.rename_run_later(run, archived_id);
        let number = self.new_number(&row.id)?;
        let new = Run { run: number, workflow, owner: Some(self.owner.number), decision: None, ..row.clone() };
        self.insert_continued(&row, &new, program, (packing, continued.rows), &moment, (watched, &CallSource::Script))?;
        Ok(Ok(Accepted { run: number, new: true }))
    }

    /// Cancels the earlier run without its cleanup, which belongs to the end of the whole run.
    fn end_migrated(&mut self, run: RunNo, id: &str, now_ms: i64) -> Result<(), StoreError> {
        let reason: Arc<str> = format!("the run continues on a changed workflow as `{id}`").into();
        for _ in 0..2 {
            let cancelled = self.apply(run, Event::Cancel { reason: Some(reason.clone()) }, now_ms)?;
            // The first one has ended a run without cleanup.
            if cancelled.is_err() {
                break;
            }
        }
        Ok(())
    }

    /// An id for the earlier run that no other run has.
    fn archived_id(&self, id: &str) -> Result<String, StoreError> {
        let mut number = 1_u64;
        loop {
            let archived = format!("{id}~{number}");
            if self.run_of_id(&archived)?.is_none() {
                return Ok(archived);
            }
            number += 1;
        }
    }
}
