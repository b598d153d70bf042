//! A constructor for each op. Each returns the place of the op: the place named by [`Builder::at`], or a new one.
//!
//! The constructors of ops that can fail require `fail`; without a handler, a failure fails the frame.

use super::super::{
    Arm, ConditionId, EffectId, Exit, ExprId, Failure, Mark, Op, PlaceId, ScopeId, SlotId, Status, Verdict, Write,
};
use super::{Builder, ROOT};

impl Builder {
    /// Performs an effect and stores its result.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let answer = b.slot(ROOT, "answer", None);
    /// let (question, result) = (b.value("Why?"), b.read(answer));
    /// let end = b.close(Status::Completed, result);
    /// let model = b.effect(effect(Kind::Model));
    /// let start = b.do_(model, question, Some(answer), end, None);
    /// ```
    #[track_caller]
    pub fn do_(
        &mut self,
        effect: EffectId,
        input: ExprId,
        into: Option<SlotId>,
        next: PlaceId,
        fail: Option<Failure>,
    ) -> PlaceId {
        self.place(Op::Do { effect, input, into, next, fail })
    }

    /// Evaluates guards in order; the first that holds wins.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// # let (send, drop) = (b.reserve(), b.reserve());
    /// let good = b.condition(ROOT, "1 < 2", Dialect::Steps)?;
    /// let start = b.decide([(good, send)], drop, None);
    /// # Ok::<(), branchpoint_expr::Problems>(())
    /// ```
    #[track_caller]
    pub fn decide(
        &mut self,
        arms: impl Into<Vec<(ConditionId, PlaceId)>>,
        otherwise: PlaceId,
        fail: Option<Failure>,
    ) -> PlaceId {
        self.place(Op::Decide { arms: arms.into(), otherwise, fail })
    }

    /// Writes slots in order, all or nothing.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// # let next = b.reserve();
    /// let (count, zero) = (b.slot(ROOT, "count", None), b.value(0));
    /// let start = b.set([Write::Put(count, zero)], next, None);
    /// ```
    #[track_caller]
    pub fn set(&mut self, writes: impl Into<Vec<Write>>, next: PlaceId, fail: Option<Failure>) -> PlaceId {
        self.place(Op::Set { writes: writes.into(), next, fail })
    }

    /// Adds a mark to the trace, without another effect.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// # let next = b.reserve();
    /// let step = b.step("send", "mail", None, (0, 10));
    /// let start = b.record(Mark::Begin(step, None), next);
    /// ```
    #[track_caller]
    pub fn record(&mut self, mark: Mark, next: PlaceId) -> PlaceId {
        let place = self.set([], next, None);
        self.mark(place, mark)
    }

    /// Parks until the first of its arms happens.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// # let next = b.reserve();
    /// let minute = b.value(60_000);
    /// let start = b.wait([Arm::After { delay_ms: minute, next }], None);
    /// ```
    #[track_caller]
    pub fn wait(&mut self, arms: impl Into<Vec<Arm>>, fail: Option<Failure>) -> PlaceId {
        self.place(Op::Wait { arms: arms.into(), fail, rest: false })
    }

    /// Like [`Self::wait`], but a run that waits here can move to a changed document.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// # let next = b.reserve();
    /// let line = b.signal("line", OnEarly::Reject);
    /// let start = b.rest([Arm::Signal { signal: line, check: None, into: None, next }], None);
    /// ```
    #[track_caller]
    pub fn rest(&mut self, arms: impl Into<Vec<Arm>>, fail: Option<Failure>) -> PlaceId {
        self.place(Op::Wait { arms: arms.into(), fail, rest: true })
    }

    /// Opens a frame; the strand continues at the scope's `next`.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let scope = b.scope(ROOT, ScopeSpec::default());
    /// let start = b.enter(scope);
    /// ```
    #[track_caller]
    pub fn enter(&mut self, scope: ScopeId) -> PlaceId {
        self.place(Op::Enter(scope))
    }

    /// Ends this strand and starts a strand of the same frame at each place.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let (left, right) = (b.reserve(), b.reserve());
    /// let start = b.fork([left, right]);
    /// ```
    #[track_caller]
    pub fn fork(&mut self, to: impl Into<Vec<PlaceId>>) -> PlaceId {
        self.place(Op::Fork { to: to.into() })
    }

    /// Leaves an enclosing scope.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let scope = b.scope(ROOT, ScopeSpec::default());
    /// let done = b.leave(scope, Exit::Done(None));
    /// ```
    #[track_caller]
    pub fn leave(&mut self, scope: ScopeId, how: Exit) -> PlaceId {
        self.place(Op::Leave { scope, how })
    }

    /// Ends the run, from any scope.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let result = b.value("done");
    /// let end = b.close(Status::Completed, result);
    /// ```
    #[track_caller]
    pub fn close(&mut self, status: Status, result: ExprId) -> PlaceId {
        self.leave(ROOT, Exit::Close(Verdict { status, result }))
    }

    /// A merge: parks until every edge is settled. An edge is a slot without a first value and the place that fills it.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// # let (fills, next, none) = (b.reserve(), b.reserve(), b.reserve());
    /// let edge = b.slot(ROOT, "edge", None);
    /// let meet = b.meet([(edge, fills)], next, none);
    /// ```
    #[track_caller]
    pub fn meet(&mut self, edges: impl Into<Vec<(SlotId, PlaceId)>>, next: PlaceId, none: PlaceId) -> PlaceId {
        self.place(Op::Meet { edges: edges.into(), next, none })
    }
}
