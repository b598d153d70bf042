//! Records decisions of the document while recording is on: every branch with its explanation.

use std::sync::Arc;

use branchpoint_expr::{Read, Value};

use super::Machine;
use crate::ir::{Count, Decides, Decision, DecisionId, DecisionKind, ExprId, Index, Items, PlaceId, StepId};
use crate::request::{Request, Resolution};
use crate::state::{EntryResult, Frame, RequestNo, StrandNo};
use crate::trace::{
    Basis, BranchOutcome, BranchRecord, CountRecord, DecisionRecord, FAILED_LISTED, InputState, ItemCount, NoteKind,
    needs,
};

/// The exit of an `Enter` whose frame fails.
pub(super) const FRAME_FAILED: usize = 1;

impl Machine<'_> {
    /// Records that the `Decide` at a place took an exit; none is a failure that ends the decision.
    pub(super) fn decided_by_conditions(&mut self, no: StrandNo, at: PlaceId, exit: Option<usize>) {
        let Some(decides) = self.recorded(at) else { return };
        let (chosen, before) = match exit {
            Some(exit) => match decides.exits.get(exit) {
                Some(Some(branch)) => (Some(*branch), &decides.exits[..exit]),
                // The decision continues at a later place.
                _ => return,
            },
            None => (None, &[][..]),
        };
        let program = self.program;
        let decision = &program.decisions[decides.decision.index()];
        let mut branches = self.branch_records(no, decision);
        let mut reads: Vec<Read> = Vec::new();
        let mut open = true;
        for (index, (branch, record)) in (0_u32..).zip(decision.branches.iter().zip(&mut branches)) {
            let is_chosen = chosen == Some(index);
            match branch.condition {
                Some(condition) => {
                    let condition = &program.conditions[condition.index()];
                    let view = self.scope_view(no);
                    for read in condition.reads(&view) {
                        if !reads.iter().any(|other| other.path == read.path) {
                            reads.push(read);
                        }
                    }
                    if open {
                        let explained = condition.explain(&view);
                        open = !is_chosen && (chosen.is_some() || explained.outcome.is_ok());
                        *record = record.clone().explained(explained);
                    }
                }
                None if is_chosen => {
                    record.outcome = BranchOutcome::True;
                    open = false;
                }
                None if !branch.is_default && (open || before.contains(&Some(index))) => {
                    record.outcome = BranchOutcome::False;
                }
                None => {}
            }
        }
        let basis = match (decision.answer, decision.attempt) {
            (Some(note), _) => {
                let note = self.recorded_value(no, note).ok().filter(|note| !matches!(note.as_str(), Some("") | None));
                Basis::Answer { sender: self.sender.clone(), note }
            }
            (None, Some(attempt)) => {
                let number = |expr| self.number(no, expr).and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
                let (attempt, limit) = (number(attempt.number), number(attempt.limit));
                Basis::Attempt { attempt, limit, delay_ms: None, retryable: attempt >= limit }
            }
            (None, None) => Basis::Conditions,
        };
        let decided = self.decided(no, decides.decision, chosen, branches, basis);
        self.note_decision(no, DecisionRecord { reads, ..decided });
    }

    /// Records that the op at a place took an exit by a rule instead of conditions.
    pub(super) fn decided_by_rule(&mut self, no: StrandNo, at: PlaceId, exit: usize, basis: impl FnOnce() -> Basis) {
        if let Some(decided) = self.record_of_rule(no, at, exit, basis) {
            self.note_decision(no, decided);
        }
    }

    fn record_of_rule(
        &self,
        no: StrandNo,
        at: PlaceId,
        exit: usize,
        basis: impl FnOnce() -> Basis,
    ) -> Option<DecisionRecord> {
        let decides = self.recorded(at)?;
        let chosen = decides.exits.get(exit).copied()??;
        let decision = &self.program.decisions[decides.decision.index()];
        let mut branches = self.branch_records(no, decision);
        for (index, branch) in (0_u32..).zip(&mut branches) {
            branch.outcome = if index == chosen { BranchOutcome::True } else { BranchOutcome::False };
        }
        Some(self.decided(no, decides.decision, Some(chosen), branches, basis()))
    }

    /// Records the outcome of a request to people. The choices are known only now; the branches of the document have their targets.
    pub(super) fn decided_by_votes(&mut self, no: StrandNo, at: PlaceId, request: &Request, resolution: &Resolution) {
        let Some(decides) = self.recorded(at) else { return };
        let decision = &self.program.decisions[decides.decision.index()];
        let outcome = resolution.outcome();
        let mut names: Vec<(Arc<str>, Arc<str>)> =
            request.choices.iter().map(|choice| (choice.clone(), needs(request, choice).into())).collect();
        names.push(("no_quorum".into(), "every approver voted, and no choice has the required votes".into()));
        if request.deadline_ms.is_some() || outcome == "timeout" {
            names.push(("timeout".into(), "the deadline passed".into()));
        }
        if request.rules.as_ref().is_some_and(|rules| rules.end_early) {
            let early = "no choice can have the required votes any more, or every approver voted";
            names.iter_mut().filter(|(name, _)| &**name == "no_quorum").for_each(|(_, text)| *text = early.into());
        }
        names.push(("cancelled".into(), "an operator cancelled the approval".into()));
        let branches: Vec<BranchRecord> = names
            .into_iter()
            .map(|(name, text)| {
                let declared = decision.branches.iter().find(|branch| branch.name == name);
                let outcome = if &*name == outcome { BranchOutcome::True } else { BranchOutcome::False };
                let targets = declared.map(|branch| branch.targets.clone()).unwrap_or_default();
                BranchRecord { text: Some(text), targets, ..BranchRecord::by_rule(&name, outcome) }
            })
            .collect();
        let chosen = branches.iter().position(|branch| branch.outcome == BranchOutcome::True);
        let chosen = chosen.and_then(|chosen| u32::try_from(chosen).ok());
        let basis = Basis::Votes { request: Box::new(request.clone()), resolution: resolution.clone() };
        let decided = self.decided(no, decides.decision, chosen, branches, basis);
        self.note_decision(no, decided);
    }

    /// Records who had voted on requests that are withdrawn before they are settled.
    pub(super) fn record_withdrawn(&mut self, no: StrandNo, requests: &[RequestNo]) {
        if !self.stamp.record {
            return;
        }
        let Some(at) = self.state.strands.get(&no).map(|strand| strand.at) else { return };
        for request in requests {
            if let Some(request) = self.state.requests.get(request).map(|pending| pending.request.clone()) {
                self.decided_by_votes(no, at, &request, &Resolution::Withdrawn);
            }
        }
    }

    /// Records that a frame has closed, or failed with an error.
    pub(super) fn decided_by_frame(&mut self, frame: &Frame, error: Option<&Value>) {
        let Some(by) = frame.entered_by else { return };
        let Some(at) = self.state.strands.get(&by).map(|strand| strand.at) else { return };
        let Some(decides) = self.recorded(at) else { return };
        let decision = &self.program.decisions[decides.decision.index()];
        let timed_out_ms = self.program.scope(frame.scope).time_limit_ms.filter(|_| frame.is_expired());
        let mut items = None;
        let basis = match decision.kind {
            // The retry policy records its attempts.
            DecisionKind::Retry => return,
            DecisionKind::Join => {
                let states = frame.results.iter().map(|result| match result {
                    EntryResult::Done(_) => InputState::Arrived,
                    EntryResult::None => InputState::Empty,
                    EntryResult::Failed => InputState::Failed,
                    EntryResult::Open => InputState::Cancelled,
                });
                let inputs = decision.inputs.iter().cloned().zip(states).collect();
                Basis::Inputs { are_branches: true, inputs, timed_out_ms }
            }
            _ => {
                let failed = (0_u32..).zip(&frame.results).filter(|(_, result)| matches!(result, EntryResult::Failed));
                let failed = failed.map(|(at, _)| at).take(FAILED_LISTED).collect();
                items = Some(ItemCount { count: frame.results.len() as u64, left_out: 0, failed });
                Basis::Items { has_failed: error.is_some(), timed_out_ms }
            }
        };
        let exit = if error.is_some() { FRAME_FAILED } else { 0 };
        // A frame that continues after failures may have closed with one.
        let error = error.or(frame.failure.as_ref()).cloned();
        if let Some(decided) = self.record_of_rule(by, at, exit, || basis) {
            self.note_decision(by, DecisionRecord { items, error, ..decided });
        }
    }

    /// Records the decision of a retry policy about a failed attempt. `failure_targets` are the targets of the last failure.
    pub(super) fn decided_by_policy(
        &mut self,
        no: StrandNo,
        step: StepId,
        basis: Basis,
        error: Value,
        failure_targets: Vec<Arc<str>>,
    ) {
        if !self.stamp.record {
            return;
        }
        let Basis::Attempt { limit, delay_ms, retryable, .. } = basis else { return };
        let again = delay_ms.is_some();
        let fail = match (again, retryable) {
            (true, _) => "no attempt is left, or the error does not allow another".to_owned(),
            (false, true) => format!("attempt {limit} is the last"),
            (false, false) => "another attempt would not help".to_owned(),
        };
        let branch = |name: &str, rule: &str, is_chosen: bool, targets: Vec<Arc<str>>| {
            let outcome = if is_chosen { BranchOutcome::True } else { BranchOutcome::False };
            BranchRecord { text: Some(rule.into()), targets, ..BranchRecord::by_rule(name, outcome) }
        };
        let retry = "an attempt is left, and the error allows another";
        let decided = DecisionRecord {
            decision: None,
            step,
            kind: DecisionKind::Retry,
            at_ms: 0,
            branches: vec![branch("retry", retry, again, Vec::new()), branch("fail", &fail, !again, failure_targets)],
            chosen: Some(u32::from(!again)),
            basis,
            count: None,
            items: None,
            error: Some(error),
            reads: Vec::new(),
        };
        self.note_decision(no, decided);
    }

    /// Records that the budget around a strand is used up.
    pub(super) fn decided_by_budget(
        &mut self,
        no: StrandNo,
        step: StepId,
        basis: Basis,
        is_handled: bool,
        targets: Vec<Arc<str>>,
        error: Value,
    ) {
        let branch = |name: &str, rule: &str, outcome| BranchRecord {
            text: Some(rule.into()),
            ..BranchRecord::by_rule(name, outcome)
        };
        let used_up =
            branch(if is_handled { "on_budget" } else { "fail" }, "the budget is used up", BranchOutcome::True);
        let decided = DecisionRecord {
            decision: None,
            step,
            kind: DecisionKind::Budget,
            at_ms: 0,
            branches: vec![
                branch("continue", "every budget has something left", BranchOutcome::False),
                BranchRecord { targets, ..used_up },
            ],
            chosen: Some(1),
            basis,
            count: None,
            items: None,
            error: Some(error),
            reads: Vec::new(),
        };
        self.note_decision(no, decided);
    }

    fn decided(
        &self,
        no: StrandNo,
        decision: DecisionId,
        chosen: Option<u32>,
        branches: Vec<BranchRecord>,
        basis: Basis,
    ) -> DecisionRecord {
        let declared = &self.program.decisions[decision.index()];
        let error =
            declared.error.and_then(|error| self.recorded_value(no, error).ok()).filter(|error| *error != Value::Null);
        DecisionRecord {
            decision: Some(decision),
            step: declared.step,
            kind: declared.kind,
            at_ms: 0,
            branches,
            chosen,
            basis,
            count: declared.count.and_then(|count| self.count_record(no, count)),
            items: declared.items.and_then(|items| self.items(no, items)),
            error,
            reads: Vec::new(),
        }
    }

    /// The branches of a decision before evaluation, with texts and targets that are known only in the run.
    fn branch_records(&self, no: StrandNo, decision: &Decision) -> Vec<BranchRecord> {
        let text = |expr| match self.recorded_value(no, expr) {
            Ok(Value::Str(text)) => Some(text),
            _ => None,
        };
        let records = decision.branches.iter().map(|branch| {
            let mut record = BranchRecord::unevaluated(branch);
            if let Some(reason) = branch.reason.and_then(text) {
                record.text = Some(reason);
            }
            record.targets.extend(branch.leads_to.and_then(text));
            let test = branch.test.map(|test| &self.program.conditions[test.index()]);
            record.rule_holds = test.and_then(|test| test.evaluate(&self.scope_view(no)).ok());
            record
        });
        records.collect()
    }

    /// The decision of the op at a place, if recording is on.
    fn recorded(&self, at: PlaceId) -> Option<&'_ Decides> {
        if !self.stamp.record {
            return None;
        }
        self.program.place(at).decides.as_ref()
    }

    fn count_record(&self, no: StrandNo, count: Count) -> Option<CountRecord> {
        let limit = count.limit.and_then(|limit| self.number(no, limit));
        Some(CountRecord { done: self.number(no, count.value)?, limit, unit: count.unit })
    }

    fn items(&self, no: StrandNo, items: Items) -> Option<ItemCount> {
        let left_out = items.left_out.and_then(|left_out| self.number(no, left_out)).unwrap_or(0);
        let failed = items.failed.and_then(|failed| self.recorded_value(no, failed).ok());
        let positions = failed.as_ref().and_then(Value::as_list).unwrap_or_default().iter();
        let positions = positions.filter_map(|position| match position {
            Value::Int(position) => u32::try_from(*position).ok(),
            _ => None,
        });
        let failed = positions.take(FAILED_LISTED).collect();
        Some(ItemCount { count: self.number(no, items.count)?, left_out, failed })
    }

    fn number(&self, no: StrandNo, expr: ExprId) -> Option<u64> {
        match self.recorded_value(no, expr) {
            Ok(Value::Int(int)) => u64::try_from(int).ok(),
            _ => None,
        }
    }

    fn note_decision(&mut self, no: StrandNo, decided: DecisionRecord) {
        let at_ms = self.stamp.now_ms;
        self.note(no, NoteKind::Decided(Box::new(DecisionRecord { at_ms, ..decided })));
    }
}
