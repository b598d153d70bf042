//! What an evaluation may do beside reading names: the limits it keeps to and the functions it can call.

use std::sync::LazyLock;

use crate::context::Context;
use crate::function::Functions;
use crate::limits::Limits;
use crate::program::Name;
use crate::value::Source;

/// Limits and functions of a host, for compiling ([`Options::environment`](crate::Options::environment)) and for evaluating
/// ([`Environment::over`]).
///
/// ```
/// use branchpoint_expr::{Environment, Expression, Kind, Options};
/// use serde_json::json;
///
/// let mut environment = Environment::default();
/// environment.limits.produced_bytes = 1_000;
/// let text = Expression::compile("repeat(word, 500)", Options::default().environment(&environment))?;
/// assert!(text.value(&environment.over(&json!({"word": "x"}))).is_ok());
/// let error = text.value(&environment.over(&json!({"word": "long"}))).unwrap_err();
/// assert_eq!(error.detail, Kind::SizeLimit);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Bounds on texts, work and results.
    pub limits: Limits,
    /// Functions beside the built-in ones.
    pub functions: Functions,
}

static STANDARD: LazyLock<Environment> = LazyLock::new(Environment::default);

impl Environment {
    /// The default limits and no functions but the built-in ones.
    ///
    /// ```
    /// # use branchpoint_expr::{Environment, Limits};
    /// assert_eq!(Environment::standard().limits, Limits::DEFAULT);
    /// ```
    pub fn standard() -> &'static Self {
        &STANDARD
    }

    /// A context whose names are those of another, evaluated in this environment.
    ///
    /// ```
    /// # use branchpoint_expr::{Condition, Environment};
    /// let environment = Environment::default();
    /// let context = serde_json::json!({"a": 1});
    /// assert!(Condition::compile("a == 1")?.evaluate(&environment.over(&context))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn over<'e, C: Context + ?Sized>(&'e self, context: &'e C) -> Over<'e, C> {
        Over { environment: self, context }
    }
}

/// A context in an environment: see [`Environment::over`].
///
/// ```
/// # use branchpoint_expr::{Condition, Environment};
/// let (environment, context) = (Environment::default(), serde_json::json!({"ready": true}));
/// let over = environment.over(&context);
/// assert!(Condition::compile("ready")?.evaluate(&over)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Over<'e, C: ?Sized> {
    environment: &'e Environment,
    context: &'e C,
}

impl<C: Context + ?Sized> Context for Over<'_, C> {
    #[inline]
    fn read(&self, name: &Name) -> Option<Source<'_>> {
        self.context.read(name)
    }

    fn environment(&self) -> &Environment {
        self.environment
    }

    fn spent(&self, steps: u64) {
        self.context.spent(steps);
    }
}
