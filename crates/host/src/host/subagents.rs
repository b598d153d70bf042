//! Agents that are tools of other agents: the run of the outermost agent is notified of the start and the end of each call.

use branchpoint_core::Event;
use branchpoint_expr::Value;

use super::Host;
use crate::store::{RunNo, StoreError};
use branchpoint_runners::Call;
use branchpoint_runners::Secrets;
use branchpoint_runners::agent::{Notice, is_agent_program};

impl Host {
    /// Sends the notice of an agent that a turn of another agent has called, at its start or with its result. The signal is stored in the
    /// same transaction, and its key prevents a second delivery.
    pub(super) fn notify_of_agent(
        &mut self,
        turn: RunNo,
        call: &Call,
        result: Option<&Value>,
    ) -> Result<(), StoreError> {
        let Some(Notice { signal, event, payload }) = Notice::of(call, result) else { return Ok(()) };
        let Some(run) = self.run_of_outermost_agent(turn)? else { return Ok(()) };
        // The receiving run may not have sealed all secrets of the turn.
        let secrets = self.open.get(&turn).map(|open| open.packing.secrets.to_vec()).unwrap_or_default();
        let payload = Secrets::from_values(secrets).mask_value(&payload);
        let key = format!("{event} {} {} {}", call.run, call.effect.0, call.attempt);
        self.post(run, Event::Signal { name: signal, payload, sender: None, key: Some(key.into()) })
    }

    /// The run that the outermost agent belongs to.
    fn run_of_outermost_agent(&self, turn: RunNo) -> Result<Option<RunNo>, StoreError> {
        let mut row = self.store.row(turn)?;
        while is_agent_program(&row.part) {
            let Some(parent) = row.parent else { return Ok(None) };
            row = self.store.row(parent.run)?;
        }
        Ok(Some(row.run))
    }
}
