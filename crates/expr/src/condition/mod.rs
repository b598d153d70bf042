//! Conditions in five spellings, which share one compiled form.

mod cases;
pub(crate) mod clause;
mod history;
mod shape_checks;
pub(crate) mod target_comparison;
mod target_list;
mod text_match;
pub(crate) mod typed_comparison;
mod typed_group;

use std::ops::Deref;

use bumpalo::Bump;

use serde::{Deserialize, Serialize};

use crate::compile::Place;
use crate::compiled::Compiled;
use crate::context::Context;
use crate::diagnostic::Span;
use crate::error::EvalError;
use crate::eval;
use crate::eval::record::{NoRecording, Results};
use crate::explain::{Explanation, Read};
use crate::located::Located;
use crate::program::Id;
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
/// // A missing value is nil, and nil is not greater than anything.
/// assert!(!condition.evaluate(&json!({}))?);
///
/// // Values that cannot be compared are an error, which picks no branch.
/// assert!(condition.evaluate(&json!({"inputs": {"count": "many"}})).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Condition(pub(crate) Compiled);

impl Deref for Condition {
    type Target = Compiled;

    #[inline(always)]
    fn deref(&self) -> &Compiled {
        &self.0
    }
}

impl Condition {
    /// The same with other slots for its names. It can be compared with another one, but not evaluated.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert!(Condition::compile("a == 1")?.with_slots(|slot| slot + 1).references().len() < 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_slots(mut self, map: impl FnMut(u32) -> u32) -> Self {
        self.0.program.map_slots(map);
        self
    }

    /// The same without the positions and texts of its source, so that stored forms of equal meaning are equal.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert!(!Condition::compile("1  <  2")?.without_source().is_verbatim());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn without_source(self) -> Self {
        Self(self.0.without_source())
    }

    /// Compiles an expression by the rules of the `machine` dialect.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert!(Condition::compile("1 < 2")?.evaluate(&Value::Null)?);
    /// assert!(Condition::compile("1 <").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compile(text: &str) -> Result<Self, Problems> {
        Self::expression(text, Options::default())
    }

    /// Compiles an expression.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let condition = Condition::expression("$n > 1", Options::dialect(Dialect::Flow))?;
    /// assert!(condition.evaluate(&serde_json::json!({"n": 2}))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expression(text: &str, options: Options<'_>) -> Result<Self, Problems> {
        Self::compile_with(options, |unit| unit.condition(text, Place::From(0)))
    }

    /// Compiles a typed group: `{combinator, conditions: [{variable, operator, value, type}]}`.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// # use serde_json::json;
    /// let located = |json: serde_json::Value| Located::from(&Value::from(&json));
    /// let group = located(json!({
    ///     "combinator": "and",
    ///     "conditions": [{"variable": "{{ $n }}", "operator": "greater_than", "value": 1, "type": "number"}],
    /// }));
    /// let condition = Condition::group(&group, Options::dialect(Dialect::Flow))?;
    /// assert!(condition.evaluate(&json!({"n": 2}))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn group(group: &Located, options: Options<'_>) -> Result<Self, Problems> {
        Self::compile_with(options, |unit| unit.group(group))
    }

    /// Compiles the condition of a step: `conditions` with `match`, or `if` with an expression or a group.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// # use serde_json::json;
    /// let located = |json: serde_json::Value| Located::from(&Value::from(&json));
    /// let step = located(json!({"conditions": [{"target": "input", "operator": "$eq", "value": "yes"}]}));
    /// let condition = Condition::targets(&step, Options::dialect(Dialect::Steps))?;
    /// assert!(condition.evaluate(&json!({"input": "yes"}))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn targets(step: &Located, options: Options<'_>) -> Result<Self, Problems> {
        Self::compile_with(options, |unit| unit.step_condition(step))
    }

    /// Compiles the value of the key `if`, which is an expression or a typed group in every dialect.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// # use serde_json::json;
    /// let located = |json: serde_json::Value| Located::from(&Value::from(&json));
    /// let condition = Condition::if_key(&located(json!("n > 1")), Options::default())?;
    /// assert!(condition.evaluate(&json!({"n": 2}))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn if_key(condition: &Located, options: Options<'_>) -> Result<Self, Problems> {
        Self::compile_with(options, |unit| unit.if_condition(condition))
    }

    /// Compiles one case of a switch, which holds if `input` is one of its match values. [`Cases`] checks the switch as a whole.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// # use serde_json::json;
    /// let located = |json: serde_json::Value| Located::from(&Value::from(&json));
    /// let case = located(json!({"name": "high", "match": "9"}));
    /// let switch = located(json!({"discriminator": "{{input}}"}));
    /// let condition = Condition::case(&switch, &case, Options::dialect(Dialect::Steps))?;
    /// assert!(condition.evaluate(&json!({"input": "9"}))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn case(switch: &Located, case: &Located, options: Options<'_>) -> Result<Self, Problems> {
        Self::compile_with(options, |unit| unit.single_case(switch, case))
    }

    /// Compiles a switch case of the `flow` dialect, which holds if both values are equal or have the same text form ignoring case.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// # use serde_json::json;
    /// let located = |json: serde_json::Value| Located::from(&Value::from(&json));
    /// let (subject, value) = (located(json!("{{ $plan }}")), located(json!("PRO")));
    /// let condition = Condition::same(&subject, &value, Options::dialect(Dialect::Flow))?;
    /// assert!(condition.evaluate(&json!({"plan": "pro"}))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn same(subject: &Located, value: &Located, options: Options<'_>) -> Result<Self, Problems> {
        Self::compile_with(options, |unit| unit.same(subject, value))
    }

    /// Compiles the history conditions of a session's step, which must all hold.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// # use serde_json::json;
    /// let located = |json: serde_json::Value| Located::from(&Value::from(&json));
    /// let used = located(json!([{"type": "tool_used", "value": "search"}]));
    /// let condition = Condition::history(&used, None, Options::dialect(Dialect::Session))?;
    /// assert!(condition.evaluate(&json!({"tools": ["read", "search"]}))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn history(conditions: &Located, sequence: Option<&Located>, options: Options<'_>) -> Result<Self, Problems> {
        Self::compile_with(options, |unit| unit.history(conditions, sequence))
    }

    /// Compiles one entry of the conditions of a graph's `if` node.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// # use serde_json::json;
    /// let located = |json: serde_json::Value| Located::from(&Value::from(&json));
    /// let entry = located(json!({"operator": "contains", "value": "Err"}));
    /// let condition = Condition::text_match(&entry, Options::dialect(Dialect::Graph))?;
    /// assert!(condition.evaluate(&json!({"input": "an ERROR", "text": "an error"}))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn text_match(entry: &Located, options: Options<'_>) -> Result<Self, Problems> {
        Self::compile_with(options, |unit| unit.text_match(entry))
    }

    fn compile_with(options: Options<'_>, compile: impl FnOnce(&mut Unit<'_>) -> Id) -> Result<Self, Problems> {
        Compiled::new(options, compile).map(Self)
    }

    /// Whether the condition was written as an expression, so that its span in the source shows its text.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert!(Condition::compile("a == 1")?.is_verbatim());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_verbatim(&self) -> bool {
        let root = self.program.root;
        self.program.written.iter().any(|written| written.start.is_some() && written.nodes.contains(&root))
    }

    /// The condition on one line: an expression as its author wrote it, any other spelling as a list of clauses.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Condition::compile("a  ==  1")?.text(), "a == 1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn text(&self) -> String {
        self.program.condition_text()
    }

    /// The paths in the condition with their current values, without duplicates, even those that an evaluation would skip.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let reads = Condition::compile("a.b == 1")?.reads(&serde_json::json!({"a": {"b": 2}}));
    /// assert_eq!((&*reads[0].path, &reads[0].value), ("a.b", &Some(Value::Int(2))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reads<C: Context + ?Sized>(&self, context: &C) -> Vec<Read> {
        crate::explain::reads(&self.program, context)
    }

    /// The span in the document that it was compiled from.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Condition::compile("a == 1")?.span(), Span::new(0, 6));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn span(&self) -> Span {
        self.program.spans[self.program.root as usize]
    }

    /// Evaluates the condition. Nil counts as false; any other result that is not a boolean is an error.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let condition = Condition::compile("count > 10")?;
    /// assert_eq!(condition.evaluate(&serde_json::json!({"count": 11})), Ok(true));
    /// assert_eq!(condition.evaluate(&serde_json::json!({})), Ok(false));
    /// assert_eq!(condition.evaluate(&serde_json::json!({"count": "many"})).unwrap_err().detail, Kind::WrongKind);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn evaluate<C: Context + ?Sized>(&self, context: &C) -> Result<bool, EvalError> {
        if let Some(holds) = eval::fast_path::holds(&self.program, context) {
            return Ok(holds);
        }
        let bump = Bump::new();
        eval::holds(&self.program, context, &bump, &mut NoRecording).map_err(|fault| self.failed(*fault))
    }

    /// Evaluates the condition like [`Self::evaluate`] and explains the outcome.
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
        let outcome = eval::holds(&self.program, context, &bump, &mut results).map_err(|fault| self.failed(*fault));
        crate::explain::explain(&self.program, &results, outcome, &bump)
    }
}
