//! Requests that go out.

use std::sync::Arc;

use branchpoint_expr::Value;
use serde::{Deserialize, Serialize};

use crate::ir::{EffectId, Status};
use crate::state::{EffectNo, RequestNo, TimerNo};

/// A request going out. The host carries out commands in order, after it has kept the event that gave them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Perform an attempt of an effect, and hand in how it settled.
    Perform {
        /// The effect of this run, by number.
        effect: EffectNo,
        /// The attempt, counted from 1.
        attempt: u32,
        /// What kind of work it is.
        effect_id: EffectId,
        /// What it is asked with.
        input: Value,
        /// How many answers the effect has had: together with the run and the effect, the key on the wire.
        answers: u32,
        /// The positions of the items around it, outermost first.
        path: Vec<u32>,
    },
    /// Nobody waits for this effect any more.
    Withdraw {
        /// Which.
        effect: EffectNo,
    },
    /// Hand in [`crate::Event::TimerFired`] at that time.
    SetTimer {
        /// Which.
        timer: TimerNo,
        /// When, in milliseconds since the Unix epoch.
        at_ms: i64,
    },
    /// Forget a timer.
    ClearTimer {
        /// Which.
        timer: TimerNo,
    },
    /// Ask people.
    Ask {
        /// The request.
        request: RequestNo,
        /// The question.
        spec: Value,
    },
    /// Remind those who have not answered.
    Remind {
        /// The request.
        request: RequestNo,
        /// Whom.
        users: Vec<Arc<str>>,
    },
    /// The question is settled or not asked any more.
    Retract {
        /// The request.
        request: RequestNo,
    },
    /// The run has ended.
    Finish {
        /// How.
        status: Status,
        /// The dialect's own result object.
        result: Value,
    },
}
