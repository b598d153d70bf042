//! Shows the steps of a dry run, one line for each.

use std::cell::RefCell;
use std::rc::Rc;

use branchpoint_core::ir::{Program, Status};
use branchpoint_core::{Records, StepRecord, StepStatus};
use branchpoint_expr::{Explanation, preview};
use branchpoint_host::NoteListener;
use branchpoint_runners::Secrets;

use crate::{step_line, terminal};

/// The steps so far, and how many were shown.
pub(crate) struct Progress<'s> {
    /// The steps, updated with each note.
    records: Rc<RefCell<Records>>,
    /// The number of the first record that was not shown.
    next: usize,
    secrets: &'s Secrets,
    /// Whether nothing is shown.
    quiet: bool,
}

impl<'s> Progress<'s> {
    pub(crate) fn new(program: &Program, secrets: &'s Secrets, quiet: bool) -> Self {
        Self { records: Rc::new(RefCell::new(Records::of(program))), next: 0, secrets, quiet }
    }

    /// A listener for the notes of the run.
    pub(crate) fn listener(&self) -> NoteListener {
        let records = Rc::clone(&self.records);
        Box::new(move |note| {
            let _ = records.borrow_mut().add(note);
        })
    }

    /// Shows the steps that have ended since the last call, in order: steps after an unfinished step are shown when it has ended.
    pub(crate) fn show(&mut self, program: &Program) {
        let records = self.records.borrow();
        while self.next < records.count() {
            match records.get(self.next) {
                Some(record) if is_open(record) => break,
                Some(record) => self.print(program, record),
                None => {}
            }
            self.next += 1;
        }
    }

    /// Shows all remaining steps.
    pub(crate) fn finish(self, program: &Program, status: Status) {
        let records = self.records.replace(Records::of(program));
        let omitted = records.omitted();
        for (_, record) in records.finish(program, status).range(self.next..) {
            self.print(program, record);
        }
        if omitted > 0 && !self.quiet {
            terminal::message(&format!("… {omitted} earlier steps are not shown\n"));
        }
    }

    /// Reports that the virtual clock skips a wait.
    pub(crate) fn report_wait(&self, ms: i64) {
        if !self.quiet {
            terminal::message(&format!("… skipped a wait of {}\n", step_line::duration(ms)));
        }
    }

    fn print(&self, program: &Program, record: &StepRecord) {
        if self.quiet || matches!(record.status, StepStatus::Skipped(_)) {
            return;
        }
        let line = step_line::line(program, record, self.secrets, step_line::LineStyle::default());
        terminal::message(&self.secrets.mask(&(line + &reasons(program, record, self.secrets))));
    }
}

/// Why a step took its branch: a line for each condition that was evaluated.
fn reasons(program: &Program, record: &StepRecord, secrets: &Secrets) -> String {
    let Some(taken) = &record.branch else { return String::new() };
    let indent = "  ".repeat(step_line::inner_depth(program, record.step) + 1);
    let decided = record.decisions.iter().rfind(|decided| decided.chosen().is_some_and(|chosen| chosen.name == *taken));
    let branches = decided.into_iter().flat_map(|decided| &decided.branches);
    let explained = branches.filter_map(|branch| branch.explanation.as_ref());
    let sentence = |why: &Explanation| why.sentence.render(|value| preview(&secrets.mask_value(value)));
    explained.fold(String::new(), |text, explanation| format!("{text}  {indent}{}\n", sentence(explanation)))
}

fn is_open(record: &StepRecord) -> bool {
    matches!(record.status, StepStatus::Running | StepStatus::Waiting(_))
}
