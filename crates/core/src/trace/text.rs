//! Decisions as text for terminals.

use std::fmt::Write;

use branchpoint_expr::{Value, iso_utc, shown};

use super::decided::rounds;
use super::shape::redacted;
use super::{Basis, BranchOutcome, BranchRecord, Decided, Redact};
use crate::ir::{DecisionKind, Index, Program};

/// The name of the branch by which every loop begins another round.
const CONTINUE: &str = "continue";

impl Decided {
    /// What was chosen, in one line: `tier → elif-0 (branch 2 of 3)`.
    pub fn headline(&self, program: &Program) -> String {
        let step = &program.steps[self.step.index()].id;
        let Some(chosen) = self.chosen() else { return format!("{step}: not decided") };
        let detail = match (self.kind, &self.basis, self.count) {
            (DecisionKind::Loop, _, Some((done, limit))) if &*chosen.name == CONTINUE => {
                let limit = limit.map(|limit| format!(" of {limit}")).unwrap_or_default();
                format!(" (round {}{limit})", done + 1)
            }
            (DecisionKind::Loop, _, Some((done, _))) => format!(" (after {})", rounds(done)),
            (DecisionKind::Branch | DecisionKind::Switch | DecisionKind::Transition, Basis::Conditions, _) => {
                let position = self.chosen.map_or(0, |at| at + 1);
                format!(" (branch {position} of {})", self.branches.len())
            }
            _ => String::new(),
        };
        format!("{step} → {}{detail}", chosen.name)
    }

    /// The decision on one line, with its reason.
    pub fn line(&self, program: &Program, redact: &dyn Redact) -> String {
        format!("{}: {}", self.headline(program), redacted(&self.sentence(), redact))
    }

    /// The decision with all its branches. `origin` is the name of the document, for places in it.
    pub fn to_text(&self, program: &Program, origin: &str, redact: &dyn Redact) -> String {
        let mut text = format!("{}\n  {}\n", self.headline(program), redacted(&self.sentence(), redact));
        for branch in &self.branches {
            branch.write(&mut text, origin, redact);
        }
        match &self.basis {
            Basis::Votes { request, .. } => {
                for vote in &request.votes {
                    let at = iso_utc(vote.at_ms).unwrap_or_default();
                    let comment = vote.comment.as_ref().map(|comment| format!(" {:?}", redact.text(comment)));
                    let _ =
                        writeln!(text, "  vote: {} {}{} ({at})", vote.user, vote.choice, comment.unwrap_or_default());
                }
            }
            Basis::Inputs { inputs, .. } => {
                for (name, state) in inputs {
                    let _ = writeln!(text, "  input: {name} {}", state.as_str());
                }
            }
            _ => {}
        }
        text
    }
}

impl BranchRecord {
    fn write(&self, out: &mut String, origin: &str, redact: &dyn Redact) {
        let mark = match self.outcome {
            BranchOutcome::True => "✓",
            BranchOutcome::False => "✗",
            BranchOutcome::Error => "!",
            BranchOutcome::NotEvaluated => "–",
        };
        let text = self.text.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
        // A transition is named after the state that it leads to.
        let target = self.target.as_ref().filter(|target| **target != self.name);
        let target = target.map(|target| format!(" → {target}")).unwrap_or_default();
        let place = self.position.map(|(line, column)| format!("  ({origin}:{line}:{column})")).unwrap_or_default();
        let skipped = if self.outcome == BranchOutcome::NotEvaluated { ", not evaluated" } else { "" };
        let _ = writeln!(out, "  {mark} {}{text}{target}{skipped}{place}", self.name);
        let Some(explanation) = &self.explanation else { return };
        let _ = writeln!(out, "      {}", redacted(&explanation.sentence, redact));
        let show = |value: &Value| shown(&redact.value(value));
        let tree = redact.text(&explanation.tree.render_with(show));
        // A condition of one part says nothing more than its sentence.
        if explanation.tree.children.iter().any(|child| !child.children.is_empty()) {
            tree.lines().for_each(|line| {
                let _ = writeln!(out, "      {line}");
            });
        }
    }
}
