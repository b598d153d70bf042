//! Records the author's decisions while recording is on: the same evaluation, with everything that led to it.

use branchpoint_expr::{Read, Value};

use super::Machine;
use crate::ir::{Count, Decides, DecisionKind, Index, PlaceId, StepId};
use crate::request::{Request, Resolution};
use crate::state::{EntryResult, Frame, StrandNo};
use crate::trace::{Basis, BranchOutcome, BranchRecord, Decided, FAILED_LISTED, InputState, What};

/// The exit of an `Enter` that is taken when its frame fails.
const FRAME_FAILED: usize = 1;

impl Machine<'_> {
    /// The `Decide` at a place was left by an exit; none is a failure that ends the decision.
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
        let mut branches: Vec<BranchRecord> = decision.branches.iter().map(BranchRecord::of).collect();
        let mut reads: Vec<Read> = Vec::new();
        let mut open = true;
        for (index, (branch, record)) in (0_u32..).zip(decision.branches.iter().zip(&mut branches)) {
            let is_chosen = chosen == Some(index);
            match branch.condition {
                Some(condition) => {
                    let condition = &program.conditions[condition.index()];
                    let sight = self.sight(no);
                    for read in condition.reads(&sight) {
                        if !reads.iter().any(|known| known.path == read.path) {
                            reads.push(read);
                        }
                    }
                    if open {
                        let explained = condition.explain(&sight);
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
        let count = decision.count.and_then(|count| self.counted(no, count));
        let basis = match decision.answer {
            Some(answer) => Basis::Answer {
                sender: self.sender.clone(),
                value: self.recorded_value(no, answer).unwrap_or_default(),
            },
            None => Basis::Conditions,
        };
        let (step, kind) = (decision.step, decision.kind);
        let decision = Some(decides.decision);
        self.note_decision(no, Decided { decision, step, kind, at_ms: 0, branches, chosen, basis, count, reads });
    }

    /// The op at a place was left by an exit, by a rule instead of conditions.
    pub(super) fn decided_by_rule(&mut self, no: StrandNo, at: PlaceId, exit: usize, basis: impl FnOnce() -> Basis) {
        let Some(decides) = self.recorded(at) else { return };
        let Some(Some(chosen)) = decides.exits.get(exit).copied() else { return };
        let decision = &self.program.decisions[decides.decision.index()];
        let mut branches: Vec<BranchRecord> = decision.branches.iter().map(BranchRecord::of).collect();
        for (index, branch) in (0_u32..).zip(&mut branches) {
            branch.outcome = if index == chosen { BranchOutcome::True } else { BranchOutcome::False };
        }
        let count = decision.count.and_then(|count| self.counted(no, count));
        let (step, kind) = (decision.step, decision.kind);
        self.note_decision(
            no,
            Decided {
                decision: Some(decides.decision),
                step,
                kind,
                at_ms: 0,
                branches,
                chosen: Some(chosen),
                basis: basis(),
                count,
                reads: Vec::new(),
            },
        );
    }

    /// People have settled a request, or time has. The choices are known only now; the document's branches say where they lead.
    pub(super) fn decided_by_votes(&mut self, no: StrandNo, at: PlaceId, request: &Request, resolution: &Resolution) {
        let Some(decides) = self.recorded(at) else { return };
        let decision = &self.program.decisions[decides.decision.index()];
        let outcome = resolution.outcome();
        let people = if request.recipients.len() == 1 { "approver" } else { "approvers" };
        let quorum = format!("{} of {} {people}", request.required, request.recipients.len());
        let mut names: Vec<_> =
            request.choices.iter().map(|choice| (choice.clone(), Some(quorum.as_str().into()))).collect();
        if request.deadline_ms.is_some() || outcome == "timeout" {
            names.push(("timeout".into(), Some("the deadline passed".into())));
        }
        match resolution {
            Resolution::NoQuorum => names.push((outcome.into(), Some("every approver voted".into()))),
            Resolution::Cancelled(_) => names.push((outcome.into(), Some("an operator cancelled it".into()))),
            Resolution::Choice(_) | Resolution::Timeout => {}
        }
        let branches: Vec<BranchRecord> = names
            .into_iter()
            .map(|(name, text)| {
                let declared = decision.branches.iter().find(|branch| branch.name == name);
                let outcome = if &*name == outcome { BranchOutcome::True } else { BranchOutcome::False };
                let target = declared.and_then(|branch| branch.target.clone());
                BranchRecord { name, text, is_default: false, target, position: None, outcome, explanation: None }
            })
            .collect();
        let chosen = branches.iter().position(|branch| branch.outcome == BranchOutcome::True);
        let basis = Basis::Votes { request: Box::new(request.clone()), resolution: resolution.clone() };
        self.note_decision(
            no,
            Decided {
                decision: Some(decides.decision),
                step: decision.step,
                kind: decision.kind,
                at_ms: 0,
                branches,
                chosen: chosen.and_then(|chosen| u32::try_from(chosen).ok()),
                basis,
                count: None,
                reads: Vec::new(),
            },
        );
    }

    /// A frame has closed, or failed with an error.
    pub(super) fn decided_by_frame(&mut self, frame: &Frame, error: Option<&Value>) {
        let Some(by) = frame.entered_by else { return };
        let Some(at) = self.state.strands.get(&by).map(|strand| strand.at) else { return };
        let Some(decides) = self.recorded(at) else { return };
        let decision = &self.program.decisions[decides.decision.index()];
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
                Basis::Inputs { inputs: decision.inputs.iter().cloned().zip(states).collect(), error: error.cloned() }
            }
            _ => {
                let count = u32::try_from(frame.results.len()).unwrap_or(u32::MAX);
                let failed = (0_u32..).zip(&frame.results).filter(|(_, result)| matches!(result, EntryResult::Failed));
                let failed = failed.map(|(at, _)| at).take(FAILED_LISTED).collect();
                Basis::Items { count, failed, error: error.cloned() }
            }
        };
        let exit = if error.is_some() { FRAME_FAILED } else { 0 };
        self.decided_by_rule(by, at, exit, || basis);
    }

    /// An attempt failed, and a retry policy says what follows.
    pub(super) fn decided_by_policy(&mut self, no: StrandNo, step: StepId, basis: Basis) {
        if !self.stamp.record {
            return;
        }
        let again = matches!(basis, Basis::Attempt { delay_ms: Some(_), .. });
        let branch = |name: &str, taken: bool| BranchRecord {
            name: name.into(),
            text: None,
            is_default: false,
            target: None,
            position: None,
            outcome: if taken { BranchOutcome::True } else { BranchOutcome::False },
            explanation: None,
        };
        self.note_decision(
            no,
            Decided {
                decision: None,
                step,
                kind: DecisionKind::Retry,
                at_ms: 0,
                branches: vec![branch("retry", again), branch("fail", !again)],
                chosen: Some(u32::from(!again)),
                basis,
                count: None,
                reads: Vec::new(),
            },
        );
    }

    /// What the op of a place decides, if anybody wants to know.
    fn recorded(&self, at: PlaceId) -> Option<&'_ Decides> {
        if !self.stamp.record {
            return None;
        }
        self.program.place(at).decides.as_ref()
    }

    fn counted(&self, no: StrandNo, count: Count) -> Option<(u64, Option<u64>)> {
        let number = |expr| match self.recorded_value(no, expr) {
            Ok(Value::Int(int)) => u64::try_from(int).ok(),
            _ => None,
        };
        Some((number(count.value)?, count.limit.and_then(number)))
    }

    fn note_decision(&mut self, no: StrandNo, decided: Decided) {
        let at_ms = self.stamp.now_ms;
        self.note(no, What::Decided(Box::new(Decided { at_ms, ..decided })));
    }
}
