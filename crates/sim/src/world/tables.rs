//! What a host keeps beside the journal: the outbox, the timers, the questions. Commands must balance.

use std::collections::BTreeMap;

use branchpoint_core::{Command, EffectNo, RequestNo, TimerNo};
use branchpoint_expr::Value;

/// The rows of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    /// Attempts that have not settled.
    pub(super) outbox: BTreeMap<EffectNo, Attempt>,
    /// When timers are due.
    pub(super) timers: BTreeMap<TimerNo, i64>,
    /// Questions that are pending, and how many people were asked.
    pub(super) asks: BTreeMap<RequestNo, i64>,
    /// Whether the run has to be continued.
    pub(super) more: bool,
    pub(super) finished: bool,
}

/// One attempt as the outbox keeps it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Attempt {
    pub(super) no: u32,
    pub(super) input: Value,
    pub(super) answers: u32,
}

impl Tables {
    /// Keeps what a command says. A command that fits nothing is a broken promise.
    pub(super) fn keep(&mut self, command: &Command) -> Result<(), String> {
        let fits = match command {
            Command::Perform { effect, attempt, input, answers, .. } => {
                let row = Attempt { no: *attempt, input: input.clone(), answers: *answers };
                self.outbox.insert(*effect, row).is_none()
            }
            Command::Withdraw { effect } => self.outbox.remove(effect).is_some(),
            Command::SetTimer { timer, at_ms } => self.timers.insert(*timer, *at_ms).is_none(),
            Command::ClearTimer { timer } => self.timers.remove(timer).is_some(),
            Command::Ask { request, spec } => {
                let people = spec.get("recipients").and_then(Value::as_list).map_or(0, <[Value]>::len);
                self.asks.insert(*request, i64::try_from(people).unwrap_or(0)).is_none()
            }
            Command::Remind { request, .. } => self.asks.contains_key(request),
            Command::Retract { request } => self.asks.remove(request).is_some(),
            Command::Finish { .. } => {
                let left = (self.outbox.len(), self.timers.len(), self.asks.len());
                !std::mem::replace(&mut self.finished, true) && left == (0, 0, 0)
            }
        };
        if fits { Ok(()) } else { Err(format!("a command fits nothing: {command:?} with {self:?}")) }
    }
}
