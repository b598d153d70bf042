//! Conditions: five spellings, one compiled form, three outcomes.

mod cases;
mod document;
mod group;
mod history;
pub(crate) mod target;
mod targets;
pub(crate) mod test;
mod text_match;
pub(crate) mod typed;

use bumpalo::Bump;

use serde::{Deserialize, Serialize};

use crate::compile::Place;
use crate::context::Context;
use crate::diagnostic::{Diagnostic, Span};
use crate::error::EvalError;
use crate::eval;
use crate::eval::record::{Off, Results};
use crate::explain::{Explanation, Read};
use crate::located::Located;
use crate::program::{Id, Program, Reference};
use crate::rules::Dialect;
use crate::unit::{Options, Problems, Unit};

pub use cases::{Cases, Gate};
pub(crate) use history::SEQUENCE;

/// A compiled condition.
///
/// It has three outcomes: true, false, and an error. An error never picks a branch.
///
/// ```
/// use branchpoint_expr::Condition;
/// use serde_json::json;
///
/// let condition = Condition::compile("inputs.count > 10 && inputs.mode == 'prod'")?;
/// assert!(condition.evaluate(&json!({"inputs": {"count": 11, "mode": "prod"}}))?);
///
/// // What is missing is nil, and nil is not greater than anything.
/// assert!(!condition.evaluate(&json!({}))?);
///
/// // What cannot be compared is an error, not a branch.
/// assert!(condition.evaluate(&json!({"inputs": {"count": "many"}})).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Condition {
    pub(crate) program: Program,
    pub(crate) dialect: Dialect,
    #[serde(skip)]
    warnings: Vec<Diagnostic>,
}

impl Condition {
    /// Compiles an expression by the rules of the `machine` dialect.
    pub fn compile(text: &str) -> Result<Self, Problems> {
        Self::expression(text, Options::default())
    }

    /// Compiles an expression.
    pub fn expression(text: &str, options: Options<'_>) -> Result<Self, Problems> {
        let mut unit = Unit::new(options);
        let root = unit.condition(text, Place::From(0));
        Self::finish(unit, root)
    }

    /// Compiles a typed group: `{combinator, conditions: [{variable, operator, value, type}]}`.
    pub fn group(group: &Located, options: Options<'_>) -> Result<Self, Problems> {
        Self::spelled(options, |unit| unit.group(group))
    }

    /// Compiles the condition of a step: `conditions` with `match`, or `if` with an expression or a group.
    pub fn targets(step: &Located, options: Options<'_>) -> Result<Self, Problems> {
        Self::spelled(options, |unit| unit.step_condition(step))
    }

    /// Compiles what the key `if` takes in every dialect: an expression or a typed group.
    pub fn under_if(condition: &Located, options: Options<'_>) -> Result<Self, Problems> {
        Self::spelled(options, |unit| unit.if_condition(condition))
    }

    /// Compiles one case of a switch: whether the value of `input` is among those that it matches. The switch as a whole is
    /// checked by [`Cases`].
    pub fn case(switch: &Located, case: &Located, options: Options<'_>) -> Result<Self, Problems> {
        Self::spelled(options, |unit| unit.one_case(switch, case))
    }

    /// Compiles whether two values of a document are equal, or have the same text form without regard to case: one case of a
    /// switch that compares so.
    pub fn same(subject: &Located, value: &Located, options: Options<'_>) -> Result<Self, Problems> {
        Self::spelled(options, |unit| unit.same(subject, value))
    }

    /// Compiles the history conditions of a session's step; all must hold.
    pub fn history(conditions: &Located, sequence: Option<&Located>, options: Options<'_>) -> Result<Self, Problems> {
        Self::spelled(options, |unit| unit.history(conditions, sequence))
    }

    /// Compiles one entry of the conditions of a graph's `if` node.
    pub fn text_match(entry: &Located, options: Options<'_>) -> Result<Self, Problems> {
        Self::spelled(options, |unit| unit.text_match(entry))
    }

    fn spelled(options: Options<'_>, compile: impl FnOnce(&mut Unit<'_>) -> Id) -> Result<Self, Problems> {
        let mut unit = Unit::new(options);
        let root = compile(&mut unit);
        Self::finish(unit, root)
    }

    fn finish(unit: Unit<'_>, root: Id) -> Result<Self, Problems> {
        let dialect = unit.dialect();
        let (program, warnings) = unit.finish(root)?;
        Ok(Self { program, dialect, warnings })
    }

    /// About how many bytes it has when it is stored.
    pub fn size_bytes(&self) -> u64 {
        self.program.size_bytes()
    }

    /// What is suspicious about the condition, though it compiles.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// Whether its place in the source reads like what it does, because it was written as an expression.
    pub fn is_verbatim(&self) -> bool {
        let root = self.program.root;
        self.program.written.iter().any(|written| written.start.is_some() && written.nodes.contains(&root))
    }

    /// The condition on one line: an expression in its author's words, any other spelling as the clauses it is made of.
    pub fn text(&self) -> String {
        self.program.condition_text()
    }

    /// The paths that it reads with what they lead to now, each once, whether or not an evaluation would look at them.
    pub fn reads<C: Context + ?Sized>(&self, context: &C) -> Vec<Read> {
        crate::explain::reads(&self.program, context)
    }

    /// Its place in the document, if it was compiled from one.
    pub fn span(&self) -> Span {
        self.program.spans[self.program.root as usize]
    }

    /// The names it reads, with their places in the source.
    pub fn references(&self) -> Vec<Reference> {
        self.program.references()
    }

    /// The host's slots that it reads, each once, in ascending order.
    pub fn slots(&self) -> Vec<u32> {
        self.program.slots()
    }

    /// Calls `visit` with every slot of the host that it reads, as often as it reads it.
    pub fn each_slot(&self, visit: impl FnMut(u32)) {
        self.program.each_slot(visit);
    }

    /// Whether the condition holds. Nil counts as false; any other result that is no boolean is an error.
    #[inline]
    pub fn evaluate<C: Context + ?Sized>(&self, context: &C) -> Result<bool, EvalError> {
        if let Some(holds) = eval::quick::holds(&self.program, context) {
            return Ok(holds);
        }
        let bump = Bump::new();
        eval::holds(&self.program, context, &bump, &mut Off)
            .map_err(|fault| EvalError::new(*fault, &self.program, self.dialect))
    }

    /// Whether the condition holds, and why: the same evaluation with recording on.
    ///
    /// ```
    /// use branchpoint_expr::Condition;
    /// use serde_json::json;
    ///
    /// let condition = Condition::compile("states.check.ExitCode == 0")?;
    /// let explanation = condition.explain(&json!({"states": {"check": {"ExitCode": 2}}}));
    /// assert_eq!(explanation.sentence, "false because states.check.ExitCode is 2, expected 0");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain<C: Context + ?Sized>(&self, context: &C) -> Explanation {
        let bump = Bump::new();
        let mut results = Results::new(&self.program);
        let outcome = eval::holds(&self.program, context, &bump, &mut results)
            .map_err(|fault| EvalError::new(*fault, &self.program, self.dialect));
        crate::explain::explain(&self.program, &results, outcome, &bump)
    }
}
