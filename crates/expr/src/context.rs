//! Where an expression reads its names.

use crate::environment::Environment;
use crate::program::Name;
use crate::value::{Source, Value};

/// What a condition is evaluated over: its names, and nothing else from outside.
///
/// It is implemented for JSON (`serde_json::Value`, by name), for [`Value`] (by name), and for [`Slots`] (by number). A
/// host with values of its own implements it over them, so that nothing is converted.
///
/// ```
/// # use branchpoint_expr::*;
///
/// struct Clock(Value);
///
/// impl Context for Clock {
///     fn read(&self, name: &Name) -> Option<Source<'_>> {
///         (&*name.text == "now").then_some(Source::Value(&self.0))
///     }
/// }
///
/// assert!(Condition::compile("now > 100")?.evaluate(&Clock(Value::Int(101)))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Context {
    /// The value of a root; none when there is no such name.
    fn read(&self, name: &Name) -> Option<Source<'_>>;

    /// The limits and functions of the host; the default limits and the built-in functions where it has none.
    #[inline]
    fn environment(&self) -> &Environment {
        Environment::standard()
    }

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
///
/// ```
/// # use branchpoint_expr::*;
///
/// let read = Expression::read(Name { text: "count".into(), slot: Some(1) });
/// assert_eq!(read.value(&Slots(&[Value::Null, Value::Int(7)]))?, Value::Int(7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Slots<'s>(pub &'s [Value]);

impl Context for Slots<'_> {
    #[inline]
    fn read(&self, name: &Name) -> Option<Source<'_>> {
        self.0.get(name.slot? as usize).map(Source::Value)
    }
}
