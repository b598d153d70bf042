//! The trace of a run: notes, which exist only while recording is on, and the list of steps computed from them. A replay of the journal
//! with recording on gives the full trace of any past run.

mod approval_record;
mod decision_record;
mod json;
mod steps;
mod text;
mod waiting;
mod what_if;

use std::sync::Arc;

use branchpoint_expr::Value;

use crate::event::Usage;
use crate::ir::{Status, StepId};
use crate::meter::BudgetRecord;
use crate::state::{EffectNo, StrandNo};

pub(crate) use approval_record::needs;
pub(crate) use decision_record::FAILED_LISTED;
pub use decision_record::{Basis, BranchOutcome, BranchRecord, CountRecord, DecisionRecord, InputState, ItemCount};
pub use json::Redact;
pub use steps::{Attempt, Records, StepRecord, StepStatus, steps};
pub use what_if::{WhatIfError, what_if};

/// One entry of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// The time.
    pub at_ms: i64,
    /// The strand.
    pub strand: StrandNo,
    /// The strands that entered the frames around it, innermost first.
    pub entered_by: Vec<StrandNo>,
    /// The positions of the enclosing items, outermost first.
    pub path: Vec<u32>,
    /// The rounds of the enclosing loops, outermost first.
    pub iterations: Vec<Iteration>,
    /// What happened.
    pub kind: NoteKind,
}

/// One round of a loop of the document.
#[derive(Clone, Debug, PartialEq)]
pub struct Iteration {
    /// The step of the loop.
    pub step: StepId,
    /// The number of the round, counted from 0.
    pub index: u32,
    /// The item of the round, if the loop goes over items.
    pub item: Option<Value>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum NoteKind {
    /// A step began, with its input.
    Began(StepId, Option<Value>),
    /// A step ended, with its output.
    Ended(StepId, Option<Value>),
    /// A step took a branch.
    Branch(StepId, Arc<str>),
    /// A step has a warning.
    Warned(StepId, Arc<str>),
    /// A step did not run, for this reason.
    Skipped(StepId, Arc<str>),
    /// A step failed with this error; the run may continue.
    Failed(StepId, Value),
    /// A decision of the document was made.
    Decided(Box<DecisionRecord>),
    /// An attempt of an effect began.
    Attempt {
        /// The step of the effect.
        step: Option<StepId>,
        /// The effect.
        effect: EffectNo,
        /// The number of the attempt, counted from 1.
        attempt: u32,
    },
    /// An attempt of an effect ended.
    AttemptEnded {
        /// The step of the effect.
        step: Option<StepId>,
        /// The error; none if the attempt succeeded.
        error: Option<Value>,
    },
    /// An attempt of an effect used tokens or money.
    Used {
        /// The step of the effect.
        step: Option<StepId>,
        /// The tokens and the cost.
        usage: Usage,
    },
    /// A strand waits for people or for a time.
    Waits(Status),
    /// A waiting strand continues.
    Woke,
    /// A request to people was settled, with its outcome.
    Resolved(Value),
    /// A loop has this number of items.
    Items(u32),
    /// The content type of the output of a step.
    ContentType(StepId, Value),
    /// A part with a budget ended.
    Budget(Box<BudgetRecord>),
}
