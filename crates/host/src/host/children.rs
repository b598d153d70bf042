//! Child runs: a call of another workflow is a run of its own, whose id follows from its parent's call. So a parent that is resumed
//! finds the child run that it has started.

use branchpoint_core::effect::Kind;
use branchpoint_core::{EffectNo, Event};

use super::run_place::RunPlace;
use super::{Accepted, Host, Order, Requester, Start};
use crate::store::{Parent, Part, RunNo, StoreError, WorkflowNo};
use branchpoint_runners::{Answer, Call};
use branchpoint_runners::{Secrets, resolve};
use branchpoint_runners::{child_run, judge};

/// The fact that has the possible approvers.
const ACCOUNT: &str = "account";

impl Host {
    /// Whether a call starts a program of the workflow. A program that cannot be read fails the call later.
    pub(super) fn is_child(&mut self, workflow: WorkflowNo, call: &Call) -> bool {
        part(call).is_some_and(|part| !matches!(self.program(workflow, &part), Ok(None)))
    }

    pub(super) fn call_child(&mut self, parent: RunNo, call: Call, now_ms: i64) -> Result<(), StoreError> {
        let Some(open) = self.open.get(&parent) else { return Ok(()) };
        let (effect, attempt) = (call.effect, call.attempt);
        // The call may have been withdrawn meanwhile.
        if open.flights.get(&effect).is_none_or(|flight| flight.attempt != attempt) {
            return Ok(());
        }
        let (workflow, part) = (open.workflow, part(&call).unwrap_or_default());
        match self.program(workflow, &part) {
            Err(error) if error.is_of_one_run() => {
                self.settle(parent, &call, Answer::failed("child", error.to_string()));
                return Ok(());
            }
            program => drop(program?),
        }
        let Some(open) = self.open.get(&parent) else { return Ok(()) };
        // Secrets that the call names are resolved here, and sealed with those of the child run.
        let (resolved, secrets) = match resolve(&call.input, &call.definition.secrets, &self.secrets_for(open.script)) {
            Ok(resolved) if call.kind() == Kind::Run => resolved,
            Ok(_) => (call.input.clone(), Vec::new()),
            Err(why) => {
                self.settle(parent, &call, Answer::failed("child", why));
                return Ok(());
            }
        };
        let call = Call { input: resolved, ..call };
        let (input, mut facts) = match child_run::start(&call, self.settings.agents) {
            Ok(start) => start,
            Err(error) => {
                self.settle(parent, &call, Answer::impossible("step_failed", error.to_string()));
                return Ok(());
            }
        };
        // Approvals of the child know the approvers of its parent, and who started it.
        if let Some(account) = open.state.facts(&open.program).and_then(|facts| facts.get(ACCOUNT)) {
            facts.entry(ACCOUNT.to_owned()).or_insert_with(|| account.clone());
        }
        let called = Parent { run: parent, effect: effect.0, attempt };
        let secrets = open.packing.secrets.iter().cloned().chain(secrets);
        let start = Start {
            part,
            parent: Some(called),
            depth: open.state.depth() + 1,
            budget: open.state.left_for(effect),
            watched: open.watched,
            folder: open.folder.clone(),
            facts,
            secrets: Secrets::from_values(secrets),
            ..Start::new(open.workflow, child_run::id(&open.id, effect.0, attempt), input)
        };
        let begun = match self.begin_new(start, RunPlace::called_by(&call), now_ms)? {
            Ok(begun) => begun,
            Err(rejection) => {
                let answer = Answer::failed("child", rejection.to_string());
                self.settle(parent, &call, answer);
                return Ok(());
            }
        };
        if begun.new {
            self.notify_of_agent(parent, &call, None)?;
        } else if self.parent_of(begun.run)? != Some(called) {
            // Another run has been started with the id of this child run.
            let id = child_run::id(&self.open[&parent].id, effect.0, attempt);
            let why = format!("run `{id}` has the id of this call's child run, but was not started by it");
            self.settle(parent, &call, Answer::impossible("child", why));
            return Ok(());
        }
        self.link(parent, call, begun, now_ms)
    }

    fn parent_of(&self, run: RunNo) -> Result<Option<Parent>, StoreError> {
        match self.open.get(&run) {
            Some(open) => Ok(open.parent),
            None => Ok(self.store.row(run)?.parent),
        }
    }

    fn link(&mut self, parent: RunNo, call: Call, begun: Accepted, now_ms: i64) -> Result<(), StoreError> {
        let (effect, attempt, limit_ms) = (call.effect, call.attempt, call.attempt_limit_ms());
        if let Some(flight) = self.open.get_mut(&parent).and_then(|open| open.flights.get_mut(&effect)) {
            flight.child = Some((begun.run, Box::new(call)));
        }
        if let Some(limit_ms) = limit_ms {
            let due_ms = now_ms.saturating_add(i64::try_from(limit_ms).unwrap_or(i64::MAX));
            self.schedule.limits.insert((due_ms, parent, effect, attempt));
        }
        if !begun.new {
            // This process or an earlier one has started it before. It may have ended since.
            let is_open = self.open.contains_key(&begun.run);
            if !is_open && self.store.row(begun.run)?.status.is_final() {
                self.schedule.queue.push_back(Order::ChildEnded(begun.run));
            } else {
                // If another process drives it, this process notices its end.
                let watched = self.open.get(&parent).is_some_and(|open| open.watched);
                self.open_later(begun.run, watched);
            }
        }
        Ok(())
    }

    /// Settles the parent's call with the result of an ended child run. A parent that is not in memory does so when it is opened.
    pub(super) fn child_ended(&mut self, child: RunNo) -> Result<(), StoreError> {
        let row = match self.store.row(child) {
            Err(error @ StoreError::Missing(_)) => {
                self.child_missing(child, &error.to_string());
                return Ok(());
            }
            row => row?,
        };
        let Some(parent) = row.parent else { return Ok(()) };
        let effect = EffectNo(parent.effect);
        if !self.open.contains_key(&parent.run) {
            // Opening it requests its pending calls again, including this one.
            self.open_later(parent.run, false);
            return Ok(());
        }
        let flight = self.open.get_mut(&parent.run).and_then(|open| open.flights.get_mut(&effect));
        let Some(flight) = flight.filter(|flight| flight.attempt == parent.attempt) else { return Ok(()) };
        let Some((_, call)) = flight.child.take() else { return Ok(()) };
        let child = match self.load_row(&row) {
            Ok(view) => view.state,
            // Its result cannot be read, so the parent's call fails.
            Err(error) if error.is_of_one_run() => {
                let usage = self.store.usage_at_snapshot(row.run)?;
                self.settle_with(parent.run, &call, Answer::failed("child", error.to_string()), usage);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let result = child.result().map(|(_, result)| result.clone()).unwrap_or_default();
        self.notify_of_agent(parent.run, &call, Some(&result))?;
        // The usage of a child run counts in its parent, too, whatever its outcome.
        let usage = child.usage();
        self.settle_with(parent.run, &call, child_run::answer(&call, result, usage), usage);
        Ok(())
    }

    /// Fails the call of the parent of a child run whose row is missing.
    fn child_missing(&mut self, child: RunNo, why: &str) {
        let is_child = |flight: &&mut super::open::Flight| flight.child.as_ref().is_some_and(|(of, _)| *of == child);
        let mut open = self.open.iter_mut();
        let flight = open.find_map(|(run, open)| Some((*run, open.flights.values_mut().find(is_child)?)));
        if let Some((parent, call)) = flight.and_then(|(parent, flight)| Some((parent, flight.child.take()?.1))) {
            self.settle(parent, &call, Answer::failed("child", why));
        }
    }

    /// Cancels the child runs of a call that was withdrawn or has timed out. The cancellations are stored in the same transaction, and a
    /// child run that this process drives is cancelled in the next turn. `newest` is the child run of the newest attempt, which may not
    /// be in the store yet.
    pub(super) fn abandon_children(
        &mut self,
        parent: RunNo,
        effect: EffectNo,
        newest: Option<RunNo>,
    ) -> Result<(), StoreError> {
        let mut children = self.store.called_by(parent, effect)?;
        children.extend(newest.filter(|newest| self.current.new_ids.values().any(|new| new == newest)));
        for child in children {
            self.post(child, Event::Cancel { reason: None })?;
        }
        Ok(())
    }

    /// Ends attempts that are child runs and have reached their time limit.
    pub(super) fn end_child_attempts(&mut self, now_ms: i64) -> Result<(), StoreError> {
        while let Some(over) = self.schedule.limits.first().copied().filter(|(due_ms, ..)| *due_ms <= now_ms) {
            self.schedule.limits.remove(&over);
            let (_, parent, effect, attempt) = over;
            let flight = self.open.get_mut(&parent).and_then(|open| open.flights.get_mut(&effect));
            let Some(flight) = flight.filter(|flight| flight.attempt == attempt) else { continue };
            let Some((child, call)) = flight.child.take() else { continue };
            // Its usage until now counts.
            let usage = match self.state_in_memory(child) {
                Some(state) => state.usage(),
                None => match self.load(child) {
                    Err(error) if error.is_of_one_run() => self.store.usage_at_snapshot(child)?,
                    view => view?.state.usage(),
                },
            };
            self.abandon_children(parent, effect, Some(child))?;
            let result = judge(&call, Answer::Missing);
            let settled = Event::Settled { effect, attempt, result, usage };
            self.deliver_event(parent, settled, Requester::None, now_ms)?;
        }
        Ok(())
    }
}

/// The part of the workflow that a call names, if it calls one.
fn part(call: &Call) -> Option<Part> {
    child_run::part(&call.definition, &call.input)
}
