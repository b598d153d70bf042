//! The core of Branchpoint: a synchronous, deterministic state machine without I/O, clock, randomness or async.
//!
//! A front-end lowers a workflow document to a [`Program`](ir::Program). A host hands events to a run of the program and executes the
//! commands that each event returns. This page builds a small program and runs it by hand, as a host does.
//!
//! # Build a program
//!
//! The [`Builder`](ir::builder::Builder) builds programs. Names become slots, and [`finish`](ir::builder::Builder::finish) validates
//! the result. This program calls a model and ends with its reply.
//!
//! ```
//! use branchpoint_core::effect::Kind;
//! use branchpoint_core::ir::builder::{Builder, ROOT, effect};
//! use branchpoint_core::ir::{Program, Status};
//! use branchpoint_expr::{Dialect, Problems};
//!
//! fn program() -> Result<Program, Problems> {
//!     let mut b = Builder::new();
//!     let input = b.input();
//!     b.name(ROOT, &["inputs"], input);
//!     let answer = b.slot(ROOT, "answer", None);
//!     let prompt = b.expr(ROOT, "{prompt: inputs.question}", Dialect::Steps)?;
//!     let result = b.read(answer);
//!     let end = b.close(Status::Completed, result);
//!     let model = b.effect(effect(Kind::Model));
//!     let ask = b.do_(model, prompt, Some(answer), end, None);
//!     b.begin(ROOT, &[ask]);
//!     Ok(b.finish().expect("the program is valid"))
//! }
//! # program().unwrap();
//! ```
//!
//! # Advance a run
//!
//! [`advance`] takes the program, the [`State`] of one run, a [`Stamp`] with the time, and an [`Event`]. It changes the state and
//! returns the [`Command`]s that the host executes. The host reports each result as another event.
//!
//! ```
//! use branchpoint_core::{Command, Event, Stamp, State, Usage, advance, status};
//! # use branchpoint_core::effect::Kind;
//! # use branchpoint_core::ir::Status;
//! # use branchpoint_core::ir::builder::{Builder, ROOT, effect};
//! # let mut b = Builder::new();
//! # let answer = b.slot(ROOT, "answer", None);
//! # let (prompt, result) = (b.value("Why?"), b.read(answer));
//! # let end = b.close(Status::Completed, result);
//! # let model = b.effect(effect(Kind::Model));
//! # let ask = b.do_(model, prompt, Some(answer), end, None);
//! # b.begin(ROOT, &[ask]);
//! # let program = b.finish().unwrap();
//!
//! let mut state = State::new();
//! let outcome = advance(&program, &mut state, &Stamp::default(), Event::start("hello"))?;
//! let Command::Perform { effect, attempt, .. } = outcome.commands[0] else { unreachable!() };
//!
//! let settled = Event::Settled { effect, attempt, result: Ok("Because.".into()), usage: Usage::default() };
//! advance(&program, &mut state, &Stamp { now_ms: 1_000, ..Stamp::default() }, settled)?;
//! assert_eq!(status(&program, &state), Status::Completed);
//! assert_eq!(state.result(), Some((Status::Completed, &"Because.".into())));
//! # Ok::<(), branchpoint_core::Rejected>(())
//! ```
//!
//! A host must follow three rules. It hands in the events of a run one at a time. Time never decreases. Before an event of time t, it
//! hands in every timer due by t, in the order of due time and id, each stamped with its due time.
//!
//! # Store the events and fold them
//!
//! The journal of events is the source of truth; a state is its [`Fold`]. A host can therefore rebuild a run at any past moment and
//! never repeats finished work. [`codec`] encodes events, states and programs as bytes.
//!
//! ```
//! use branchpoint_core::{Event, Fold, Stamp, State, advance};
//!
//! let program = branchpoint_core::ir::builder::Builder::sample();
//! let (mut state, stamp, start) = (State::new(), Stamp::default(), Event::start("hello"));
//! let check = advance(&program, &mut state, &stamp, start.clone()).unwrap().check;
//!
//! let rebuilt = Fold::new(&program, State::new(), [(stamp, start, check)]).finish()?;
//! assert_eq!(rebuilt, state);
//! # Ok::<(), branchpoint_core::FoldError>(())
//! ```
//!
//! # Explain what happened
//!
//! With [`Stamp::record`], an outcome has a trace of [`Note`]s. [`steps`] computes the list of steps from it, [`replay`] the trace
//! of a stored run, and [`what_if`] evaluates a recorded decision again with other values. [`approvals`] lists the open approvals, and
//! [`effect`] has the requests that runners perform.

mod advance;
mod approval;
pub mod codec;
mod command;
pub mod effect;
mod event;
mod fold;
pub mod functions;
pub mod ir;
mod kind;
mod meter;
mod offers;
mod request;
mod revision;
mod run_limits;
pub mod shell;
mod state;
mod state_size;
mod trace;
pub mod variables;

pub use advance::{Outcome, Rejected, advance, carry};
pub use approval::{
    Approval, ApprovalKey, LINE, RESUME, approvals, choice_meaning, is_approval_signal, resume_rejection,
};
pub use command::Command;
pub use event::{AttemptError, Event, RetryHint, Stamp, Usage};
pub use fold::{Fold, FoldError, FoldedEvent, JournalRow, Pending, replay};
pub use kind::{RUN_KINDS, RunKinds};
pub use meter::{BudgetReason, BudgetRecord};
pub use offers::{Offer, offers, status, view};
pub use request::{
    ApprovalForm, BadForm, Ballot, DELEGATE, Delegation, Escalation, FieldType, FormError, FormField, GroupProgress,
    GroupQuorum, InvalidRequest, Request, Resolution, Rules, VOTE, Vote, VoteRejection, means_no,
};
pub use revision::{CallName, Cause, Continued, Difference, Offsets, Revision, WaitingStep, continue_on};
pub use run_limits::{GroupKey, InvalidLimits, LIMITS_VIEW, MAX_LIMITED_RUNS, Rate, RunLimits};
pub use state::{EffectNo, FrameNo, RequestNo, State, StrandNo, TimerNo, TimerUse};
pub use trace::{
    Attempt, Basis, BranchOutcome, BranchRecord, CountRecord, DecisionRecord, InputState, ItemCount, Iteration, Note,
    NoteKind, Records, Redact, StepRecord, StepStatus, WhatIfError, steps, what_if,
};
