//! What a person is told about a run: notes while it goes, which exist only while recording is on, and the list of steps
//! that they add up to. Any past run is told in full by replaying its journal with recording on.

mod decided;
mod shape;
mod steps;
mod text;
mod what_if;

use std::sync::Arc;

use branchpoint_expr::Value;

use crate::advance::{Rejected, advance_noting};
use crate::event::{Event, Stamp, Usage};
use crate::ir::{Program, Status, StepId};
use crate::state::{EffectNo, State, StrandNo};

pub(crate) use decided::FAILED_LISTED;
pub use decided::{Basis, BranchOutcome, BranchRecord, Decided, InputState};
pub use shape::Redact;
pub use steps::{Attempt, Records, StepRecord, StepStatus, steps};
pub use what_if::{NotChangeable, what_if};

/// Folds a part of a journal again, with recording on, from a state on: a new one, or a snapshot. It tells everything that
/// happened. Each event comes with the check word that it gave when it was written, so a fold that strays stops there.
///
/// A part ends where the run crosses into another program: what follows is replayed from there, with that program.
pub fn replay(
    program: &Program,
    mut state: State,
    journal: impl IntoIterator<Item = (Stamp, Event, u32)>,
) -> Result<(State, Vec<Note>), Strayed> {
    let mut notes = Vec::new();
    for (position, row) in journal.into_iter().enumerate() {
        replay_event(program, &mut state, position, row, &mut |note| notes.push(note))?;
    }
    Ok((state, notes))
}

/// Folds one event of a journal again, with recording on, and hands its notes over one by one. A long journal is replayed this way:
/// its notes need not fit into memory together.
pub fn replay_event(
    program: &Program,
    state: &mut State,
    position: usize,
    (stamp, event, check): (Stamp, Event, u32),
    notes: &mut dyn FnMut(Note),
) -> Result<(), Strayed> {
    let stamp = Stamp { record: true, ..stamp };
    let outcome = advance_noting(program, state, &stamp, event, notes)
        .map_err(|rejected| Strayed::Refused { position, rejected })?;
    if outcome.check == check { Ok(()) } else { Err(Strayed::Otherwise { position }) }
}

/// Where a fold of a journal strays from what was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Strayed {
    /// An event is refused, so it was never in this run's journal.
    #[error("event {position} of the journal is refused: {rejected}")]
    Refused {
        /// Which, counted from 0.
        position: usize,
        /// Why.
        rejected: Rejected,
    },
    /// An event leads elsewhere than it did.
    #[error("event {position} of the journal does not lead to what it led to when it was written")]
    Otherwise {
        /// Which, counted from 0.
        position: usize,
    },
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// When.
    pub at_ms: i64,
    /// In which strand.
    pub strand: StrandNo,
    /// The positions of the items around it, outermost first.
    pub path: Vec<u32>,
    /// The rounds of the loops around it, outermost first.
    pub iterations: Vec<Iteration>,
    /// What.
    pub what: What,
}

/// One round of a loop of the document.
#[derive(Clone, Debug, PartialEq)]
pub struct Iteration {
    /// The step that loops.
    pub step: StepId,
    /// Which round, counted from 0.
    pub index: u32,
    /// The item of the round, if the loop goes over items.
    pub item: Option<Value>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A step began.
    Began(StepId, Option<Value>),
    /// A step ended.
    Ended(StepId, Option<Value>),
    /// A step took a branch.
    Branch(StepId, Arc<str>),
    /// Something a person should know of.
    Warned(StepId, Arc<str>),
    /// A step did not run.
    Skipped(StepId, Arc<str>),
    /// A step has failed; the run may go on.
    Failed(StepId, Value),
    /// A decision of the document was taken.
    Decided(Box<Decided>),
    /// An attempt of an effect began.
    Attempt {
        /// The step it is for.
        step: Option<StepId>,
        /// The effect.
        effect: EffectNo,
        /// Which attempt, counted from 1.
        attempt: u32,
    },
    /// An attempt of an effect ended.
    AttemptEnded {
        /// The step it was for.
        step: Option<StepId>,
        /// Why it failed; none when it succeeded.
        error: Option<Value>,
    },
    /// An attempt of an effect has used something up.
    Used {
        /// The step it was for.
        step: Option<StepId>,
        /// How much.
        usage: Usage,
    },
    /// A strand waits: only people or only time can make it go on.
    Waits(Status),
    /// A strand that waited goes on.
    Woke,
    /// A question to people was settled.
    Resolved(Value),
    /// A strand goes through so many items.
    Items(u32),
}
