//! The steps of a run that is only tried, a line each.

use branchpoint_core::ir::Program;
use branchpoint_core::{StepRecord, StepStatus, steps};
use branchpoint_engine::{Memory, Secrets};
use branchpoint_expr::{Explanation, shown};

use crate::{lines, terminal};

/// What was shown already.
pub(crate) struct Progress<'s> {
    /// How many steps were shown.
    shown: usize,
    secrets: &'s Secrets,
}

impl<'s> Progress<'s> {
    pub(crate) fn new(secrets: &'s Secrets) -> Self {
        Self { shown: 0, secrets }
    }

    /// Shows the steps that have ended since the last time. One that still runs is shown when it has ended, and those after
    /// it keep their order; when nothing more comes, all are shown.
    pub(crate) fn show(&mut self, program: &Program, host: &Memory<'_>, nothing_more: bool) {
        let records = steps(program, host.notes(), host.status());
        let ran = records.iter().filter(|record| !matches!(record.status, StepStatus::Skipped(_)));
        let new = ran.skip(self.shown).take_while(|record| nothing_more || !is_open(record));
        let told = |record| {
            lines::line(program, record, self.secrets, lines::Manner::default())
                + &reasons(program, record, self.secrets)
        };
        let lines: Vec<String> = new.map(told).collect();
        self.shown += lines.len();
        terminal::tell(&self.secrets.mask(&lines.concat()));
    }
}

/// Why a step took its branch: a line for each condition that was evaluated.
fn reasons(program: &Program, record: &StepRecord, secrets: &Secrets) -> String {
    let Some(taken) = &record.branch else { return String::new() };
    let indent = "  ".repeat(lines::inner_depth(program, record.step) + 1);
    let decided = record.decisions.iter().rfind(|decided| decided.chosen().is_some_and(|chosen| chosen.name == *taken));
    let branches = decided.into_iter().flat_map(|decided| &decided.branches);
    let explained = branches.filter_map(|branch| branch.explanation.as_ref());
    let sentence = |why: &Explanation| why.sentence.render(|value| shown(&secrets.mask_value(value)));
    explained.fold(String::new(), |text, explanation| format!("{text}  {indent}{}\n", sentence(explanation)))
}

fn is_open(record: &StepRecord) -> bool {
    matches!(record.status, StepStatus::Running | StepStatus::Waiting(_))
}

/// Tells that the clock was moved on.
pub(crate) fn waited(ms: i64) {
    terminal::tell(&format!("… waits {}, which a dry run skips\n", lines::duration(ms)));
}
