//! What a turn needs that other processes could change: it is claimed in a short transaction before anything is computed.
//!
//! **Invariant:** from its claim until it is let go, only this process writes the rows of a run. An item of the inbox is claimed
//! after its run, and is not taken back by its sender while this process lives. A process that ends without letting go leaves its claims to the next,
//! which sees by its lock that it is gone.

use std::collections::BTreeSet;

use branchpoint_core::Event;

use super::turn::ORDERS_PER_TURN;
use super::{Accepted, CallSource, Host, Order, Rejection, Requester, RunNo};
use crate::store::{Run, Store, StoreError};

/// How many runs are opened in one turn because a timer of theirs is due.
const OPENED_PER_TURN: usize = 256;

/// What the orders of a turn need.
#[derive(Default)]
struct Wanted {
    runs: BTreeSet<RunNo>,
    /// Items of the inbox, with their runs.
    items: Vec<(i64, RunNo)>,
    new_runs: usize,
    /// Runs that are continued with other answers than those of their scripts.
    scripts: Vec<(RunNo, CallSource)>,
}

/// What became of the claims of the turn.
#[derive(Default)]
pub(super) struct Claims {
    /// How many orders, from the front of the queue, the claims are for.
    pub(super) orders: usize,
    /// Runs that cannot be driven here, and why.
    refused: std::collections::HashMap<RunNo, Rejection>,
    /// Items that this process takes.
    items: BTreeSet<i64>,
    /// Items that their senders have taken back, that have an outcome, or that belong to another process.
    lost: BTreeSet<i64>,
    /// Runs whose script was changed.
    rescripted: BTreeSet<RunNo>,
}

/// A run, and its row if it was claimed.
type Claimed = (RunNo, Result<Run, Rejection>);

/// Whether an order can be carried out in this turn.
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
        self.claims = Claims { orders: self.schedule.queue.len().min(ORDERS_PER_TURN), ..Claims::default() };
        let mut wanted = self.wanted();
        let is_closed_due = self.schedule.closed_due_ms.is_some_and(|due_ms| due_ms <= now_ms);
        if is_closed_due {
            wanted.runs.extend(self.store.due(now_ms, &self.broken.skipped(), OPENED_PER_TURN)?);
        }
        wanted.runs.extend(self.retries(now_ms));
        wanted.new_runs = wanted.new_runs.saturating_sub(self.current.numbers.len());
        if !wanted.runs.is_empty() || !wanted.items.is_empty() || wanted.new_runs > 0 {
            self.claim_all(wanted, now_ms)?;
        }
        if is_closed_due {
            self.schedule.closed_due_ms = self.store.first_due_ms(&self.broken.skipped())?;
        }
        Ok(())
    }

    fn wanted(&self) -> Wanted {
        let mut wanted = Wanted::default();
        for order in self.schedule.queue.iter().take(self.claims.orders) {
            match order {
                Order::Take(run, event, requester) => {
                    let open = self.open.get(run);
                    // Nobody opens a run for an answer that nobody waits for.
                    if open.is_none() && matches!(event, Event::Settled { .. }) {
                        continue;
                    }
                    if open.is_none() {
                        wanted.runs.insert(*run);
                    }
                    let waits = open.is_some_and(|open| open.makes_wait(event));
                    wanted.items.extend(requester.item().filter(|_| !waits).map(|item| (item, *run)));
                }
                Order::Wake { run, with, .. } if !self.open.contains_key(run) => {
                    wanted.runs.insert(*run);
                    if *with != CallSource::Script {
                        wanted.scripts.push((*run, with.clone()));
                    }
                }
                Order::Start(..) | Order::Fork { .. } | Order::Child(..) => wanted.new_runs += 1,
                Order::Wake { .. } | Order::Leave(_) | Order::ChildEnded(_) => {}
            }
        }
        wanted
    }

    fn claim_all(&mut self, wanted: Wanted, now_ms: i64) -> Result<(), StoreError> {
        self.store.begin_unsynced()?;
        let claimed = self.claim_in_transaction(wanted, now_ms);
        for (run, claimed) in self.store.end_unsynced(claimed)? {
            let opened = match claimed {
                Ok(_) if self.open.contains_key(&run) => Ok(()),
                Ok(row) => self.open_claimed(&row)?,
                Err(refused) => Err(refused),
            };
            if let Err(refused) = opened {
                self.claims.refused.insert(run, refused);
            }
        }
        Ok(())
    }

    fn claim_in_transaction(&mut self, wanted: Wanted, now_ms: i64) -> Result<Vec<Claimed>, StoreError> {
        if wanted.new_runs > 0 {
            self.current.numbers.extend(self.store.reserve_runs(wanted.new_runs)?);
        }
        let mut claimed = Vec::new();
        for (run, with) in wanted.scripts {
            match self.change_script(run, with, now_ms) {
                Ok(Ok(())) => drop(self.claims.rescripted.insert(run)),
                Ok(Err(refused)) => claimed.push((run, Err(refused))),
                Err(error) if error.is_of_one_run() => {
                    claimed.push((run, Err(Rejection::Broken(error.to_string()))));
                }
                Err(error) => return Err(error),
            }
        }
        let refused: BTreeSet<RunNo> = claimed.iter().map(|(run, _)| *run).collect();
        for run in wanted.runs.difference(&refused) {
            claimed.extend(self.claim_tree(*run)?);
        }
        let driven = claimed.iter().filter(|(_, claimed)| matches!(claimed, Err(Rejection::Driven)));
        self.claim_items(&wanted.items, &driven.map(|(run, _)| *run).collect())?;
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
            let known = if is_ours { &mut self.claims.items } else { &mut self.claims.lost };
            known.insert(*item);
        }
        Ok(())
    }

    /// Claims a run. The tree of a scripted run is driven by one process, because its calls share the answers: its root comes first.
    fn claim_tree(&self, run: RunNo) -> Result<Vec<Claimed>, StoreError> {
        let owner = self.owner.number;
        let mut claimed = vec![(run, self.store.claim_run(run, owner)?)];
        if claimed[0].1.is_err() {
            return Ok(claimed);
        }
        let root = self.store.root_of(run)?;
        if root == run || self.open.contains_key(&root) || !self.store.is_scripted(root)? {
            return Ok(claimed);
        }
        match self.store.claim_run(root, owner)? {
            Ok(row) if row.status.is_final() => {}
            Ok(row) => claimed.insert(0, (root, Ok(row))),
            Err(refused) => {
                self.store.release_run(run, owner)?;
                claimed = vec![(run, Err(refused))];
            }
        }
        Ok(claimed)
    }

    /// Opens a run that was claimed. One whose own bytes cannot be used is reported and let go: it must not stop the others.
    fn open_claimed(&mut self, row: &Run) -> Result<Result<(), Rejection>, StoreError> {
        let refused = match self.open_with(row, None) {
            Ok(Ok(())) => {
                self.set_opened(row.run);
                return Ok(Ok(()));
            }
            Ok(Err(refused)) => refused,
            Err(error) if error.is_of_one_run() => Rejection::Broken(error.to_string()),
            Err(error) => return Err(error),
        };
        self.set_broken(row, refused.to_string());
        Ok(Err(refused))
    }

    /// Whether the order for a run, with its item of the inbox if it has one, can be carried out now. None: the item was taken back or
    /// belongs to another process, and the order is dropped.
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
        let refused = self.claims.refused.get(&run).cloned();
        Some(refused.map_or(Readiness::NextTurn, Readiness::Rejection))
    }

    /// Answers an order to drive a run.
    pub(super) fn wake_run(&mut self, run: RunNo, watched: bool, with: CallSource, requester: Requester) {
        // A script is changed before the run is opened.
        let is_changed = with == CallSource::Script || self.claims.rescripted.contains(&run);
        match self.readiness(run, requester) {
            Some(Readiness::Ready) if is_changed => {
                self.open.get_mut(&run).into_iter().for_each(|open| open.watched |= watched);
                self.answer(requester, Ok(Accepted { run, new: false }));
            }
            Some(Readiness::Ready) => self.answer(requester, Err(Rejection::Driven)),
            Some(Readiness::Rejection(refused)) => self.answer(requester, Err(refused)),
            Some(Readiness::NextTurn) => self.schedule.queue.push_back(Order::Wake { run, watched, with, requester }),
            None => {}
        }
    }

    /// Opens a run in the next turn, if it can be driven here; else the process that drives it does what is to do.
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
    /// Makes a process the one that drives a run, inside a transaction. A run that has ended is only looked at.
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
