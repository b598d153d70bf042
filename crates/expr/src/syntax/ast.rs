//! The syntax tree of an expression. Text is borrowed from the source, and every part has a span.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::diagnostic::Span;

/// One part of an expression.
#[derive(Clone, Debug)]
pub(crate) struct Expr<'s> {
    pub(crate) kind: ExprKind<'s>,
    pub(crate) span: Span,
    /// The depth of this subtree, which the parser limits.
    pub(crate) depth: u16,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind<'s> {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Cow<'s, str>),
    List(Vec<Expr<'s>>),
    Object(Vec<(Expr<'s>, Expr<'s>)>),
    /// A name: a `let` variable, or a name of the context.
    Name(Cow<'s, str>),
    /// `$name`: always a name of the context.
    Variable(Cow<'s, str>),
    /// `#`, `#index`, `#acc`.
    Element(Element),
    /// `a.b`, `a["b"]`, `a[i]`.
    Member(Box<Expr<'s>>, Box<Expr<'s>>),
    /// `a[*].rest`: the rest of the path for every element that has it. `#` is the element.
    Project(Box<Expr<'s>>, Box<Expr<'s>>),
    /// `a[from:to]`.
    Slice(Box<Expr<'s>>, Option<Box<Expr<'s>>>, Option<Box<Expr<'s>>>),
    Not(Box<Expr<'s>>),
    Negate(Box<Expr<'s>>),
    /// Prefix `+`, which checks that its operand is a number.
    Plus(Box<Expr<'s>>),
    Binary(Binary, Box<Expr<'s>>, Box<Expr<'s>>),
    /// `a && b && …`, flat, so that long chains are not deep.
    And(Vec<Expr<'s>>),
    /// `a || b || …`, flat.
    Or(Vec<Expr<'s>>),
    /// `a < b <= c`: neighbours are compared in pairs.
    Chain(Box<Expr<'s>>, Vec<(Binary, Expr<'s>)>),
    Coalesce(Box<Expr<'s>>, Box<Expr<'s>>),
    Conditional(Box<[Expr<'s>; 3]>),
    /// `a ?: b`.
    Elvis(Box<Expr<'s>>, Box<Expr<'s>>),
    Let(&'s str, Box<Expr<'s>>, Box<Expr<'s>>),
    /// `a; b`: the value of `b`.
    Sequence(Box<Expr<'s>>, Box<Expr<'s>>),
    Call(Call<'s>),
}

/// A function call. The second argument of a predicate function is `predicate`.
#[derive(Clone, Debug)]
pub(crate) struct Call<'s> {
    pub(crate) function: &'s str,
    pub(crate) name_span: Span,
    pub(crate) arguments: Vec<Expr<'s>>,
    pub(crate) predicate: Option<Box<Expr<'s>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Item,
    Index,
    Accumulator,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Binary {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Contains,
    StartsWith,
    EndsWith,
    Matches,
    Range,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

impl Binary {
    /// The operator in backticks, for messages.
    pub(crate) fn quoted(self) -> &'static str {
        match self {
            Self::Equal => "`==`",
            Self::NotEqual => "`!=`",
            Self::Less => "`<`",
            Self::LessOrEqual => "`<=`",
            Self::Greater => "`>`",
            Self::GreaterOrEqual => "`>=`",
            Self::In => "`in`",
            Self::Contains => "`contains`",
            Self::StartsWith => "`startsWith`",
            Self::EndsWith => "`endsWith`",
            Self::Matches => "`matches`",
            Self::Range => "`..`",
            Self::Add => "`+`",
            Self::Subtract => "`-`",
            Self::Multiply => "`*`",
            Self::Divide => "`/`",
            Self::Remainder => "`%`",
            Self::Power => "`**`",
        }
    }

    /// Whether the result is always a boolean.
    pub(crate) fn is_test(self) -> bool {
        self.is_ordering()
            || matches!(
                self,
                Self::Equal
                    | Self::NotEqual
                    | Self::In
                    | Self::Contains
                    | Self::StartsWith
                    | Self::EndsWith
                    | Self::Matches
            )
    }

    pub(crate) fn is_ordering(self) -> bool {
        matches!(self, Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual)
    }
}

impl<'s> Expr<'s> {
    /// Visits the direct children, in document order.
    pub(crate) fn parts<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr<'s>)) {
        match &self.kind {
            ExprKind::Nil
            | ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Str(_)
            | ExprKind::Name(_)
            | ExprKind::Variable(_)
            | ExprKind::Element(_) => {}
            ExprKind::List(items) | ExprKind::And(items) | ExprKind::Or(items) => items.iter().for_each(visit),
            ExprKind::Object(entries) => entries.iter().for_each(|(key, value)| {
                visit(key);
                visit(value);
            }),
            ExprKind::Not(operand) | ExprKind::Negate(operand) | ExprKind::Plus(operand) => visit(operand),
            ExprKind::Member(left, right)
            | ExprKind::Project(left, right)
            | ExprKind::Binary(_, left, right)
            | ExprKind::Coalesce(left, right)
            | ExprKind::Elvis(left, right)
            | ExprKind::Let(_, left, right)
            | ExprKind::Sequence(left, right) => {
                visit(left);
                visit(right);
            }
            ExprKind::Slice(object, from, to) => {
                visit(object);
                [from, to].into_iter().flatten().for_each(|bound| visit(bound));
            }
            ExprKind::Chain(first, rest) => {
                visit(first);
                for (_, operand) in rest {
                    visit(operand);
                }
            }
            ExprKind::Conditional(parts) => parts.iter().for_each(visit),
            ExprKind::Call(call) => {
                call.arguments.iter().for_each(&mut *visit);
                call.predicate.iter().for_each(|predicate| visit(predicate));
            }
        }
    }
}
