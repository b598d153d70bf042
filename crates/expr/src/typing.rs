//! What can be known about values before anything runs: whether a literal can have the type that a document asks for.

use bumpalo::Bump;

use crate::Kind;
use crate::builtins::{assign, declare, is_web_address, same};
use crate::value::{Value, keep};
use crate::work::Work;

/// How a document asks for a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typing {
    /// A declaration: a value is made the type where that can be.
    Declared,
    /// An assignment: a value is checked for the type.
    Assigned,
}

impl Typing {
    /// Why a literal can never have the type, as a kind and a sentence.
    pub fn check(self, value: &Value, ty: &str) -> Result<(), (Kind, String)> {
        let bump = Bump::new();
        let work = Work::new(&bump);
        let value = keep(value.view(), &bump);
        let made = match self {
            Self::Declared => declare(&work, value, ty),
            Self::Assigned => assign(&work, value, ty),
        };
        made.map(drop).map_err(|fault| (fault.kind, fault.message))
    }
}

impl Value {
    /// Whether two values are equal, or of the same text form without regard to case. Values too large to tell are not.
    pub fn is_same_as(&self, other: &Self) -> bool {
        let bump = Bump::new();
        same(&Work::new(&bump), keep(self.view(), &bump), keep(other.view(), &bump)).unwrap_or(false)
    }

    /// Whether this is text that begins like an address of the web.
    pub fn is_web_address(&self) -> bool {
        self.as_str().is_some_and(is_web_address)
    }
}
