//! Slots of runs with limits. A run begins, and performs calls, only while it has a slot; events are applied at any time. The queue is in
//! the store ([`crate::store`]), so that it survives crashes and is shared by all processes.
//!
//! The tree of a run has one slot: child runs are part of the run that calls them. It gives the slot back while everything in it waits
//! for people or timers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use branchpoint_backend::RunEventKind;
use branchpoint_core::ir::{Program, Status};
use branchpoint_core::{RunLimits, status};
use branchpoint_expr::{Object, Value};
use branchpoint_runners::{Call, Secrets};

use super::open::Open;
use super::{DrivenRuns, Host, Order};
use crate::store::{Admitting, GroupLimit, RunNo, SlotLimits, SlotState, StoreError, WorkflowNo};

/// The runs with limits that are open here.
#[derive(Default)]
pub(super) struct Slots {
    /// The slots of open root runs.
    states: HashMap<RunNo, SlotState>,
    /// Open runs with calls that wait for a slot.
    held: BTreeSet<RunNo>,
    /// Runs that got a slot in this turn.
    admitted: Vec<RunNo>,
    /// Queued runs that were reported to their listeners.
    reported: BTreeSet<RunNo>,
    /// Whether queued runs may have become admissible.
    is_dirty: bool,
    /// Whether the queue was examined in this turn.
    is_examined: bool,
    /// When a rate admits the next run.
    next_ms: Option<i64>,
}

impl Slots {
    /// When the queue must be examined.
    pub(super) fn due_ms(&self) -> Option<i64> {
        if self.is_dirty { Some(i64::MIN) } else { self.next_ms }
    }

    /// Another process may have changed the queue.
    pub(super) fn set_dirty(&mut self) {
        self.is_dirty = true;
    }

    pub(super) fn has_queued(&self) -> bool {
        self.states.values().any(|state| *state == SlotState::Queued)
    }

    /// A run is not open any more.
    pub(super) fn remove(&mut self, run: RunNo) -> Option<SlotState> {
        self.held.remove(&run);
        self.reported.remove(&run);
        self.states.remove(&run)
    }
}

/// The limits of a run that begins with an input; `None` if it has none.
pub(crate) fn slot_limits(
    document: Option<&RunLimits>,
    operator: Option<&RunLimits>,
    (input, facts): (&Value, &Object),
    secrets: &Secrets,
) -> Option<SlotLimits> {
    if document.is_none() && operator.is_none() {
        return None;
    }
    let metadata = facts.get("metadata").cloned().unwrap_or_default();
    let group = |limits: Option<&RunLimits>| {
        let limits = limits?;
        let group = limits.per.as_ref().map(|per| per.group(input, &metadata)).unwrap_or_default();
        // Groups are shown and stored, and secrets are neither.
        Some(GroupLimit::new(limits, secrets.mask(&group).into_owned()))
    };
    Some(SlotLimits { document: group(document).unwrap_or_default(), operator: group(operator).unwrap_or_default() })
}

impl Host {
    /// Limits the runs of workflows, by name, beside the limits of their documents.
    #[must_use]
    pub fn with_run_limits(mut self, limits: BTreeMap<String, RunLimits>) -> Self {
        self.settings.run_limits = limits;
        self
    }

    /// The limits of a new root run.
    pub(super) fn limits_of_start(
        &self,
        workflow: WorkflowNo,
        program: &Program,
        start: (&Value, &Object),
        secrets: &Secrets,
    ) -> Result<Option<SlotLimits>, StoreError> {
        let document = RunLimits::of_program(program);
        let operator = if self.settings.run_limits.is_empty() {
            None
        } else {
            self.settings.run_limits.get(&self.store.workflow_name(workflow)?)
        };
        Ok(slot_limits(document.as_ref(), operator, start, secrets))
    }

    /// Adds a new root run to the queue. It does not begin before it has a slot.
    pub(super) fn enqueue(&mut self, run: RunNo, limits: SlotLimits) {
        self.store.enqueue_later(run, limits);
        self.slots.states.insert(run, SlotState::Queued);
        self.slots.is_dirty = true;
    }

    /// Loads the slot of a root run that is opened.
    pub(super) fn load_slot(&mut self, run: RunNo) -> Result<(), StoreError> {
        let Some(state) = self.store.slot(run, self.owner.number)? else { return Ok(()) };
        self.slots.states.insert(run, state);
        self.slots.is_dirty |= state == SlotState::Queued;
        Ok(())
    }

    /// Whether a run has been started and must not begin before it has a slot.
    pub(super) fn awaits_slot(&self, run: RunNo) -> bool {
        let is_without = self.slots.states.get(&run).is_some_and(|state| *state != SlotState::Driven);
        is_without && self.open.get(&run).is_some_and(|open| open.has_not_begun())
    }

    /// Keeps a call of a run whose tree has no slot. Returns the call if it can be performed.
    pub(super) fn hold(&mut self, run: RunNo, call: Call) -> Option<Call> {
        let Some(root) = self.root_of_open(run) else { return Some(call) };
        match self.slots.states.get(&root) {
            None | Some(SlotState::Driven) => return Some(call),
            Some(_) => {}
        }
        if let Some(open) = self.open.get_mut(&run) {
            open.held.push(call);
            self.slots.held.insert(run);
        }
        self.need_slot(root);
        None
    }

    /// Queues a run that waited for people or timers and has work again.
    pub(super) fn need_slot(&mut self, root: RunNo) {
        if self.slots.states.get(&root) == Some(&SlotState::Resting) {
            self.set_slot(root, SlotState::Queued);
        }
    }

    fn set_slot(&mut self, root: RunNo, state: SlotState) {
        self.store.set_slot_later(root, state);
        self.slots.states.insert(root, state);
        self.slots.reported.remove(&root);
        self.slots.is_dirty = true;
    }

    /// The root of the tree of a run, if all runs up to it are open.
    fn root_of_open(&self, run: RunNo) -> Option<RunNo> {
        let mut root = run;
        while let Some(parent) = self.open.get(&root)?.parent {
            root = parent.run;
        }
        Some(root)
    }

    /// Gives slots to queued runs, in the claims of a turn.
    pub(super) fn admit_queued(&mut self, now_ms: i64) -> Result<(), StoreError> {
        if self.winding_down || self.slots.due_ms().is_none_or(|due_ms| due_ms > now_ms) {
            return Ok(());
        }
        let drives_all = self.settings.drives == DrivenRuns::All;
        let by = Admitting { owner: self.owner.number, drives_all, now_ms };
        let mut next_ms: Option<i64> = None;
        let mut admitted = Vec::new();
        for name in self.store.queued_workflows(by)? {
            // Most often nothing is admissible, and the write lock is not needed.
            let mut admissions = self.store.admissible(&name, by)?;
            if !admissions.runs.is_empty() {
                admissions = self.store.unsynced(|| self.store.admit(&name, by))?;
            }
            admitted.extend(admissions.runs);
            next_ms = [next_ms, admissions.next_ms].into_iter().flatten().min();
        }
        self.slots.is_dirty = false;
        self.slots.next_ms = next_ms;
        self.slots.is_examined = true;
        for run in &admitted {
            if !self.open.contains_key(run) {
                self.schedule.queue.push_front(Order::wake(*run));
            }
        }
        self.slots.admitted.extend(admitted);
        Ok(())
    }

    /// Begins the runs that got a slot, or continues them, and removes from memory those that did not.
    pub(super) fn begin_admitted(&mut self) -> Result<(), StoreError> {
        for run in std::mem::take(&mut self.slots.admitted) {
            if !self.open.contains_key(&run) {
                continue;
            }
            let had_not_begun = self.awaits_slot(run);
            self.slots.states.insert(run, SlotState::Driven);
            self.slots.reported.remove(&run);
            if had_not_begun && !self.schedule.unfinished.contains(&run) {
                self.schedule.unfinished.push_back(run);
            }
            let held = self.slots.held.iter().copied();
            let held: Vec<RunNo> = held.filter(|member| self.root_of_open(*member) == Some(run)).collect();
            for member in held {
                self.slots.held.remove(&member);
                let Some(open) = self.open.get_mut(&member) else { continue };
                for call in open.take_held() {
                    self.perform(member, call);
                }
            }
        }
        if std::mem::take(&mut self.slots.is_examined) && self.slots.has_queued() {
            self.report_queued()?;
            self.unload_queued()?;
        }
        Ok(())
    }

    /// Reports to the listeners of queued runs why they do not continue.
    fn report_queued(&mut self) -> Result<(), StoreError> {
        let is_new =
            |run: &RunNo| !self.slots.reported.contains(run) && self.open.get(run).is_some_and(|open| open.watched);
        let queued = self.slots.states.iter().filter(|(_, state)| **state == SlotState::Queued);
        let queued: Vec<RunNo> = queued.map(|(run, _)| *run).filter(is_new).collect();
        for run in queued {
            self.slots.reported.insert(run);
            if let Some(queued) = self.store.queued(run, self.current.now_ms)? {
                let message = format!("Queued at position {}: {}.", queued.position, queued.reason);
                self.report(run, RunEventKind::Message(message));
            }
        }
        Ok(())
    }

    /// Removes queued runs that have not begun from memory. The process that admits one opens it.
    fn unload_queued(&mut self) -> Result<(), StoreError> {
        if self.settings.drives != DrivenRuns::All {
            return Ok(());
        }
        let is_unused = |open: &Open| !open.watched && open.waiting.is_empty();
        let queued = self.slots.states.keys().copied().filter(|run| self.awaits_slot(*run));
        let queued: Vec<RunNo> = queued.filter(|run| self.open.get(run).is_some_and(|open| is_unused(open))).collect();
        queued.into_iter().try_for_each(|run| self.unload_now(run))
    }

    /// Updates the slot of the tree of a run that accepted an event.
    pub(super) fn update_slot(&mut self, run: RunNo, status: Status) -> Result<(), StoreError> {
        if self.slots.states.is_empty() {
            return Ok(());
        }
        let Some(root) = self.root_of_open(run) else { return Ok(()) };
        let Some(state) = self.slots.states.get(&root).copied() else { return Ok(()) };
        if root == run && status.is_final() {
            self.store.leave_queue_later(root);
            self.slots.remove(root);
            self.slots.is_dirty = true;
        } else if state != SlotState::Resting && !self.has_work(root)? {
            self.set_slot(root, SlotState::Resting);
        }
        Ok(())
    }

    /// A run is removed from memory, and its process does not drive it any more.
    pub(super) fn release_slot(&mut self, run: RunNo, status: Status) {
        let Some(state) = self.slots.remove(run) else { return };
        if status.is_final() {
            return;
        }
        let next = if status == Status::Running { SlotState::Queued } else { SlotState::Resting };
        if state != next {
            self.store.set_slot_later(run, next);
        }
        self.slots.is_dirty = true;
    }

    /// Whether a run or one of its child runs does not only wait for people or timers.
    fn has_work(&mut self, run: RunNo) -> Result<bool, StoreError> {
        let is_answerable = self.schedule.answerable.contains(&run);
        let Some(open) = self.open.get_mut(&run) else {
            // It was unloaded because it waits, or it has ended, which its parent is about to hear.
            return match self.store.row(run) {
                Ok(row) => Ok(!matches!(row.status, Status::WaitingPeople | Status::WaitingTimer)),
                Err(StoreError::Missing(_)) => Ok(true),
                Err(error) => Err(error),
            };
        };
        open.drop_withdrawn();
        let now = status(&open.program, &open.state);
        if !is_answerable && matches!(now, Status::WaitingPeople | Status::WaitingTimer) {
            return Ok(false);
        }
        let is_busy = is_answerable || open.state.is_unfinished() || !open.waiting.is_empty() || !open.held.is_empty();
        let children: Option<Vec<RunNo>> =
            open.flights.values().map(|flight| flight.child.as_ref().map(|(child, _)| *child)).collect();
        let Some(children) = children.filter(|children| !is_busy && !children.is_empty()) else { return Ok(true) };
        for child in children {
            if self.has_work(child)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Open {
    /// Whether its start was stored, and nothing of it was executed but its first op.
    pub(super) fn has_not_begun(&self) -> bool {
        self.state.seq() == 1 && self.state.is_unfinished()
    }

    /// The calls that waited for a slot and are still wanted.
    fn take_held(&mut self) -> Vec<Call> {
        self.drop_withdrawn();
        std::mem::take(&mut self.held)
    }

    fn drop_withdrawn(&mut self) {
        let flights = &self.flights;
        self.held.retain(|call| flights.get(&call.effect).is_some_and(|flight| flight.attempt == call.attempt));
    }
}

#[cfg(test)]
mod tests;
