//! Text forms of decisions, for terminals.

use std::fmt::Write;

use branchpoint_expr::{Value, preview};

use super::decision_record::{CONTINUE, CountRecord, count_text};
use super::json::redacted;
use super::{Basis, BranchOutcome, BranchRecord, DecisionRecord, Redact, approval_record};
use crate::ir::{DecisionKind, Index, Program, Unit};

impl DecisionRecord {
    /// The chosen branch in one line: `tier → elif-0 (branch 2 of 3)`.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// assert!(decided.headline(&program).contains("tier"));
    /// ```
    pub fn headline(&self, program: &Program) -> String {
        let step = &program.steps[self.step.index()].id;
        let chosen = self.chosen();
        let detail = match (self.kind, &self.basis, self.count) {
            // The decision of a conversation follows its turn.
            (DecisionKind::Loop, _, Some(CountRecord { done, limit, unit: Unit::Turn })) => {
                format!(" (after turn {done}{})", of_limit(limit))
            }
            (DecisionKind::Loop, _, Some(CountRecord { done, limit, .. })) if self.begins_round() => {
                format!(" (round {}{})", done + 1, of_limit(limit))
            }
            (DecisionKind::Loop, _, Some(CountRecord { done, unit, .. })) => {
                format!(" (after {})", count_text(done, unit))
            }
            (DecisionKind::Branch | DecisionKind::Switch | DecisionKind::Transition, Basis::Conditions, _)
                if chosen.is_some() =>
            {
                let position = self.chosen.map_or(0, |at| at + 1);
                format!(" (branch {position} of {})", self.branches.len())
            }
            _ => String::new(),
        };
        let Some(chosen) = chosen else { return format!("{step}: not decided{detail}") };
        // The target of a transition to the enclosing loop, or to the active step, differs from its name.
        let target = chosen.shown_targets().filter(|_| self.kind == DecisionKind::Transition);
        let target = target.map(|target| format!(" → {target}")).unwrap_or_default();
        format!("{step} → {}{target}{detail}", chosen.name)
    }

    /// Whether the decision chose another round, or failed where it could have chosen one.
    fn begins_round(&self) -> bool {
        match self.chosen() {
            Some(chosen) => &*chosen.name == CONTINUE,
            None => self.branches.iter().any(|branch| &*branch.name == CONTINUE),
        }
    }

    /// The decision with its reason in one line.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// assert!(decided.line(&program, &()).contains("high"));
    /// ```
    pub fn line(&self, program: &Program, redact: &dyn Redact) -> String {
        format!("{}: {}", self.headline(program), redacted(&self.sentence(), redact))
    }

    /// The decision with all its branches. `origin` is the name of the document, shown with line numbers.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// assert!(decided.to_text(&program, "tier.yaml", &()).contains("score >= 5"));
    /// ```
    pub fn to_text(&self, program: &Program, origin: &str, redact: &dyn Redact) -> String {
        let mut text = format!("{}\n  {}\n", self.headline(program), redacted(&self.sentence(), redact));
        for branch in &self.branches {
            branch.write(&mut text, origin, redact);
        }
        match &self.basis {
            Basis::Votes { request, .. } => {
                for line in approval_record::lines(request, redact) {
                    let _ = writeln!(text, "  {line}");
                }
            }
            Basis::Inputs { are_branches, inputs, .. } => {
                let noun = if *are_branches { "branch" } else { "input" };
                for (name, state) in inputs {
                    let _ = writeln!(text, "  {noun}: {name} {}", state.as_str());
                }
            }
            Basis::Budget(record) => {
                let _ = writeln!(text, "  {}", record.usage_text());
                for step in record.step_texts(program) {
                    let _ = writeln!(text, "  used by: {step}");
                }
            }
            _ => {}
        }
        text
    }
}

fn of_limit(limit: Option<u64>) -> String {
    limit.map(|limit| format!(" of {limit}")).unwrap_or_default()
}

impl BranchRecord {
    /// The targets, unless the only target is the name of the branch.
    fn shown_targets(&self) -> Option<String> {
        let is_name = matches!(&self.targets[..], [only] if *only == self.name);
        (!is_name && !self.targets.is_empty()).then(|| self.targets.join(", "))
    }

    fn write(&self, out: &mut String, origin: &str, redact: &dyn Redact) {
        let mark = match self.outcome {
            BranchOutcome::True => "✓",
            BranchOutcome::False => "✗",
            BranchOutcome::Error => "!",
            BranchOutcome::NotEvaluated => "–",
        };
        let text = self.text.as_ref().map(|text| format!(": {}", redact.text(text))).unwrap_or_default();
        let target = self.shown_targets().map(|target| format!(" → {target}")).unwrap_or_default();
        let place = self.position.map(|(line, column)| format!("  ({origin}:{line}:{column})")).unwrap_or_default();
        let skipped = if self.outcome == BranchOutcome::NotEvaluated { ", not evaluated" } else { "" };
        let _ = writeln!(out, "  {mark} {}{text}{target}{skipped}{place}", self.name);
        let Some(explanation) = &self.explanation else { return };
        let _ = writeln!(out, "      {}", redacted(&explanation.sentence, redact));
        let show = |value: &Value| preview(&redact.value(value));
        let tree = redact.text(&explanation.tree.render_with(show));
        // The tree of a single part only repeats the sentence.
        if explanation.tree.children.iter().any(|child| !child.children.is_empty()) {
            tree.lines().for_each(|line| {
                let _ = writeln!(out, "      {line}");
            });
        }
    }
}
