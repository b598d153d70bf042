//! The heart of Branchpoint: a synchronous, deterministic state machine without I/O, clock, randomness or async.
//!
//! [`advance`] takes a [`Program`](ir::Program), the [`State`] of one run, a [`Stamp`] and an [`Event`], changes the state
//! and tells which [`Command`]s the host has to carry out. The journal of events is the truth: the state is the fold of
//! `advance` over it, so that a run can be rebuilt at any past moment, and finished work is never done again.
//!
//! What a host promises: events of a run are handed in one at a time; time never goes back; before an event of time t it
//! hands in every timer due by t, in the order of due time and id, each stamped with its due time.

mod advance;
mod approval;
pub mod codec;
mod command;
pub mod effect;
mod event;
mod fold;
pub mod functions;
mod held;
pub mod ir;
mod kind;
mod offers;
mod request;
pub mod shell;
mod state;
mod trace;
pub mod variables;

pub use advance::{Outcome, Rejected, advance, carry};
pub use approval::{Approval, ApprovalKey, LINE, RESUME, approvals, resume_rejection};
pub use command::Command;
pub use event::{Again, Event, Failed, Stamp, Usage};
pub use fold::{Fold, FoldError, FoldedEvent, JournalRow, Pending, replay};
pub use kind::{RUN_KINDS, RunKinds};
pub use offers::{Offer, offers, status, view};
pub use request::{BadRequest, Refusal, Request, Resolution, VOTE, Vote};
pub use state::{EffectNo, FrameNo, RequestNo, State, StrandNo, TimerNo, TimerUse};
pub use trace::{
    Attempt, Basis, BranchOutcome, BranchRecord, Counted, Decided, InputState, ItemCount, Iteration, NotChangeable,
    Note, Records, Redact, StepRecord, StepStatus, What, steps, what_if,
};
