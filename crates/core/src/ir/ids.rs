//! Typed ids: positions in the tables of a program.

use serde::{Deserialize, Serialize};

/// An id that is a position in a table.
pub trait Index {
    /// The position.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl Index for $name {
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

ids! {
    /// A place in the code.
    PlaceId,
    /// A scope.
    ScopeId,
    /// A slot.
    SlotId,
    /// An expression.
    ExprId,
    /// A condition.
    ConditionId,
    /// An effect.
    EffectId,
    /// A signal.
    SignalId,
    /// A view.
    ViewId,
    /// A step of the document.
    StepId,
    /// A decision of the document.
    DecisionId,
}
