//! Commands: what a run asks its host to do.

use std::sync::Arc;

use branchpoint_expr::Value;
use serde::{Deserialize, Serialize};

use crate::ir::{EffectId, Status};
use crate::state::{EffectNo, RequestNo, TimerNo};

/// An instruction to the host. The host stores the event that produced the commands, then executes them in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Perform an attempt of an effect, and report the outcome as [`crate::Event::Settled`].
    Perform {
        /// The number of the effect within the run.
        effect: EffectNo,
        /// The number of the attempt, counted from 1.
        attempt: u32,
        /// The definition of the effect in the program.
        effect_id: EffectId,
        /// The fields of the request that the run computed.
        input: Value,
        /// The number of replies to earlier attempts. Together with the run and the effect, the idempotency key of the request.
        answers: u32,
        /// The positions of the enclosing items, outermost first.
        path: Vec<u32>,
    },
    /// Abandon an effect: the run no longer waits for it.
    Withdraw {
        /// The effect.
        effect: EffectNo,
    },
    /// Report [`crate::Event::TimerFired`] at that time.
    SetTimer {
        /// The timer.
        timer: TimerNo,
        /// The due time, in milliseconds since the Unix epoch.
        at_ms: i64,
    },
    /// Delete a timer.
    ClearTimer {
        /// The timer.
        timer: TimerNo,
    },
    /// Open a request to people.
    Ask {
        /// The request.
        request: RequestNo,
        /// The request as the workflow wrote it.
        spec: Value,
    },
    /// Remind the recipients who have not voted.
    Remind {
        /// The request.
        request: RequestNo,
        /// The recipients to remind.
        users: Vec<Arc<str>>,
    },
    /// Close a request: it is settled or withdrawn.
    Retract {
        /// The request.
        request: RequestNo,
    },
    /// The run has ended.
    Finish {
        /// The final status.
        status: Status,
        /// The result object of the dialect.
        result: Value,
    },
    /// A request has more recipients from now on, because it was not settled in time.
    Escalate {
        /// The request.
        request: RequestNo,
        /// The new recipients.
        users: Vec<Arc<str>>,
    },
}
