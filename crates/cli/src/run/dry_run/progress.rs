//! The steps of a run that is only tried, a line each.

use std::cell::RefCell;
use std::rc::Rc;

use branchpoint_core::ir::{Program, Status};
use branchpoint_core::{Records, StepRecord, StepStatus};
use branchpoint_expr::{Explanation, preview};
use branchpoint_host::NoteListener;
use branchpoint_runners::Secrets;

use crate::{step_line, terminal};

/// What was shown already.
pub(crate) struct Progress<'s> {
    /// The steps, as the run tells of them.
    records: Rc<RefCell<Records>>,
    /// The number of the first record that was not shown.
    next: usize,
    secrets: &'s Secrets,
}

impl<'s> Progress<'s> {
    pub(crate) fn new(program: &Program, secrets: &'s Secrets) -> Self {
        Self { records: Rc::new(RefCell::new(Records::of(program))), next: 0, secrets }
    }

    /// Takes the notes of the run.
    pub(crate) fn listener(&self) -> NoteListener {
        let records = Rc::clone(&self.records);
        Box::new(move |note| {
            let _ = records.borrow_mut().add(note);
        })
    }

    /// Shows the steps that have ended since the last time. One that still runs is shown when it has ended, and those after
    /// it keep their order; when nothing more comes, all are shown.
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

    /// Shows all steps that were not shown: nothing more comes.
    pub(crate) fn finish(self, program: &Program, status: Status) {
        let records = self.records.replace(Records::of(program));
        let omitted = records.omitted();
        for (_, record) in records.finish(program, status).range(self.next..) {
            self.print(program, record);
        }
        if omitted > 0 {
            terminal::message(&format!("… {omitted} earlier steps are not shown\n"));
        }
    }

    fn print(&self, program: &Program, record: &StepRecord) {
        if matches!(record.status, StepStatus::Skipped(_)) {
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

/// Tells that the clock was moved on.
pub(crate) fn waited(ms: i64) {
    terminal::message(&format!("… skipped a wait of {}\n", step_line::duration(ms)));
}
