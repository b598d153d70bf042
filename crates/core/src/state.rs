//! The state of one run.

use std::collections::{BTreeMap, BTreeSet};

use branchpoint_expr::{List, Value};
use serde::{Deserialize, Serialize};

use crate::event::Usage;
use crate::ir::{EffectId, Entries, Home, PlaceId, Program, ScopeId, SignalId, Status};
use crate::meter::{HeldCall, Meter};
use crate::request::Request;
use crate::state_size::values_bytes;

macro_rules! numbers {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u64);
    )+};
}

numbers! {
    /// An effect of this run: one call to a runner, with all its attempts.
    EffectNo,
    /// A timer of this run.
    TimerNo,
    /// A request to people.
    RequestNo,
    /// A strand of this run.
    StrandNo,
    /// A frame of this run.
    FrameNo,
}

/// The state of one run: the fold of its events. Its size does not grow with the number of finished steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Threads of control that have not ended. Only the functions below insert, move and remove strands, because they also update
    /// `whereabouts`.
    pub(crate) strands: BTreeMap<StrandNo, Strand>,
    /// A hash over the numbers and places of all strands, updated incrementally. The check word of an outcome includes it.
    pub(crate) whereabouts: u64,
    /// The strands that wait at a merge.
    pub(crate) at_merges: BTreeSet<StrandNo>,
    /// Open frames.
    pub(crate) frames: BTreeMap<FrameNo, Frame>,
    /// Strands that can continue; the last one runs first.
    pub(crate) ready: Vec<StrandNo>,
    /// Effects in flight or waiting for their next attempt.
    pub(crate) effects: BTreeMap<EffectNo, InFlight>,
    /// Timers that are set.
    pub(crate) timers: BTreeMap<TimerNo, Timer>,
    /// Pending requests to people.
    pub(crate) requests: BTreeMap<RequestNo, Pending>,
    /// Signals that arrived before the wait that accepts them.
    pub(crate) mailbox: Vec<(SignalId, Value)>,
    /// The ops, effects, tokens and cost that the run has used.
    pub(crate) spent: Consumption,
    /// The unfolded size of all values above, in bytes, updated by the functions in `state_size`.
    pub(crate) size: u64,
    /// The last assigned number, of any kind.
    pub(crate) last_no: u64,
    /// The number of accepted events.
    pub(crate) seq: u64,
    /// The time of the newest event.
    pub(crate) now_ms: i64,
    /// The number of runs that enclose this run.
    pub(crate) depth: u32,
    /// The maximum number of ops; 0 is no limit.
    pub(crate) max_ops: u64,
    /// The semantics of the run.
    pub(crate) semantics: u16,
    /// The reason of a requested cancellation, if one was requested; null without a reason.
    pub(crate) cancelling: Option<Value>,
    /// Whether the run executes its cleanup: the part of the program that runs once after a failure or a cancellation.
    pub(crate) last_word: bool,
    /// The final status and result.
    pub(crate) ended: Option<FinalResult>,
    /// The meters of open frames with a budget.
    pub(crate) meters: BTreeMap<FrameNo, Meter>,
    /// The calls that wait for a budget, in the order in which they would begin.
    pub(crate) held: Vec<HeldCall>,
}

/// A thread of control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Strand {
    pub(crate) frame: FrameNo,
    pub(crate) entry: u32,
    pub(crate) at: PlaceId,
    pub(crate) locals: Vec<Value>,
    pub(crate) parked: Parked,
}

/// The reason why a strand waits, with the numbers that belong to the wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Parked {
    /// Nothing: it is ready.
    Ready,
    /// An effect.
    Effect(EffectNo),
    /// Signals, requests and timers.
    Wait { timers: Vec<TimerNo>, requests: Vec<RequestNo> },
    /// A frame that it entered.
    Frame(FrameNo),
    /// The edges of a merge.
    Meet,
    /// A budget around its call.
    Budget,
}

/// An open frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Frame {
    pub(crate) scope: ScopeId,
    /// The strand that entered the scope; the root frame has none.
    pub(crate) entered_by: Option<StrandNo>,
    /// The values of the slots; in a frame of items, each entry has its own.
    pub(crate) values: Vec<Option<Value>>,
    /// Entries that have begun and not ended.
    pub(crate) entries: BTreeMap<u32, Entry>,
    /// The number of entries that have work to do.
    pub(crate) working: u32,
    /// The results of the entries, by position.
    pub(crate) results: Vec<EntryResult>,
    /// The items, in a frame of items.
    pub(crate) items: List,
    /// The first entry that has not begun.
    pub(crate) next_entry: u32,
    /// The locals that entries begin with.
    pub(crate) locals: Vec<Value>,
    pub(crate) delivered: u32,
    /// The first error of an entry, in a frame that continues after failures.
    pub(crate) failure: Option<Value>,
    pub(crate) deadline: Option<TimerNo>,
    pub(crate) attempt: u32,
    /// The timer of the next attempt, while the frame waits for it.
    pub(crate) backoff: Option<TimerNo>,
}

/// An entry of a frame that has begun and not ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The strands of the entry, in the order in which they began.
    pub(crate) strands: Vec<StrandNo>,
    /// Whether any strand has work to do.
    pub(crate) works: bool,
    /// The slots of the entry, in a frame of items.
    pub(crate) values: Vec<Option<Value>>,
    /// The newest value that a strand of the entry delivered.
    pub(crate) value: Option<Value>,
}

/// The result of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum EntryResult {
    Open,
    Done(Value),
    None,
    Failed,
}

/// An effect in flight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct InFlight {
    pub(crate) strand: StrandNo,
    pub(crate) effect_id: EffectId,
    pub(crate) attempt: u32,
    pub(crate) answers: u32,
    /// The input of the call, stored only while another attempt may need it.
    pub(crate) input: Option<Value>,
    /// The unfolded size of the input, even if the input is not stored here: the host stores it until the effect settles.
    pub(crate) input_bytes: u64,
    /// The timer of the next attempt, while the effect waits for it.
    pub(crate) backoff: Option<TimerNo>,
}

/// A timer that is set, and its purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Timer {
    pub(crate) at_ms: i64,
    pub(crate) purpose: Purpose,
}

/// The use of a timer. A host with a virtual clock advances the clock by itself only for timers of running work, not for timers of a
/// run that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerUse {
    /// A wait for a moment.
    Wait,
    /// The delay before another attempt.
    Retry,
    /// The time limit of a part of the run.
    Deadline,
    /// A reminder or the deadline of a request to people.
    Request,
    /// The time limit of the run.
    Wall,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Purpose {
    /// An arm of a wait.
    Arm(StrandNo, u32),
    /// The next attempt of an effect.
    Attempt(EffectNo),
    /// The next attempt of a frame.
    FrameAttempt(FrameNo),
    /// The time limit of a frame.
    Deadline(FrameNo),
    /// The deadline or a reminder of a request.
    Request(RequestNo),
    /// The time limit of the run.
    Wall,
    /// The time limit of the budget of a frame.
    Budget(FrameNo),
}

/// A pending request to people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pending {
    pub(crate) strand: StrandNo,
    pub(crate) arm: u32,
    pub(crate) request: Request,
    /// The unfolded size of the request, and of the comments of the votes so far.
    pub(crate) bytes: u64,
    /// The timer of the next reminder or of the deadline.
    pub(crate) timer: Option<TimerNo>,
}

/// The ops, effects, tokens and cost that a run has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Consumption {
    pub(crate) ops: u64,
    pub(crate) effects: u64,
    pub(crate) usage: Usage,
}

/// The final status and result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FinalResult {
    pub(crate) status: Status,
    pub(crate) result: Value,
}

impl State {
    /// A run that has not started.
    ///
    /// ```
    /// assert_eq!(branchpoint_core::State::new().seq(), 0);
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// How many events the run has accepted.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// assert_eq!(state.seq(), 1);
    /// ```
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The time of the newest event.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// assert_eq!(state.now_ms(), 0);
    /// ```
    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// The number of runs that enclose this run: 0 for a top-level run.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// assert_eq!(state.depth(), 0);
    /// ```
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// The timers that are set, with their due times.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// assert!(state.timers().all(|(_, due_ms)| due_ms == 1_000));
    /// ```
    pub fn timers(&self) -> impl Iterator<Item = (TimerNo, i64)> {
        self.timers.iter().map(|(no, timer)| (*no, timer.at_ms))
    }

    /// The positions of the items that enclose the strand of a request, outermost first; none if the request is not open.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// let ApprovalKey::Request(request) = approval.key else { unreachable!() };
    /// assert_eq!(state.request_path(&program, request), Some(vec![]));
    /// ```
    pub fn request_path(&self, program: &Program, request: RequestNo) -> Option<Vec<u32>> {
        self.requests.get(&request).map(|pending| self.item_path(program, pending.strand))
    }

    pub(crate) fn item_path(&self, program: &Program, no: StrandNo) -> Vec<u32> {
        let mut path = Vec::new();
        let mut strand = self.strands.get(&no);
        while let Some(inner) = strand {
            let Some(frame) = self.frames.get(&inner.frame) else { break };
            if matches!(program.scope(frame.scope).start, Entries::Each { .. }) {
                path.push(inner.entry);
            }
            strand = frame.entered_by.and_then(|by| self.strands.get(&by));
        }
        path.reverse();
        path
    }

    /// Whether the last event is not fully processed: the next event must be [`Event::Continue`](crate::Event::Continue).
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// assert!(!state.is_unfinished());
    /// ```
    pub fn is_unfinished(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Replaces every value as a whole, for a host that stores large values separately.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// state.map_values(&mut |value| *value = Value::Null);
    /// ```
    pub fn map_values(&mut self, map: &mut dyn FnMut(&mut Value)) {
        for strand in self.strands.values_mut() {
            strand.locals.iter_mut().for_each(&mut *map);
        }
        for frame in self.frames.values_mut() {
            frame.map_values(map);
        }
        self.effects.values_mut().filter_map(|flight| flight.input.as_mut()).for_each(&mut *map);
        self.requests.values_mut().flat_map(|pending| pending.request.values_mut()).for_each(&mut *map);
        self.mailbox.iter_mut().for_each(|(_, value)| map(value));
        self.cancelling.iter_mut().for_each(&mut *map);
        self.ended.iter_mut().for_each(|ended| map(&mut ended.result));
    }

    /// The status and the result of a run that has ended.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// assert_eq!(state.result(), None);
    /// ```
    pub fn result(&self) -> Option<(Status, &Value)> {
        self.ended.as_ref().map(|ended| (ended.status, &ended.result))
    }

    /// The tokens and the cost of all calls of the run.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// assert_eq!(state.usage(), Usage::default());
    /// ```
    pub fn usage(&self) -> Usage {
        self.spent.usage
    }

    /// The number of ops that the run has executed.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// assert_eq!(state.ops(), 1);
    /// ```
    pub fn ops(&self) -> u64 {
        self.spent.ops
    }

    /// The facts with which the run started, if its program stores them. A run that has ended has none.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// assert_eq!(state.facts(&program), None);
    /// ```
    pub fn facts(&self, program: &Program) -> Option<&Value> {
        let Home::Frame(_, index) = program.slot(program.facts_slot?).home else { return None };
        self.frames.get(&self.root()?)?.values.get(index as usize)?.as_ref()
    }

    /// The due time of a timer that is set.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// let Command::SetTimer { timer, at_ms } = outcome.commands[0] else { unreachable!() };
    /// assert_eq!(state.due_ms(timer), Some(at_ms));
    /// ```
    pub fn due_ms(&self, timer: TimerNo) -> Option<i64> {
        self.timers.get(&timer).map(|timer| timer.at_ms)
    }

    /// The purpose of a timer that is set.
    ///
    /// ```
    #[doc = include_str!("../docs/waiting.txt")]
    /// let Command::SetTimer { timer, .. } = outcome.commands[0] else { unreachable!() };
    /// assert_eq!(state.timer_use(timer), Some(TimerUse::Wait));
    /// ```
    pub fn timer_use(&self, timer: TimerNo) -> Option<TimerUse> {
        self.timers.get(&timer).map(|timer| match timer.purpose {
            Purpose::Arm(..) => TimerUse::Wait,
            Purpose::Attempt(_) | Purpose::FrameAttempt(_) => TimerUse::Retry,
            Purpose::Deadline(_) | Purpose::Budget(_) => TimerUse::Deadline,
            Purpose::Request(_) => TimerUse::Request,
            Purpose::Wall => TimerUse::Wall,
        })
    }

    pub(crate) fn insert_strand(&mut self, no: StrandNo, strand: Strand) {
        self.whereabouts = self.whereabouts.wrapping_add(place_hash(no, strand.at));
        self.hold(values_bytes(&strand.locals));
        self.strands.insert(no, strand);
    }

    pub(crate) fn move_strand(&mut self, no: StrandNo, to: PlaceId) {
        if let Some(strand) = self.strands.get_mut(&no) {
            let before = std::mem::replace(&mut strand.at, to);
            self.whereabouts = self.whereabouts.wrapping_sub(place_hash(no, before)).wrapping_add(place_hash(no, to));
        }
    }

    pub(crate) fn remove_strand(&mut self, no: StrandNo) -> Option<Strand> {
        let strand = self.strands.remove(&no)?;
        self.whereabouts = self.whereabouts.wrapping_sub(place_hash(no, strand.at));
        self.release(values_bytes(&strand.locals));
        self.at_merges.remove(&no);
        Some(strand)
    }

    /// The root frame: the frame that no strand entered.
    pub(crate) fn root(&self) -> Option<FrameNo> {
        self.frames.iter().find(|(_, frame)| frame.entered_by.is_none()).map(|(no, _)| *no)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.last_no += 1;
        self.last_no
    }
}

impl Frame {
    /// The number of the attempt of a frame that has exceeded its time limit.
    pub(crate) const EXPIRED: u32 = u32::MAX;

    /// Whether the frame has exceeded its time limit.
    pub(crate) fn is_expired(&self) -> bool {
        self.attempt == Self::EXPIRED
    }

    fn map_values(&mut self, map: &mut dyn FnMut(&mut Value)) {
        self.values.iter_mut().flatten().for_each(&mut *map);
        for entry in self.entries.values_mut() {
            entry.values.iter_mut().flatten().chain(entry.value.iter_mut()).for_each(&mut *map);
        }
        for result in &mut self.results {
            if let EntryResult::Done(value) = result {
                map(value);
            }
        }
        if !self.items.is_empty() {
            self.items.edit(|items| items.iter_mut().for_each(&mut *map));
        }
        self.locals.iter_mut().chain(self.failure.iter_mut()).for_each(&mut *map);
    }
}

/// The hash of a strand at a place. The hash multiplies the two numbers, so that two strands that exchange places do not cancel out.
fn place_hash(no: StrandNo, at: PlaceId) -> u64 {
    let mixed = no.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(at.0).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}
