//! What comes back from a turn.

use std::sync::Arc;

use branchpoint_core::ir::Status;
use branchpoint_core::{EffectNo, Note, RequestNo};
use branchpoint_expr::Value;

use super::{Refused, Taken};
use crate::script::Reply;
use crate::store::{RunNo, WorkflowNo};
use branchpoint_runners::Call;

/// What whoever drives the host has to do, or wants to know. All of it is kept.
#[derive(Debug)]
pub enum Act {
    /// Perform the call, and hand in what came back.
    Perform {
        /// Whose call it is.
        run: RunNo,
        /// What that is a run of.
        workflow: WorkflowNo,
        /// The call.
        call: Call,
        /// The answer of the run's script, which comes after a delay: the call is not executed.
        reply: Option<Box<Reply>>,
    },
    /// Nobody waits for this call any more.
    Withdraw {
        /// Whose call it was.
        run: RunNo,
        /// The id of that run.
        id: Arc<str>,
        /// Which.
        effect: EffectNo,
    },
    /// What became of something that was queued with a ticket.
    Answered {
        /// The ticket.
        ticket: Ticket,
        /// What became of it.
        outcome: Result<Taken, Refused>,
    },
    /// What happened in a run that is watched.
    Told {
        /// Which.
        run: RunNo,
        /// What.
        notes: Vec<Note>,
    },
    /// People are asked, reminded, or not asked any more.
    People {
        /// The run that asks.
        run: RunNo,
        /// The id of that run.
        id: Arc<str>,
        /// The question.
        request: RequestNo,
        /// What about it.
        what: People,
    },
    /// A message about a run, such as an answer that its script lacks.
    Noted {
        /// Which run.
        run: RunNo,
        /// The message.
        text: String,
    },
    /// A run cannot be opened; it stays as it is until somebody mends what is wrong.
    Broken {
        /// Which.
        run: RunNo,
        /// What is wrong.
        why: String,
    },
    /// A run stands otherwise than before.
    Stands {
        /// Which.
        run: RunNo,
        /// Its id.
        id: Arc<str>,
        /// How.
        status: Status,
        /// The result object of one that has ended.
        result: Option<Value>,
    },
}

impl Act {
    /// The run that it is about; an answer is about an order.
    pub(super) fn run(&self) -> Option<RunNo> {
        match self {
            Self::Perform { run, .. }
            | Self::Withdraw { run, .. }
            | Self::Told { run, .. }
            | Self::Noted { run, .. }
            | Self::People { run, .. }
            | Self::Broken { run, .. }
            | Self::Stands { run, .. } => Some(*run),
            Self::Answered { .. } => None,
        }
    }
}

/// What people are told of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum People {
    /// It is asked.
    Asked(Value),
    /// These have not answered.
    Reminded(Vec<Arc<str>>),
    /// It has ended: how it was settled, or none if it was withdrawn.
    Closed(Option<Value>),
}

/// Names an order, so that its answer is found. Whoever drives the host makes it up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);
