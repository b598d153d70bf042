//! Explains the outcome of a condition: a tree of all sub-results, and one sentence.

mod part_text;
mod phrase;
mod reads;
mod sentence;

use std::fmt::Write;

use bumpalo::Bump;
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::diagnostic::Span;
use crate::error::EvalError;
use crate::eval::record::{NodeResult, Results};
use crate::fault::preview;
use crate::program::{Id, Node, Program};
use crate::value::{Value, View};
use crate::work::Work;

pub use phrase::Phrase;
pub(crate) use reads::reads;
pub use reads::{Read, RecordedContext, change};

/// The outcome of a condition and the reasons for it.
///
/// ```
/// # use branchpoint_expr::*;
/// let explanation = Condition::compile("a > 1")?.explain(&serde_json::json!({"a": 0}));
/// assert_eq!(explanation.outcome, Ok(false));
/// assert_eq!(explanation.sentence.to_string(), "false because a is 0, expected more than 1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The result of the condition.
    pub outcome: Result<bool, EvalError>,
    /// The explanation in one sentence.
    pub sentence: Phrase,
    /// The condition with all its parts.
    pub tree: Part,
}

/// One part of a condition with its result.
///
/// ```
/// # use branchpoint_expr::*;
/// let explanation = Condition::compile("a > 1")?.explain(&serde_json::json!({"a": 0}));
/// assert_eq!((&*explanation.tree.text, explanation.tree.decided), ("a > 1", true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The location in the source text.
    #[serde(flatten)]
    pub span: Span,
    /// The text of the part.
    pub text: String,
    /// The result; `None` if the part was not evaluated or the result is too large.
    #[serde(skip)]
    pub value: Option<Value>,
    /// The type of the result, as the built-in function `type` names it.
    #[serde(rename = "type")]
    pub kind: Option<&'static str>,
    /// The result for display: JSON, truncated with its length if it is long.
    #[serde(rename = "value")]
    pub shown: Option<String>,
    /// The error message, if the part failed.
    pub error: Option<String>,
    /// How often the part was evaluated. In a predicate, that is once per element, and `value` is the last result.
    pub times: u32,
    /// Whether this part decided the outcome.
    pub decided: bool,
    /// The parts of this part.
    pub children: Vec<Part>,
}

pub(crate) fn explain<'a>(
    program: &'a Program,
    results: &Results<'a>,
    outcome: Result<bool, EvalError>,
    bump: &'a Bump,
) -> Explanation {
    let explainer = Explainer { program, results, work: Work::new(bump, &crate::Limits::DEFAULT) };
    let sentence = match &outcome {
        Ok(holds) => Phrase::from(format!("{holds} because ")).phrase(explainer.because(program.root)),
        Err(error) => format!("cannot be evaluated: {}", error.message).into(),
    };
    Explanation { sentence, tree: explainer.part(program.root, true, true), outcome }
}

impl Explanation {
    /// The explanation as JSON text. Long values are truncated and show their length.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let explanation = Condition::compile("a > 1")?.explain(&serde_json::json!({"a": 0}));
    /// assert!(explanation.to_json().starts_with(r#"{"outcome":false,"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts, numbers and lists of them can be written as JSON")
    }
}

impl Serialize for Explanation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Failed<'f> {
            error: &'static str,
            message: &'f str,
        }
        let mut explanation = serializer.serialize_struct("Explanation", 3)?;
        match &self.outcome {
            Ok(holds) => explanation.serialize_field("outcome", holds)?,
            Err(EvalError { kind, message, .. }) => {
                explanation.serialize_field("outcome", &Failed { error: kind.as_str(), message })?;
            }
        }
        explanation.serialize_field("sentence", &self.sentence.to_string())?;
        explanation.serialize_field("tree", &self.tree)?;
        explanation.end()
    }
}

impl Part {
    /// The tree as indented lines: `✓` true, `✗` false, `!` failed, `·` not evaluated.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let explanation = Condition::compile("a > 1")?.explain(&serde_json::json!({"a": 0}));
    /// assert!(explanation.tree.render().starts_with("✗ a > 1"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn render(&self) -> String {
        self.render_with(|value| preview(value.view()))
    }

    /// Like [`Self::render`], with values formatted by `show`.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let explanation = Condition::compile("a > 1")?.explain(&serde_json::json!({"a": 0}));
    /// assert!(explanation.tree.render_with(|_| "[hidden]".into()).contains("a  [hidden]"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn render_with(&self, show: impl Fn(&Value) -> String) -> String {
        let mut out = String::new();
        self.render_into(&mut out, 0, &show);
        out
    }

    fn render_into(&self, out: &mut String, depth: usize, show: &impl Fn(&Value) -> String) {
        let (mark, detail) = match (&self.value, &self.shown, &self.error) {
            // A failure fails all parts around it, and only the innermost shows the message.
            (_, _, Some(_)) if self.children.iter().any(|child| child.error.is_some()) => ("!", String::new()),
            (_, _, Some(error)) => ("!", format!("  {error}")),
            (Some(Value::Bool(true)), ..) => ("✓", String::new()),
            (Some(Value::Bool(false)), ..) => ("✗", String::new()),
            (Some(value), ..) => ("=", format!("  {}", show(value))),
            (None, Some(shown), _) => ("=", format!("  {shown}")),
            (None, None, None) => ("·", "  not evaluated".into()),
        };
        let arrow = if self.decided && depth > 0 && mark != "=" { "  ← decided" } else { "" };
        let _ = writeln!(out, "{}{mark} {}{detail}{arrow}", "  ".repeat(depth), self.text);
        for child in &self.children {
            child.render_into(out, depth + 1, show);
        }
    }
}

pub(crate) struct Explainer<'e, 'a> {
    program: &'a Program,
    results: &'e Results<'a>,
    /// The budget for comparing and copying values.
    work: Work<'a>,
}

impl<'a> Explainer<'_, 'a> {
    fn node(&self, id: Id) -> Node {
        self.program.node(id)
    }

    fn noted(&self, id: Id) -> Option<&NodeResult<'a>> {
        self.results.0[id as usize].as_ref()
    }

    fn value(&self, id: Id) -> Option<View<'a>> {
        self.noted(id)?.result.as_ref().ok().copied()
    }

    fn holds(&self, id: Id) -> bool {
        matches!(self.value(id), Some(View::Bool(true)))
    }

    /// Builds a part. `reached` is whether the parts around it were evaluated: equal parts are compiled once, so a node may have a
    /// result although this occurrence of it was not evaluated.
    fn part(&self, id: Id, decided: bool, reached: bool) -> Part {
        let noted = self.noted(id).filter(|_| reached);
        let value = self.value(id).filter(|_| reached);
        Part {
            span: self.program.spans[id as usize],
            text: self.program.part_text(id),
            value: value.and_then(|value| self.work.value(value).ok()),
            shown: value.map(preview),
            kind: value.map(View::type_name),
            error: noted.and_then(|noted| noted.result.as_ref().err()).cloned(),
            times: noted.map_or(0, |noted| noted.times),
            decided,
            children: self.parts(id, decided, noted.is_some()),
        }
    }

    /// The children of a part. A child with the same text and the same result is replaced by its children.
    fn parts(&self, id: Id, decided: bool, reached: bool) -> Vec<Part> {
        let deciding = if decided { self.deciding(id) } else { Vec::new() };
        let text = self.program.part_text(id);
        let parts = self.children(id).into_iter().flat_map(|child| {
            let decided = deciding.contains(&child);
            let repeated = self.program.part_text(child) == text && self.same_value(child, id);
            if repeated {
                self.parts(child, decided, reached && self.noted(child).is_some())
            } else {
                vec![self.part(child, decided, reached)]
            }
        });
        parts.collect()
    }

    fn same_value(&self, left: Id, right: Id) -> bool {
        match (self.value(left), self.value(right)) {
            (Some(left), Some(right)) => self.work.equal(&left, &right).unwrap_or(false),
            (left, right) => left.is_none() && right.is_none(),
        }
    }

    /// The children that decided the outcome.
    fn deciding(&self, id: Id) -> Vec<Id> {
        let holds = self.holds(id);
        let with = |ids: &[Id], wanted: bool| -> Vec<Id> {
            ids.iter().copied().filter(|id| self.noted(*id).is_some() && self.holds(*id) == wanted).collect()
        };
        match self.node(id) {
            Node::And(parts) | Node::Every(parts) | Node::Or(parts) | Node::Some(parts) => {
                with(self.program.list(parts), holds)
            }
            // Operands that are not booleans all count as deciding.
            Node::Both(left, right) | Node::Either(left, right) => match with(&[left, right], holds) {
                found if found.is_empty() => self.children(id),
                found => found,
            },
            Node::Not(operand) => vec![operand],
            Node::Conditional(condition, then, otherwise) => {
                vec![condition, if self.holds(condition) { then } else { otherwise }]
            }
            Node::Let { body, .. } => vec![body],
            Node::Sequence(_, rest) => vec![rest],
            _ => self.children(id),
        }
    }

    /// The child nodes without constants, which are shown as part of their parent.
    fn children(&self, id: Id) -> Vec<Id> {
        let all = self.program.children(self.node(id));
        all.into_iter().filter(|id| !matches!(self.node(*id), Node::Constant(_))).collect()
    }
}
