//! The compiled form that conditions, expressions and switches share.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostic;
use crate::dialect::Dialect;
use crate::environment::Environment;
use crate::error::EvalError;
use crate::fault::Fault;
use crate::program::{Id, Program, Reference};
use crate::unit::{Options, Problems, Unit};

/// The compiled form of a [`Condition`](crate::Condition), an [`Expression`](crate::Expression) or [`Cases`](crate::Cases).
///
/// ```
/// use branchpoint_expr::{Compiled, Condition, Expression, Options};
///
/// fn count_names(compiled: &Compiled) -> usize {
///     compiled.references().len()
/// }
///
/// let (condition, expression) = (Condition::compile("a == b")?, Expression::compile("a + 1", Options::default())?);
/// assert_eq!((count_names(&condition), count_names(&expression)), (2, 1));
/// # Ok::<(), branchpoint_expr::Problems>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Compiled {
    pub(crate) program: Program,
    pub(crate) dialect: Dialect,
    #[serde(skip)]
    pub(crate) warnings: Vec<Diagnostic>,
}

impl Compiled {
    pub(crate) fn new(options: Options<'_>, compile: impl FnOnce(&mut Unit<'_>) -> Id) -> Result<Self, Problems> {
        let mut unit = Unit::new(options);
        let root = compile(&mut unit);
        let (program, warnings) = unit.finish(root)?;
        Ok(Self { program, dialect: options.dialect, warnings })
    }

    pub(crate) fn without_source(mut self) -> Self {
        self.program.forget_source();
        self
    }

    /// Adds the dialect's error kind and the source span to a failure.
    #[cold]
    pub(crate) fn failed(&self, fault: Fault) -> EvalError {
        EvalError::new(fault, &self.program, self.dialect)
    }

    /// Whether equal contexts always give equal results: every host function that it calls is registered as pure.
    ///
    /// ```
    /// use branchpoint_expr::{Condition, Environment};
    ///
    /// assert!(Condition::compile("len(name) > 3")?.is_pure(Environment::standard()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_pure(&self, environment: &Environment) -> bool {
        self.program.is_pure(environment)
    }

    /// The names of the host functions that it calls.
    ///
    /// ```
    /// use branchpoint_expr::Condition;
    ///
    /// assert_eq!(Condition::compile("len(name) > 3")?.host_functions().count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn host_functions(&self) -> impl Iterator<Item = &str> {
        self.program.host_functions.iter().map(|name| &**name)
    }

    /// The approximate size in bytes when it is stored.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert!(Condition::compile("len(name) > 3")?.size_bytes() > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn size_bytes(&self) -> u64 {
        self.program.size_bytes()
    }

    /// The warnings of the compilation.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Condition::compile("len(name) > 3")?.warnings()[0].kind, Kind::UnknownName);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The names that it reads, with their spans in the source.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(&*Condition::compile("len(name) > 3")?.references()[0].parts[0], "name");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn references(&self) -> Vec<Reference> {
        self.program.references()
    }

    /// The slots that it reads, without duplicates, in ascending order.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// # struct Names;
    /// # impl Bind for Names {
    /// #     fn bind(&self, _: &[&str]) -> Option<Binding> {
    /// #         Some(Binding { slot: 5, parts: 1 })
    /// #     }
    /// # }
    /// assert_eq!(Condition::expression("name == other", Options::default().bound(&Names))?.slots(), [5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slots(&self) -> Vec<u32> {
        self.program.slots()
    }

    /// Calls `visit` for every read of a slot, duplicates included.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// # struct Names;
    /// # impl Bind for Names {
    /// #     fn bind(&self, _: &[&str]) -> Option<Binding> {
    /// #         Some(Binding { slot: 5, parts: 1 })
    /// #     }
    /// # }
    /// let mut count = 0;
    /// Condition::expression("name == other", Options::default().bound(&Names))?.each_slot(|slot| count += slot);
    /// assert_eq!(count, 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn each_slot(&self, visit: impl FnMut(u32)) {
        self.program.each_slot(visit);
    }
}
