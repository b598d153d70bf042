//! The last decision of a run, which lists of runs show without replaying its journal.

use branchpoint_core::ir::Program;
use branchpoint_core::{DecisionRecord, Note, NoteKind};
use branchpoint_runners::Secrets;

use super::open::Open;

/// The maximum number of characters of the text of a decision. Longer texts end with `…`.
const TEXT_CHARS: usize = 300;

/// The decisions of a run in the present turn.
#[derive(Debug, Default)]
pub(super) struct TurnDecisions {
    count: u64,
    last: Option<Box<DecisionRecord>>,
}

impl Open {
    /// Whether the run makes decisions, which are recorded in every turn.
    pub(super) fn makes_decisions(&self) -> bool {
        !self.program.decisions.is_empty()
    }

    /// Keeps the last decision of these notes.
    pub(super) fn keep_last_decision(&mut self, notes: &[Note]) {
        for note in notes {
            if let NoteKind::Decided(decision) = &note.kind {
                self.decisions.count += 1;
                self.decisions.last = Some(decision.clone());
            }
        }
    }

    /// Keeps a decision that the run has from the one that it was forked from. It is not counted again.
    pub(super) fn keep_decision_of_fork(&mut self, note: Note) {
        if let NoteKind::Decided(decision) = note.kind {
            self.decisions.last = Some(decision);
        }
    }

    /// The number of decisions of this turn, and the text of the last one.
    pub(super) fn take_decisions(&mut self) -> Option<(u64, String)> {
        let TurnDecisions { count, last } = std::mem::take(&mut self.decisions);
        let secrets = Secrets::from_values(self.packing.secrets.to_vec());
        Some((count, decision_text(&self.program, &*last?, &secrets)))
    }
}

/// A decision as one line of limited length, with secrets masked.
pub(crate) fn decision_text(program: &Program, decision: &DecisionRecord, secrets: &Secrets) -> String {
    let line = decision.line(program, secrets);
    match line.char_indices().nth(TEXT_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
