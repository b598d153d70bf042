//! Replays of runs on changed workflows: what a fork or a migration would continue from.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_backend::{Migration, NotMovable};
use branchpoint_core::ir::{Effect, Program, Status};
use branchpoint_core::{Continued, Difference, JournalRow, Revision, continue_on};
use branchpoint_expr::Value;
use branchpoint_runners::Secrets;

use super::{Rejection, RunNo};
use crate::store::{Packing, Part, Run, Store, StoreError, WorkflowNo};
use branchpoint_runners::child_run;
use branchpoint_runners::offsets_s;

/// A run on its new program.
type ContinuedRun = (Arc<Program>, Continued);

impl Store {
    /// Replays a journal of a run into the program of another workflow.
    pub(super) fn continue_on(
        &self,
        row: &Run,
        journal: Vec<JournalRow>,
        workflow: WorkflowNo,
        fact: &dyn Fn(&str) -> Value,
        packing: &Packing,
    ) -> Result<Result<ContinuedRun, Rejection>, StoreError> {
        let programs = (self.program(row.workflow, &row.part)?, self.program(workflow, &row.part)?);
        let (Some(old), Some(new)) = programs else { return Ok(Err(Rejection::NoPart(row.part.clone()))) };
        let has_same_child = |definition: &Effect, input: &Value| match child_run::part(definition, input) {
            // A part that cannot be read has changed.
            Some(part) => self.is_same_part(row.workflow, workflow, part).unwrap_or(false),
            None => true,
        };
        let revision = Revision {
            old: &old,
            new: &new,
            offsets_s: &|zones, now_ms| offsets_s(zones, now_ms),
            fact,
            has_same_child: &has_same_child,
        };
        match continue_on(&revision, journal) {
            Ok(continued) => Ok(Ok((Arc::new(new), continued))),
            Err(difference) => Ok(Err(differs(difference, packing))),
        }
    }

    /// Whether two workflows have the same program under a name, and the same programs that it calls.
    fn is_same_part(&self, old: WorkflowNo, new: WorkflowNo, part: Part) -> Result<bool, StoreError> {
        let (mut seen, mut open) = (BTreeSet::new(), vec![part]);
        while let Some(part) = open.pop() {
            if !seen.insert(part.clone()) {
                continue;
            }
            match (self.program(old, &part)?, self.program(new, &part)?) {
                // Runners perform the call.
                (None, None) => {}
                (Some(old), Some(new)) if old.has_meaning_of(&new) => {
                    open.extend(old.effects.iter().filter_map(|effect| child_run::part(effect, &Value::Null)));
                }
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// What moving a waiting run to another workflow would do, or why it cannot move.
    pub(crate) fn plan_migration(
        &self,
        run: RunNo,
        workflow: WorkflowNo,
    ) -> Result<Result<Migration, Rejection>, StoreError> {
        let row = self.row(run)?;
        let packing = self.packing(run)?;
        let planned = match self.unmovable(&row)? {
            Some(reason) => Err(Rejection::NotMovable(reason)),
            None => {
                self.replay_to_migrate(&row, self.journal_packed(run, &packing)?, workflow, &|_| Value::Null, &packing)?
            }
        };
        Ok(planned.map(|(_, continued)| Migration {
            waits_at: continued.waiting[1].iter().map(ToString::to_string).collect(),
            void_votes: continued
                .void_votes
                .iter()
                .map(|(approval, votes)| (approval.step.to_string(), *votes))
                .collect(),
        }))
    }

    /// Replays a whole run, which must then wait at the same steps.
    pub(super) fn replay_to_migrate(
        &self,
        row: &Run,
        journal: Vec<JournalRow>,
        workflow: WorkflowNo,
        fact: &dyn Fn(&str) -> Value,
        packing: &Packing,
    ) -> Result<Result<ContinuedRun, Rejection>, StoreError> {
        let continued = match self.continue_on(row, journal, workflow, fact, packing)? {
            Ok(continued) => continued,
            Err(rejection) => return Ok(Err(rejection)),
        };
        Ok(match continued.1.migration_problem() {
            Some(difference) => Err(differs(difference, packing)),
            None => Ok(continued),
        })
    }

    /// Why a run of this kind or in this state cannot move; none if it can.
    pub(super) fn unmovable(&self, row: &Run) -> Result<Option<NotMovable>, StoreError> {
        if row.parent.is_some() {
            return Ok(Some(NotMovable::ChildRun));
        }
        if self.sessions()?.iter().any(|session| session.run == row.run) {
            return Ok(Some(NotMovable::Session));
        }
        if self.children(row.run)?.iter().any(|child| !child.status.is_final()) {
            return Ok(Some(NotMovable::OpenChildRuns));
        }
        let waits = matches!(row.status, Status::WaitingPeople | Status::WaitingTimer);
        Ok((!waits).then_some(NotMovable::NotWaiting))
    }
}

/// A difference without the secrets of the run.
fn differs(difference: Difference, packing: &Packing) -> Rejection {
    let secrets = Secrets::from_values(packing.secrets.iter().cloned());
    Rejection::Differs(Box::new(difference.with_values(|value| secrets.mask(value).into_owned())))
}
