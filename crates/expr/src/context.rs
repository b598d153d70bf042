//! Where an expression reads its names.

use crate::program::Name;
use crate::value::{Source, Value};

/// What a condition is evaluated over: its names, and nothing else from outside.
///
/// It is implemented for JSON (`serde_json::Value`, by name), for [`Value`] (by name), and for [`Slots`] (by number). A
/// host with values of its own implements it over them, so that nothing is converted.
pub trait Context {
    /// The value of a root; none when there is no such name.
    fn read(&self, name: &Name) -> Option<Source<'_>>;

    /// Takes the work of an evaluation when it ends, in steps. The number depends on the condition and its values alone, so a host
    /// can share its time by it. Comparisons of single values take none; explanations report none.
    #[inline]
    fn spent(&self, _steps: u64) {}
}

impl Context for serde_json::Value {
    #[inline]
    fn read(&self, name: &Name) -> Option<Source<'_>> {
        self.as_object()?.get(&*name.text).map(Source::Json)
    }
}

impl Context for Value {
    #[inline]
    fn read(&self, name: &Name) -> Option<Source<'_>> {
        self.get(&name.text).map(Source::Value)
    }
}

/// The slots of a run, for conditions whose names were bound when compiling.
#[derive(Clone, Copy, Debug)]
pub struct Slots<'s>(pub &'s [Value]);

impl Context for Slots<'_> {
    #[inline]
    fn read(&self, name: &Name) -> Option<Source<'_>> {
        self.0.get(name.slot? as usize).map(Source::Value)
    }
}
