//! The calls and approvals of a run by names that do not depend on its program, and the recorded history of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use branchpoint_expr::{Object, Value};

use super::{CallName, Cause, Difference, WaitingStep};
use crate::approval::{ApprovalKey, approvals};
use crate::command::Command;
use crate::event::{AttemptError, Event, Stamp, Usage};
use crate::fold::{Fold, JournalRow};
use crate::ir::{Effect, EffectId, Index, PlaceId, Program, Status};
use crate::state::{EffectNo, RequestNo, State};
use crate::trace::{Records, StepStatus};

/// The names of the calls and requests of one run, while it advances.
#[derive(Debug, Default)]
pub(super) struct Calls {
    counts: BTreeMap<(bool, Arc<str>, Vec<u32>), u32>,
    pub(super) effects: BTreeMap<EffectNo, Call>,
    pub(super) requests: BTreeMap<RequestNo, Request>,
    by_name: BTreeMap<CallName, EffectNo>,
    pending: BTreeMap<CallName, EffectNo>,
    open: BTreeMap<CallName, RequestNo>,
}

/// A call of a run, with its newest attempt.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) name: CallName,
    pub(super) definition: Arc<Effect>,
    pub(super) input: Value,
    pub(super) attempt: u32,
}

/// A request to people.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) name: CallName,
    pub(super) spec: Value,
    pub(super) place: Option<PlaceId>,
    /// The scopes around it, innermost first.
    pub(super) scopes: Vec<crate::ir::ScopeId>,
}

impl Calls {
    /// Adds the commands of an event.
    pub(super) fn add(&mut self, program: &Program, state: &State, commands: &[Command]) {
        for command in commands {
            match command {
                Command::Perform { effect, attempt, effect_id, input, path, .. } => {
                    if let Some(call) = self.effects.get_mut(effect) {
                        call.attempt = *attempt;
                    } else {
                        let name = self.name(false, step_of(program, *effect_id), path.clone());
                        let definition = Arc::clone(&program.effects[effect_id.index()]);
                        self.by_name.insert(name.clone(), *effect);
                        let call = Call { name, definition, input: input.clone(), attempt: *attempt };
                        self.effects.insert(*effect, call);
                    }
                    self.pending.insert(self.effects[effect].name.clone(), *effect);
                }
                Command::Withdraw { effect } => self.settled(*effect),
                Command::Ask { request, spec } => {
                    let step = spec.get("step").and_then(Value::as_str).unwrap_or("people").into();
                    let path = state.request_path(program, *request).unwrap_or_default();
                    let name = self.name(true, step, path);
                    let strand = state.requests.get(request).map(|pending| pending.strand);
                    let place = strand.and_then(|strand| state.strands.get(&strand)).map(|strand| strand.at);
                    let scopes = strand.map(|strand| scopes_around(state, strand)).unwrap_or_default();
                    self.open.insert(name.clone(), *request);
                    self.requests.insert(*request, Request { name, spec: spec.clone(), place, scopes });
                }
                Command::Retract { request } => {
                    if let Some(request) = self.requests.get(request) {
                        self.open.remove(&request.name);
                    }
                }
                _ => {}
            }
        }
    }

    /// The result of a call is no longer awaited.
    pub(super) fn settled(&mut self, effect: EffectNo) {
        if let Some(call) = self.effects.get(&effect) {
            self.pending.remove(&call.name);
        }
    }

    fn name(&mut self, for_people: bool, step: Arc<str>, path: Vec<u32>) -> CallName {
        let count = self.counts.entry((for_people, step.clone(), path.clone())).or_default();
        *count += 1;
        CallName { step, path, count: *count }
    }

    /// The calls whose results are awaited.
    pub(super) fn pending(&self) -> impl Iterator<Item = (EffectNo, &Call)> {
        self.pending.values().map(|effect| (*effect, &self.effects[effect]))
    }

    /// A call that awaits its result.
    pub(super) fn pending_call(&self, name: &CallName) -> Option<(EffectNo, &Call)> {
        self.pending.get(name).map(|effect| (*effect, &self.effects[effect]))
    }

    /// A call that was made.
    pub(super) fn call(&self, name: &CallName) -> Option<&Call> {
        self.by_name.get(name).map(|effect| &self.effects[effect])
    }

    /// The open request of a name.
    pub(super) fn open_request(&self, name: &CallName) -> Option<(RequestNo, &Request)> {
        self.open.get(name).map(|request| (*request, &self.requests[request]))
    }
}

impl Call {
    /// The fields of two requests that differ, with short texts of their values.
    pub(super) fn differing_fields(&self, other: &Self) -> Vec<(String, String, String)> {
        let fields = |call: &Self| {
            let mut fields = call.definition.fixed.clone();
            match call.input.as_object() {
                Some(input) => fields.extend(input.clone()),
                None => drop(fields.insert("input".into(), call.input.clone())),
            }
            fields.insert("kind".into(), Value::from(call.definition.kind.as_str()));
            fields
        };
        let (old, new): (Object, Object) = (fields(self), fields(other));
        let added = new.keys().filter(|key| !old.contains_key(*key));
        let names = old.keys().chain(added).filter(|key| old.get(*key) != new.get(*key));
        let mut differing: Vec<_> =
            names.map(|name| (name.to_string(), short(old.get(name)), short(new.get(name)))).collect();
        if self.definition.response != other.definition.response {
            let text = |call: &Self| call.definition.response.to_string().trim().to_owned();
            differing.push(("response".to_owned(), text(self), text(other)));
        }
        if differing.is_empty() && self.definition.secrets != other.definition.secrets {
            differing.push(("secrets".to_owned(), String::new(), String::new()));
        }
        differing
    }
}

/// A value as a short text.
fn short(value: Option<&Value>) -> String {
    const LONGEST: usize = 80;
    let Some(value) = value else { return "absent".to_owned() };
    let text = serde_text(value);
    if text.chars().count() <= LONGEST { text } else { text.chars().take(LONGEST).chain(['…']).collect() }
}

fn serde_text(value: &Value) -> String {
    match value {
        Value::Str(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

/// The step of an effect, or its kind if it belongs to no step.
fn step_of(program: &Program, effect: EffectId) -> Arc<str> {
    let definition = &program.effects[effect.index()];
    definition.step.map_or_else(|| definition.kind.as_str().into(), |step| program.steps[step.index()].id.clone())
}

/// The scopes of the frames around a strand, innermost first.
pub(super) fn scopes_around(state: &State, strand: crate::state::StrandNo) -> Vec<crate::ir::ScopeId> {
    let mut scopes = Vec::new();
    let mut strand = state.strands.get(&strand);
    while let Some(frame) = strand.and_then(|strand| state.frames.get(&strand.frame)) {
        scopes.push(frame.scope);
        strand = frame.entered_by.and_then(|by| state.strands.get(&by));
    }
    scopes
}

/// What was recorded of a run.
pub(super) struct Recorded {
    pub(super) events: Vec<RecordedEvent>,
    pub(super) calls: Calls,
    pub(super) state: State,
    pub(super) waiting: BTreeSet<WaitingStep>,
}

/// An event in words that both programs share.
pub(super) struct RecordedEvent {
    pub(super) stamp: Stamp,
    pub(super) what: EventUse,
}

pub(super) enum EventUse {
    Start(Event),
    Settled {
        call: CallName,
        attempt: u32,
        result: Result<Value, AttemptError>,
        usage: Usage,
        effect: EffectNo,
    },
    /// A signal about a request.
    Answer {
        event: Event,
        request: RequestNo,
    },
    /// Any other signal, with the answered approval and the place that accepted it, if it was one.
    Signal {
        event: Event,
        approval: Option<Answered>,
    },
    Timer,
    Cancel(Event),
    Continue,
    /// New numbers begin after this one.
    SkipNumbers(u64),
}

/// An approval without votes when a signal answered it.
pub(super) struct Answered {
    pub(super) step: Arc<str>,
    pub(super) prompt: String,
    pub(super) place: Option<PlaceId>,
    pub(super) scopes: Vec<crate::ir::ScopeId>,
}

impl Recorded {
    pub(super) fn read(program: &Program, journal: Vec<JournalRow>) -> Result<Self, Difference> {
        let mut recorded =
            Self { events: Vec::new(), calls: Calls::default(), state: State::new(), waiting: BTreeSet::new() };
        let mut fold = Fold::new(program, State::new(), journal.clone());
        let mut records = Records::of(program);
        for (stamp, event, _) in journal {
            // What an answer was given to is known before the event.
            let what = recorded.what(program, fold.state(), event)?;
            let folded = fold.replay_next(&mut |note| {
                records.add(&note);
            });
            let folded = folded.map(|folded| folded.map_err(|error| journal_error(&error.to_string()))).transpose()?;
            if let EventUse::Settled { effect, .. } = &what {
                recorded.calls.settled(*effect);
            }
            if let Some(folded) = folded {
                recorded.calls.add(program, fold.state(), &folded.outcome.commands);
            }
            recorded.events.push(RecordedEvent { stamp, what });
        }
        recorded.waiting = waiting_steps(program, fold.state(), records);
        recorded.state = fold.into_parts().0;
        Ok(recorded)
    }

    fn what(&self, program: &Program, state: &State, event: Event) -> Result<EventUse, Difference> {
        Ok(match event {
            Event::Start { .. } => EventUse::Start(event),
            Event::Settled { effect, attempt, result, usage } => {
                let call = self.calls.effects.get(&effect);
                let call =
                    call.map(|call| call.name.clone()).ok_or_else(|| journal_error("a result without a call"))?;
                EventUse::Settled { call, attempt, result, usage, effect }
            }
            Event::TimerFired(_) => EventUse::Timer,
            Event::Cancel { .. } => EventUse::Cancel(event),
            Event::Continue => EventUse::Continue,
            Event::Adopt(adopted) => {
                let last_no = adopted.last_no;
                if crate::advance::with_numbers_after(state, last_no) != *adopted {
                    return Err(Difference { at: nowhere(), cause: Cause::Unsupported });
                }
                EventUse::SkipNumbers(last_no)
            }
            Event::Signal { ref payload, ref name, .. } => match request_of(payload) {
                Some(request) if self.calls.requests.contains_key(&request) => EventUse::Answer { event, request },
                _ => {
                    let approval = Answered::find(program, state, name, payload);
                    EventUse::Signal { event, approval }
                }
            },
        })
    }
}

/// The number of the request that a payload names.
pub(super) fn request_of(payload: &Value) -> Option<RequestNo> {
    match payload.get("request") {
        Some(Value::Int(number)) => u64::try_from(*number).ok().map(RequestNo),
        _ => None,
    }
}

impl Answered {
    /// The approval that a signal answers, if it answers one.
    pub(super) fn find(program: &Program, state: &State, signal: &str, payload: &Value) -> Option<Self> {
        if signal != crate::approval::RESUME {
            return None;
        }
        let wanted = payload.get("id").and_then(Value::as_str);
        let mut open =
            approvals(program, state, &BTreeMap::new()).into_iter().filter_map(|approval| match approval.key {
                ApprovalKey::Step(step) => Some((step, approval.prompt)),
                _ => None,
            });
        let (step, prompt) = match wanted {
            Some(id) => open.find(|(step, _)| &**step == id)?,
            None => open.next()?,
        };
        let waits = |at: PlaceId| {
            match &program.place(at).op {
            crate::ir::Op::Wait { arms, .. } => arms.iter().any(|arm| {
                matches!(arm, crate::ir::Arm::Signal { signal: of, .. } if *program.signals[of.index()].name == *signal)
            }),
            _ => false,
        }
        };
        let strand = state.strands.iter().find(|(_, strand)| waits(strand.at));
        let scopes = strand.map(|(no, _)| scopes_around(state, *no)).unwrap_or_default();
        Some(Self { step, prompt, place: strand.map(|(_, strand)| strand.at), scopes })
    }
}

/// The steps at which a run waits.
pub(super) fn waiting_steps(program: &Program, state: &State, records: Records) -> BTreeSet<WaitingStep> {
    let mut waiting = BTreeSet::new();
    for approval in approvals(program, state, &BTreeMap::new()) {
        // Votes have the steps of the records below, so that both agree on their names.
        if !matches!(approval.key, ApprovalKey::Request(_)) {
            waiting.insert(WaitingStep { step: approval.step, path: approval.path, for_people: true });
        }
    }
    for record in records.finish(program, Status::Running).into_values() {
        if let StepStatus::Waiting(status) = record.status {
            let step = program.steps[record.step.index()].id.clone();
            let for_people = status == Status::WaitingPeople;
            waiting.insert(WaitingStep { step, path: record.path, for_people });
        }
    }
    waiting
}

pub(super) fn nowhere() -> CallName {
    CallName { step: "".into(), path: Vec::new(), count: 0 }
}

fn journal_error(message: &str) -> Difference {
    Difference { at: nowhere(), cause: Cause::Journal { message: message.to_owned() } }
}

pub(super) fn join(path: &[u32]) -> String {
    path.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}
