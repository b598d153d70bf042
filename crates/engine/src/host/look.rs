//! Looking at a run without driving it.

use std::sync::Arc;

use branchpoint_core::ir::{Program, Status, ViewId};
use branchpoint_core::{Note, Offer, State, offers, replay, status, view};
use branchpoint_expr::Value;

use super::Host;
use crate::store::{Run, RunNo, Store, Trouble};

/// A run as it stands.
#[derive(Debug)]
pub struct Look {
    /// Its row.
    pub row: Run,
    /// Its program.
    pub program: Arc<Program>,
    /// Its state.
    pub state: State,
}

impl Look {
    /// How it stands.
    pub fn status(&self) -> Status {
        status(&self.program, &self.state)
    }

    /// The result object of one that has ended; else what its program shows of it meanwhile.
    pub fn result(&self) -> Option<Value> {
        result_of(&self.program, &self.state)
    }

    /// What it would accept now.
    pub fn offers(&self) -> Vec<Offer> {
        offers(&self.program, &self.state)
    }

    /// A pure read of it, by name; none if there is no such view or it cannot be read.
    pub fn view(&self, name: &str) -> Option<Value> {
        view_of(&self.program, &self.state, name)
    }
}

/// The result object of a run that has ended; else what its program shows of it meanwhile.
pub(super) fn result_of(program: &Program, state: &State) -> Option<Value> {
    state.result().map(|(_, result)| result.clone()).or_else(|| view_of(program, state, "result"))
}

fn view_of(program: &Program, state: &State, name: &str) -> Option<Value> {
    let id = program.views.iter().position(|view| &*view.name == name)?;
    view(program, state, ViewId(u32::try_from(id).ok()?)).ok()
}

impl Store {
    /// A run as it stands in the store.
    pub fn look(&self, run: RunNo) -> Result<Look, Trouble> {
        let row = self.row(run)?;
        let program = self.program(row.workflow, &row.part)?;
        let program = program.ok_or_else(|| Trouble::Missing(format!("program of run `{}`", row.id)))?;
        let state = self.state_of(&row, &program)?;
        Ok(Look { row, program: Arc::new(program), state })
    }

    /// Everything that happened in a run, told again from its journal.
    pub fn retell(&self, run: RunNo) -> Result<(Look, Vec<Note>), Trouble> {
        let look = self.look(run)?;
        let told = replay(&look.program, State::new(), self.journal(run)?);
        let (_, notes) = told.map_err(|strayed| {
            let (seq, reason) = match &strayed {
                branchpoint_core::Strayed::Refused { position, .. }
                | branchpoint_core::Strayed::Otherwise { position } => (*position as u64 + 1, strayed.to_string()),
            };
            Trouble::Strayed { run: look.row.id.clone(), seq, reason }
        })?;
        Ok((look, notes))
    }
}

impl Host {
    /// A run as it stands: from memory if it is there.
    pub(super) fn look(&self, row: &Run) -> Result<Look, Trouble> {
        match self.open.get(&row.run) {
            Some(open) => Ok(Look { row: row.clone(), program: open.program.clone(), state: open.state.clone() }),
            None => self.store.look(row.run),
        }
    }

    /// The state of a run that is in memory.
    pub(crate) fn state_in_memory(&self, run: RunNo) -> Option<&State> {
        self.open.get(&run).map(|open| &open.state)
    }

    /// A run as it stands after the last turn.
    pub fn look_at(&self, run: RunNo) -> Result<Look, Trouble> {
        self.look(&self.store.row(run)?)
    }
}
