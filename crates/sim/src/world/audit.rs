//! Compares the machine with the model: after each fact, their outputs and their pending work must be equal.

use std::collections::BTreeMap;

use branchpoint_core::ir::Status;
use branchpoint_core::{Command, EffectNo, RequestNo};
use branchpoint_expr::Value;

use super::tables::Tables;
use crate::model::{End, Model, Output};

/// The model of a run, and the mapping from the machine's numbers to the model's.
#[derive(Clone, Debug)]
pub(super) struct Audit<'t> {
    pub(super) model: Model<'t>,
    pub(super) effects: BTreeMap<EffectNo, u64>,
    pub(super) requests: BTreeMap<RequestNo, u64>,
    /// The outputs of the model for the latest fact.
    expected: Vec<Output>,
    /// The commands of the machine for the latest fact, over all continuations.
    got: Vec<Command>,
}

impl<'t> Audit<'t> {
    pub(super) fn new(model: Model<'t>) -> Self {
        Self { model, effects: BTreeMap::new(), requests: BTreeMap::new(), expected: Vec::new(), got: Vec::new() }
    }

    pub(super) fn expect(&mut self, outputs: Vec<Output>) {
        self.expected.extend(outputs);
    }

    pub(super) fn got(&mut self, commands: &[Command]) {
        self.got.extend_from_slice(commands);
    }

    /// Compares the outputs when the machine has nothing left to run.
    pub(super) fn settle(&mut self, tables: &Tables) -> Result<(), String> {
        let (expected, got) = (std::mem::take(&mut self.expected), std::mem::take(&mut self.got));
        self.performed(&expected, &got)?;
        self.requested(&expected, &got)?;
        self.withdrawn(&expected, &got)?;
        finished(&expected, &got)?;
        self.alive(tables)
    }

    fn performed(&mut self, expected: &[Output], got: &[Command]) -> Result<(), String> {
        let expected = expected.iter().filter_map(|output| match output {
            Output::Perform { effect, attempt, input } => Some((*effect, *attempt, input)),
            _ => None,
        });
        let got = got.iter().filter_map(|command| match command {
            Command::Perform { effect, attempt, input, .. } => Some((*effect, *attempt, input)),
            _ => None,
        });
        let (expected, got): (Vec<_>, Vec<_>) = (expected.collect(), got.collect());
        let differ = || format!("effects differ:\n  model   {expected:?}\n  machine {got:?}");
        if expected.len() != got.len() {
            return Err(differ());
        }
        for ((effect, attempt, input), (no, got_attempt, got_input)) in expected.iter().zip(&got) {
            let known = *self.effects.entry(*no).or_insert(*effect);
            if known != *effect || attempt != got_attempt || input != got_input {
                return Err(differ());
            }
        }
        Ok(())
    }

    fn requested(&mut self, expected: &[Output], got: &[Command]) -> Result<(), String> {
        let expected: Vec<(u64, (Value, Vec<String>))> = expected
            .iter()
            .filter_map(|output| match output {
                Output::Ask { request, node, recipients } => {
                    Some((*request, (Value::Int((*node).into()), sorted(recipients))))
                }
                _ => None,
            })
            .collect();
        let got: Vec<(RequestNo, (Value, Vec<String>))> = got
            .iter()
            .filter_map(|command| match command {
                Command::Ask { request, spec } => {
                    let recipients = spec.get("recipients").and_then(Value::as_list).unwrap_or_default();
                    Some((*request, (spec.get("node").cloned().unwrap_or_default(), sorted(recipients))))
                }
                _ => None,
            })
            .collect();
        if !expected.iter().map(|(_, shown)| shown).eq(got.iter().map(|(_, shown)| shown)) {
            return Err(format!("requests differ:\n  model   {expected:?}\n  machine {got:?}"));
        }
        self.requests.extend(got.iter().zip(&expected).map(|((no, _), (request, _))| (*no, *request)));
        Ok(())
    }

    /// Compares withdrawals, reminders and escalations in any order.
    fn withdrawn(&self, expected: &[Output], got: &[Command]) -> Result<(), String> {
        let mut model: Vec<String> = expected
            .iter()
            .filter_map(|output| match output {
                Output::Withdraw(effect) => Some(format!("effect {effect}")),
                Output::Retract(request) => Some(format!("request {request}")),
                Output::Remind { request, users } => Some(format!("remind {request} {:?}", sorted(users))),
                Output::Escalate { request, users } => Some(format!("escalate {request} {:?}", sorted(users))),
                _ => None,
            })
            .collect();
        let mut machine: Vec<String> = got
            .iter()
            .filter_map(|command| match command {
                Command::Withdraw { effect } => Some(format!("effect {}", self.effects.get(effect).unwrap_or(&0))),
                Command::Retract { request } => Some(format!("request {}", self.requests.get(request).unwrap_or(&0))),
                Command::Remind { request, users } => {
                    Some(format!("remind {} {:?}", self.requests.get(request).unwrap_or(&0), sorted(users)))
                }
                Command::Escalate { request, users } => {
                    Some(format!("escalate {} {:?}", self.requests.get(request).unwrap_or(&0), sorted(users)))
                }
                _ => None,
            })
            .collect();
        model.sort_unstable();
        machine.sort_unstable();
        if model == machine {
            return Ok(());
        }
        Err(format!("withdrawals differ:\n  model   {model:?}\n  machine {machine:?}"))
    }

    /// Compares the effects in flight, the timers and the pending requests.
    fn alive(&self, tables: &Tables) -> Result<(), String> {
        let mut flights: Vec<u64> = tables.outbox.keys().map(|no| self.effects.get(no).copied().unwrap_or(0)).collect();
        flights.sort_unstable();
        compare("effects in flight", &self.model.in_flight(), &flights)?;
        let mut timers: Vec<i64> = tables.timers.values().copied().collect();
        timers.sort_unstable();
        compare("timers", &self.model.timers(), &timers)?;
        let mut requests: Vec<u64> =
            tables.requests.keys().map(|no| self.requests.get(no).copied().unwrap_or(0)).collect();
        requests.sort_unstable();
        compare("requests", &self.model.requests(), &requests)
    }
}

fn sorted(users: &[impl ToString]) -> Vec<String> {
    let mut users: Vec<String> = users.iter().map(ToString::to_string).collect();
    users.sort_unstable();
    users
}

fn compare<T: PartialEq + std::fmt::Debug>(what: &str, model: &[T], machine: &[T]) -> Result<(), String> {
    if model == machine {
        return Ok(());
    }
    Err(format!("{what} differ:\n  model   {model:?}\n  machine {machine:?}"))
}

fn finished(expected: &[Output], got: &[Command]) -> Result<(), String> {
    let expected = expected.iter().find_map(|output| match output {
        Output::Finish(status, end) => Some((*status, end)),
        _ => None,
    });
    let got = got.iter().find_map(|command| match command {
        Command::Finish { status, result } => Some((*status, result)),
        _ => None,
    });
    let same = match (expected, got) {
        (None, None) => true,
        (Some((status, end)), Some((got, result))) => status == got && same_end(status, end, result),
        _ => false,
    };
    if same { Ok(()) } else { Err(format!("ends differ:\n  model   {expected:?}\n  machine {got:?}")) }
}

fn same_end(status: Status, end: &End, result: &Value) -> bool {
    match end {
        End::Value(value) => value == result,
        End::Error(kind) => status == Status::Failed && result.get("kind").and_then(Value::as_str) == Some(kind),
        End::Cancelled => status == Status::Cancelled && result.get("reason").is_some(),
    }
}
