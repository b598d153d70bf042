//! The environment of an evaluation: limits and host functions.

use std::sync::LazyLock;

use crate::context::Context;
use crate::function::Functions;
use crate::limits::Limits;
use crate::program::Name;
use crate::value::Source;

/// The limits and functions of a host, for compiling ([`Options::environment`](crate::Options::environment)) and for evaluating
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
    /// Limits on texts, work and results.
    pub limits: Limits,
    /// Functions in addition to the built-in ones.
    pub functions: Functions,
}

static STANDARD: LazyLock<Environment> = LazyLock::new(Environment::default);

impl Environment {
    /// The default limits and only the built-in functions.
    ///
    /// ```
    /// # use branchpoint_expr::{Environment, Limits};
    /// assert_eq!(Environment::standard().limits, Limits::DEFAULT);
    /// ```
    pub fn standard() -> &'static Self {
        &STANDARD
    }

    /// Wraps a context so that it is evaluated in this environment.
    ///
    /// ```
    /// # use branchpoint_expr::{Condition, Environment};
    /// let environment = Environment::default();
    /// let context = serde_json::json!({"a": 1});
    /// assert!(Condition::compile("a == 1")?.evaluate(&environment.over(&context))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn over<'e, C: Context + ?Sized>(&'e self, context: &'e C) -> WithEnvironment<'e, C> {
        WithEnvironment { environment: self, context }
    }
}

/// A context with an environment; see [`Environment::over`].
///
/// ```
/// # use branchpoint_expr::{Condition, Environment};
/// let (environment, context) = (Environment::default(), serde_json::json!({"ready": true}));
/// let over = environment.over(&context);
/// assert!(Condition::compile("ready")?.evaluate(&over)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WithEnvironment<'e, C: ?Sized> {
    environment: &'e Environment,
    context: &'e C,
}

impl<C: Context + ?Sized> Context for WithEnvironment<'_, C> {
    #[inline]
    fn read(&self, name: &Name) -> Option<Source<'_>> {
        self.context.read(name)
    }

    fn environment(&self) -> &Environment {
        self.environment
    }

    fn report_steps(&self, steps: u64) {
        self.context.report_steps(steps);
    }
}
