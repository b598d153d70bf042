//! Numbers of things in a program. Each kind has a type of its own, so that none is taken for another.

use serde::{Deserialize, Serialize};

/// A number that is a position in a table.
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
    /// An expression that gives a value.
    ExprId,
    /// An expression that is true or false.
    ConditionId,
    /// A kind of work outside.
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
