//! A constructor for each op. Each gives the place it was put at: the one named by [`Builder::at`], or a new one.
//!
//! `fail` is asked for wherever an op can fail, so that nobody forgets it: without one, a failure is that of the frame.

use super::super::{
    Arm, ConditionId, EffectId, Exit, ExprId, Failure, Mark, Op, PlaceId, ScopeId, SlotId, Status, Verdict, Write,
};
use super::{Builder, ROOT};

impl Builder {
    /// Asks the outside for one effect and keeps its answer.
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

    /// Ordered guards; the first that holds wins.
    #[track_caller]
    pub fn decide(
        &mut self,
        arms: impl Into<Vec<(ConditionId, PlaceId)>>,
        otherwise: PlaceId,
        fail: Option<Failure>,
    ) -> PlaceId {
        self.place(Op::Decide { arms: arms.into(), otherwise, fail })
    }

    /// Pure writes, in order, all or nothing.
    #[track_caller]
    pub fn set(&mut self, writes: impl Into<Vec<Write>>, next: PlaceId, fail: Option<Failure>) -> PlaceId {
        self.place(Op::Set { writes: writes.into(), next, fail })
    }

    /// A place that does nothing but add to the trace.
    #[track_caller]
    pub fn marked(&mut self, mark: Mark, next: PlaceId) -> PlaceId {
        let place = self.set([], next, None);
        self.mark(place, mark)
    }

    /// Parks until the first of its arms comes.
    #[track_caller]
    pub fn wait(&mut self, arms: impl Into<Vec<Arm>>, fail: Option<Failure>) -> PlaceId {
        self.place(Op::Wait { arms: arms.into(), fail, rest: false })
    }

    /// As [`Self::wait`]; a run that waits here may take a changed document.
    #[track_caller]
    pub fn rest(&mut self, arms: impl Into<Vec<Arm>>, fail: Option<Failure>) -> PlaceId {
        self.place(Op::Wait { arms: arms.into(), fail, rest: true })
    }

    /// Opens a frame; the strand goes on where the scope says.
    #[track_caller]
    pub fn enter(&mut self, scope: ScopeId) -> PlaceId {
        self.place(Op::Enter(scope))
    }

    /// This strand ends; one of the same frame goes on at each place.
    #[track_caller]
    pub fn fork(&mut self, to: impl Into<Vec<PlaceId>>) -> PlaceId {
        self.place(Op::Fork { to: to.into() })
    }

    /// Leaves a scope that encloses this place.
    #[track_caller]
    pub fn leave(&mut self, scope: ScopeId, how: Exit) -> PlaceId {
        self.place(Op::Leave { scope, how })
    }

    /// Ends the run, from wherever this is.
    #[track_caller]
    pub fn close(&mut self, status: Status, result: ExprId) -> PlaceId {
        self.leave(ROOT, Exit::Close(Verdict { status, result }))
    }

    /// A merge: parks until every edge is settled. An edge is a slot without a first value and the place that fills it.
    #[track_caller]
    pub fn meet(&mut self, edges: impl Into<Vec<(SlotId, PlaceId)>>, next: PlaceId, none: PlaceId) -> PlaceId {
        self.place(Op::Meet { edges: edges.into(), next, none })
    }
}
