//! Winding down: a host that is about to close starts no more work, and records the responses that its runs could not accept.

use branchpoint_core::{EffectNo, Event, Stamp};

use super::{DrivenRuns, Host, Order, Requester, RunNo};
use crate::store::StoreError;

impl Host {
    /// From now on, scripts answer no calls, no child run starts, and no abandoned run is opened, so that the queue drains. The store has
    /// the pending calls; the next process performs them.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// host.wind_down();
    /// assert!(host.is_drained());
    /// ```
    pub fn wind_down(&mut self) {
        self.winding_down = true;
        self.settings.drives = DrivenRuns::Requested;
        self.schedule.unowned_due_ms = None;
    }

    /// Whether nothing is queued and everything computed is written.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert!(host.is_drained());
    /// ```
    pub fn is_drained(&self) -> bool {
        self.schedule.queue.is_empty() && !self.current.unwritten
    }

    /// Whether a computed turn is not written yet, because another process holds the write lock.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert!(!host.is_unwritten());
    /// ```
    pub fn is_unwritten(&self) -> bool {
        self.current.unwritten
    }

    /// Records responses that no run has accepted in the inbox, so that the next process does not repeat their calls.
    pub(super) fn record_responses(&mut self) -> Result<(), StoreError> {
        let queued = std::mem::take(&mut self.schedule.queue).into_iter().filter_map(|order| match order {
            Order::Deliver(run, event @ Event::Settled { .. }, Requester::None) => Some((run, event)),
            _ => None,
        });
        let mut responses: Vec<(RunNo, Event)> = queued.collect();
        for (run, open) in &mut self.open {
            let waiting = open.waiting.drain(..).filter(|(event, requester)| {
                matches!(event, Event::Settled { .. }) && matches!(requester, Requester::None)
            });
            responses.extend(waiting.map(|(event, _)| (*run, event)));
        }
        for (run, event) in responses {
            let is_awaited = self.open.get(&run).is_some_and(|open| !super::apply::is_late(&event, open));
            if is_awaited && let Ok((_, packed)) = self.pack_event(run, &Stamp::default(), event)? {
                self.store.post_packed(run, packed);
            }
        }
        Ok(())
    }
}

/// The attempt of the response in an event.
pub(super) fn responds_to(event: &Event) -> Option<(EffectNo, u32)> {
    match event {
        Event::Settled { effect, attempt, .. } => Some((*effect, *attempt)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
