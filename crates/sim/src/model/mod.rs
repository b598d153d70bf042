//! A simple, slow interpreter of a [`Tree`]. It walks the tree without places and ops, and shares no code with `advance`. The
//! world applies the same facts to both and compares their outputs after each fact.

mod approvals;
mod facts;
mod frames;
mod merges;
mod people;
mod size;
mod walk;

pub use approvals::Sent;
pub use people::{CHOICES, REMINDERS};

use approvals::Approval;

use std::collections::BTreeMap;

use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use crate::tree::{Node, Tree};

/// An incoming fact, with the numbers of the model.
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
    /// A vote. A payload that is too large is rejected.
    Vote { request: u64, sent: Sent, payload: Value },
    /// A recipient names a delegate until a time, or revokes the delegation.
    Delegate { request: u64, from: String, to: Option<String>, until: i64, payload: Value },
    /// A request is cancelled.
    CancelRequest { request: u64 },
    /// The run is cancelled.
    Cancel,
}

/// An output of the model.
#[expect(missing_docs, reason = "the fields are explained with their variant")]
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// An attempt of an effect.
    Perform { effect: u64, attempt: u32, input: Value },
    /// An effect is withdrawn.
    Withdraw(u64),
    /// A request of a node, with its recipients.
    Ask { request: u64, node: u32, recipients: Vec<String> },
    /// People become recipients of a request.
    Escalate { request: u64, users: Vec<String> },
    /// People who have not voted are reminded.
    Remind { request: u64, users: Vec<String> },
    /// A request is settled or withdrawn.
    Retract(u64),
    /// The run has ended.
    Finish(Status, End),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// A result.
    Value(Value),
    /// An error of this kind.
    Error(String),
    /// The reason of a cancellation.
    Cancelled,
}

type TimerKey = (i64, u64);

/// The input of every simulated run.
pub const INPUT: i64 = 77;

/// A run of a tree.
#[derive(Clone, Debug)]
pub struct Model<'t> {
    tree: &'t Tree,
    now: i64,
    numbers: u64,
    strands: BTreeMap<u64, Strand<'t>>,
    frames: BTreeMap<u64, Frame<'t>>,
    /// The ready strands; the last runs first.
    ready: Vec<u64>,
    timers: BTreeMap<TimerKey, Due>,
    effects: BTreeMap<u64, Flight>,
    requests: BTreeMap<u64, OpenRequest<'t>>,
    mailbox: Vec<(u32, i64)>,
    outputs: Vec<Output>,
    cancelling: bool,
    root_failed: bool,
    ended: bool,
    effects_begun: u64,
    tokens: u64,
    /// How often nodes of each kind ran, and other counts.
    pub ran: BTreeMap<&'static str, u64>,
}

#[derive(Clone, Debug)]
struct Strand<'t> {
    frame: u64,
    entry: usize,
    /// Its position: nested blocks, the innermost last.
    spine: Vec<Position<'t>>,
    last: Value,
    parked: Parked,
    /// The error with which it fails at its next turn.
    pending_failure: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct Position<'t> {
    block: &'t [Node],
    at: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Parked {
    Ready,
    Effect(u64),
    Frame(u64),
    Wait { timer: Option<TimerKey>, request: Option<u64> },
    Merge,
}

#[derive(Clone, Debug)]
struct Frame<'t> {
    /// The node that opened it; the root has none.
    node: Option<&'t Node>,
    by: Option<u64>,
    vars: Vars,
    entries: Vec<Entry>,
    /// The value that entries begin with.
    last: Value,
    attempt: u32,
    deadline: Option<TimerKey>,
    backoff: Option<TimerKey>,
    failure: Option<String>,
    /// The status of the run at the end of the root's block.
    ends_as: Status,
}

/// The variables of a scope. In a for-each, every entry has its own.
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
struct OpenRequest<'t> {
    strand: u64,
    node: &'t Node,
    requested_ms: i64,
    reminded: u32,
    approval: Approval<'t>,
    timer: Option<TimerKey>,
}

#[derive(Clone, Debug)]
enum Due {
    Strand(u64),
    Attempt(u64),
    FrameAttempt(u64),
    Deadline(u64),
    Request(u64),
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
            requests: BTreeMap::new(),
            mailbox: Vec::new(),
            outputs: Vec::new(),
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

    /// The pending requests.
    pub fn requests(&self) -> Vec<u64> {
        self.requests.keys().copied().collect()
    }

    /// Whether the run has ended.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn tally(&mut self, kind: &'static str) {
        *self.ran.entry(kind).or_default() += 1;
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
        self.outputs.push(Output::Finish(status, end));
    }
}

/// Milliseconds as the model counts them.
fn ms(ms: u64) -> i64 {
    i64::try_from(ms).expect("generated times are small")
}
