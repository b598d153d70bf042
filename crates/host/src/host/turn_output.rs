//! The outputs of a turn.

use std::sync::Arc;

use branchpoint_backend::{RunEvent, RunEventKind};
use branchpoint_core::EffectNo;

use super::{Accepted, Host, Rejection};
use crate::script::Reply;
use crate::store::{RunNo, WorkflowNo};
use branchpoint_runners::Call;

/// An output of a turn. It is stored when it is returned.
#[derive(Debug)]
pub enum TurnOutput {
    /// Perform the call, and settle it with the response.
    Perform {
        /// The run that calls.
        run: RunNo,
        /// The workflow of that run.
        workflow: WorkflowNo,
        /// The call.
        call: Call,
        /// The answer of the run's script, which comes after a delay: the call is not executed.
        reply: Option<Box<Reply>>,
    },
    /// The run no longer waits for this call.
    Withdraw {
        /// The run that called.
        run: RunNo,
        /// The id of that run.
        id: Arc<str>,
        /// The effect of the call.
        effect: EffectNo,
    },
    /// The outcome of an order.
    OrderDone {
        /// The ticket of the order.
        ticket: Ticket,
        /// The outcome.
        outcome: Result<Accepted, Rejection>,
    },
    /// An event for listeners.
    Event(RunEvent),
}

impl TurnOutput {
    /// The run of the output; `None` for the outcome of an order.
    pub(super) fn run(&self) -> Option<RunNo> {
        match self {
            Self::Perform { run, .. } | Self::Withdraw { run, .. } | Self::Event(RunEvent { run, .. }) => Some(*run),
            Self::OrderDone { .. } => None,
        }
    }
}

impl Host {
    /// Reports an event of an open run to listeners.
    pub(super) fn report(&mut self, run: RunNo, kind: RunEventKind) {
        let id = self.open.get(&run).map(|open| open.id.clone()).unwrap_or_default();
        self.current.outputs.push(TurnOutput::Event(RunEvent { run, id, kind }));
    }
}

/// Identifies an order, so that its outcome is found. The caller chooses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);
