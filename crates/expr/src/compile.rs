//! Compiles the syntax tree to a flat table of nodes: resolves paths, compiles patterns, turns literal lists into sets.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::builtins;
use crate::diagnostic::Span;
use crate::dialect::Dialect;
use crate::draft::Draft;
use crate::pattern::Pattern;
use crate::program::{Access, Id, Key, Name, Node, Path};
use crate::syntax::ast::{Binary, Call, Element, Expr, ExprKind};
use crate::value::Value;

/// Binds names to the numbered slots of a host when a condition is compiled.
///
/// A path that begins with a bound prefix reads the slot directly, without a lookup by name at run time.
///
/// ```
/// # use branchpoint_expr::*;
///
/// struct Inputs;
///
/// impl Bind for Inputs {
///     fn bind(&self, path: &[&str]) -> Option<Binding> {
///         path.starts_with(&["inputs", "count"]).then_some(Binding { slot: 0, parts: 2 })
///     }
/// }
///
/// let condition = Condition::expression("inputs.count > 10", Options::default().bound(&Inputs))?;
/// assert!(condition.evaluate(&Slots(&[Value::Int(11)]))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Bind {
    /// The slot of the longest bound prefix of a path, and the number of parts of that prefix.
    ///
    /// Where a dialect coerces the values of a namespace (`inputs` of `machine`), the slot of one input holds the coerced
    /// value: the host coerces it once, when it sets the slot.
    fn bind(&self, path: &[&str]) -> Option<Binding>;

    /// Whether the slot of a whole coerced namespace already holds coerced values.
    fn holds_coerced(&self, _slot: u32) -> bool {
        false
    }

    /// The value of a name that is constant at compile time and so needs no slot.
    fn constant(&self, _name: &str) -> Option<Value> {
        None
    }
}

/// The slot that a path starts in.
///
/// ```
/// # use branchpoint_expr::*;
///
/// // Slot 3 holds the value of `inputs.count`.
/// let bound = Binding { slot: 3, parts: 2 };
/// # let _ = bound;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The slot.
    pub slot: u32,
    /// How many parts of the path the slot replaces. With 0, the slot holds an object of all names without a slot of their own.
    pub parts: usize,
}

pub(crate) struct Compiler<'p, 's> {
    pub(crate) dialect: Dialect,
    pub(crate) bind: Option<&'p dyn Bind>,
    pub(crate) program: &'p mut Draft,
    /// How paths are looked up in the current subexpression.
    pub(crate) access: Access,
    pub(crate) variables: Vec<(&'s str, u16)>,
    /// The local variable of the element of each open predicate.
    pub(crate) elements: Vec<u16>,
    /// The number of variables in open scopes, which the nesting limit bounds.
    pub(crate) open_locals: u16,
    /// The position of this text in the source.
    pub(crate) place: Place,
}

/// The position of a text in the source that spans refer to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// The source contains the text verbatim, starting at this byte.
    From(u32),
    /// The source contains the text with escapes, so every part of it gets the span of the whole.
    At(Span),
}

impl Place {
    pub(crate) fn of(self, span: Span) -> Span {
        match self {
            Self::From(start) => span.shifted(start),
            Self::At(whole) => whole,
        }
    }

    /// The position of a text that begins this many bytes into the current one.
    pub(crate) fn after(self, bytes: u32) -> Self {
        match self {
            Self::From(start) => Self::From(start.saturating_add(bytes)),
            whole @ Self::At(_) => whole,
        }
    }
}

impl<'s> Compiler<'_, 's> {
    pub(crate) fn node(&mut self, expr: &Expr<'s>) -> Id {
        if let Some(value) = literal(expr) {
            return self.constant(expr, value);
        }
        let node = match &expr.kind {
            ExprKind::Nil | ExprKind::Bool(_) | ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Str(_) => {
                unreachable!("literals are constants")
            }
            ExprKind::Name(name) => match self.variable(name) {
                Some(local) => Node::Local(local),
                None => return self.path(expr, name, &[]),
            },
            ExprKind::Variable(name) => return self.path(expr, name, &[]),
            ExprKind::Element(element) => Node::Local(self.element(*element)),
            ExprKind::Member(object, key) => return self.member(expr, object, key),
            ExprKind::Project(list, rest) => self.project(list, rest),
            ExprKind::Slice(object, from, to) => Node::Slice {
                object: self.node(object),
                from: from.as_ref().map(|from| self.node(from)),
                to: to.as_ref().map(|to| self.node(to)),
            },
            ExprKind::Not(operand) => Node::Not(self.node(operand)),
            ExprKind::Negate(operand) => Node::Negate(self.node(operand)),
            ExprKind::Plus(operand) => Node::Plus(self.node(operand)),
            ExprKind::Binary(operator, left, right) => self.binary(*operator, left, right),
            ExprKind::And(parts) if self.dialect.values_in_logic() => return self.values(expr, parts, Node::Both),
            ExprKind::Or(parts) if self.dialect.values_in_logic() => return self.values(expr, parts, Node::Either),
            ExprKind::And(parts) => {
                let ids = self.nodes(parts);
                Node::And(self.program.ids(&ids))
            }
            ExprKind::Or(parts) => {
                let ids = self.nodes(parts);
                Node::Or(self.program.ids(&ids))
            }
            ExprKind::Chain(first, rest) => self.chain(first, rest),
            ExprKind::Coalesce(left, right) => Node::Coalesce(self.lenient(left), self.node(right)),
            ExprKind::Elvis(left, right) => Node::Elvis(self.lenient(left), self.node(right)),
            ExprKind::Conditional(parts) => {
                Node::Conditional(self.strict(&parts[0]), self.node(&parts[1]), self.node(&parts[2]))
            }
            ExprKind::Let(name, value, body) => self.declaration(name, value, body),
            ExprKind::Sequence(first, rest) => Node::Sequence(self.node(first), self.node(rest)),
            ExprKind::List(items) => {
                let ids = self.strict_nodes(items);
                Node::List(self.program.ids(&ids))
            }
            ExprKind::Object(entries) => {
                let ids: Vec<_> =
                    entries.iter().flat_map(|(key, value)| [self.strict(key), self.strict(value)]).collect();
                Node::Object(self.program.ids(&ids))
            }
            ExprKind::Call(call) => self.call(call),
        };
        self.emit(expr, node)
    }

    fn emit(&mut self, expr: &Expr<'_>, node: Node) -> Id {
        self.program.emit(node, self.place.of(expr.span))
    }

    fn constant(&mut self, expr: &Expr<'_>, value: Value) -> Id {
        self.program.constant(value, self.place.of(expr.span))
    }

    fn nodes(&mut self, exprs: &[Expr<'s>]) -> SmallVec<[Id; 8]> {
        exprs.iter().map(|expr| self.node(expr)).collect()
    }

    /// Compiles an operand for which the dialect decides what a missing path is.
    fn strict(&mut self, expr: &Expr<'s>) -> Id {
        let access = std::mem::replace(&mut self.access, self.dialect.access());
        let id = self.node(expr);
        self.access = access;
        id
    }

    fn strict_nodes(&mut self, exprs: &[Expr<'s>]) -> SmallVec<[Id; 8]> {
        exprs.iter().map(|expr| self.strict(expr)).collect()
    }

    /// Compiles the left side of a default, where a missing path is nil even if the dialect makes it an error elsewhere.
    fn lenient(&mut self, expr: &Expr<'s>) -> Id {
        let access = self.access;
        if access == Access::Required {
            self.access = Access::Absent;
        }
        let id = self.node(expr);
        self.access = access;
        id
    }

    /// Compiles `a || b || c` and `a && b && c` on any values, left-associative.
    fn values(&mut self, expr: &Expr<'s>, parts: &[Expr<'s>], join: fn(Id, Id) -> Node) -> Id {
        let last = parts.len() - 1;
        let ids: Vec<_> = parts
            .iter()
            .enumerate()
            .map(|(index, part)| if index < last { self.lenient(part) } else { self.node(part) })
            .collect();
        ids.into_iter()
            .reduce(|left, right| self.program.emit(join(left, right), self.place.of(expr.span)))
            .expect("the parser builds chains of two or more")
    }

    fn variable(&self, name: &str) -> Option<u16> {
        self.variables.iter().rev().find(|(known, _)| *known == name).map(|(_, local)| *local)
    }

    fn element(&self, element: Element) -> u16 {
        let item = self.elements.last().copied().expect("the checker rejects elements outside predicates");
        match element {
            Element::Item => item,
            Element::Index => item + 1,
            Element::Accumulator => item + 2,
        }
    }

    /// Reserves variables for a new scope. Sibling scopes share them.
    fn open(&mut self, count: u16) -> u16 {
        let first = self.open_locals;
        self.open_locals += count;
        self.program.locals = self.program.locals.max(self.open_locals);
        first
    }

    fn close(&mut self, count: u16) {
        self.open_locals -= count;
    }

    /// Compiles a field or an index: as part of a path if all keys are literal, else as an operation.
    fn member(&mut self, expr: &Expr<'s>, object: &Expr<'s>, key: &Expr<'s>) -> Id {
        let mut keys = SmallVec::<[Key; 4]>::new();
        if let Some(root) = self.static_path(expr, &mut keys) {
            keys.reverse();
            return self.path(expr, root, &keys);
        }
        let access = self.access;
        let object = self.node(object);
        let key = self.strict(key);
        self.emit(expr, Node::Member { object, key, access })
    }

    /// The root of a path of literal keys. The keys are collected from the last to the first.
    fn static_path<'e>(&self, expr: &'e Expr<'s>, keys: &mut SmallVec<[Key; 4]>) -> Option<&'e str> {
        match &expr.kind {
            ExprKind::Name(name) if self.variable(name).is_none() => Some(name),
            ExprKind::Variable(name) => Some(name),
            ExprKind::Member(object, key) => {
                keys.push(match &key.kind {
                    ExprKind::Str(text) => Key::Field(Arc::from(&**text)),
                    ExprKind::Int(int) => Key::Index(*int),
                    ExprKind::Negate(inner) if let ExprKind::Int(int) = inner.kind => Key::Index(-int),
                    _ => return None,
                });
                self.static_path(object, keys)
            }
            _ => None,
        }
    }

    fn path(&mut self, expr: &Expr<'_>, root: &str, keys: &[Key]) -> Id {
        if let Some(value) = self.bind.and_then(|bind| bind.constant(root)) {
            return self.inside(expr, value, keys);
        }
        let mut parts = SmallVec::<[&str; 8]>::from_slice(&[root]);
        parts.extend(keys.iter().map_while(|key| match key {
            Key::Field(field) => Some(&**field),
            Key::Index(_) => None,
        }));
        let bound = self.bind.and_then(|bind| bind.bind(&parts));
        let used = bound.map_or(1, |bound| bound.parts.min(parts.len()));
        let ready = bound.is_some_and(|bound| self.bind.is_some_and(|bind| bind.holds_coerced(bound.slot)));
        let coerced = self.dialect.coerced_root() == Some(root) && !ready;
        let path = Path {
            root: Name { text: joined(&parts[..used]), slot: bound.map(|bound| bound.slot) },
            keys: match used.checked_sub(1) {
                Some(used) => keys[used..].into(),
                None => std::iter::once(Key::Field(root.into())).chain(keys.iter().cloned()).collect(),
            },
            access: self.access,
            // A slot with its own value was coerced when the host set it.
            coerce: coerced && used == 1 && !keys.is_empty(),
            parent: 0,
        };
        let id = self.program.path(path, self.place.of(expr.span));
        if coerced && keys.is_empty() { self.emit(expr, Node::Coerced(id)) } else { id }
    }

    /// Compiles the access to a part of a constant.
    fn inside(&mut self, expr: &Expr<'_>, value: Value, keys: &[Key]) -> Id {
        let span = self.place.of(expr.span);
        let mut object = self.program.constant(value, span);
        for key in keys {
            let key = match key {
                Key::Field(field) => Value::Str(Arc::clone(field)),
                Key::Index(index) => Value::Int(*index),
            };
            let key = self.program.constant(key, span);
            object = self.emit(expr, Node::Member { object, key, access: self.access });
        }
        object
    }

    fn project(&mut self, list: &Expr<'s>, rest: &Expr<'s>) -> Node {
        let list = self.node(list);
        let local = self.open(3);
        self.elements.push(local);
        // An element without the rest of the path is skipped: the evaluator catches `missing_variable`.
        let access = std::mem::replace(&mut self.access, Access::Required);
        let rest = self.node(rest);
        self.access = access;
        self.elements.pop();
        self.close(3);
        Node::Project { list, rest, local, access }
    }

    fn binary(&mut self, operator: Binary, left: &Expr<'s>, right: &Expr<'s>) -> Node {
        let left = self.strict(left);
        match (operator, &right.kind) {
            (Binary::Matches, ExprKind::Str(text)) => {
                let pattern = Pattern::re2(text).expect("the checker rejects patterns that do not compile");
                return Node::Matches { text: left, pattern: self.program.pattern(pattern) };
            }
            (Binary::In, ExprKind::List(items)) if let Some(set) = literal_texts(items) => {
                return Node::InSet { needle: left, set: self.program.set(set) };
            }
            _ => {}
        }
        Node::Binary(operator, left, self.strict(right))
    }

    /// Compiles `a < b < c` as pairs. An operand of two pairs is evaluated once and stored in a local, because nested chains
    /// would otherwise double the work at every level.
    fn chain(&mut self, first: &Expr<'s>, rest: &[(Binary, Expr<'s>)]) -> Node {
        let mut left = self.strict(first);
        let mut left_span = first.span;
        let mut pairs = Vec::new();
        let mut locals = 0;
        for (position, (operator, operand)) in rest.iter().enumerate() {
            let mut right = self.strict(operand);
            let mut again = right;
            let leaf = matches!(self.program.nodes[right as usize], Node::Constant(_) | Node::Path(_) | Node::Local(_));
            if !leaf && position + 1 < rest.len() {
                let local = self.open(1);
                locals += 1;
                again = self.emit(operand, Node::Local(local));
                right = self.emit(operand, Node::Let { local, value: right, body: again });
            }
            let span = self.place.of(left_span.to(operand.span));
            pairs.push(self.program.emit(Node::Binary(*operator, left, right), span));
            (left, left_span) = (again, operand.span);
        }
        self.close(locals);
        Node::And(self.program.ids(&pairs))
    }

    fn declaration(&mut self, name: &'s str, value: &Expr<'s>, body: &Expr<'s>) -> Node {
        let value = self.strict(value);
        let local = self.open(1);
        self.variables.push((name, local));
        let body = self.node(body);
        self.variables.pop();
        self.close(1);
        Node::Let { local, value, body }
    }

    fn call(&mut self, call: &Call<'s>) -> Node {
        let arguments = self.strict_nodes(&call.arguments);
        let Some(signature) = builtins::fold(call.function) else {
            // The checker rejects unknown functions, so every other function is registered by the host.
            let builtin = builtins::find(call.function, self.dialect == Dialect::Flow);
            let builtin = builtin.unwrap_or_else(|| self.program.host_function(call.function));
            return Node::Call { builtin, arguments: self.program.ids(&arguments) };
        };
        let local = self.open(3);
        self.elements.push(local);
        let body = call.predicate.as_ref().map(|predicate| self.strict(predicate));
        self.elements.pop();
        self.close(3);
        Node::Fold { fold: signature.fold, list: arguments[0], body, extra: arguments.get(1).copied(), local }
    }
}

/// The name of the part of a path that a slot replaces.
pub(crate) fn joined(parts: &[&str]) -> Arc<str> {
    match parts {
        [only] => Arc::from(*only),
        parts => parts.join(".").into(),
    }
}

/// The value of a list that has only literals.
fn literal_list(items: &[Expr<'_>]) -> Option<Value> {
    let items: Option<Vec<_>> = items.iter().map(literal).collect();
    items.map(Value::from)
}

fn literal(expr: &Expr<'_>) -> Option<Value> {
    match &expr.kind {
        ExprKind::Nil => Some(Value::Null),
        ExprKind::Bool(bool) => Some(Value::Bool(*bool)),
        ExprKind::Int(int) => Some(Value::Int(*int)),
        ExprKind::Float(float) => Some(Value::Float(*float)),
        ExprKind::Str(text) => Some(Value::from(&**text)),
        ExprKind::Negate(operand) => match operand.kind {
            ExprKind::Int(int) => Some(Value::Int(-int)),
            ExprKind::Float(float) => Some(Value::Float(-float)),
            _ => None,
        },
        ExprKind::List(items) => literal_list(items),
        _ => None,
    }
}

/// The set for a list that has only literal texts, so that membership is a lookup.
fn literal_texts(items: &[Expr<'_>]) -> Option<crate::program::LiteralSet> {
    items
        .iter()
        .map(|item| match &item.kind {
            ExprKind::Str(text) => Some(Arc::from(&**text)),
            _ => None,
        })
        .collect()
}
