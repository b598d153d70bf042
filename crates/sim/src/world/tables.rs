//! The tables of the simulated host: outbox, timers and requests.

use std::collections::BTreeMap;

use branchpoint_core::{Command, EffectNo, RequestNo, TimerNo};
use branchpoint_expr::Value;

/// The rows of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    /// Pending attempts.
    pub(super) outbox: BTreeMap<EffectNo, Attempt>,
    /// The due times of timers.
    pub(super) timers: BTreeMap<TimerNo, i64>,
    /// Pending requests, as people see them.
    pub(super) requests: BTreeMap<RequestNo, Value>,
    /// Whether the run has to be continued.
    pub(super) more: bool,
    pub(super) finished: bool,
}

/// An attempt in the outbox.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Attempt {
    pub(super) no: u32,
    pub(super) input: Value,
    pub(super) answers: u32,
}

impl Tables {
    /// Applies a command. A command without a matching entry is an error.
    pub(super) fn apply(&mut self, command: &Command) -> Result<(), String> {
        let fits = match command {
            Command::Perform { effect, attempt, input, answers, .. } => {
                let row = Attempt { no: *attempt, input: input.clone(), answers: *answers };
                self.outbox.insert(*effect, row).is_none()
            }
            Command::Withdraw { effect } => self.outbox.remove(effect).is_some(),
            Command::SetTimer { timer, at_ms } => self.timers.insert(*timer, *at_ms).is_none(),
            Command::ClearTimer { timer } => self.timers.remove(timer).is_some(),
            Command::Ask { request, spec } => self.requests.insert(*request, spec.clone()).is_none(),
            Command::Remind { request, .. } | Command::Escalate { request, .. } => self.requests.contains_key(request),
            Command::Retract { request } => self.requests.remove(request).is_some(),
            Command::Finish { .. } => {
                let pending = (self.outbox.len(), self.timers.len(), self.requests.len());
                !std::mem::replace(&mut self.finished, true) && pending == (0, 0, 0)
            }
        };
        if fits { Ok(()) } else { Err(format!("the command does not match the tables: {command:?} with {self:?}")) }
    }
}
