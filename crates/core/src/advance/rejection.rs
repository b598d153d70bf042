//! Reasons to reject an event. A rejected event changes nothing.

use serde::{Deserialize, Serialize};

use crate::request::VoteRejection;

/// Why an event was rejected. Serialized as a code with its fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", content = "detail", rename_all = "snake_case")]
pub enum Rejected {
    /// Within a run, time never decreases.
    #[error("the event is older than the last event of the run")]
    TimeWentBack,
    /// The run has ended.
    #[error("the run has ended")]
    Ended,
    /// The first event of a run must be its start.
    #[error("the run has not started")]
    NotStarted,
    /// Only the first event of a run can be a start.
    #[error("the run has already started")]
    StartedAlready,
    /// The start lacks a fact that the program needs.
    #[error("the start of the run lacks the fact `{0}`")]
    MissingFact(String),
    /// The stamp lacks the offset of a time zone that the program needs.
    #[error("the event lacks the offset of the time zone `{0}`")]
    MissingOffset(String),
    /// The program was lowered for semantics that this build does not support.
    #[error(
        "the program needs semantics {0}, which this build of Branchpoint does not support; use the build that wrote it"
    )]
    UnknownSemantics(u16),
    /// The program has other semantics than the run. Only [`Event::Adopt`](crate::Event::Adopt) changes the semantics of a run.
    #[error("the run has semantics {run}, but the program has semantics {program}")]
    OtherSemantics {
        /// The semantics of the run.
        run: u16,
        /// The semantics of the program.
        program: u16,
    },
    /// The last event is not finished: the next event must continue it at the same time, or cancel the run.
    #[error("the run has not finished its last event")]
    Unfinished,
    /// The attempt is not in flight: the result is late or a duplicate.
    #[error("the attempt is not in flight; its result is late or a duplicate")]
    UnknownEffect,
    /// The timer is not set.
    #[error("the timer is not set")]
    UnknownTimer,
    /// The timer is not due yet.
    #[error("the timer is not due yet")]
    TooEarly,
    /// The program does not declare the signal.
    #[error("the workflow has no signal `{0}`")]
    UnknownSignal(String),
    /// The run does not wait for the signal and does not store early signals of this name.
    #[error("the run does not wait for the signal `{0}`")]
    NotWaiting(String),
    /// The run waits for the signal, but the payload is not valid.
    #[error("the content of the signal `{0}` is not valid")]
    NotAccepted(String),
    /// The run has stored the maximum number of early signals.
    #[error("the run has already stored {0} early signals of this name, which is the limit")]
    MailboxFull(usize),
    /// The request is not pending.
    #[error("the approval is already settled or cancelled")]
    NotPending,
    /// A vote was rejected.
    #[error(transparent)]
    Vote(VoteRejection),
    /// A value of the event is nested too deeply to be stored.
    #[error("a value of the event is nested too deeply")]
    TooDeep,
    /// A value of the event is too large.
    #[error("the event has a value of more than {0} bytes; send less, or a reference to the data")]
    TooLarge(u64),
    /// With the value of the event, the values of the run would exceed the limit.
    #[error("with this event, the values of the run would exceed {0} bytes; send less, or send it later")]
    NoRoom(u64),
    /// The last event is finished, so there is nothing to continue.
    #[error("the run has nothing to continue")]
    NothingToContinue,
    /// The run does not wait at a place where its document can be changed.
    #[error("the run is not at a place where its document can be changed; try again when it waits for input")]
    NotResting,
}
