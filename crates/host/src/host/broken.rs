//! Runs that cannot be opened: their key is missing, or their own bytes are damaged. They can be cancelled all the same.

use std::sync::Arc;

use branchpoint_core::Event;
use branchpoint_core::ir::Status;

use super::{Act, Host, Order, Refused, Taken};
use crate::store::{Packing, RunNo, Trouble};

impl Host {
    /// Cancels a run that cannot be opened. With its secrets withheld, its journal mostly leads where it led, so that the event is
    /// appended as to any other run; nothing is performed any more. Where that fails, only its rows are ended.
    pub(super) fn cancel_broken(
        &mut self,
        run: RunNo,
        reason: Option<&Arc<str>>,
        now_ms: i64,
    ) -> Result<Result<Taken, Refused>, Trouble> {
        let packing = self.store.packing(run)?;
        if packing.withheld.is_none() || !self.cancel_withheld(run, &packing, reason, now_ms)? {
            self.end_rows(run, now_ms)?;
        }
        self.broken.remove(&run);
        Ok(Ok(Taken { run, new: true }))
    }

    /// False: the journal cannot be followed without the secrets.
    fn cancel_withheld(
        &mut self,
        run: RunNo,
        packing: &Packing,
        reason: Option<&Arc<str>>,
        now_ms: i64,
    ) -> Result<bool, Trouble> {
        let row = self.store.row(run)?;
        match self.open_with(&row, Some(packing.clone())) {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Ok(false),
            Err(trouble) if trouble.is_of_one_run() => return Ok(false),
            Err(trouble) => return Err(trouble),
        }
        // What the program does last may need the secrets: a second cancellation does not wait for it.
        for _ in 0..2 {
            if self.open.get(&run).is_none_or(|open| open.state.result().is_some()) {
                break;
            }
            if self.apply(run, Event::Cancel { reason: reason.cloned() }, now_ms)?.is_err() {
                self.open.remove(&run);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Ends the rows of a run whose journal cannot be followed. The journal stays as it is.
    fn end_rows(&mut self, run: RunNo, now_ms: i64) -> Result<(), Trouble> {
        let row = self.store.row(run)?;
        self.store.end_rows(run, now_ms);
        for child in self.store.children(run)?.into_iter().filter(|child| !child.status.is_final()) {
            self.send(child.run, Event::Cancel { reason: None })?;
        }
        if row.parent.is_some() {
            self.queue.push_back(Order::ChildEnded(run));
        }
        let id: Arc<str> = row.id.as_str().into();
        self.acts.push(Act::Stands { run, id, status: Status::Cancelled, result: None });
        Ok(())
    }
}
