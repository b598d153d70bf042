//! What a person is told about a run: notes while it goes, which exist only while recording is on, and the list of steps
//! that they add up to. Any past run is told in full by replaying its journal with recording on.

mod decision_record;
mod shape;
mod steps;
mod text;
mod what_if;

use std::sync::Arc;

use branchpoint_expr::Value;

use crate::event::Usage;
use crate::ir::{Status, StepId};
use crate::state::{EffectNo, StrandNo};

pub(crate) use decision_record::FAILED_LISTED;
pub use decision_record::{Basis, BranchOutcome, BranchRecord, CountRecord, DecisionRecord, InputState, ItemCount};
pub use shape::Redact;
pub use steps::{Attempt, Records, StepRecord, StepStatus, steps};
pub use what_if::{WhatIfError, what_if};

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
    pub kind: NoteKind,
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
pub enum NoteKind {
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
    Decided(Box<DecisionRecord>),
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
    /// The content type of the output with which a step ended.
    ContentType(StepId, Value),
}
