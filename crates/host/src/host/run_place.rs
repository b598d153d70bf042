//! The place of a run among the runs that called it, by which scripts and recordings distinguish the calls of child runs.

use std::sync::Arc;

use branchpoint_core::EffectNo;

use super::Host;
use crate::store::{Run, StoreError};
use branchpoint_runners::Call;

/// The steps and loop items around a run; empty for a root run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunPlace {
    /// As in [`Call::callers`].
    pub(crate) callers: Arc<str>,
    /// The positions of the items around the steps that called the run, outermost first.
    pub(crate) path: Vec<u32>,
}

impl RunPlace {
    /// The place of the child run of a call.
    pub(crate) fn called_by(call: &Call) -> Self {
        let step = call.name();
        let callers = if call.callers.is_empty() { step } else { format!("{}/{step}", call.callers).into() };
        Self { callers, path: call.path.clone() }
    }

    /// A place within this run. `path` has the positions of the loop items around it.
    pub(crate) fn within(&self, path: &[u32]) -> Self {
        Self { callers: self.callers.clone(), path: [&*self.path, path].concat() }
    }

    /// A call of this run, with its place.
    pub(crate) fn locate(&self, call: Call) -> Call {
        let Self { callers, path } = self.within(&call.path);
        Call { callers, path, ..call }
    }
}

impl Host {
    /// The place of a run, from the pending calls of its callers.
    pub(super) fn place_of(&mut self, row: &Run) -> Result<RunPlace, StoreError> {
        let Some(parent) = row.parent else { return Ok(RunPlace::default()) };
        if let Some(open) = self.open.get(&parent.run)
            && let Some(flight) = open.flights.get(&EffectNo(parent.effect))
            && let Some((_, call)) = &flight.child
        {
            return Ok(RunPlace::called_by(call));
        }
        let caller = self.store.row(parent.run)?;
        let place = self.place_of(&caller)?;
        let pending = self.store.pending_effect(parent.run, EffectNo(parent.effect))?;
        let program = self.program(caller.workflow, &caller.part.as_str().into())?;
        let call = pending.zip(program).and_then(|(command, program)| {
            Call::from_command(&program, &caller.id.as_str().into(), &caller.folder.as_str().into(), command)
        });
        // A run whose call is gone has no effect on its parent, so its exact place does not matter.
        Ok(call.map_or(place.clone(), |call| RunPlace::called_by(&place.locate(call))))
    }
}
