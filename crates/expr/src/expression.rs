//! Compiled expressions and templates, whose result is a value of any type.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::compile::Place;
use crate::compiled::Compiled;
use crate::context::Context;
use crate::diagnostic::Span;
use crate::dialect::Dialect;
use crate::error::EvalError;
use crate::eval;
use crate::located::Located;
use crate::program::{Access, Id, Name, Node, Path, Program};
use crate::template::{Escape, Single};
use crate::unit::{Options, Problems, Unit};
use crate::value::Value;

/// A compiled expression or template, whose result is a value of any type.
///
/// ```
/// use branchpoint_expr::{Dialect, Expression, Options, Value};
/// use serde_json::json;
///
/// let total = Expression::compile("sum(map(items, .price * .qty))", Options::default())?;
/// let order = json!({"items": [{"price": 2.5, "qty": 2}, {"price": 1, "qty": 3}]});
/// assert_eq!(total.value(&order)?, Value::Int(8));
///
/// // A text that is exactly one placeholder keeps the value's type; any other text is text.
/// let options = Options::dialect(Dialect::Flow);
/// assert_eq!(Expression::template("{{ $n + 1 }}", options)?.value(&json!({"n": 1}))?, Value::Int(2));
/// assert_eq!(Expression::template("n={{ $n }}", options)?.value(&json!({"n": 1}))?, Value::from("n=1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expression(pub(crate) Compiled);

impl Deref for Expression {
    type Target = Compiled;

    #[inline(always)]
    fn deref(&self) -> &Compiled {
        &self.0
    }
}

/// How the texts of a document's value are expanded.
///
/// ```
/// # use branchpoint_expr::*;
/// let greeting = Located::from(&Value::from("{{ $n }}"));
/// let compile = |form| Expression::with_form(&greeting, form, Options::dialect(Dialect::Flow));
/// let context = serde_json::json!({"n": 1});
/// assert_eq!(compile(Form::Value)?.value(&context)?, Value::Int(1));
/// assert_eq!(compile(Form::Text)?.value(&context)?, Value::from("1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// A text that is exactly one placeholder gives the value itself.
    Value,
    /// The result is always text: a placeholder gives the text form of its value.
    Text,
    /// The result is text with escaped values. A list is one text in parts: texts, and values that the host inserts between them
    /// later.
    Escaped(fn() -> Box<dyn Escape>),
}

impl Form {
    fn compile(self, unit: &mut Unit<'_>, value: &Located) -> Id {
        match self {
            Self::Value => unit.template_value(value, Single::Value).id,
            Self::Text => unit.template_value(value, Single::Text).id,
            Self::Escaped(escape) => unit.escaped(value, &mut *escape()).id,
        }
    }
}

impl Expression {
    /// The same with other slots for its names. It can be compared with another one, but not evaluated.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert!(Expression::compile("1 + 2", Options::default())?.with_slots(|slot| slot + 1).references().len() < 2);
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
    /// assert_eq!(Expression::compile("1  +  2", Options::default())?.without_source().value(&Value::Null)?, Value::Int(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn without_source(self) -> Self {
        Self(self.0.without_source())
    }

    /// Compiles an expression.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Expression::compile("1 + 2", Options::default())?.value(&Value::Null)?, Value::Int(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compile(text: &str, options: Options<'_>) -> Result<Self, Problems> {
        Self::unit(options, |unit| unit.expression(text, Place::From(0)).0)
    }

    /// Compiles a text with placeholders. A text that is exactly one placeholder gives the value itself.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let template = Expression::template("{{ $n }}", Options::dialect(Dialect::Flow))?;
    /// assert_eq!(template.value(&serde_json::json!({"n": 1}))?, Value::Int(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn template(text: &str, options: Options<'_>) -> Result<Self, Problems> {
        Self::unit(options, |unit| unit.template_text(text, Place::From(0), Single::Value).id)
    }

    /// Compiles a text with placeholders whose result is always text.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let template = Expression::text("{{ $n }}", Options::dialect(Dialect::Flow))?;
    /// assert_eq!(template.value(&serde_json::json!({"n": 1}))?, Value::from("1"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn text(text: &str, options: Options<'_>) -> Result<Self, Problems> {
        Self::unit(options, |unit| unit.template_text(text, Place::From(0), Single::Text).id)
    }

    /// Compiles a document's value: every text in it may hold placeholders.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let document = Value::from(&serde_json::json!({"to": "{{ $name }}", "copies": 2}));
    /// let template = Expression::document(&Located::from(&document), Options::dialect(Dialect::Flow))?;
    /// assert_eq!(template.value(&serde_json::json!({"name": "Ada"}))?.get("to"), Some(&Value::from("Ada")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn document(value: &Located, options: Options<'_>) -> Result<Self, Problems> {
        Self::unit(options, |unit| unit.template_value(value, Single::Value).id)
    }

    /// Compiles a document's value in which every text may hold placeholders, in the given form.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let text = Located::from(&Value::from("n={{ $n }}"));
    /// let template = Expression::with_form(&text, Form::Text, Options::dialect(Dialect::Flow))?;
    /// assert_eq!(template.value(&serde_json::json!({"n": 1}))?, Value::from("n=1"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_form(value: &Located, form: Form, options: Options<'_>) -> Result<Self, Problems> {
        Self::unit(options, |unit| form.compile(unit, value))
    }

    /// Compiles an object whose fields have individual forms.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let count = ("count".into(), Form::Text, Located::from(&Value::from("{{ $n }}")));
    /// let object = Expression::fields(&[count], Options::dialect(Dialect::Flow))?;
    /// assert_eq!(object.value(&serde_json::json!({"n": 1}))?.get("count"), Some(&Value::from("1")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fields(fields: &[(Arc<str>, Form, Located)], options: Options<'_>) -> Result<Self, Problems> {
        Self::unit(options, |unit| {
            let mut ids = Vec::with_capacity(2 * fields.len());
            for (key, form, value) in fields {
                ids.push(unit.program.constant(Value::Str(Arc::clone(key)), value.span));
                ids.push(form.compile(unit, value));
            }
            unit.emit_all(Node::Object, &ids, Span::default())
        })
    }

    /// Compiles replacements in the text of `input`: a list of `{pattern, substitution}`, each applied to the result of the one
    /// before. Groups are written `\\1` or `\\g<name>`.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let rules = Value::from(&serde_json::json!([{"pattern": "(a)b", "substitution": r"\1c"}]));
    /// let replace = Expression::replacements(&Located::from(&rules), Options::dialect(Dialect::Steps))?;
    /// assert_eq!(replace.value(&serde_json::json!({"input": "abab"}))?, Value::from("acac"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replacements(rules: &Located, options: Options<'_>) -> Result<Self, Problems> {
        Self::unit(options, |unit| unit.replacements(rules))
    }

    /// A constant. Texts in it are not expanded.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Expression::constant(Value::Int(1)).value(&Value::Null)?, Value::Int(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn constant(value: Value) -> Self {
        Self::from_program(Program::of_constant(value))
    }

    /// Reads a name of the context, which is nil if it is missing.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let read = Expression::read(Name { text: "a".into(), slot: None });
    /// assert_eq!(read.value(&serde_json::json!({"a": 1}))?, Value::Int(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(name: Name) -> Self {
        let path = Path { root: name, keys: Arc::default(), access: Access::Absent, coerce: false, parent: 0 };
        Self::from_program(Program::of_path(path))
    }

    /// Whether the expression is only a path or a constant.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert!(Expression::compile("a.b", Options::default())?.is_read());
    /// assert!(!Expression::compile("a + b", Options::default())?.is_read());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_read(&self) -> bool {
        matches!(self.program.nodes[self.program.root as usize], Node::Path(_) | Node::Constant(_))
    }

    /// The value, if it is constant.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Expression::compile("[1, 2]", Options::default())?.literal().map(ToString::to_string).as_deref(), Some("[1,2]"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn literal(&self) -> Option<&Value> {
        match self.program.nodes[self.program.root as usize] {
            Node::Constant(constant) => self.program.constants.get(constant as usize),
            _ => None,
        }
    }

    /// The constants in the expression. A part of a document's value that has no placeholders is one constant.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let expression = Expression::compile("a == 'x'", Options::default())?;
    /// assert!(expression.constants().contains(&Value::from("x")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn constants(&self) -> &[Value] {
        &self.program.constants
    }

    fn unit(options: Options<'_>, compile: impl FnOnce(&mut Unit<'_>) -> Id) -> Result<Self, Problems> {
        Compiled::new(options, compile).map(Self)
    }

    /// Wraps a program that was not compiled from text.
    fn from_program(program: Program) -> Self {
        Self(Compiled { program, dialect: Dialect::default(), warnings: Vec::new() })
    }

    /// Evaluates the expression.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let total = Expression::compile("price * 2", Options::default())?;
    /// assert_eq!(total.value(&serde_json::json!({"price": 2.5}))?, Value::Int(5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn value<C: Context + ?Sized>(&self, context: &C) -> Result<Value, EvalError> {
        self.value_of(self.program.root, context)
    }

    /// The names of the files that this reads, as expressions. The content of the n-th file is read from the name `file:<n>`, which
    /// the host can bind to a slot.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let script = Expression::text("{{readFile inputs.path}}", Options::default())?;
    /// let names = script.file_names();
    /// assert_eq!(names[0].value(&serde_json::json!({"inputs": {"path": "a.sh"}}))?, Value::from("a.sh"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn file_names(&self) -> Vec<Self> {
        let name = |root: &Id| {
            let mut name = self.clone();
            name.0.program.root = *root;
            name
        };
        self.program.files.iter().map(name).collect()
    }

    /// The names of the files that this reads. The host provides the content of the n-th file as `file:<n>`.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let script = Expression::text("{{readFile inputs.path}}", Options::default())?;
    /// assert_eq!(script.files(&serde_json::json!({"inputs": {"path": "a.sh"}}))?, [Value::from("a.sh")]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn files<C: Context + ?Sized>(&self, context: &C) -> Result<Vec<Value>, EvalError> {
        self.program.files.iter().map(|file| self.value_of(*file, context)).collect()
    }

    fn value_of<C: Context + ?Sized>(&self, root: Id, context: &C) -> Result<Value, EvalError> {
        eval::value(&self.program, root, context).map_err(|fault| self.failed(*fault))
    }
}
