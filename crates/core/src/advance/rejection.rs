//! Why an event was refused. A refusal changes nothing.

use serde::{Deserialize, Serialize};

use crate::request::VoteRejection;

/// Why an event was refused. It crosses processes as a code with its fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", content = "detail", rename_all = "snake_case")]
pub enum Rejected {
    /// Time never goes back within a run.
    #[error("the event is older than the run")]
    TimeWentBack,
    /// The run has ended.
    #[error("the run has ended")]
    Ended,
    /// The first event is the start.
    #[error("the run has not started")]
    NotStarted,
    /// Only the first event is a start.
    #[error("the run has started already")]
    StartedAlready,
    /// A fact that the program names is not among those given.
    #[error("the start lacks the fact `{0}`")]
    MissingFact(String),
    /// The offset of a zone that the program names is not in the stamp.
    #[error("the stamp lacks the offset of the time zone `{0}`")]
    MissingOffset(String),
    /// The program was lowered for semantics that this build does not have.
    #[error("the program is of semantics {0}, which this build does not run; use the build that wrote it")]
    UnknownSemantics(u16),
    /// A run crosses into other semantics only by an adoption.
    #[error("the run has semantics {run} and the program {program}")]
    OtherSemantics {
        /// Those it was begun with.
        run: u16,
        /// Those of the program.
        program: u16,
    },
    /// The event before it is not finished: what comes next is a continuation at the same time, or a cancel.
    #[error("the event before this one is not finished yet")]
    Unfinished,
    /// No such effect is in flight, or not that attempt of it: it is late, or it comes twice.
    #[error("no such attempt is in flight")]
    UnknownEffect,
    /// No such timer is set.
    #[error("no such timer is set")]
    UnknownTimer,
    /// The timer is not due yet.
    #[error("the timer is not due yet")]
    TooEarly,
    /// The program has no such signal.
    #[error("there is no signal `{0}`")]
    UnknownSignal(String),
    /// Nobody waits for it, and it is not kept.
    #[error("the run does not wait for the signal `{0}`")]
    NotWaiting(String),
    /// Somebody waits for it, but not with that payload.
    #[error("the signal `{0}` is not accepted as it is")]
    NotAccepted(String),
    /// So many signals are kept already that no further one is.
    #[error("the run already holds {0} early signals, and accepts no more")]
    MailboxFull(usize),
    /// No such question is pending.
    #[error("the approval is already settled or cancelled")]
    NotPending,
    /// A vote was refused.
    #[error(transparent)]
    Vote(VoteRejection),
    /// What it carries is nested too deeply to be kept.
    #[error("what the event carries is nested too deeply")]
    TooDeep,
    /// The value that it carries is too large.
    #[error("the event carries a value of more than {0} bytes; send less, or a reference to it")]
    TooLarge(u64),
    /// The run keeps so much already that the value it carries would exceed the limit.
    #[error("the run would keep more than {0} bytes of values with this event; send less, or send it later")]
    NoRoom(u64),
    /// There is nothing to go on with.
    #[error("nothing is left to continue")]
    NothingToContinue,
    /// The run does not rest where it could take a changed document.
    #[error("the run does not rest where it could take a changed document")]
    NotResting,
}
