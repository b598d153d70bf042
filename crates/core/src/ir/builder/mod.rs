//! The builder of programs for front-ends. It prevents invalid programs: names become slots while compiling, a reserved place must be
//! defined exactly once, the order of places is derived, and [`Builder::finish`] validates the result.
//!
//! ```
//! use branchpoint_core::effect::Kind;
//! use branchpoint_core::ir::builder::{Builder, ROOT, effect};
//! use branchpoint_core::ir::{Exit, Status, Write, print};
//! use branchpoint_expr::{Dialect, Value};
//!
//! let mut b = Builder::new();
//! let input = b.input();
//! let answer = b.slot(ROOT, "answer", None);
//! b.name(ROOT, &["inputs"], input);
//! b.name(ROOT, &["states", "ask", "Output"], answer);
//!
//! // A place that is named before it is defined must be reserved.
//! let done = b.reserve();
//! let model = b.effect(effect(Kind::Model));
//! let question = b.expr(ROOT, "inputs.question", Dialect::Machine)?;
//! let ask = b.do_(model, question, Some(answer), done, None);
//! let result = b.read(answer);
//! b.at(done).close(Status::Completed, result);
//!
//! b.begin(ROOT, &[ask]);
//! let program = b.finish().unwrap();
//! assert_eq!(program.places.len(), 2);
//! # Ok::<(), branchpoint_expr::Problems>(())
//! ```

mod decisions;
mod exprs;
mod formulas;
mod layout;
mod names;
mod ops;
mod scopes;
mod size;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::Location;
use std::sync::Arc;

use branchpoint_expr::{Condition, Diagnostic, Expression};

use crate::effect::Kind;

use super::validate::{Defect, DefectKind, check_ids, validate_named};
use super::{
    ConditionId, Decides, Effect, EffectId, ExprId, Index, Limits, Mark, OnEarly, Op, Place, PlaceId, Program,
    SEMANTICS, ScopeId, Signal, SignalId, SlotId, Status, Step, StepId, View, ViewId,
};

use formulas::Formulas;
pub use scopes::ScopeSpec;
pub use size::PROGRAM_BYTES;
use size::ProgramSize;

/// The root scope, whose frame is open as long as the run.
///
/// ```
/// use branchpoint_core::ir::builder::{Builder, ROOT};
///
/// assert_eq!(Builder::sample().scope(ROOT).parent, None);
/// ```
pub const ROOT: ScopeId = Program::ROOT;

/// The default maximum number of ops of one call.
///
/// ```
/// use branchpoint_core::ir::builder::{Builder, FUEL};
///
/// assert_eq!(Builder::sample().fuel, FUEL);
/// ```
pub const FUEL: u32 = 100_000;

/// A program under construction.
///
/// The ids of places are labels until [`Self::finish`] lays the places out.
#[derive(Debug)]
pub struct Builder {
    /// The program without its places. Scopes have an empty start until it is defined.
    program: Program,
    labels: Vec<Label>,
    /// The label that the next op defines.
    here: Option<PlaceId>,
    /// Places that lead back to an earlier place.
    back: BTreeSet<PlaceId>,
    /// Whether the start of each scope is defined.
    begun: Vec<bool>,
    /// The names of the slots of each scope.
    names: Vec<names::Names>,
    /// The slots whose values are not coerced when they are read.
    coerced: BTreeSet<SlotId>,
    locals: u32,
    payload: Option<SlotId>,
    now: Option<SlotId>,
    constants: BTreeMap<String, ExprId>,
    texts: BTreeMap<Arc<str>, ExprId>,
    reads: BTreeMap<SlotId, ExprId>,
    formulas: Formulas<Expression, ExprId>,
    tests: Formulas<Condition, ConditionId>,
    size: ProgramSize,
    warnings: Vec<Diagnostic>,
    wrong: Vec<Defect>,
}

/// A reserved place.
#[derive(Debug)]
struct Label {
    op: Option<Op>,
    marks: Vec<Mark>,
    decides: Option<Decides>,
    /// The location in the source code of the front-end, for the error if the place is never defined.
    reserved: &'static Location<'static>,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// A program with only the root scope.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// assert!(b.finish().is_err(), "the root needs an op");
    /// ```
    pub fn new() -> Self {
        let program = Program { fuel: FUEL, semantics: SEMANTICS, ..Program::default() };
        let mut builder = Self {
            program,
            labels: Vec::new(),
            back: BTreeSet::new(),
            here: None,
            begun: Vec::new(),
            names: Vec::new(),
            coerced: BTreeSet::new(),
            locals: 0,
            payload: None,
            now: None,
            constants: BTreeMap::new(),
            texts: BTreeMap::new(),
            reads: BTreeMap::new(),
            formulas: Formulas::default(),
            tests: Formulas::default(),
            size: ProgramSize::default(),
            warnings: Vec::new(),
            wrong: Vec::new(),
        };
        builder.push_scope(None, PlaceId(0), ScopeSpec::default());
        builder
    }

    /// The smallest program: it completes with its input as the result.
    ///
    /// ```
    /// assert_eq!(branchpoint_core::ir::builder::Builder::sample().places.len(), 1);
    /// ```
    pub fn sample() -> Program {
        let mut builder = Self::new();
        let input = builder.input();
        let result = builder.read(input);
        let end = builder.close(Status::Completed, result);
        builder.begin(ROOT, &[end]);
        builder.finish().expect("the sample is valid")
    }

    /// Reserves a place that other places can name before [`Self::at`] defines it.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let end = b.reserve();
    /// let start = b.set([], end, None);
    /// let result = b.value("done");
    /// b.at(end).close(Status::Completed, result);
    /// b.begin(ROOT, &[start]);
    /// assert!(b.finish().is_ok());
    /// ```
    #[track_caller]
    pub fn reserve(&mut self) -> PlaceId {
        self.size.add(size::PLACE_BYTES);
        self.labels.push(Label { op: None, marks: Vec::new(), decides: None, reserved: Location::caller() });
        PlaceId(count(self.labels.len() - 1))
    }

    /// Makes the next op define this reserved place instead of a new one: `builder.at(end).leave(scope, Exit::Done(None))`.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let (end, result) = (b.reserve(), b.value("done"));
    /// assert_eq!(b.at(end).close(Status::Completed, result), end);
    /// ```
    pub fn at(&mut self, place: PlaceId) -> &mut Self {
        self.here = Some(place);
        self
    }

    /// Adds an op at a new place, or at the place that [`Self::at`] names.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let place = b.place(Op::Enter(ROOT));
    /// ```
    #[track_caller]
    pub fn place(&mut self, op: Op) -> PlaceId {
        let place = match self.here.take() {
            Some(place) => place,
            None => self.reserve(),
        };
        match self.labels.get_mut(place.index()) {
            Some(Label { op: free @ None, .. }) => *free = Some(op),
            Some(Label { reserved, .. }) => {
                let (reserved, caller) = (*reserved, Location::caller());
                let message = format!("a place reserved at {reserved} is defined a second time at {caller}");
                self.wrong.push(Defect::new(DefectKind::DefinedTwice, Some(place), message));
            }
            None => {
                let message = format!("{} defines a place that was never reserved", Location::caller());
                self.wrong.push(Defect::new(DefectKind::NoSuchId, Some(place), message));
            }
        }
        place
    }

    /// Marks that a place leads back: its targets precede it in the order of places. This is needed only for cycles with more than one
    /// entrance; for other cycles the order follows from the flow.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let start = b.reserve();
    /// let again = b.set([], start, None);
    /// b.mark_back_edge(again);
    /// ```
    pub fn mark_back_edge(&mut self, place: PlaceId) {
        self.back.insert(place);
    }

    /// Adds what the trace records before the op of a place, after the marks that it has. Returns the place.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let step = b.step("send", "mail", None, (0, 10));
    /// let result = b.value("done");
    /// let end = b.close(Status::Completed, result);
    /// assert_eq!(b.mark(end, Mark::End(step, Some(result))), end);
    /// ```
    pub fn mark(&mut self, place: PlaceId, mark: Mark) -> PlaceId {
        match self.labels.get_mut(place.index()) {
            Some(label) => {
                // Most places have one mark, so the default capacity would waste memory.
                label.marks.reserve_exact(1);
                label.marks.push(mark);
            }
            None => {
                self.wrong.push(Defect::new(
                    DefectKind::NoSuchId,
                    Some(place),
                    "a mark names a place that does not exist",
                ));
            }
        }
        place
    }

    /// Adds an effect. The function [`effect`] creates one with defaults.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let model = b.effect(Effect { attempt_limit_ms: Some(30_000), ..effect(Kind::Model) });
    /// ```
    pub fn effect(&mut self, effect: Effect) -> EffectId {
        let schema = effect.response.output_schema.as_ref().map_or(0, |schema| schema.size().bytes);
        let fixed = effect.fixed.values().map(|field| field.size().bytes);
        self.size.add(fixed.sum::<u64>() + schema);
        EffectId(push(&mut self.program.effects, Arc::new(effect)))
    }

    /// Adds a signal. [`Self::finish`] rejects two signals of one name.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let resume = b.signal("resume", OnEarly::Keep);
    /// ```
    pub fn signal(&mut self, name: &str, on_early: OnEarly) -> SignalId {
        SignalId(push(&mut self.program.signals, Signal { name: name.into(), on_early }))
    }

    /// Adds a view: a named expression over the slots of the root.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let tools = b.slot(ROOT, "tools", None);
    /// let value = b.read(tools);
    /// b.view("allowed_tools", value);
    /// ```
    pub fn view(&mut self, name: &str, value: ExprId) -> ViewId {
        ViewId(push(&mut self.program.views, View { name: name.into(), value }))
    }

    /// Adds a step of the document, in document order; `origin` is its place in the source, in bytes.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let all = b.step("all", "for_each", None, (0, 200));
    /// let one = b.step("one", "http", Some(all), (50, 150));
    /// ```
    pub fn step(&mut self, id: &str, kind: &str, parent: Option<StepId>, origin: (u32, u32)) -> StepId {
        StepId(push(&mut self.program.steps, Step { id: id.into(), kind: kind.into(), parent, origin }))
    }

    /// Adds a fact that the start of a run must have. The fact is a field of [`Self::facts`].
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// b.fact("account");
    /// let facts = b.facts();
    /// b.name(ROOT, &["metadata"], facts);
    /// assert!(b.expr(ROOT, "metadata.account", Dialect::Steps).is_ok());
    /// ```
    pub fn fact(&mut self, name: &str) {
        if !self.program.facts.iter().any(|known| &**known == name) {
            self.program.facts.push(name.into());
        }
    }

    /// Sets the limits of a run.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// b.limits(Limits { effects: 500, wall_ms: 60_000, ..Limits::default() });
    /// ```
    pub fn limits(&mut self, limits: Limits) {
        self.program.limits = limits;
    }

    /// Sets the maximum number of ops of one call.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// b.fuel(1_000);
    /// ```
    pub fn fuel(&mut self, fuel: u32) {
        self.program.fuel = fuel;
    }

    /// Sets the place of the root where a cancelled run continues after all work was withdrawn.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let result = b.value("cancelled");
    /// let end = b.close(Status::Cancelled, result);
    /// b.on_cancel(end);
    /// ```
    pub fn on_cancel(&mut self, place: PlaceId) {
        self.program.on_cancel = Some(place);
    }

    /// Warnings about the expressions compiled so far.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// assert!(b.warnings().is_empty());
    /// ```
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The program, laid out in document order and validated.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let result = b.value("done");
    /// let end = b.close(Status::Completed, result);
    /// b.begin(ROOT, &[end]);
    /// assert_eq!(b.finish().unwrap().places.len(), 1);
    /// ```
    pub fn finish(mut self) -> Result<Program, Vec<Defect>> {
        if self.is_too_large() {
            let message = format!("the program has more than {PROGRAM_BYTES} bytes");
            return Err(vec![Defect::new(DefectKind::TooLarge, None, message)]);
        }
        for (label, place) in self.labels.into_iter().zip(0..) {
            let Some(op) = label.op else {
                let message = format!("a place reserved at {} was never defined", label.reserved);
                self.wrong.push(Defect::new(DefectKind::Undefined, Some(PlaceId(place)), message));
                continue;
            };
            self.program.places.push(Place { op, marks: label.marks, decides: label.decides });
        }
        for (scope, _) in self.begun.iter().enumerate().filter(|(_, begun)| !**begun) {
            let message = format!("the start of scope s{scope} was never defined");
            self.wrong.push(Defect::new(DefectKind::NoEntries, None, message));
        }
        self.program.budgets.sort_by_key(|budget| budget.scope);
        if self.wrong.is_empty() {
            self.wrong = check_ids(&self.program);
        }
        if !self.wrong.is_empty() {
            return Err(self.wrong);
        }
        layout::document_order(&mut self.program, &self.back);
        // The layout only renumbers, so the ids stay valid.
        validate_named(&self.program)?;
        Ok(self.program)
    }
}

/// An effect with one attempt, without a time limit and without fixed fields.
///
/// ```
/// use branchpoint_core::{effect::Kind, ir::builder::effect};
///
/// assert_eq!(effect(Kind::Mail).retry, None);
/// ```
pub fn effect(kind: Kind) -> Effect {
    Effect { kind, ..Effect::default() }
}

/// Appends an entry to a table and returns its position.
fn push<T>(table: &mut Vec<T>, entry: T) -> u32 {
    table.push(entry);
    count(table.len() - 1)
}

fn count(length: usize) -> u32 {
    u32::try_from(length).expect("documents are too small to have 2^32 of anything")
}
