//! The contexts in which states run: the document itself, the body of a loop, a branch.

use branchpoint_core::ir::builder::ROOT;
use branchpoint_core::ir::{Exit, PlaceId, ScopeId, SlotId, StepId};

use super::Lower;

/// The number of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ContextId(usize);

/// The document itself.
pub(super) const ROOT_CONTEXT: ContextId = ContextId(0);

pub(super) struct Context {
    pub(super) parent: Option<ContextId>,
    pub(super) scope: ScopeId,
    pub(super) within: ContextKind,
    /// The step of the enclosing loop or parallel state.
    pub(super) step: Option<StepId>,
}

/// The kind of a context.
#[derive(Clone, Copy)]
pub(super) enum ContextKind {
    Root,
    /// The body of a loop: the state, the place after the last state of the body, and the slots of the loop.
    Loop {
        state: usize,
        body_end: PlaceId,
        slots: LoopSlots,
    },
    Branch,
}

/// The slots of a loop by name. They are outside of its scope, because its result is stored after the scope is left: `loop` as the document reads
/// it, the `index` of the round, how many rounds have `begun`, the `items`, the `most` rounds, and how many items are `left_out`.
pub(super) type LoopSlots = [(&'static str, SlotId); 6];

impl Context {
    pub(super) fn root() -> Self {
        Self { parent: None, scope: ROOT, within: ContextKind::Root, step: None }
    }
}

impl Lower<'_> {
    pub(super) fn context(&self, id: ContextId) -> &Context {
        &self.own.contexts[id.0]
    }

    pub(super) fn open(&mut self, context: Context) -> ContextId {
        self.own.contexts.push(context);
        ContextId(self.own.contexts.len() - 1)
    }

    pub(super) fn scope(&self, id: ContextId) -> ScopeId {
        self.context(id).scope
    }

    /// The slot of the innermost enclosing loop, if there is one.
    pub(super) fn loop_around(&self, id: ContextId) -> Option<SlotId> {
        let mut at = Some(id);
        while let Some(context) = at.map(|at| self.context(at)) {
            if let ContextKind::Loop { slots: [(_, slot), ..], .. } = context.within {
                return Some(slot);
            }
            at = context.parent;
        }
        None
    }

    /// Continues at a place of the root, from any context.
    pub(super) fn leave_to_root(&mut self, from: ContextId, place: PlaceId) -> PlaceId {
        let mut outermost = None;
        let mut at = from;
        while let Some(parent) = self.context(at).parent {
            outermost = Some(self.scope(at));
            at = parent;
        }
        match outermost {
            Some(scope) => self.b.leave(scope, Exit::Goto(place)),
            None => place,
        }
    }
}
