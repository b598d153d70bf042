//! The intermediate form: what a document of any dialect is lowered to.
//!
//! Code is a flat table of [`Place`]s, and any place may name any other. Structure exists only at run time, as frames,
//! which the op [`Op::Enter`] opens by a [`Scope`]. Eight ops are enough.

pub mod builder;
mod decision;
mod flow;
mod ids;
mod nesting;
pub mod picture;
mod print;
pub(crate) mod reachability;
mod status;
mod uses;
mod validate;

use std::sync::{Arc, OnceLock};

use branchpoint_expr::{Condition, Expression, Object, Value};
use serde::{Deserialize, Serialize};

use crate::effect;

pub use decision::{Attempt, Branch, Count, Decides, Decision, DecisionKind, Items, Rounds, Unit};
pub use ids::{ConditionId, DecisionId, EffectId, ExprId, Index, PlaceId, ScopeId, SignalId, SlotId, StepId, ViewId};
pub use print::print;
pub use status::Status;
pub use validate::{Defect, DefectKind, Warning, WarningKind, validate};

/// The semantics this build writes. A change of meaning (ops, builtins, Unicode, regex) gets a new number.
pub const SEMANTICS: u16 = 1;

/// A lowered document. It never changes after it was validated; a run is pinned to its bytes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Program {
    /// The code.
    pub places: Vec<Place>,
    /// The structures that frames are opened by. The first is the root: it is open as long as the run.
    pub scopes: Vec<Scope>,
    /// Expressions that give values.
    pub exprs: Vec<Expression>,
    /// Expressions that are true or false.
    pub conditions: Vec<Condition>,
    /// Kinds of work outside.
    pub effects: Vec<Arc<Effect>>,
    /// Everything that holds a value.
    pub slots: Vec<Slot>,
    /// Events that someone may choose to send.
    pub signals: Vec<Signal>,
    /// Pure reads of a run.
    pub views: Vec<View>,
    /// What the document's author sees, in document order.
    pub steps: Vec<Step>,
    /// What the document's author decides.
    pub decisions: Vec<Decision>,
    /// Bounds of a run.
    pub limits: Limits,
    /// Names of the facts that a start must carry beside its input.
    pub facts: Vec<Arc<str>>,
    /// The slot of the root that holds what the run was started with.
    pub input_slot: Option<SlotId>,
    /// The slot of the root that holds the facts.
    pub facts_slot: Option<SlotId>,
    /// The time zones whose offsets every stamp must carry.
    pub zones: Vec<Arc<str>>,
    /// How many ops one call may run.
    pub fuel: u32,
    /// Where a cancelled run goes on, after everything was withdrawn.
    pub on_cancel: Option<PlaceId>,
    /// The semantics it was lowered for.
    pub semantics: u16,
    /// What merges need to know, computed once when the first one asks. It is no part of the stored bytes.
    #[serde(skip)]
    pub(crate) reachability: OnceLock<reachability::Reachability>,
}

/// One op, with what the trace tells about it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Place {
    /// What happens here.
    pub op: Op,
    /// What the trace is told before it happens.
    pub marks: Vec<Mark>,
    /// The author's decision that the op takes, if it takes one.
    pub decides: Option<Decides>,
}

/// What can happen at a place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Op {
    /// Asks the outside for one effect and parks until it settles.
    Do {
        /// What is asked for.
        effect: EffectId,
        /// What it is asked with.
        input: ExprId,
        /// Where the answer is kept, if anything reads it.
        into: Option<SlotId>,
        /// Where it goes on.
        next: PlaceId,
        /// Where it goes on when the effect failed for good.
        fail: Option<Failure>,
    },
    /// Ordered guards; the first that holds wins.
    Decide {
        /// The guards and where they lead.
        arms: Vec<(ConditionId, PlaceId)>,
        /// Where it goes on when no guard holds.
        otherwise: PlaceId,
        /// Where it goes on when a guard cannot be evaluated. An error never picks an arm.
        fail: Option<Failure>,
    },
    /// Pure writes, in order, all or nothing.
    Set {
        /// What is written.
        writes: Vec<Write>,
        /// Where it goes on.
        next: PlaceId,
        /// Where it goes on when a value cannot be computed.
        fail: Option<Failure>,
    },
    /// Parks until the first of its arms comes.
    Wait {
        /// What may come.
        arms: Vec<Arm>,
        /// Where it goes on when a delay or a request cannot be computed.
        fail: Option<Failure>,
        /// Whether a run that waits here may take a changed document.
        rest: bool,
    },
    /// Opens a frame and parks until it closes.
    Enter(ScopeId),
    /// This strand ends; one strand of the same frame goes on at each place, with a copy of its locals.
    Fork {
        /// Where they go on.
        to: Vec<PlaceId>,
    },
    /// Leaves a scope that encloses this place.
    Leave {
        /// Which one.
        scope: ScopeId,
        /// How.
        how: Exit,
    },
    /// A merge: parks until every edge is settled.
    Meet {
        /// A slot that another strand fills, and the place it fills it from.
        edges: Vec<(SlotId, PlaceId)>,
        /// Where it goes on when an edge is filled.
        next: PlaceId,
        /// Where it goes on when none is.
        none: PlaceId,
    },
}

/// How a scope is left.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Exit {
    /// This strand is done; with a value, it counts as having delivered.
    Done(Option<ExprId>),
    /// This strand has failed with an error object.
    Fail(ExprId),
    /// The frame closes, and the strand that entered it goes on there.
    Goto(PlaceId),
    /// The run ends. Only the root can be left like this.
    Close(Verdict),
}

/// How a run ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// The status of the run.
    pub status: Status,
    /// The dialect's own result object.
    pub result: ExprId,
}

/// Where a failure goes: a place, and a slot for the error `{kind, message, step}`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// The place.
    pub to: PlaceId,
    /// The slot.
    pub error: Option<SlotId>,
}

/// One write of a [`Op::Set`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Write {
    /// The slot becomes the value.
    Put(SlotId, ExprId),
    /// The value is appended to the slot's list.
    Push(SlotId, ExprId),
    /// The slot becomes what it was at first.
    Clear(SlotId),
}

/// One thing that a [`Op::Wait`] waits for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Arm {
    /// A signal. While its check does not hold for the payload, it is refused and nothing changes.
    Signal {
        /// Which.
        signal: SignalId,
        /// What the payload must satisfy.
        check: Option<ConditionId>,
        /// Where the payload is kept.
        into: Option<SlotId>,
        /// Where it goes on.
        next: PlaceId,
    },
    /// A question to people; see [`crate::Request`].
    Request {
        /// The question as an object.
        spec: ExprId,
        /// Where the outcome is kept.
        into: Option<SlotId>,
        /// Where it goes on when it is resolved.
        next: PlaceId,
        /// Where it goes on when the time ran out, if that is not an outcome like another.
        expired: Option<PlaceId>,
    },
    /// A number of milliseconds from now; nil never comes.
    After {
        /// How many.
        delay_ms: ExprId,
        /// Where it goes on.
        next: PlaceId,
    },
    /// A moment, in milliseconds since the Unix epoch; nil never comes.
    Until {
        /// Which.
        at_ms: ExprId,
        /// Where it goes on.
        next: PlaceId,
    },
}

/// How a frame is opened and closed: one record is fork, for-each, try and deadline.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scope {
    /// The scope around this one; only the root has none.
    pub parent: Option<ScopeId>,
    /// The slots that live as long as a frame of this scope (as long as an entry, in [`Entries::Each`]).
    pub slots: Vec<SlotId>,
    /// What runs in it.
    pub start: Entries,
    /// How many branches may have work to do at once, or how many items may have begun and not ended; 0 is no limit.
    pub width: u32,
    /// When it is done.
    pub want: Want,
    /// What a failed entry means.
    pub on_fail: OnFail,
    /// Where the entries' values are kept: a list in entry order, nil for entries without one.
    pub into: Option<SlotId>,
    /// Where is kept what became of the entries: a list of `done`, `none`, `failed`, `withdrawn`, in entry order.
    pub outcomes: Option<SlotId>,
    /// How the whole frame is tried again when it fails.
    pub retry: Option<Retry>,
    /// After how long it fails with kind `timeout`, all attempts together.
    pub time_limit_ms: Option<u64>,
    /// Where the strand that entered goes on.
    pub next: PlaceId,
    /// Where it goes on when the frame fails.
    pub fail: Option<Failure>,
    /// The loop of the document whose rounds run in it.
    pub rounds: Option<Rounds>,
}

/// What runs in a frame.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Entries {
    /// One entry for each place; they share the frame's slots.
    Branches(Vec<PlaceId>),
    /// One entry for each item; each has slots of its own.
    Each {
        /// A list.
        items: ExprId,
        /// Where an entry finds its item.
        item: SlotId,
        /// Where it finds its position.
        index: SlotId,
        /// Where it begins.
        place: PlaceId,
    },
}

/// When a frame is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Want {
    /// When all entries have ended.
    All,
    /// When so many have delivered a value; the others are withdrawn.
    First(u32),
}

/// What a failed entry means for its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnFail {
    /// The first failure fails the frame.
    Stop,
    /// It is that entry's result; the frame fails only when too few delivered and one failed.
    Keep,
}

/// How something is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retry {
    /// Attempts, the first included.
    pub max_attempts: u32,
    /// The first wait.
    pub delay_ms: u64,
    /// How waits grow.
    pub backoff: Backoff,
    /// No wait is longer; 0 is no bound.
    pub max_delay_ms: u64,
    /// Each wait is changed by up to this share of itself, 0 to 1.
    pub jitter: f64,
}

/// How waits between attempts grow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Backoff {
    /// The same each time.
    Constant,
    /// The n-th is n times the first.
    Linear,
    /// Each is so many times the one before.
    Exponential(f64),
}

/// Work that a run asks a runner for; see [`effect`](crate::effect).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Effect {
    /// Which runner performs it.
    pub kind: effect::Kind,
    /// The fields of the request that are the same for every call.
    pub fixed: Object,
    /// How a raw answer becomes the value of the step.
    pub response: effect::Response,
    /// Where texts of the request name secrets.
    pub secrets: Vec<effect::SecretText>,
    /// How a failed attempt is repeated.
    pub retry: Option<Retry>,
    /// How long one attempt may take, counted by the runner from its real start.
    pub attempt_limit_ms: Option<u64>,
    /// The step it belongs to.
    pub step: Option<StepId>,
}

/// Something that holds a value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Slot {
    /// Its name, for people and for adopting a changed document.
    pub name: Arc<str>,
    /// Where it lives.
    pub home: Home,
    /// What it holds at first; none is nothing at all, which `Meet` takes for an edge that is not filled.
    pub first: Option<Value>,
}

/// Where a slot lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Home {
    /// In a frame of that scope, at that position.
    Frame(ScopeId, u32),
    /// In a strand, at that position. Forks and entries hand on a copy.
    Local(u32),
    /// The payload of the signal that is being checked.
    Payload,
    /// The time of the event, ISO 8601 in UTC.
    Now,
    /// The time of the event in one of the program's zones.
    Clock {
        /// Which of [`Program::zones`].
        zone: u32,
        /// Whether only the date is wanted.
        date: bool,
    },
}

/// An event that someone may choose to send.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Signal {
    /// Its name.
    pub name: Arc<str>,
    /// Whether one that comes before its wait is kept for it. The others are refused: early input is no consent.
    pub on_early: OnEarly,
}

/// What becomes of a signal that nobody waits for yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnEarly {
    /// It is refused.
    Reject,
    /// It is kept until its wait.
    Keep,
}

/// A pure read of a run, over the slots of the root.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct View {
    /// Its name.
    pub name: Arc<str>,
    /// What it gives.
    pub value: ExprId,
}

/// What the document's author wrote.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Step {
    /// Its id in the document.
    pub id: Arc<str>,
    /// Its type in the document.
    pub kind: Arc<str>,
    /// The step around it.
    pub parent: Option<StepId>,
    /// Its place in the source, in bytes.
    pub origin: (u32, u32),
}

/// What a place tells the trace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Mark {
    /// A step begins, with that input.
    Begin(StepId, Option<ExprId>),
    /// A step ends, with that output.
    End(StepId, Option<ExprId>),
    /// A step took that branch.
    Branch(StepId, Arc<str>),
    /// Something a person should know of.
    Warn(StepId, Arc<str>),
    /// A step did not run, for that reason.
    Skip(StepId, Arc<str>),
    /// A step has failed, with that error; the run may go on.
    Fail(StepId, ExprId),
    /// The content type of the output with which a step ends.
    ContentType(StepId, ExprId),
}

/// Bounds of a run; 0 is no bound, except for sizes, where it is the default. Going over one ends the run, it does not
/// break it; a value that is too large only fails the step that makes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Ops over the whole run.
    pub ops: u64,
    /// Effects over the whole run.
    pub effects: u64,
    /// Tokens over the whole run.
    pub tokens: u64,
    /// Cost over the whole run, in millionths.
    pub cost_micros: u64,
    /// Milliseconds from start to end.
    pub wall_ms: u64,
    /// How deeply child runs may nest.
    pub depth: u32,
    /// How large one value may be, in bytes, as if nothing in it were shared; at most
    /// [`VALUE_BYTES`](branchpoint_expr::limits::VALUE_BYTES), the default.
    pub value_bytes: u64,
    /// How large all values of the run may be together, in the same bytes; at most [`Self::STATE_BYTES`], the default.
    pub state_bytes: u64,
}

impl Limits {
    /// How large the values that a run keeps may be together: what its variables hold, what its parallel branches and
    /// items carry, its calls in flight, its open requests and its unread signals. A snapshot is about as large.
    pub const STATE_BYTES: u64 = 256 << 20;

    /// The limit for one value.
    ///
    /// ```
    /// assert_eq!(branchpoint_core::ir::Limits { value_bytes: 1_000, ..Default::default() }.value_bytes(), 1_000);
    /// ```
    pub fn value_bytes(&self) -> u64 {
        at_most(self.value_bytes, branchpoint_expr::limits::VALUE_BYTES)
    }

    /// The limit for all values together.
    ///
    /// ```
    /// use branchpoint_core::ir::Limits;
    ///
    /// assert_eq!(Limits::default().state_bytes(), Limits::STATE_BYTES);
    /// ```
    pub fn state_bytes(&self) -> u64 {
        at_most(self.state_bytes, Self::STATE_BYTES)
    }
}

/// A bound that is set, or the most that may be set.
fn at_most(bound: u64, most: u64) -> u64 {
    if bound == 0 { most } else { bound.min(most) }
}

impl Effect {
    /// The fields of the request that are the same for every call.
    ///
    /// # Errors
    ///
    /// A field is unknown, or has a value that it cannot have.
    ///
    /// ```
    /// use branchpoint_core::effect::{Kind, Request};
    ///
    /// assert!(matches!(branchpoint_core::ir::builder::effect(Kind::Mail).request(), Ok(Request::Mail(_))));
    /// ```
    pub fn request(&self) -> Result<effect::Request, effect::FieldError> {
        effect::Request::parse(self.kind, &self.fixed, &Value::Null)
    }

    /// Whether this is a run of its own, which counts against [`Limits::depth`].
    pub(crate) fn is_child_run(&self) -> bool {
        self.kind == effect::Kind::Run
    }
}

impl Program {
    /// The root scope: it is open as long as the run.
    pub const ROOT: ScopeId = ScopeId(0);

    /// From where the edges of merges can still be reached.
    pub(crate) fn reachability(&self) -> &reachability::Reachability {
        self.reachability.get_or_init(|| reachability::Reachability::new(self))
    }

    /// The place with this id.
    ///
    /// ```
    /// use branchpoint_core::ir::{Op, PlaceId, builder::Builder};
    ///
    /// assert!(matches!(Builder::sample().place(PlaceId(0)).op, Op::Leave { .. }));
    /// ```
    pub fn place(&self, id: PlaceId) -> &Place {
        &self.places[id.index()]
    }

    /// The scope with this id.
    ///
    /// ```
    /// use branchpoint_core::ir::{Program, builder::Builder};
    ///
    /// assert_eq!(Builder::sample().scope(Program::ROOT).parent, None);
    /// ```
    pub fn scope(&self, id: ScopeId) -> &Scope {
        &self.scopes[id.index()]
    }

    /// The slot with this id.
    ///
    /// ```
    /// let program = branchpoint_core::ir::builder::Builder::sample();
    /// assert_eq!(&*program.slot(program.input_slot.unwrap()).name, "input");
    /// ```
    pub fn slot(&self, id: SlotId) -> &Slot {
        &self.slots[id.index()]
    }
}
