//! What a person is told about a run: notes while it goes, which exist only while recording is on, and the list of steps
//! that they add up to. Any past run is told in full by replaying its journal with recording on.

mod steps;

use std::sync::Arc;

use branchpoint_expr::Value;

use crate::advance::{Rejected, advance};
use crate::event::{Event, Stamp};
use crate::ir::{PlaceId, Program, StepId};
use crate::state::{EffectNo, State, StrandNo};

pub use steps::{Attempt, StepRecord, StepStatus, steps};

/// Folds a journal again, with recording on, and tells everything that happened.
///
/// An event that the fold refuses was never in the journal: it stops the replay, by its position.
pub fn replay(
    program: &Program,
    journal: impl IntoIterator<Item = (Stamp, Event)>,
) -> Result<(State, Vec<Note>), (usize, Rejected)> {
    let mut state = State::new();
    let mut notes = Vec::new();
    for (position, (stamp, event)) in journal.into_iter().enumerate() {
        let stamp = Stamp { record: true, ..stamp };
        let outcome = advance(program, &mut state, &stamp, event).map_err(|rejected| (position, rejected))?;
        notes.extend(outcome.trace);
    }
    Ok((state, notes))
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
    /// What.
    pub what: What,
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
    /// A decision was taken.
    Decided {
        /// Where.
        place: PlaceId,
        /// Which arm; none is the last way out.
        arm: Option<u32>,
        /// Why, arm by arm, as far as they were looked at: explanations as JSON.
        why: Vec<String>,
    },
    /// An attempt of an effect began.
    Attempt {
        /// The step it is for.
        step: Option<StepId>,
        /// The effect.
        effect: EffectNo,
        /// Which attempt, counted from 1.
        attempt: u32,
    },
    /// An attempt of an effect failed.
    AttemptFailed {
        /// The step it was for.
        step: Option<StepId>,
        /// Why.
        error: Value,
    },
    /// A question to people was settled.
    Resolved(Value),
}
