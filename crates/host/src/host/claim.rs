//! Claims the runs and inbox items that a turn needs, in a short transaction before anything is computed.
//!
//! **Invariant:** from its claim until its release, only this process writes the rows of a run. An item of the inbox is claimed after
//! its run, and its sender does not remove it while this process is alive. The claims of a process that ends without releasing them
//! go to the next process, which sees by the lock that the process is dead.

use std::collections::BTreeSet;

use branchpoint_core::Event;

use super::turn::ORDERS_PER_TURN;
use super::{Accepted, CallSource, Host, Order, Rejection, Requester, RunNo};
use crate::store::{Run, Store, StoreError};

/// The most runs that are opened in one turn because a timer is due.
const OPENED_PER_TURN: usize = 256;

/// The runs and items that the orders of a turn need.
#[derive(Default)]
struct OrderNeeds {
    runs: BTreeSet<RunNo>,
    /// Items of the inbox, with their runs.
    items: Vec<(i64, RunNo)>,
    new_runs: usize,
    /// Runs whose script is replaced or dropped when they are continued.
    scripts: Vec<(RunNo, CallSource)>,
}

/// The claims of the turn, and their outcomes.
#[derive(Default)]
pub(super) struct Claims {
    /// The number of orders at the front of the queue that the claims are for.
    pub(super) orders: usize,
    /// Runs that cannot be driven here, and why.
    rejection: std::collections::HashMap<RunNo, Rejection>,
    /// Items that this process has claimed.
    items: BTreeSet<i64>,
    /// Items that their senders have removed, that have an outcome, or that another process has claimed.
    lost: BTreeSet<i64>,
    /// Runs whose script was changed.
    rescripted: BTreeSet<RunNo>,
}

/// A run, and its row if it was claimed.
type Claimed = (RunNo, Result<Run, Rejection>);

/// Whether an order can be executed in this turn.
pub(super) enum Readiness {
    /// Everything it needs is claimed.
    Ready,
    /// It needs something that the next turn claims.
    NextTurn,
    /// Another process drives the run, or it cannot be opened.
    Rejection(Rejection),
}

impl Host {
    pub(super) fn claim(&mut self, now_ms: i64) -> Result<(), StoreError> {
        self.admit_queued(now_ms)?;
        self.claims = Claims { orders: self.schedule.queue.len().min(ORDERS_PER_TURN), ..Claims::default() };
        let mut needs = self.order_needs();
        let is_closed_due = self.schedule.unowned_due_ms.is_some_and(|due_ms| due_ms <= now_ms);
        if is_closed_due {
            needs.runs.extend(self.store.due(now_ms, &self.broken.skipped(), OPENED_PER_TURN)?);
        }
        needs.runs.extend(self.retries(now_ms));
        needs.new_runs = needs.new_runs.saturating_sub(self.current.numbers.len());
        if !needs.runs.is_empty() || !needs.items.is_empty() || needs.new_runs > 0 {
            self.claim_all(needs, now_ms)?;
        }
        if is_closed_due {
            self.schedule.unowned_due_ms = self.store.first_due_ms(&self.broken.skipped())?;
        }
        Ok(())
    }

    fn order_needs(&self) -> OrderNeeds {
        let mut needs = OrderNeeds::default();
        for order in self.schedule.queue.iter().take(self.claims.orders) {
            match order {
                Order::Deliver(run, event, requester) => {
                    let open = self.open.get(run);
                    // A run is not opened for a response that it does not wait for.
                    if open.is_none() && matches!(event, Event::Settled { .. }) {
                        continue;
                    }
                    if open.is_none() {
                        needs.runs.insert(*run);
                    }
                    let waits = open.is_some_and(|open| open.makes_wait(event));
                    needs.items.extend(requester.item().filter(|_| !waits).map(|item| (item, *run)));
                }
                Order::Wake { run, with, .. } if !self.open.contains_key(run) => {
                    needs.runs.insert(*run);
                    if *with != CallSource::Script {
                        needs.scripts.push((*run, with.clone()));
                    }
                }
                Order::Migrate { run, .. } => {
                    needs.new_runs += 1;
                    if !self.open.contains_key(run) {
                        needs.runs.insert(*run);
                    }
                }
                Order::Start(..) | Order::Fork { .. } | Order::Child(..) => needs.new_runs += 1,
                Order::Wake { .. } | Order::Unload(_) | Order::ChildEnded(_) => {}
            }
        }
        needs
    }

    fn claim_all(&mut self, needs: OrderNeeds, now_ms: i64) -> Result<(), StoreError> {
        self.store.begin_unsynced()?;
        let claimed = self.claim_in_transaction(needs, now_ms);
        for (run, claimed) in self.store.end_unsynced(claimed)? {
            let opened = match claimed {
                Ok(_) if self.open.contains_key(&run) => Ok(()),
                Ok(row) => self.open_claimed(&row)?,
                Err(rejection) => Err(rejection),
            };
            if let Err(rejection) = opened {
                self.claims.rejection.insert(run, rejection);
            }
        }
        Ok(())
    }

    fn claim_in_transaction(&mut self, needs: OrderNeeds, now_ms: i64) -> Result<Vec<Claimed>, StoreError> {
        if needs.new_runs > 0 {
            self.current.numbers.extend(self.store.reserve_runs(needs.new_runs)?);
        }
        let mut claimed = Vec::new();
        for (run, with) in needs.scripts {
            match self.change_script(run, with, now_ms) {
                Ok(Ok(())) => drop(self.claims.rescripted.insert(run)),
                Ok(Err(rejection)) => claimed.push((run, Err(rejection))),
                Err(error) if error.is_of_one_run() => {
                    claimed.push((run, Err(Rejection::Broken(error.to_string()))));
                }
                Err(error) => return Err(error),
            }
        }
        let rejection: BTreeSet<RunNo> = claimed.iter().map(|(run, _)| *run).collect();
        for run in needs.runs.difference(&rejection) {
            claimed.extend(self.claim_tree(*run)?);
        }
        let driven = claimed.iter().filter(|(_, claimed)| matches!(claimed, Err(Rejection::Driven)));
        self.claim_items(&needs.items, &driven.map(|(run, _)| *run).collect())?;
        Ok(claimed)
    }

    /// Claims items of the inbox after their runs. Those of a run that another process drives are left to that process.
    fn claim_items(&mut self, items: &[(i64, RunNo)], driven: &BTreeSet<RunNo>) -> Result<(), StoreError> {
        let owner = self.owner.number;
        for (item, run) in items {
            let is_ours = if driven.contains(run) {
                self.store.release_item(*item, owner)?;
                false
            } else {
                self.store.claim_item(*item, owner)?
            };
            let outcome = if is_ours { &mut self.claims.items } else { &mut self.claims.lost };
            outcome.insert(*item);
        }
        Ok(())
    }

    /// Claims a run. One process drives the whole tree of a scripted run, because its calls share the script, and of a run with limits,
    /// because its tree has one slot: the root comes first.
    fn claim_tree(&self, run: RunNo) -> Result<Vec<Claimed>, StoreError> {
        let owner = self.owner.number;
        let mut claimed = vec![(run, self.store.claim_run(run, owner)?)];
        if claimed[0].1.is_err() {
            return Ok(claimed);
        }
        let root = self.store.root_of(run)?;
        let is_driven_together =
            || Ok::<_, StoreError>(self.store.is_scripted(root)? || self.store.slot(root, owner)?.is_some());
        if root == run || self.open.contains_key(&root) || !is_driven_together()? {
            return Ok(claimed);
        }
        match self.store.claim_run(root, owner)? {
            Ok(row) if row.status.is_final() => {}
            Ok(row) => claimed.insert(0, (root, Ok(row))),
            Err(rejection) => {
                self.store.release_run(run, owner)?;
                claimed = vec![(run, Err(rejection))];
            }
        }
        Ok(claimed)
    }

    /// Opens a claimed run. A run whose data is unusable is reported and released, so that it does not stop the others.
    fn open_claimed(&mut self, row: &Run) -> Result<Result<(), Rejection>, StoreError> {
        let rejection = match self.open_with(row, None) {
            Ok(Ok(())) => {
                self.set_opened(row.run);
                return Ok(Ok(()));
            }
            Ok(Err(rejection)) => rejection,
            Err(error) if error.is_of_one_run() => Rejection::Broken(error.to_string()),
            Err(error) => return Err(error),
        };
        self.set_broken(row, rejection.to_string());
        Ok(Err(rejection))
    }

    /// Whether the order for a run can be executed now. `None` means that its item of the inbox was removed or belongs to another process,
    /// and the order is dropped.
    pub(super) fn readiness(&mut self, run: RunNo, requester: Requester) -> Option<Readiness> {
        if let Some(item) = requester.item() {
            if self.claims.lost.contains(&item) {
                self.sent.remove(&item);
                return None;
            }
            if !self.claims.items.contains(&item) {
                return Some(Readiness::NextTurn);
            }
        }
        if self.open.contains_key(&run) {
            return Some(Readiness::Ready);
        }
        let rejection = self.claims.rejection.get(&run).cloned();
        Some(rejection.map_or(Readiness::NextTurn, Readiness::Rejection))
    }

    /// Executes the order to drive a run.
    pub(super) fn wake_run(&mut self, run: RunNo, watched: bool, with: CallSource, requester: Requester) {
        // A script is changed before the run is opened.
        let is_changed = with == CallSource::Script || self.claims.rescripted.contains(&run);
        match self.readiness(run, requester) {
            Some(Readiness::Ready) if is_changed => {
                self.open.get_mut(&run).into_iter().for_each(|open| open.watched |= watched);
                self.answer(requester, Ok(Accepted { run, new: false }));
            }
            Some(Readiness::Ready) => self.answer(requester, Err(Rejection::Driven)),
            Some(Readiness::Rejection(rejection)) => self.answer(requester, Err(rejection)),
            Some(Readiness::NextTurn) => self.schedule.queue.push_back(Order::Wake { run, watched, with, requester }),
            None => {}
        }
    }

    /// Opens a run in the next turn, unless another process drives it.
    pub(super) fn open_later(&mut self, run: RunNo, watched: bool) {
        self.schedule.queue.push_back(Order::Wake {
            run,
            watched,
            with: CallSource::Script,
            requester: Requester::None,
        });
    }
}

impl Store {
    /// Makes a process the owner of a run, within a transaction. An ended run needs no owner.
    fn claim_run(&self, run: RunNo, owner: i64) -> Result<Result<Run, Rejection>, StoreError> {
        let row = match self.row(run) {
            Err(StoreError::Missing(_)) => return Ok(Err(Rejection::NoRun)),
            row => row?,
        };
        if row.owner.is_some_and(|driver| driver != owner && self.is_alive(driver)) {
            return Ok(Err(Rejection::Driven));
        }
        if !row.status.is_final() {
            self.set_owner(run, Some(owner))?;
        }
        Ok(Ok(row))
    }
}

#[cfg(test)]
mod tests;
