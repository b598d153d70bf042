//! Agents that are tools of other agents: the run that has the first of them hears when one is called, and how that ended.

use branchpoint_core::Event;

use super::Host;
use crate::store::{RunNo, Trouble};
use branchpoint_runners::Call;
use branchpoint_runners::Secrets;
use branchpoint_runners::agent::{SUBAGENT, Told, is_part};

impl Host {
    /// Tells of a call that a turn of an agent has made, if it is one of another agent. What is told is written in the transaction of
    /// what it tells of, and its key keeps it from being heard twice.
    pub(super) fn tell_of_agent(&mut self, turn: RunNo, call: &Call, told: Told<'_>) -> Result<(), Trouble> {
        let Some((what, payload)) = told.of(call) else { return Ok(()) };
        let Some(run) = self.around_agents(turn)? else { return Ok(()) };
        // It is a line of a log, so it has no use for secrets; and the run that hears it has not sealed all that the turn has.
        let secrets = self.open.get(&turn).map(|open| open.packing.secrets.to_vec()).unwrap_or_default();
        let payload = Secrets::from_values(secrets).mask_value(&payload);
        let key = format!("{what} {} {} {}", call.run, call.effect.0, call.attempt);
        self.send(run, Event::Signal { name: SUBAGENT.into(), payload, sender: None, key: Some(key.into()) })
    }

    /// The run that the outermost agent belongs to.
    fn around_agents(&self, turn: RunNo) -> Result<Option<RunNo>, Trouble> {
        let mut row = self.store.row(turn)?;
        while is_part(&row.part) {
            let Some(parent) = row.parent else { return Ok(None) };
            row = self.store.row(parent.run)?;
        }
        Ok(Some(row.run))
    }
}
