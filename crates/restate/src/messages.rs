//! The messages between callers, run objects and calls. They are JSON, so that workers of different versions can exchange them; values,
//! events and commands inside have the stored bytes of [`branchpoint_core::codec`].

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use branchpoint_backend::Rejection;
use branchpoint_core::Usage;
use branchpoint_core::ir::BudgetLimits;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes as base64 text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blob(pub Vec<u8>);

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Self).map_err(serde::de::Error::custom)
    }
}

/// The start of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StartMessage {
    /// The number of the workflow.
    pub workflow: i64,
    /// The program of the workflow; empty for its main program.
    #[serde(default)]
    pub part: String,
    /// The input, as a stored value.
    pub input: Blob,
    /// Facts in addition to those of the worker, as a stored value.
    #[serde(default)]
    pub facts: Option<Blob>,
    /// The folder that the run works in.
    #[serde(default)]
    pub folder: String,
    /// The number of runs that enclose this one.
    #[serde(default)]
    pub depth: u32,
    /// What the budgets of the callers have left.
    #[serde(default)]
    pub budget: BudgetLimits,
    /// The most ops of the run; 0 is no limit.
    #[serde(default)]
    pub max_ops: u64,
    /// The call that started the run.
    #[serde(default)]
    pub parent: Option<ParentMessage>,
    /// The tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The time, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// Whether the caller performs the calls and passes the time.
    #[serde(default)]
    pub stepped: bool,
}

/// The call of another run that started a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentMessage {
    /// The id of the calling run.
    pub id: String,
    /// Its effect.
    pub effect: u64,
    /// The attempt.
    pub attempt: u32,
    /// The place of the run among its callers.
    #[serde(default)]
    pub place: Place,
    /// The run that the outermost agent belongs to, if an agent's turn is among the callers.
    #[serde(default)]
    pub agent_run: Option<String>,
}

/// The steps and the loop items around a run, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The steps that called the run, separated by `/`.
    #[serde(default)]
    pub callers: String,
    /// The positions of the items.
    #[serde(default)]
    pub path: Vec<u32>,
}

/// A fact for a run that has started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeliverMessage {
    /// The fact.
    pub fact: Fact,
    /// The time, in milliseconds since the Unix epoch. Without one, the worker reads its clock and records the time.
    #[serde(default)]
    pub at_ms: Option<i64>,
}

/// What happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// An event, as a stored event. Its stamp is ignored.
    Event(Blob),
    /// The time of a message has come: due timers fire.
    Wake,
    /// A child run has ended.
    ChildEnded {
        /// The effect that called it.
        effect: u64,
        /// The attempt.
        attempt: u32,
        /// The result object, as a stored value.
        result: Blob,
        /// What the child run used.
        usage: Usage,
    },
    /// An attempt that is a child run has reached its time limit.
    ChildOverdue {
        /// The effect that called it.
        effect: u64,
        /// The attempt.
        attempt: u32,
    },
    /// A child run could not start.
    ChildRejected {
        /// The effect that called it.
        effect: u64,
        /// The attempt.
        attempt: u32,
        /// The reason.
        reason: String,
    },
}

/// The response of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// Whether the fact is new, or why it was rejected.
    pub outcome: Result<bool, Rejection>,
    /// The accepted events of a stepped run, in order.
    #[serde(default)]
    pub rows: Vec<Row>,
    /// What the caller of a stepped run has to do.
    #[serde(default)]
    pub orders: Vec<Order>,
}

/// An accepted event: the check word of its outcome, and the stored event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The check word.
    pub check: u32,
    /// The stored event.
    pub event: Blob,
}

/// Work for the caller of a stepped run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Perform a call.
    Perform {
        /// The stored command.
        command: Blob,
        /// The place of the call.
        place: Place,
    },
    /// Start a child run.
    StartChild {
        /// Its id.
        id: String,
        /// The start.
        start: Box<StartMessage>,
        /// The time limit of the attempt.
        limit_ms: Option<u64>,
    },
    /// Deliver a fact to another run.
    Deliver {
        /// The id of the run.
        id: String,
        /// The fact.
        fact: Fact,
    },
    /// The run no longer waits for a call.
    Withdraw {
        /// The effect.
        effect: u64,
    },
}

/// A call that a worker performs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PerformMessage {
    /// The id of the run.
    pub run: String,
    /// The number of the workflow.
    pub workflow: i64,
    /// The program of the workflow.
    pub part: String,
    /// The folder of the run.
    pub folder: String,
    /// The place of the call.
    pub place: Place,
    /// The stored command.
    pub command: Blob,
}

/// The recorded result of an attempt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Performed {
    /// The stored event; `None` if the attempt takes longer than a run may wait for it inline.
    pub settled: Option<Blob>,
    /// When the attempt ended.
    pub at_ms: i64,
}
