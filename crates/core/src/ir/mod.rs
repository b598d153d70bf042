//! The intermediate representation (IR): the program to which a document of any dialect is lowered.
//!
//! Code is a flat table of [`Place`]s, and any place may name any other. Structure exists only at run time, as frames: the op
//! [`Op::Enter`] opens a frame of a [`Scope`]. There are eight ops.

mod budget;
pub mod builder;
mod decision;
mod flow;
mod ids;
mod nesting;
pub mod picture;
mod print;
pub(crate) mod reachability;
mod same_meaning;
mod status;
mod uses;
mod validate;

use std::sync::{Arc, OnceLock};

use branchpoint_expr::{Condition, Expression, Object, Value};
use serde::{Deserialize, Serialize};

use crate::effect;

pub use budget::{Budget, BudgetLimits};
pub use decision::{Attempt, Branch, Count, Decides, Decision, DecisionKind, Items, Rounds, Unit};
pub use ids::{ConditionId, DecisionId, EffectId, ExprId, Index, PlaceId, ScopeId, SignalId, SlotId, StepId, ViewId};
pub use print::print;
pub use status::Status;
pub use validate::{Defect, DefectKind, Warning, WarningKind, validate};

/// The version of the semantics that this build writes. A change of meaning (ops, built-in functions, Unicode, regular expressions)
/// gets a new number.
pub const SEMANTICS: u16 = 1;

/// A lowered document. A validated program never changes; a run is pinned to the bytes of its program.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Program {
    /// The code.
    pub places: Vec<Place>,
    /// The scopes. The first scope is the root, whose frame is open as long as the run.
    pub scopes: Vec<Scope>,
    /// Expressions with a value of any type.
    pub exprs: Vec<Expression>,
    /// Expressions that are true or false.
    pub conditions: Vec<Condition>,
    /// The effects: work of runners.
    pub effects: Vec<Arc<Effect>>,
    /// The slots, which store values.
    pub slots: Vec<Slot>,
    /// The signals that the run accepts.
    pub signals: Vec<Signal>,
    /// The views: named expressions over the state of a run.
    pub views: Vec<View>,
    /// The steps of the document, in document order.
    pub steps: Vec<Step>,
    /// The decisions of the document.
    pub decisions: Vec<Decision>,
    /// The limits of a run.
    pub limits: Limits,
    /// Names of the facts that the start of a run must have in addition to the input.
    pub facts: Vec<Arc<str>>,
    /// The slot of the root for the input of the run.
    pub input_slot: Option<SlotId>,
    /// The slot of the root for the facts.
    pub facts_slot: Option<SlotId>,
    /// The time zones whose offsets every stamp must have.
    pub zones: Vec<Arc<str>>,
    /// The maximum number of ops of one call.
    pub fuel: u32,
    /// The place where a cancelled run continues after all work was withdrawn.
    pub on_cancel: Option<PlaceId>,
    /// The version of the semantics for which the document was lowered.
    pub semantics: u16,
    /// The budgets, sorted by scope.
    pub budgets: Vec<Budget>,
    /// The reachability of the edges of merges, computed on first use and not stored.
    #[serde(skip)]
    pub(crate) reachability: OnceLock<reachability::Reachability>,
    /// A hash of the program, computed on first use and not stored.
    #[serde(skip)]
    pub(crate) fingerprint: OnceLock<[u8; 32]>,
}

/// One op with its marks for the trace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Place {
    /// The op.
    pub op: Op,
    /// What the trace records before the op runs.
    pub marks: Vec<Mark>,
    /// The decision of the document that the op makes, if it makes one.
    pub decides: Option<Decides>,
}

/// An operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Op {
    /// Requests an effect and parks until it settles.
    Do {
        /// The effect.
        effect: EffectId,
        /// The fields of the request that the run computes.
        input: ExprId,
        /// The slot for the result, if anything reads the result.
        into: Option<SlotId>,
        /// The place where the strand continues.
        next: PlaceId,
        /// Continues here after the last failed attempt.
        fail: Option<Failure>,
    },
    /// Evaluates guards in order; the first that holds wins.
    Decide {
        /// The guards and their targets.
        arms: Vec<(ConditionId, PlaceId)>,
        /// Continues here if no guard holds.
        otherwise: PlaceId,
        /// Continues here if a guard cannot be evaluated. An error never selects an arm.
        fail: Option<Failure>,
    },
    /// Writes slots in order, all or nothing.
    Set {
        /// The writes.
        writes: Vec<Write>,
        /// The place where the strand continues.
        next: PlaceId,
        /// Continues here if a value cannot be computed.
        fail: Option<Failure>,
    },
    /// Parks until the first of its arms occurs.
    Wait {
        /// The arms.
        arms: Vec<Arm>,
        /// Continues here if a delay or a request cannot be computed.
        fail: Option<Failure>,
        /// Whether a run that waits here can move to a changed document.
        rest: bool,
    },
    /// Opens a frame and parks until it closes.
    Enter(ScopeId),
    /// Ends this strand and starts a strand of the same frame at each place, with a copy of the locals.
    Fork {
        /// The places where the new strands start.
        to: Vec<PlaceId>,
    },
    /// Leaves an enclosing scope.
    Leave {
        /// The scope.
        scope: ScopeId,
        /// The kind of exit.
        how: Exit,
    },
    /// A merge: parks until every edge is settled.
    Meet {
        /// The edges: a slot that another strand fills, and the place that fills it.
        edges: Vec<(SlotId, PlaceId)>,
        /// Continues here if an edge is filled.
        next: PlaceId,
        /// Continues here if no edge is filled.
        none: PlaceId,
    },
}

/// An exit of a scope.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Exit {
    /// The strand is done; with a value, its entry has delivered.
    Done(Option<ExprId>),
    /// The strand has failed with an error object.
    Fail(ExprId),
    /// The frame closes, and the strand that entered it continues at this place.
    Goto(PlaceId),
    /// The run ends. Only the root has this exit.
    Close(Verdict),
}

/// The outcome of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// The status of the run.
    pub status: Status,
    /// The result object of the dialect.
    pub result: ExprId,
}

/// The handler of a failure: a place, and a slot for the error `{kind, message, step}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The slot gets its first value again.
    Clear(SlotId),
}

/// One alternative of an [`Op::Wait`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Arm {
    /// A signal. A signal whose payload does not pass the check is rejected and changes nothing.
    Signal {
        /// The signal.
        signal: SignalId,
        /// The condition for the payload.
        check: Option<ConditionId>,
        /// The slot for the payload.
        into: Option<SlotId>,
        /// The place where the strand continues.
        next: PlaceId,
    },
    /// A request to people; see [`crate::Request`].
    Request {
        /// The request as an object.
        spec: ExprId,
        /// The slot for the outcome.
        into: Option<SlotId>,
        /// Continues here when the request is settled.
        next: PlaceId,
        /// Continues here when the deadline has passed; none: continues at `next`.
        expired: Option<PlaceId>,
    },
    /// A delay; nil never occurs.
    After {
        /// The delay in milliseconds.
        delay_ms: ExprId,
        /// The place where the strand continues.
        next: PlaceId,
    },
    /// A moment; nil never occurs.
    Until {
        /// The moment, in milliseconds since the Unix epoch.
        at_ms: ExprId,
        /// The place where the strand continues.
        next: PlaceId,
    },
}

/// How a frame is opened and closed. A scope covers parallel branches, for-each, error handling, retries and time limits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scope {
    /// The enclosing scope; only the root has none.
    pub parent: Option<ScopeId>,
    /// The slots that live as long as a frame of this scope (as long as an entry, in [`Entries::Each`]).
    pub slots: Vec<SlotId>,
    /// The entries that run in a frame.
    pub start: Entries,
    /// The maximum number of branches with work to do, or of items that have begun and not ended; 0 is no limit.
    pub width: u32,
    /// When the frame is done.
    pub want: Want,
    /// The effect of a failed entry.
    pub on_fail: OnFail,
    /// The slot for the values of the entries: a list in entry order, with nil for entries without a value.
    pub into: Option<SlotId>,
    /// The slot for the outcomes of the entries: a list of `done`, `none`, `failed`, `withdrawn`, in entry order.
    pub outcomes: Option<SlotId>,
    /// The retry policy of the whole frame.
    pub retry: Option<Retry>,
    /// The time limit of all attempts together, after which the frame fails with kind `timeout`.
    pub time_limit_ms: Option<u64>,
    /// The place where the strand that entered continues.
    pub next: PlaceId,
    /// The place where the strand continues if the frame fails.
    pub fail: Option<Failure>,
    /// The loop of the document whose rounds run in the frame.
    pub rounds: Option<Rounds>,
}

/// The entries of a frame.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Entries {
    /// One entry for each place; they share the frame's slots.
    Branches(Vec<PlaceId>),
    /// One entry for each item; each has slots of its own.
    Each {
        /// The list of items.
        items: ExprId,
        /// The slot for the item of an entry.
        item: SlotId,
        /// The slot for the position of the item.
        index: SlotId,
        /// The place where an entry begins.
        place: PlaceId,
    },
}

/// When a frame is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Want {
    /// When all entries have ended.
    All,
    /// When this number of entries has delivered a value; the others are withdrawn.
    First(u32),
}

/// The effect of a failed entry on its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnFail {
    /// The first failure fails the frame.
    Stop,
    /// The failure is the result of the entry. The frame fails only if too few entries delivered and one failed.
    Keep,
}

/// A retry policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retry {
    /// The maximum number of attempts, including the first.
    pub max_attempts: u32,
    /// The first delay.
    pub delay_ms: u64,
    /// How delays grow.
    pub backoff: Backoff,
    /// The maximum delay; 0 is no limit.
    pub max_delay_ms: u64,
    /// The share, from 0 to 1, by which each delay is varied at most.
    pub jitter: f64,
}

/// How delays between attempts grow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Backoff {
    /// All delays are equal.
    Constant,
    /// The n-th delay is n times the first.
    Linear,
    /// Each delay is the previous delay times this factor.
    Exponential(f64),
}

/// Work that a runner performs for a run; see [`effect`](crate::effect).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Effect {
    /// The kind, which selects the runner.
    pub kind: effect::Kind,
    /// The fields of the request that are the same for every call.
    pub fixed: Object,
    /// How the result of the runner becomes the value of the step.
    pub response: effect::Response,
    /// The texts of the request that contain secrets.
    pub secrets: Vec<effect::SecretText>,
    /// The retry policy.
    pub retry: Option<Retry>,
    /// The time limit of one attempt, measured by the runner from the actual start.
    pub attempt_limit_ms: Option<u64>,
    /// The step of the effect.
    pub step: Option<StepId>,
}

/// A variable of a program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Slot {
    /// The name, used for display and when a run moves to a changed document.
    pub name: Arc<str>,
    /// Where the value is stored.
    pub home: Home,
    /// The first value; none means unset, which `Meet` treats as an edge that is not filled.
    pub first: Option<Value>,
}

/// Where the value of a slot is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Home {
    /// In a frame of this scope, at this position.
    Frame(ScopeId, u32),
    /// In a strand, at this position. Forks and entries get a copy.
    Local(u32),
    /// The payload of the current signal.
    Payload,
    /// The time of the event, ISO 8601 in UTC.
    Now,
    /// The time of the event in one of the program's zones.
    Clock {
        /// The position in [`Program::zones`].
        zone: u32,
        /// Whether the value is only the date.
        date: bool,
    },
    /// What the innermost frame of this scope has used so far and has left, as an object; see [`Budget`].
    Meter(ScopeId),
}

/// A signal that a run accepts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Signal {
    /// The name of the signal.
    pub name: Arc<str>,
    /// The treatment of signals that arrive before a wait. By default they are rejected, because an early answer is not consent.
    pub on_early: OnEarly,
}

/// The treatment of a signal for which no strand waits yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnEarly {
    /// The signal is rejected.
    Reject,
    /// The signal is stored until a strand waits for it.
    Keep,
}

/// A named expression over the slots of the root.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct View {
    /// The name of the view.
    pub name: Arc<str>,
    /// The expression.
    pub value: ExprId,
}

/// A step of the document.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Step {
    /// The id in the document.
    pub id: Arc<str>,
    /// The type in the document.
    pub kind: Arc<str>,
    /// The enclosing step.
    pub parent: Option<StepId>,
    /// The start and end in the source, in bytes.
    pub origin: (u32, u32),
}

/// What a place records in the trace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Mark {
    /// A step begins with this input.
    Begin(StepId, Option<ExprId>),
    /// A step ends with this output.
    End(StepId, Option<ExprId>),
    /// A step took this branch.
    Branch(StepId, Arc<str>),
    /// A warning of a step.
    Warn(StepId, Arc<str>),
    /// A step did not run, for this reason.
    Skip(StepId, Arc<str>),
    /// A step has failed with this error; the run may continue.
    Fail(StepId, ExprId),
    /// The content type of the output with which a step ends.
    ContentType(StepId, ExprId),
}

/// The limits of a run; 0 is no limit, or the default for sizes. A run that exceeds a limit fails; a value that is too large fails only
/// the step that computes it.
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
    /// The maximum nesting depth of child runs.
    pub depth: u32,
    /// The maximum size of one value in bytes, counting shared parts each time; at most
    /// [`VALUE_BYTES`](branchpoint_expr::limits::VALUE_BYTES), the default.
    pub value_bytes: u64,
    /// The maximum size of all values of the run together; at most [`Self::STATE_BYTES`], the default.
    pub state_bytes: u64,
}

impl Limits {
    /// The maximum size of all values of a run together: variables, values of parallel branches and items, inputs of calls in flight, open
    /// requests and unread signals. This is also the approximate maximum size of a snapshot.
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

/// The configured limit, or the maximum if no limit is set.
fn at_most(bound: u64, most: u64) -> u64 {
    if bound == 0 { most } else { bound.min(most) }
}

impl Effect {
    /// The fields of the request that are the same for every call.
    ///
    /// # Errors
    ///
    /// A field is unknown or has an invalid value.
    ///
    /// ```
    /// use branchpoint_core::effect::{Kind, Request};
    ///
    /// assert!(matches!(branchpoint_core::ir::builder::effect(Kind::Mail).request(), Ok(Request::Mail(_))));
    /// ```
    pub fn request(&self) -> Result<effect::Request, effect::FieldError> {
        effect::Request::parse(self.kind, &self.fixed, &Value::Null)
    }

    /// Whether calls of the effect may use tokens.
    pub(crate) fn uses_tokens(&self) -> bool {
        matches!(self.kind, effect::Kind::Model | effect::Kind::Run | effect::Kind::Process | effect::Kind::Scripted)
    }

    /// Whether the effect is a child run, which counts against [`Limits::depth`].
    pub(crate) fn is_child_run(&self) -> bool {
        self.kind == effect::Kind::Run
    }
}

impl Program {
    /// The root scope, whose frame is open as long as the run.
    pub const ROOT: ScopeId = ScopeId(0);

    /// The places from which the edges of merges can be reached.
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
