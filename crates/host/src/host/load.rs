//! Loads and replays runs without driving them.

use branchpoint_core::{Fold, Note, State, Usage};

use super::{Host, Replayed, RunView};
use crate::store::{Run, RunNo, Store, StoreError};

impl Store {
    /// Loads a run as it is stored.
    pub fn load(&self, run: RunNo) -> Result<RunView, StoreError> {
        let row = self.row(run)?;
        let program = self.shared_program(row.workflow, &row.part)?;
        let program = program.ok_or_else(|| StoreError::Missing(format!("program of run `{}`", row.id)))?;
        let state = self.state_of(&row, &program)?;
        Ok(RunView { row, program, state })
    }

    /// Replays a part of a run from its journal, and passes its notes to a callback.
    ///
    /// The work is limited to `max_ops`, because a run may have executed very many ops. Without `from`, the newest part is replayed, from a
    /// snapshot or from the start of a short run.
    pub fn replay_part(
        &self,
        run: RunNo,
        from: Option<u64>,
        max_ops: u64,
        notes: &mut dyn FnMut(Note),
    ) -> Result<Replayed, StoreError> {
        let view = self.load(run)?;
        let packing = self.packing(run)?;
        let ops = view.state.ops();
        let state = match from {
            Some(from) => self.snapshot_before(run, &packing, |state| state.seq() <= from.min(view.state.seq()))?,
            None if ops <= max_ops => State::new(),
            None => self.snapshot_before(run, &packing, |state| state.ops().saturating_add(max_ops) <= ops)?,
        };
        let first = from.unwrap_or(state.seq()).clamp(state.seq(), view.state.seq());
        let mut recorded_from = state.ops();
        let (rows, _) = self.events_after(run, &packing, state.seq())?;
        let mut fold = Fold::new(&view.program, state, rows);
        // Another process may have written more events since the run was loaded.
        while fold.state().seq() < view.state.seq() {
            let skips = fold.state().seq() < first;
            if !skips && from.is_some() && fold.state().ops() - recorded_from > max_ops {
                break;
            }
            let folded = if skips { fold.next() } else { fold.replay_next(notes) };
            let Some(folded) = folded else { break };
            folded.map_err(StoreError::in_journal_of(&view.row.id))?;
            if skips {
                recorded_from = fold.state().ops();
            }
        }
        let last = fold.state().seq();
        Ok(Replayed { first, last, is_whole: first == 0 && last == view.state.seq(), view })
    }

    /// The usage of a run at its newest readable snapshot, for runs whose journal is damaged.
    pub(super) fn usage_at_snapshot(&self, run: RunNo) -> Result<Usage, StoreError> {
        match self.snapshot_before(run, &self.packing(run)?, |_| true) {
            Err(error) if error.is_of_one_run() => Ok(Usage::default()),
            state => Ok(state?.usage()),
        }
    }
}

impl Host {
    /// Loads a run, from memory if it is open.
    pub(super) fn load_row(&self, row: &Run) -> Result<RunView, StoreError> {
        match self.open.get(&row.run) {
            Some(open) => Ok(RunView { row: row.clone(), program: open.program.clone(), state: open.state.clone() }),
            None => self.store.load(row.run),
        }
    }

    /// The state of a run that is in memory.
    pub(crate) fn state_in_memory(&self, run: RunNo) -> Option<&State> {
        self.open.get(&run).map(|open| &open.state)
    }

    /// Loads a run as it is after the last turn.
    pub fn load(&self, run: RunNo) -> Result<RunView, StoreError> {
        self.load_row(&self.store.row(run)?)
    }
}
