//! Applies facts to a run in memory, and collects what follows: rows of the journal, and work for others.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use branchpoint_backend::Rejection;
use branchpoint_core::codec::{CodecError, decode_command, encode_command, encode_event, encode_value};
use branchpoint_core::ir::{Program, Status};
use branchpoint_core::{AttemptError, Command, EffectNo, Event, RequestNo, RetryHint, Stamp, TimerNo, advance, status};
use branchpoint_runners::{Call, child_run, offsets_s};

use crate::messages::{Blob, Fact, Place};
use crate::programs::Programs;
use crate::record::{Flight, Record, StoredRequest};

/// The fuel of an event. Work beyond it continues in slices.
const EVENT_FUEL: u32 = 5_000;

/// The fuel of a slice.
const SLICE_FUEL: u32 = 20_000;

/// The ops after which an invocation stores an unfinished run and continues it in another one, so that a cancellation comes in between.
const OPS_PER_INVOCATION: u64 = 1_000_000;

/// A run in memory while facts are applied.
pub(crate) struct Transition {
    pub(crate) record: Record,
    pub(crate) program: Arc<Program>,
    pub(crate) programs: Arc<Programs>,
    /// The sequence number of the first row.
    pub(crate) first_seq: u64,
    pub(crate) rows: Vec<(u32, Vec<u8>)>,
    pub(crate) outputs: VecDeque<Output>,
    /// Requests that were closed.
    pub(crate) closed: BTreeMap<u64, StoredRequest>,
    ops: u64,
}

/// Work that follows from an event.
#[derive(Debug)]
pub(crate) enum Output {
    /// Perform a call.
    Perform(Box<Call>),
    /// Start a child run for a call.
    StartChild(Box<Call>, Arc<str>),
    /// The run no longer waits for a call.
    Withdraw { effect: EffectNo, attempt: u32, is_child: bool },
    /// Deliver a fact to another run.
    Deliver(String, Fact),
    /// The run has ended.
    Ended,
}

/// Why a fact cannot be applied: a defect or damaged data, never the fault of a sender.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransitionError {
    #[error("the run cannot be stored: {0}")]
    Unstorable(#[from] CodecError),
    #[error("the run rejects the timer that it has set: {0}")]
    Timer(branchpoint_core::Rejected),
    #[error("the run cannot continue: {0}")]
    Continue(branchpoint_core::Rejected),
}

impl Transition {
    pub(crate) fn new(record: Record, program: Arc<Program>, programs: Arc<Programs>) -> Self {
        let first_seq = record.state.seq() + 1;
        let (rows, outputs, closed) = (Vec::new(), VecDeque::new(), BTreeMap::new());
        Self { record, program, programs, first_seq, rows, outputs, closed, ops: 0 }
    }

    /// Applies an event after the timers that are due by then. Returns whether it is new, or why it was rejected.
    pub(crate) fn deliver(&mut self, event: Event, at_ms: i64) -> Result<Result<bool, Rejection>, TransitionError> {
        if !matches!(event, Event::Cancel { .. }) {
            self.finish(u64::MAX)?;
        }
        self.fire_due(at_ms)?;
        if self.is_late(&event) {
            return Ok(Ok(false));
        }
        match self.apply(event, at_ms, EVENT_FUEL)? {
            Ok(()) => {
                self.finish(OPS_PER_INVOCATION)?;
                Ok(Ok(true))
            }
            Err(rejection) => Ok(Err(rejection)),
        }
    }

    /// Continues unfinished work, and fires the timers that are due, in the order of their due times.
    pub(crate) fn fire_due(&mut self, now_ms: i64) -> Result<(), TransitionError> {
        self.finish(OPS_PER_INVOCATION)?;
        while !self.record.state.is_unfinished()
            && let Some((due_ms, timer)) = self.first_timer().filter(|(due_ms, _)| *due_ms <= now_ms)
        {
            if let Err(Rejection::Rejected(rejected)) = self.apply(Event::TimerFired(timer), due_ms, EVENT_FUEL)? {
                return Err(TransitionError::Timer(rejected));
            }
            self.finish(OPS_PER_INVOCATION)?;
        }
        Ok(())
    }

    /// The status of the run.
    pub(crate) fn status(&self) -> Status {
        status(&self.program, &self.record.state)
    }

    /// The pending call of an effect.
    pub(crate) fn pending_call(&self, effect: u64, attempt: u32) -> Option<Call> {
        let flight = self.record.header.flights.get(&effect).filter(|flight| flight.attempt == attempt)?;
        self.call(decode_command(&flight.command.0).ok()?)
    }

    fn first_timer(&self) -> Option<(i64, TimerNo)> {
        self.record.state.timers().map(|(timer, due_ms)| (due_ms, timer)).min()
    }

    /// Continues the last event until it is finished or this many ops were executed.
    fn finish(&mut self, max_ops: u64) -> Result<(), TransitionError> {
        while self.record.state.is_unfinished() && self.ops < max_ops {
            if let Err(Rejection::Rejected(rejected)) = self.apply(Event::Continue, i64::MIN, SLICE_FUEL)? {
                return Err(TransitionError::Continue(rejected));
            }
        }
        Ok(())
    }

    fn apply(&mut self, event: Event, at_ms: i64, fuel: u32) -> Result<Result<(), Rejection>, TransitionError> {
        let state = &mut self.record.state;
        let now_ms = at_ms.max(state.now_ms());
        let stamp = Stamp {
            now_ms,
            seed: seed(&self.record.header.id, state.seq(), self.record.header.stepped),
            offsets_s: offsets_s(&self.program.zones, now_ms),
            fuel,
            record: false,
        };
        let (event, bytes) = match encode_event(&stamp, &event) {
            Ok(bytes) => (event, bytes),
            Err(error) => match unstorable(&event, &error) {
                Some(failed) => {
                    let bytes = encode_event(&stamp, &failed)?;
                    (failed, bytes)
                }
                None => return Ok(Err(Rejection::Unstorable(error.to_string()))),
            },
        };
        let (settled, before) = (settled_effect(&event), state.ops());
        let outcome = match advance(&self.program, state, &stamp, event) {
            Ok(outcome) => outcome,
            Err(rejected) => return Ok(Err(rejected.into())),
        };
        self.ops += state.ops() - before;
        if let Some(effect) = settled {
            self.record.header.flights.remove(&effect.0);
        }
        self.rows.push((outcome.check, bytes));
        for command in outcome.commands {
            self.carry_out(command, now_ms)?;
        }
        Ok(Ok(()))
    }

    fn carry_out(&mut self, command: Command, now_ms: i64) -> Result<(), TransitionError> {
        let header = &mut self.record.header;
        match command {
            Command::Perform { effect, attempt, .. } => {
                let bytes = Blob(encode_command(&command)?);
                let call = self.call(command).expect("the command performs a call");
                let part = child_run::part(&call.definition, &call.input).filter(|part| self.programs.has(part));
                let flight = Flight { attempt, command: bytes, is_child: part.is_some() };
                self.record.header.flights.insert(effect.0, flight);
                self.outputs.push_back(match part {
                    Some(part) => Output::StartChild(Box::new(call), part),
                    None => Output::Perform(Box::new(call)),
                });
            }
            Command::Withdraw { effect } => {
                // Its call may not have begun.
                self.outputs.retain(|output| output.effect() != Some(effect));
                if let Some(Flight { attempt, is_child, .. }) = header.flights.remove(&effect.0) {
                    self.outputs.push_back(Output::Withdraw { effect, attempt, is_child });
                }
            }
            Command::Ask { request, spec } => {
                let spec = Blob(encode_value(&spec)?);
                let opened = StoredRequest { spec, requested_ms: now_ms, reminded: 0, closed_ms: None };
                header.requests.insert(request.0, opened);
            }
            Command::Remind { request, .. } => {
                if let Some(open) = header.requests.get_mut(&request.0) {
                    open.reminded += 1;
                }
            }
            Command::Retract { request } => self.close_request(request, now_ms),
            Command::Finish { .. } => self.outputs.push_back(Output::Ended),
            // Timers are part of the state.
            Command::SetTimer { .. } | Command::ClearTimer { .. } | Command::Escalate { .. } => {}
        }
        Ok(())
    }

    fn close_request(&mut self, request: RequestNo, now_ms: i64) {
        if let Some(open) = self.record.header.requests.remove(&request.0) {
            self.closed.insert(request.0, StoredRequest { closed_ms: Some(now_ms), ..open });
        }
    }

    fn call(&self, command: Command) -> Option<Call> {
        let header = &self.record.header;
        let call =
            Call::from_command(&self.program, &header.id.as_str().into(), &header.folder.as_str().into(), command)?;
        let Place { callers, path } = header.parent.as_ref().map(|parent| parent.place.clone()).unwrap_or_default();
        let path = [&*path, &*call.path].concat();
        Some(Call { callers: callers.into(), path, ..call })
    }

    /// Whether an event is the response to an attempt that the run does not wait for.
    fn is_late(&self, event: &Event) -> bool {
        let Event::Settled { effect, attempt, .. } = event else { return false };
        self.record.header.flights.get(&effect.0).is_none_or(|flight| flight.attempt != *attempt)
    }
}

impl Output {
    fn effect(&self) -> Option<EffectNo> {
        match self {
            Self::Perform(call) | Self::StartChild(call, _) => Some(call.effect),
            Self::Withdraw { .. } | Self::Deliver(..) | Self::Ended => None,
        }
    }
}

fn settled_effect(event: &Event) -> Option<EffectNo> {
    match event {
        Event::Settled { effect, .. } => Some(*effect),
        _ => None,
    }
}

/// The failed attempt for a response that cannot be stored; `None` for other events, which are rejected.
pub(crate) fn unstorable(event: &Event, error: &CodecError) -> Option<Event> {
    let Event::Settled { effect, attempt, usage, .. } = *event else { return None };
    let message = error.to_string().into();
    let failed = AttemptError { kind: "too_deep".into(), message, retry: RetryHint::Never, answered: true };
    Some(Event::Settled { effect, attempt, result: Err(failed), usage })
}

/// The seed of an event: the same whenever the event is applied again, and different for each run. That of a stepped run follows from its
/// journal alone, so that it can be compared with other hosts.
fn seed(id: &str, seq: u64, stepped: bool) -> u64 {
    if stepped {
        return seq;
    }
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ seq;
    for byte in id.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11
}
