//! Expressions and templates that give a value of any type.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::compile::Place;
use crate::context::Context;
use crate::diagnostic::{Diagnostic, Span};
use crate::error::EvalError;
use crate::eval;
use crate::located::Located;
use crate::program::{Access, Id, Name, Node, Path, Program, Reference};
use crate::rules::Dialect;
use crate::template::Single;
use crate::unit::{Options, Problems, Unit};
use crate::value::Value;

/// A compiled expression or template that gives a value.
///
/// ```
/// use branchpoint_expr::{Dialect, Expression, Options, Value};
/// use serde_json::json;
///
/// let total = Expression::compile("sum(map(items, .price * .qty))", Options::default())?;
/// let order = json!({"items": [{"price": 2.5, "qty": 2}, {"price": 1, "qty": 3}]});
/// assert_eq!(total.value(&order)?, Value::Int(8));
///
/// // A text that is one placeholder keeps the value's type; any other text is text.
/// let options = Options::dialect(Dialect::Flow);
/// assert_eq!(Expression::template("{{ $n + 1 }}", options)?.value(&json!({"n": 1}))?, Value::Int(2));
/// assert_eq!(Expression::template("n={{ $n }}", options)?.value(&json!({"n": 1}))?, Value::from("n=1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expression {
    pub(crate) program: Program,
    dialect: Dialect,
    #[serde(skip)]
    warnings: Vec<Diagnostic>,
}

/// What becomes of the texts of a document's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A text that is one placeholder gives the value itself.
    Value,
    /// A text stays text: a placeholder gives the text form of its value.
    Text,
    /// A text is a shell command: what a placeholder gives is one word of it, in quotes, whatever it holds.
    Command,
}

impl Form {
    fn single(self) -> Single {
        match self {
            Self::Value => Single::Value,
            Self::Text => Single::Text,
            Self::Command => Single::Word,
        }
    }
}

impl Expression {
    /// Compiles an expression.
    pub fn compile(text: &str, options: Options<'_>) -> Result<Self, Problems> {
        Self::unit(options, |unit| unit.expression(text, Place::From(0)).0)
    }

    /// Compiles a text with placeholders. A text that is one placeholder gives the value itself.
    pub fn template(text: &str, options: Options<'_>) -> Result<Self, Problems> {
        Self::unit(options, |unit| unit.template_text(text, Place::From(0), Single::Value).id)
    }

    /// Compiles a text with placeholders whose result is always text.
    pub fn text(text: &str, options: Options<'_>) -> Result<Self, Problems> {
        Self::unit(options, |unit| unit.template_text(text, Place::From(0), Single::Text).id)
    }

    /// Compiles a document's value: every text in it may hold placeholders.
    pub fn document(value: &Located, options: Options<'_>) -> Result<Self, Problems> {
        Self::unit(options, |unit| unit.template_value(value, Single::Value).id)
    }

    /// Compiles a document's value in which every text may hold placeholders, in the given form.
    pub fn formed(value: &Located, form: Form, options: Options<'_>) -> Result<Self, Problems> {
        Self::unit(options, |unit| unit.template_value(value, form.single()).id)
    }

    /// Compiles an object whose fields are each of a form of their own.
    pub fn fields(fields: &[(Arc<str>, Form, Located)], options: Options<'_>) -> Result<Self, Problems> {
        Self::unit(options, |unit| {
            let mut ids = Vec::with_capacity(2 * fields.len());
            for (key, form, value) in fields {
                ids.push(unit.program.constant(Value::Str(Arc::clone(key)), value.span));
                ids.push(unit.template_value(value, form.single()).id);
            }
            unit.emit_all(Node::Object, &ids, Span::default())
        })
    }

    /// Compiles ordered replacements in the text of `input`: a list of `{pattern, substitution}`, each working on the
    /// result of the one before. Groups are written `\\1` or `\\g<name>`.
    pub fn replacements(rules: &Located, options: Options<'_>) -> Result<Self, Problems> {
        Self::unit(options, |unit| unit.replacements(rules))
    }

    /// A value that is known: nothing in it is read as a template.
    pub fn constant(value: Value) -> Self {
        let mut program = Program::default();
        program.root = program.constant(value, Span::default());
        Self { program, dialect: Dialect::default(), warnings: Vec::new() }
    }

    /// The value of a root of the context; nil when there is none.
    pub fn read(name: Name) -> Self {
        let mut program = Program::default();
        let path = Path { root: name, keys: Box::default(), access: Access::Absent, coerce: false, parent: 0 };
        program.root = program.path(path, Span::default());
        Self { program, dialect: Dialect::default(), warnings: Vec::new() }
    }

    /// Whether this only reads what is there already: a path or a constant, nothing made of parts.
    pub fn is_read(&self) -> bool {
        matches!(self.program.nodes[self.program.root as usize], Node::Path(_) | Node::Constant(_))
    }

    /// The value, if it is known already: a constant, a document's value without placeholders.
    pub fn literal(&self) -> Option<&Value> {
        match self.program.nodes[self.program.root as usize] {
            Node::Constant(constant) => self.program.constants.get(constant as usize),
            _ => None,
        }
    }

    fn unit(options: Options<'_>, compile: impl FnOnce(&mut Unit<'_>) -> Id) -> Result<Self, Problems> {
        let mut unit = Unit::new(options);
        let root = compile(&mut unit);
        let (program, warnings) = unit.finish(root)?;
        Ok(Self { program, dialect: options.dialect, warnings })
    }

    /// About how many bytes it has when it is stored.
    pub fn size_bytes(&self) -> u64 {
        self.program.size_bytes()
    }

    /// What is suspicious about it, though it compiles.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The host's slots that it reads, each once, in ascending order.
    pub fn slots(&self) -> Vec<u32> {
        self.program.slots()
    }

    /// Calls `visit` with every slot of the host that it reads, as often as it reads it.
    pub fn each_slot(&self, visit: impl FnMut(u32)) {
        self.program.each_slot(visit);
    }

    /// The names it reads, with their places in the source.
    pub fn references(&self) -> Vec<Reference> {
        self.program.references()
    }

    /// The value.
    pub fn value<C: Context + ?Sized>(&self, context: &C) -> Result<Value, EvalError> {
        self.value_of(self.program.root, context)
    }

    /// The names of the files whose content this reads, each an expression of its own. Where `file:<n>` is bound to a slot of
    /// the host, the content of the n-th is read from there.
    pub fn file_names(&self) -> Vec<Self> {
        let name = |root: &Id| {
            let mut name = self.clone();
            name.program.root = *root;
            name
        };
        self.program.files.iter().map(name).collect()
    }

    /// The files whose content this reads: the host reads them and gives the n-th under the name `file:<n>`.
    pub fn files<C: Context + ?Sized>(&self, context: &C) -> Result<Vec<Value>, EvalError> {
        self.program.files.iter().map(|file| self.value_of(*file, context)).collect()
    }

    fn value_of<C: Context + ?Sized>(&self, root: Id, context: &C) -> Result<Value, EvalError> {
        eval::value(&self.program, root, context).map_err(|fault| EvalError::new(*fault, &self.program, self.dialect))
    }
}
