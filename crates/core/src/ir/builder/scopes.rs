//! Scopes, their slots, and the names of slots.

use branchpoint_expr::Value;

use super::super::validate::{Defect, DefectKind};
use super::super::{
    Budget, BudgetLimits, Entries, ExprId, Failure, Home, Index, OnFail, PlaceId, Retry, Rounds, Scope, ScopeId, Slot,
    SlotId, Want,
};
use super::names::Names;
use super::{Builder, ROOT, push};

/// The options of a scope. By default, a scope waits for all entries, stops at the first failure, and has no limits; a failure fails the
/// enclosing frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScopeSpec {
    /// The maximum number of entries with work to do; 0 is no limit.
    pub width: u32,
    /// When the frame is done; none: when all entries have ended.
    pub want: Option<Want>,
    /// The effect of a failed entry; none: the failure stops the others.
    pub on_fail: Option<OnFail>,
    /// The slot for the values of the entries.
    pub into: Option<SlotId>,
    /// The slot for the outcomes of the entries.
    pub outcomes: Option<SlotId>,
    /// The retry policy of the whole frame.
    pub retry: Option<Retry>,
    /// The time limit of all attempts together.
    pub time_limit_ms: Option<u64>,
    /// The place after the scope; none reserves a place, which [`Builder::next`] returns.
    pub next: Option<PlaceId>,
    /// The handler of a failure of the frame.
    pub fail: Option<Failure>,
    /// The loop of the document whose rounds run in the frame.
    pub rounds: Option<Rounds>,
}

impl Builder {
    /// Adds a scope inside another. [`Self::begin`] or [`Self::each`] must then be called exactly once for it.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let both = b.scope(ROOT, ScopeSpec { want: Some(Want::First(1)), ..ScopeSpec::default() });
    /// ```
    #[track_caller]
    pub fn scope(&mut self, parent: ScopeId, spec: ScopeSpec) -> ScopeId {
        let next = match spec.next {
            Some(next) => next,
            None => self.reserve(),
        };
        self.push_scope(Some(parent), next, spec)
    }

    /// Sets the options of the root scope: the handler of failures, the time limit and the retry policy of the run.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// b.root(ScopeSpec { time_limit_ms: Some(3_600_000), ..ScopeSpec::default() });
    /// ```
    pub fn root(&mut self, spec: ScopeSpec) {
        let root = &mut self.program.scopes[ROOT.index()];
        let record = record(None, root.next, spec);
        *root = Scope { slots: std::mem::take(&mut root.slots), start: root.start.clone(), ..record };
    }

    pub(super) fn push_scope(&mut self, parent: Option<ScopeId>, next: PlaceId, spec: ScopeSpec) -> ScopeId {
        self.begun.push(false);
        self.names.push(Names::default());
        ScopeId(push(&mut self.program.scopes, record(parent, next, spec)))
    }

    /// The place after a scope.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let scope = b.scope(ROOT, ScopeSpec::default());
    /// let (after, result) = (b.next(scope), b.value("done"));
    /// b.at(after).close(Status::Completed, result);
    /// ```
    pub fn next(&self, scope: ScopeId) -> PlaceId {
        self.program.scope(scope).next
    }

    /// A scope runs one entry for each place.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let both = b.scope(ROOT, ScopeSpec::default());
    /// let entries = [b.leave(both, Exit::Done(None)), b.leave(both, Exit::Done(None))];
    /// b.begin(both, &entries);
    /// ```
    pub fn begin(&mut self, scope: ScopeId, places: &[PlaceId]) {
        self.start(scope, Entries::Branches(places.to_vec()));
    }

    /// A scope runs one entry for each item of a list. `item` and `index` are slots of that scope.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let all = b.scope(ROOT, ScopeSpec { width: 4, ..ScopeSpec::default() });
    /// let (item, index) = (b.slot(all, "item", None), b.slot(all, "index", None));
    /// let entry = b.leave(all, Exit::Done(None));
    /// let items = b.expr(ROOT, "[1, 2, 3]", Dialect::Steps)?;
    /// b.each(all, items, item, index, entry);
    /// # Ok::<(), branchpoint_expr::Problems>(())
    /// ```
    pub fn each(&mut self, scope: ScopeId, items: ExprId, item: SlotId, index: SlotId, place: PlaceId) {
        self.start(scope, Entries::Each { items, item, index, place });
    }

    fn start(&mut self, scope: ScopeId, start: Entries) {
        if std::mem::replace(&mut self.begun[scope.index()], true) {
            let message = format!("the start of scope s{} is defined twice", scope.0);
            self.wrong.push(Defect::new(DefectKind::DefinedTwice, None, message));
        }
        self.program.scopes[scope.index()].start = start;
    }

    /// Adds a slot that lives as long as a frame of the scope. A slot without a `first` value is unset, which a merge treats as an edge that
    /// is not filled.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let count = b.slot(ROOT, "count", Some(Value::Int(0)));
    /// ```
    pub fn slot(&mut self, scope: ScopeId, name: &str, first: Option<Value>) -> SlotId {
        let position = super::count(self.program.scopes[scope.index()].slots.len());
        let slot = self.push_slot(name, Home::Frame(scope, position), first);
        self.program.scopes[scope.index()].slots.push(slot);
        slot
    }

    /// Adds a slot with a value for each strand. Forks and entries get a copy.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let item = b.local("item");
    /// ```
    pub fn local(&mut self, name: &str) -> SlotId {
        let position = self.locals;
        self.locals += 1;
        self.push_slot(name, Home::Local(position), None)
    }

    /// The slot for the input of the run.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let input = b.input();
    /// b.name(ROOT, &["inputs"], input);
    /// assert_eq!(b.input(), input);
    /// ```
    pub fn input(&mut self) -> SlotId {
        let slot = self.program.input_slot.unwrap_or_else(|| self.slot(ROOT, "input", None));
        *self.program.input_slot.insert(slot)
    }

    /// The slot for the facts: an object with a field for each [`Self::fact`].
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let facts = b.facts();
    /// b.name(ROOT, &["metadata"], facts);
    /// ```
    pub fn facts(&mut self) -> SlotId {
        let slot = self.program.facts_slot.unwrap_or_else(|| self.slot(ROOT, "facts", None));
        *self.program.facts_slot.insert(slot)
    }

    /// The payload of a signal; only the check of the signal's arm can read it.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let payload = b.payload();
    /// b.name(ROOT, &["answer"], payload);
    /// let is_given = b.condition(ROOT, "answer != nil", Dialect::Steps)?;
    /// # Ok::<(), branchpoint_expr::Problems>(())
    /// ```
    pub fn payload(&mut self) -> SlotId {
        let slot = self.payload.unwrap_or_else(|| self.push_slot("payload", Home::Payload, None));
        *self.payload.insert(slot)
    }

    /// The time of the event, ISO 8601.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let now = b.now();
    /// b.name(ROOT, &["datetime", "now"], now);
    /// ```
    pub fn now(&mut self) -> SlotId {
        let slot = self.now.unwrap_or_else(|| self.push_slot("now", Home::Now, None));
        *self.now.insert(slot)
    }

    /// The time of the event in a zone such as `Europe/Berlin`, or the date there.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let date = b.clock("Europe/Berlin", true);
    /// b.name(ROOT, &["today"], date);
    /// ```
    pub fn clock(&mut self, zone: &str, date: bool) -> SlotId {
        let position = self.program.zones.iter().position(|other| &**other == zone);
        let zone = position.map_or_else(|| push(&mut self.program.zones, zone.into()), super::count);
        let home = Home::Clock { zone, date };
        match self.program.slots.iter().position(|slot| slot.home == home) {
            Some(known) => SlotId(super::count(known)),
            None => self.push_slot(if date { "date" } else { "datetime" }, home, None),
        }
    }

    /// Gives a scope a budget. A scope has at most one; a budget without limits only counts.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// use branchpoint_core::ir::{Budget, BudgetLimits};
    ///
    /// let part = b.scope(ROOT, ScopeSpec::default());
    /// let limits = BudgetLimits { tokens: Some(10_000), ..BudgetLimits::default() };
    /// b.budget(Budget { scope: part, limits, exhausted: None, step: None, leads_to: None });
    /// ```
    pub fn budget(&mut self, budget: Budget) {
        self.program.budgets.push(budget);
    }

    /// What a frame of the scope has used so far and has left. The scope must have a budget; the root gets one without limits.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let used = b.meter(ROOT);
    /// b.name(ROOT, &["run"], used);
    /// assert!(b.condition(ROOT, "run.tokens < 1000", Dialect::Steps).is_ok());
    /// ```
    pub fn meter(&mut self, scope: ScopeId) -> SlotId {
        if scope == ROOT && !self.program.budgets.iter().any(|budget| budget.scope == ROOT) {
            let limits = BudgetLimits::default();
            self.budget(Budget { scope, limits, exhausted: None, step: None, leads_to: None });
        }
        let home = Home::Meter(scope);
        match self.program.slots.iter().position(|slot| slot.home == home) {
            Some(known) => SlotId(super::count(known)),
            None => self.push_slot("meter", home, None),
        }
    }

    fn push_slot(&mut self, name: &str, home: Home, first: Option<Value>) -> SlotId {
        self.size.add(name.len() as u64 + first.as_ref().map_or(0, |first| first.size().bytes));
        SlotId(push(&mut self.program.slots, Slot { name: name.into(), home, first }))
    }

    /// Names a slot: expressions that are compiled later in the scope or in scopes inside it find the slot at this path. Names of an
    /// inner scope hide those of the scopes around it. A slot at the empty path holds an object with all names that have no slot of
    /// their own.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let answer = b.slot(ROOT, "answer", None);
    /// b.name(ROOT, &["step", "ask"], answer);
    /// assert!(b.expr(ROOT, "step.ask", Dialect::Steps).is_ok());
    /// ```
    pub fn name(&mut self, scope: ScopeId, path: &[&str], slot: SlotId) {
        self.names[scope.index()].insert(path, slot);
    }

    /// Like [`Self::name`], for a slot whose parts are not coerced when they are read, because they were coerced when the slot was set.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let inputs = b.slot(ROOT, "inputs", None);
    /// b.name_coerced(ROOT, &["inputs"], inputs);
    /// ```
    pub fn name_coerced(&mut self, scope: ScopeId, path: &[&str], slot: SlotId) {
        self.name(scope, path, slot);
        self.coerced.insert(slot);
    }
}

fn record(parent: Option<ScopeId>, next: PlaceId, spec: ScopeSpec) -> Scope {
    Scope {
        parent,
        slots: Vec::new(),
        start: Entries::Branches(Vec::new()),
        width: spec.width,
        want: spec.want.unwrap_or(Want::All),
        on_fail: spec.on_fail.unwrap_or(OnFail::Stop),
        into: spec.into,
        outcomes: spec.outcomes,
        retry: spec.retry,
        time_limit_ms: spec.time_limit_ms,
        next,
        fail: spec.fail,
        rounds: spec.rounds,
    }
}
