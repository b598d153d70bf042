//! An independent, slow, obvious model of what a [`Tree`] means. It walks the tree; it knows no places and no ops, and it
//! shares no code with `advance`. The world hands both the same facts and compares what they say, fact by fact.

mod facts;
mod frames;
mod merges;
mod people;
mod size;
mod walk;

pub use people::{CHOICES, REMINDERS};

use std::collections::BTreeMap;

use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use crate::tree::{Node, Tree};

/// A fact coming in, in the model's own numbers.
#[expect(missing_docs, reason = "the fields are explained with their variant")]
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// The run begins.
    Start,
    /// An attempt ended: with a value, or with the kind of an error and how long to wait before another attempt, if one makes sense.
    Settled { effect: u64, attempt: u32, result: Result<Value, (String, Option<i64>)>, tokens: u64 },
    /// The earliest timer is due.
    Timer,
    /// A signal of a node.
    Signal { node: u32, payload: i64 },
    /// A vote.
    Vote { ask: u64, user: String, choice: String },
    /// A question is called off.
    CallOff { ask: u64 },
    /// The run is to end.
    Cancel,
}

/// What the model says has to happen outside.
#[expect(missing_docs, reason = "the fields are explained with their variant")]
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// An attempt of an effect.
    Perform { effect: u64, attempt: u32, input: Value },
    /// Nobody waits for it any more.
    Withdraw(u64),
    /// A question of a node.
    Ask { ask: u64, node: u32 },
    /// Those who have not answered are reminded.
    Remind { ask: u64, users: Vec<String> },
    /// A question is settled or not asked any more.
    Retract(u64),
    /// The run has ended.
    Finish(Status, End),
}

/// What a run ended with.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// A result.
    Value(Value),
    /// An error of that kind.
    Error(String),
    /// The reason of a cancellation.
    Cancelled,
}

type TimerKey = (i64, u64);

/// What every simulated run is started with.
pub const INPUT: i64 = 77;

/// A run of a tree.
#[derive(Clone, Debug)]
pub struct Model<'t> {
    tree: &'t Tree,
    now: i64,
    numbers: u64,
    strands: BTreeMap<u64, Strand<'t>>,
    frames: BTreeMap<u64, Frame<'t>>,
    /// The last goes first.
    ready: Vec<u64>,
    timers: BTreeMap<TimerKey, Due>,
    effects: BTreeMap<u64, Flight>,
    asks: BTreeMap<u64, Question<'t>>,
    mailbox: Vec<(u32, i64)>,
    acts: Vec<Act>,
    cancelling: bool,
    root_failed: bool,
    ended: bool,
    effects_begun: u64,
    tokens: u64,
    /// How often nodes of each kind were run, and other things worth counting.
    pub ran: BTreeMap<&'static str, u64>,
}

#[derive(Clone, Debug)]
struct Strand<'t> {
    frame: u64,
    entry: usize,
    /// Where it is: block in block, the innermost last.
    spine: Vec<Spot<'t>>,
    last: Value,
    parked: Parked,
    /// Why it fails as soon as its turn comes.
    doomed: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct Spot<'t> {
    block: &'t [Node],
    at: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Parked {
    Ready,
    Effect(u64),
    Frame(u64),
    Wait { timer: Option<TimerKey>, ask: Option<u64> },
    Merge,
}

#[derive(Clone, Debug)]
struct Frame<'t> {
    /// The node that opened it; the root has none.
    node: Option<&'t Node>,
    by: Option<u64>,
    vars: Vars,
    entries: Vec<Entry>,
    /// What entries begin with.
    last: Value,
    attempt: u32,
    deadline: Option<TimerKey>,
    backoff: Option<TimerKey>,
    failure: Option<String>,
    /// What the end of the root's block means.
    ends_as: Status,
}

/// What a scope keeps: in a for-each, each entry for itself.
#[derive(Clone, Debug, Default)]
struct Vars {
    count: i64,
    rounds: u32,
    backs: BTreeMap<u32, u32>,
    edges: BTreeMap<u32, Value>,
}

#[derive(Clone, Debug)]
enum Entry {
    Waiting,
    Running { strand: u64, vars: Vars },
    Done(Value),
    Nothing,
    Failed,
}

#[derive(Clone, Debug)]
struct Flight {
    strand: u64,
    attempt: u32,
    input: Value,
    backoff: Option<TimerKey>,
}

#[derive(Clone, Debug)]
struct Question<'t> {
    strand: u64,
    node: &'t Node,
    asked: i64,
    reminded: u32,
    votes: Vec<(String, String)>,
    timer: Option<TimerKey>,
}

#[derive(Clone, Debug)]
enum Due {
    Strand(u64),
    Attempt(u64),
    FrameAttempt(u64),
    Deadline(u64),
    Question(u64),
    Wall,
}

impl<'t> Model<'t> {
    /// A run that has not begun.
    pub fn new(tree: &'t Tree) -> Self {
        Self {
            tree,
            now: 0,
            numbers: 0,
            strands: BTreeMap::new(),
            frames: BTreeMap::new(),
            ready: Vec::new(),
            timers: BTreeMap::new(),
            effects: BTreeMap::new(),
            asks: BTreeMap::new(),
            mailbox: Vec::new(),
            acts: Vec::new(),
            cancelling: false,
            root_failed: false,
            ended: false,
            effects_begun: 0,
            tokens: 0,
            ran: BTreeMap::new(),
        }
    }

    /// The due times of all timers, in order.
    pub fn timers(&self) -> Vec<i64> {
        self.timers.keys().map(|(at, _)| *at).collect()
    }

    /// The attempts in flight.
    pub fn in_flight(&self) -> Vec<u64> {
        self.effects.iter().filter(|(_, flight)| flight.backoff.is_none()).map(|(no, _)| *no).collect()
    }

    /// The questions that are pending.
    pub fn questions(&self) -> Vec<u64> {
        self.asks.keys().copied().collect()
    }

    /// Whether the run has ended.
    pub fn ended(&self) -> bool {
        self.ended
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn tally(&mut self, what: &'static str) {
        *self.ran.entry(what).or_default() += 1;
    }

    fn set_timer(&mut self, at: i64, due: Due) -> TimerKey {
        let key = (at, self.number());
        self.timers.insert(key, due);
        key
    }

    fn finish(&mut self, status: Status, end: End) {
        let roots: Vec<u64> = self.frames.iter().filter(|(_, frame)| frame.by.is_none()).map(|(no, _)| *no).collect();
        for root in roots {
            self.drop_frame(root);
        }
        self.timers.clear();
        self.ready.clear();
        self.ended = true;
        self.acts.push(Act::Finish(status, end));
    }
}

/// Milliseconds as the model counts them.
fn ms(ms: u64) -> i64 {
    i64::try_from(ms).expect("generated times are small")
}
