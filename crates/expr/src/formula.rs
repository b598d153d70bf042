//! Expressions that a front-end compiles once and fills with different values and slots.

use std::sync::Arc;

use crate::compile::{Bind, Binding};
use crate::condition::Condition;
use crate::expression::Expression;
use crate::program::{Node, Program};
use crate::unit::{Options, Problems};
use crate::value::Value;

/// A compiled text with holes, which are names that are filled with values later. Filling copies, but parses nothing.
///
/// ```
/// use branchpoint_expr::{Expression, Formula, Options, Value};
/// use serde_json::json;
///
/// let greeting = Formula::compile("word + name", Options::default(), &["word"], Expression::compile)?;
/// let hello = greeting.fill(&[Value::from("hello ")]);
/// assert_eq!(hello.value(&json!({"name": "you"}))?, Value::from("hello you"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Formula<T> {
    compiled: T,
    /// For every hole, the constants to replace.
    holes: Vec<Vec<usize>>,
}

/// A compiled text that can have holes.
///
/// ```
/// # use branchpoint_expr::*;
/// fn holes<T: Fillable>(formula: &Formula<T>) -> T {
///     formula.fill(&[Value::Int(1)])
/// }
///
/// let formula = Formula::compile("a > n", Options::default(), &["n"], Condition::expression)?;
/// assert!(holes(&formula).evaluate(&serde_json::json!({"a": 2}))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Fillable: Clone {
    #[doc(hidden)]
    fn tables(&mut self) -> Tables<'_>;
}

/// The program of a compiled text, which filling changes.
#[doc(hidden)]
#[derive(Debug)]
pub struct Tables<'t>(&'t mut Program);

impl Fillable for Expression {
    fn tables(&mut self) -> Tables<'_> {
        Tables(&mut self.0.program)
    }
}

impl Fillable for Condition {
    fn tables(&mut self) -> Tables<'_> {
        Tables(&mut self.0.program)
    }
}

impl<T: Fillable> Formula<T> {
    /// Compiles a text in which these names are holes. The compiled code does not depend on their values.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let formula = Formula::compile("a + step", Options::default(), &["step"], Expression::compile)?;
    /// assert!(Formula::compile("a +", Options::default(), &[], Expression::compile).is_err());
    /// # let _ = formula;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compile(
        text: &str,
        options: Options<'_>,
        holes: &[&str],
        compile: impl FnOnce(&str, Options<'_>) -> Result<T, Problems>,
    ) -> Result<Self, Problems> {
        // Each mark is a separate allocation, so that its address distinguishes it from every other text.
        let marks: Vec<Arc<str>> = holes.iter().map(|hole| Arc::from(*hole)).collect();
        let names = HoleNames { holes, marks: &marks, bind: options.bind };
        let mut compiled = compile(text, options.bound(&names))?;
        let constants = &compiled.tables().0.constants;
        let places = |mark: &Arc<str>| {
            let is_mark = |value: &Value| matches!(value, Value::Str(text) if Arc::ptr_eq(text, mark));
            constants.iter().enumerate().filter(|(_, value)| is_mark(value)).map(|(place, _)| place).collect()
        };
        let holes = marks.iter().map(places).collect();
        Ok(Self { compiled, holes })
    }

    /// Fills the holes with values, in the order of the names.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let formula = Formula::compile("a + step", Options::default(), &["step"], Expression::compile)?;
    /// assert_eq!(formula.fill(&[Value::Int(2)]).value(&serde_json::json!({"a": 1}))?, Value::Int(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fill(&self, values: &[Value]) -> T {
        self.fill_over(values, |slot| slot)
    }

    /// Like [`Self::fill`], with every slot number replaced.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// struct First;
    /// impl Bind for First {
    ///     fn bind(&self, _: &[&str]) -> Option<Binding> {
    ///         Some(Binding { slot: 0, parts: 1 })
    ///     }
    /// }
    ///
    /// let formula = Formula::compile("a + 1", Options::default().bound(&First), &[], Expression::compile)?;
    /// let second = formula.fill_over(&[], |slot| slot + 1);
    /// assert_eq!(second.value(&Slots(&[Value::Null, Value::Int(2)]))?, Value::Int(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fill_over(&self, values: &[Value], slot: impl Fn(u32) -> u32) -> T {
        let mut filled = self.compiled.clone();
        let program = filled.tables().0;
        let paths = program.paths.iter_mut().chain(program.compares.iter_mut().map(|compare| &mut compare.path));
        for bound in paths.filter_map(|path| path.root.slot.as_mut()) {
            *bound = slot(*bound);
        }
        for (places, value) in self.holes.iter().zip(values) {
            for place in places {
                program.constants[*place] = value.clone();
            }
        }
        for compare in &mut program.compares {
            if let Node::Constant(constant) = program.code.nodes[compare.right as usize] {
                compare.constant = program.constants[constant as usize].clone();
            }
        }
        filled
    }
}

/// Resolves the names of holes first, then those of the host.
struct HoleNames<'m> {
    holes: &'m [&'m str],
    marks: &'m [Arc<str>],
    bind: Option<&'m dyn Bind>,
}

impl Bind for HoleNames<'_> {
    fn bind(&self, path: &[&str]) -> Option<Binding> {
        self.bind.and_then(|bind| bind.bind(path))
    }

    fn constant(&self, name: &str) -> Option<Value> {
        let hole = self.holes.iter().position(|hole| *hole == name);
        match hole {
            Some(hole) => Some(Value::Str(Arc::clone(&self.marks[hole]))),
            None => self.bind.and_then(|bind| bind.constant(name)),
        }
    }
}
