//! The functions that expressions can call, and the registry of a host's functions.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::builtins;
use crate::value::View;

pub use crate::fault::{Fault, Outcome, describe, fault, preview, wrong_kind};
pub use crate::types::Types;
pub use crate::work::Work;

/// The rule of a function for arguments that are nil.
///
/// ```
/// use branchpoint_expr::View;
/// use branchpoint_expr::function::{Function, OnNil, Types};
///
/// let count = Function::new("count_all", 1..=9, [Types::ANY], Types::INT, |_, arguments| {
///     Ok(View::Int(arguments.len() as i64))
/// });
/// let count = count.on_nil(OnNil::Call);
/// # let _ = count;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnNil {
    /// The result is nil, without a call.
    Nil,
    /// The result is false, without a call.
    False,
    /// The function is called and handles nil itself.
    Call,
}

/// A function that expressions can call by name.
///
/// ```
/// use branchpoint_expr::function::{Function, Types};
/// use branchpoint_expr::{Condition, Environment, Options, View};
/// use serde_json::json;
///
/// let mut environment = Environment::default();
/// let vowels = Function::new("vowels", 1..=1, [Types::STR], Types::INT, |_, arguments| {
///     let text = arguments[0].expect_text("vowels()")?;
///     Ok(View::Int(text.chars().filter(|c| "aeiou".contains(*c)).count() as i64))
/// });
/// environment.functions.register(vowels.pure().cost(10))?;
///
/// let condition = Condition::expression("vowels(name) > 2", Options::default().environment(&environment))?;
/// assert!(condition.evaluate(&environment.over(&json!({"name": "banana"})))?);
/// assert!(condition.is_pure(&environment));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Function {
    pub(crate) name: Cow<'static, str>,
    pub(crate) least: u8,
    pub(crate) most: u8,
    /// The types of the arguments; the last entry applies to all further ones.
    pub(crate) takes: Cow<'static, [Types]>,
    pub(crate) gives: Types,
    pub(crate) on_nil: OnNil,
    pub(crate) pure: bool,
    /// The steps that each call costs, in addition to those that the function charges itself.
    pub(crate) cost: usize,
    run: Run,
}

/// The implementation of a built-in function.
pub(crate) type RunBuiltin = for<'a, 'w> fn(&'w Work<'a>, &'w [View<'a>]) -> Outcome<View<'a>>;

type RunRegistered = dyn for<'a, 'w> Fn(&'w Work<'a>, &'w [View<'a>]) -> Outcome<View<'a>> + Send + Sync;

#[derive(Clone)]
enum Run {
    Builtin(RunBuiltin),
    Registered(Arc<RunRegistered>),
}

/// Any number of arguments.
pub(crate) const MANY: u8 = u8::MAX;

impl Function {
    /// A function of a host: its name, number of arguments, argument types (the last entry applies to all further ones), result type
    /// and implementation.
    ///
    /// The function reads its arguments in place, allocates results with [`Work`] and charges work that grows with its arguments
    /// there. It is not called with nil unless [`Function::on_nil`] allows it.
    ///
    /// ```
    /// use branchpoint_expr::function::{Function, Types};
    ///
    /// let shout = Function::new("shout", 1..=1, [Types::STR], Types::STR, |work, arguments| {
    ///     work.text(&format!("{}!", arguments[0].expect_text("shout()")?))
    /// });
    /// assert_eq!(shout.name(), "shout");
    /// ```
    pub fn new<F>(
        name: impl Into<Cow<'static, str>>,
        arity: std::ops::RangeInclusive<u8>,
        takes: impl Into<Vec<Types>>,
        gives: Types,
        run: F,
    ) -> Self
    where
        F: for<'a, 'w> Fn(&'w Work<'a>, &'w [View<'a>]) -> Outcome<View<'a>> + Send + Sync + 'static,
    {
        let mut takes = takes.into();
        if takes.is_empty() {
            takes.push(Types::ANY);
        }
        let run = Run::Registered(Arc::new(run));
        let (least, most) = arity.into_inner();
        let (name, takes) = (name.into(), Cow::Owned(takes));
        Self { name, least, most, takes, gives, on_nil: OnNil::Nil, pure: false, cost: 1, run }
    }

    pub(crate) const fn builtin(
        name: &'static str,
        (least, most): (u8, u8),
        takes: &'static [Types],
        gives: Types,
        on_nil: OnNil,
        run: RunBuiltin,
    ) -> Self {
        let (name, takes) = (Cow::Borrowed(name), Cow::Borrowed(takes));
        Self { name, least, most, takes, gives, on_nil, pure: true, cost: 0, run: Run::Builtin(run) }
    }

    /// Sets the rule for nil.
    ///
    /// ```
    /// # use branchpoint_expr::function::{Function, OnNil, Types};
    /// # use branchpoint_expr::{Condition, Environment, Options, View};
    /// let known = Function::new("known", 1..=1, [Types::ANY], Types::BOOL, |_, arguments| {
    ///     Ok(View::Bool(!arguments[0].is_null()))
    /// });
    /// let mut environment = Environment::default();
    /// environment.functions.register(known.on_nil(OnNil::Call))?;
    /// let condition = Condition::expression("!known(a)", Options::default().environment(&environment))?;
    /// assert!(condition.evaluate(&environment.over(&serde_json::json!({})))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_nil(self, on_nil: OnNil) -> Self {
        Self { on_nil, ..self }
    }

    /// Declares that equal arguments always give equal results; see [`Condition::is_pure`](crate::Condition::is_pure).
    ///
    /// ```
    /// # use branchpoint_expr::{View, function::{Function, Types}};
    /// let one = Function::new("one_more", 1..=1, [Types::INT], Types::INT, |_, arguments| {
    ///     Ok(View::Int(arguments[0].expect_integer("one_more()")?.saturating_add(1)))
    /// });
    /// let one = one.pure();
    /// # let _ = one;
    /// ```
    #[must_use]
    pub fn pure(self) -> Self {
        Self { pure: true, ..self }
    }

    /// Sets the [steps](crate::Limits::steps) that each call takes from the budget of an evaluation.
    ///
    /// ```
    /// # use branchpoint_expr::function::{Function, Types};
    /// # use branchpoint_expr::{Condition, Environment, Kind, Options, View};
    /// let slow = Function::new("slow", 0..=0, [], Types::BOOL, |_, _| Ok(View::Bool(true)));
    /// let mut environment = Environment::default();
    /// environment.limits.steps = 100;
    /// environment.functions.register(slow.cost(60))?;
    /// let options = Options::default().environment(&environment);
    /// let context = serde_json::json!({});
    /// assert!(Condition::expression("slow()", options)?.evaluate(&environment.over(&context))?);
    /// let twice = Condition::expression("slow() && slow()", options)?.evaluate(&environment.over(&context));
    /// assert_eq!(twice.unwrap_err().detail, Kind::StepLimit);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn cost(self, steps: usize) -> Self {
        Self { cost: steps, ..self }
    }

    /// The name.
    ///
    /// ```
    /// # use branchpoint_expr::{View, function::{Function, Types}};
    /// let nothing = Function::new("nothing", 0..=0, [], Types::NIL, |_, _| Ok(View::Null));
    /// assert_eq!(nothing.name(), "nothing");
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    #[inline]
    pub(crate) fn run<'a>(&self, work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
        match &self.run {
            Run::Builtin(run) => run(work, arguments),
            Run::Registered(run) => run(work, arguments),
        }
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}..={}): {}", self.name, self.least, self.most, self.gives)
    }
}

/// The functions of a host. Stored programs refer to them by name, so names must stay stable.
///
/// ```
/// use branchpoint_expr::{View, function::{Function, Functions, Types}};
///
/// let mut functions = Functions::default();
/// functions.register(Function::new("answer", 0..=0, [], Types::INT, |_, _| Ok(View::Int(42))))?;
/// assert!(functions.get("answer").is_some());
/// # Ok::<(), branchpoint_expr::function::NameTaken>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Functions(IndexMap<Cow<'static, str>, Function, foldhash::fast::RandomState>);

/// The error of registering a function whose name exists already.
///
/// ```
/// use branchpoint_expr::{View, function::{Function, Functions, Types}};
///
/// let len = Function::new("len", 0..=0, [], Types::INT, |_, _| Ok(View::Int(0)));
/// let error = Functions::default().register(len).unwrap_err();
/// assert_eq!(error.to_string(), "function `len` already exists");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("function `{0}` already exists")]
pub struct NameTaken(pub String);

impl Functions {
    /// Adds a function.
    ///
    /// # Errors
    ///
    /// [`NameTaken`], if a built-in function or another one has the name.
    ///
    /// ```
    /// # use branchpoint_expr::{View, function::{Function, Functions, Types}};
    /// let mut functions = Functions::default();
    /// let zero = Function::new("zero", 0..=0, [], Types::INT, |_, _| Ok(View::Int(0)));
    /// assert!(functions.register(zero.clone()).is_ok());
    /// assert!(functions.register(zero).is_err());
    /// ```
    pub fn register(&mut self, function: Function) -> Result<(), NameTaken> {
        if self.0.contains_key(&function.name) || builtins::is_reserved(&function.name) {
            return Err(NameTaken(function.name.into_owned()));
        }
        self.0.insert(function.name.clone(), function);
        Ok(())
    }

    /// The function of a name.
    ///
    /// ```
    /// # use branchpoint_expr::function::Functions;
    /// assert!(Functions::default().get("anything").is_none());
    /// ```
    pub fn get(&self, name: &str) -> Option<&Function> {
        self.0.get(name)
    }

    /// The names, in the order in which they were registered.
    ///
    /// ```
    /// # use branchpoint_expr::function::Functions;
    /// assert_eq!(Functions::default().names().count(), 0);
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|name| &**name)
    }
}
