//! The context of an evaluation: where an expression reads its names.

use crate::environment::Environment;
use crate::program::Name;
use crate::value::{Source, Value};

/// The values that a condition is evaluated over.
///
/// It is implemented for JSON (`serde_json::Value`, by name), for [`Value`] (by name) and for [`Slots`] (by number). A
/// host with its own value type implements it, so that values need no conversion.
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
    /// The value of a name; `None` if the name does not exist.
    fn read(&self, name: &Name) -> Option<Source<'_>>;

    /// The limits and functions of the host. The default has the default limits and only built-in functions.
    #[inline]
    fn environment(&self) -> &Environment {
        Environment::standard()
    }

    /// Receives the number of steps that an evaluation took. The number depends only on the condition and its values, so a host
    /// can schedule by it. Comparisons of single values take no steps, and explanations report none.
    #[inline]
    fn report_steps(&self, _steps: u64) {}
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

/// The slots of a run, for conditions whose names were bound to slots.
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
