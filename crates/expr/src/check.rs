//! Static checks of an expression: unknown functions, wrong number of arguments, operand types that never fit.

use crate::Kind;
use crate::builtins;
use crate::diagnostic::Diagnostic;
use crate::dialect::Dialect;
use crate::function::{Functions, OnNil};
use crate::pattern::Pattern;
use crate::syntax::ast::{Binary, Call, Element, Expr, ExprKind};
use crate::types::Types;
use crate::unit::Options;

/// Checks an expression and returns its possible result types. Findings are appended in document order.
pub(crate) fn check(expr: &Expr<'_>, options: &Options<'_>, findings: &mut Vec<Diagnostic>) -> Types {
    let functions = options.environment.map(|environment| &environment.functions);
    let mut checker =
        Checker { dialect: options.dialect, functions, findings, variables: Vec::new(), elements: Vec::new() };
    checker.types(expr)
}

struct Checker<'f, 's> {
    dialect: Dialect,
    /// Functions of the host.
    functions: Option<&'f Functions>,
    findings: &'f mut Vec<Diagnostic>,
    variables: Vec<(&'s str, Types)>,
    /// One entry for each open predicate: whether it has `#acc`.
    elements: Vec<bool>,
}

impl<'s> Checker<'_, 's> {
    fn types(&mut self, expr: &Expr<'s>) -> Types {
        match &expr.kind {
            ExprKind::Nil => Types::NIL,
            ExprKind::Bool(_) => Types::BOOL,
            ExprKind::Int(_) => Types::INT,
            ExprKind::Float(_) => Types::FLOAT,
            ExprKind::Str(_) => Types::STR,
            ExprKind::List(items) => {
                self.all(items);
                Types::LIST
            }
            ExprKind::Object(entries) => {
                for (key, value) in entries {
                    self.expect(key, Types::STR | Types::NUMBER, "a key");
                    self.types(value);
                }
                Types::OBJECT
            }
            ExprKind::Variable(_) => Types::ANY,
            ExprKind::Name(name) => self.name(name, expr),
            ExprKind::Element(element) => self.element(*element, expr),
            ExprKind::Member(object, key) => self.member(object, key),
            ExprKind::Project(list, rest) => {
                self.types(list);
                self.elements.push(false);
                self.types(rest);
                self.elements.pop();
                Types::LIST
            }
            ExprKind::Slice(object, from, to) => {
                let mut nil = Types::BOOL;
                for bound in [from, to].into_iter().flatten() {
                    nil = nil | self.expect(bound, Types::NUMBER, "a bound of a slice");
                }
                self.expect(object, Types::STR | Types::LIST, "a slice") | nil_of([nil])
            }
            ExprKind::Not(operand) => {
                self.condition(operand, "`!`");
                Types::BOOL
            }
            ExprKind::Negate(operand) | ExprKind::Plus(operand) => {
                let actual = self.expect(operand, Types::NUMBER, "a sign");
                Types::NUMBER | nil_of([actual])
            }
            ExprKind::Binary(operator, left, right) => self.binary(*operator, left, right, expr),
            ExprKind::And(parts) | ExprKind::Or(parts) => self.logic(parts),
            ExprKind::Chain(first, rest) => self.chain(first, rest),
            ExprKind::Coalesce(left, right) => self.types(left).without(Types::NIL) | self.types(right),
            ExprKind::Elvis(left, right) => {
                self.condition(left, "`?:`");
                Types::BOOL | self.types(right)
            }
            ExprKind::Conditional(parts) => {
                self.condition(&parts[0], "the condition of `?:`");
                self.types(&parts[1]) | self.types(&parts[2])
            }
            ExprKind::Let(name, value, body) => self.variable(name, value, body, expr),
            ExprKind::Sequence(first, rest) => {
                self.types(first);
                self.types(rest)
            }
            ExprKind::Call(call) => self.call(call, expr),
        }
    }

    fn all(&mut self, parts: &[Expr<'s>]) {
        for part in parts {
            self.types(part);
        }
    }

    fn report(&mut self, kind: Kind, expr: &Expr<'s>, message: String) {
        let fails_later = self.dialect.fails_at_run_time(kind);
        let finding = if fails_later { Diagnostic::warning } else { Diagnostic::error };
        self.findings.push(finding(kind, expr.span, message));
    }

    /// Reports an operand that can be neither of the wanted types nor nil. The result is `ANY` then, so that nothing around the
    /// operand is reported for the same reason.
    fn expect(&mut self, operand: &Expr<'s>, wanted: Types, user: &str) -> Types {
        let actual = self.types(operand);
        if actual.meets(wanted.widened() | Types::NIL) {
            return actual;
        }
        self.report(Kind::TypeClash, operand, format!("{user} takes {wanted}, but this is {actual}"));
        Types::ANY
    }

    fn condition(&mut self, operand: &Expr<'s>, user: &str) {
        self.expect(operand, Types::BOOL, user);
    }

    fn name(&mut self, name: &str, expr: &Expr<'s>) -> Types {
        if let Some((_, types)) = self.variables.iter().rev().find(|(known, _)| *known == name) {
            return *types;
        }
        if self.dialect == Dialect::Flow {
            let finding = Diagnostic::error(Kind::UnknownName, expr.span, format!("`{name}` is not a variable"));
            self.findings.push(finding.with_help(format!("write `${name}`")));
        }
        Types::ANY
    }

    fn element(&mut self, element: Element, expr: &Expr<'s>) -> Types {
        let fits = match (self.elements.last(), element) {
            (None, _) => false,
            (Some(accumulates), Element::Accumulator) => *accumulates,
            (Some(_), _) => true,
        };
        if !fits {
            let (sign, place) = match element {
                Element::Accumulator => ("#acc", "reduce()"),
                Element::Index => ("#index", "a predicate"),
                Element::Item => ("#", "a predicate"),
            };
            self.report(Kind::NoElement, expr, format!("`{sign}` is only allowed inside {place}"));
        }
        if element == Element::Index { Types::INT } else { Types::ANY }
    }

    fn member(&mut self, object: &Expr<'s>, key: &Expr<'s>) -> Types {
        let object_types = self.types(object);
        let key_types = self.types(key);
        let container = match &key.kind {
            // In `steps`, a field of text is a field of the JSON inside the text.
            ExprKind::Str(_) if self.dialect == Dialect::Steps => Types::OBJECT | Types::LIST | Types::STR,
            ExprKind::Str(_) => Types::OBJECT,
            _ => Types::OBJECT | Types::LIST | Types::STR,
        };
        if !object_types.meets(container | Types::NIL) {
            self.report(Kind::TypeClash, object, format!("{object_types} has no fields"));
        }
        if !key_types.meets(Types::STR | Types::NUMBER | Types::NIL) {
            self.report(Kind::TypeClash, key, format!("an index must be text or a number, but this is {key_types}"));
        }
        Types::ANY
    }

    fn binary(&mut self, operator: Binary, left: &Expr<'s>, right: &Expr<'s>, expr: &Expr<'s>) -> Types {
        let symbol = operator.quoted();
        match operator {
            Binary::Equal | Binary::NotEqual => {
                let (left, right) = (self.types(left), self.types(right));
                if is_certain(left, right) && !left.widened().meets(right.widened()) {
                    self.report(Kind::TypeClash, expr, format!("{left} never equals {right}"));
                }
                Types::BOOL
            }
            Binary::Less | Binary::LessOrEqual | Binary::Greater | Binary::GreaterOrEqual => {
                self.ordering(operator, left, right, expr);
                Types::BOOL
            }
            Binary::In => {
                self.types(left);
                self.expect(right, Types::LIST | Types::OBJECT, "the right side of `in`");
                Types::BOOL
            }
            Binary::Contains | Binary::StartsWith | Binary::EndsWith => {
                self.expect(left, Types::STR, symbol);
                self.expect(right, Types::STR, symbol);
                Types::BOOL
            }
            Binary::Matches => {
                self.expect(left, Types::STR, symbol);
                self.expect(right, Types::STR, symbol);
                self.pattern(right);
                Types::BOOL
            }
            Binary::Range => {
                let actual = [self.expect(left, Types::NUMBER, symbol), self.expect(right, Types::NUMBER, symbol)];
                Types::LIST | nil_of(actual)
            }
            Binary::Add => self.addition(left, right, expr),
            Binary::Subtract | Binary::Multiply | Binary::Divide | Binary::Remainder | Binary::Power => {
                let actual = [self.expect(left, Types::NUMBER, symbol), self.expect(right, Types::NUMBER, symbol)];
                if matches!(operator, Binary::Divide | Binary::Remainder) {
                    self.divisor(right);
                }
                Types::NUMBER | nil_of(actual)
            }
        }
    }

    fn ordering(&mut self, operator: Binary, left: &Expr<'s>, right: &Expr<'s>, expr: &Expr<'s>) {
        let user = operator.quoted();
        let left_types = self.expect(left, Types::NUMBER | Types::STR, user);
        let right_types = self.expect(right, Types::NUMBER | Types::STR, user);
        if is_certain(left_types, right_types) && !left_types.widened().meets(right_types.widened()) {
            let message = format!("cannot compare {left_types} with {right_types}");
            self.report(Kind::TypeClash, expr, message);
        }
    }

    fn chain(&mut self, first: &Expr<'s>, rest: &[(Binary, Expr<'s>)]) -> Types {
        let mut left = self.expect(first, Types::NUMBER | Types::STR, rest[0].0.quoted());
        for (operator, operand) in rest {
            let user = operator.quoted();
            let right = self.expect(operand, Types::NUMBER | Types::STR, user);
            if is_certain(left, right) && !left.widened().meets(right.widened()) {
                self.report(Kind::TypeClash, operand, format!("cannot compare {left} with {right}"));
            }
            left = right;
        }
        Types::BOOL
    }

    fn addition(&mut self, left: &Expr<'s>, right: &Expr<'s>, expr: &Expr<'s>) -> Types {
        let takes = Types::NUMBER | Types::STR;
        let left = self.expect(left, takes, "`+`");
        let right = self.expect(right, takes, "`+`");
        if is_certain(left, right) && !left.widened().meets(right.widened()) {
            self.report(Kind::TypeClash, expr, format!("{left} and {right} cannot be added"));
            return Types::ANY;
        }
        let number = left.meets(Types::NUMBER) && right.meets(Types::NUMBER);
        let text = left.meets(Types::STR) && right.meets(Types::STR);
        let mut gives = Types::NIL;
        if number {
            gives = gives | Types::NUMBER;
        }
        if text {
            gives = gives | Types::STR;
        }
        // The sum of two literals is never nil, so `'a' + 'b'` can be rejected as a condition.
        if is_certain(left, right) { gives.without(Types::NIL) } else { gives }
    }

    fn divisor(&mut self, right: &Expr<'s>) {
        let zero = match right.kind {
            ExprKind::Int(int) => int == 0,
            ExprKind::Float(float) => float == 0.0,
            _ => false,
        };
        if zero {
            self.report(Kind::ZeroDivisor, right, "division by zero".into());
        }
    }

    fn logic(&mut self, parts: &[Expr<'s>]) -> Types {
        if self.dialect.values_in_logic() {
            return parts.iter().fold(Types::NIL, |types, part| types | self.types(part));
        }
        for part in parts {
            self.condition(part, "`&&` or `||`");
        }
        Types::BOOL
    }

    fn variable(&mut self, name: &'s str, value: &Expr<'s>, body: &Expr<'s>, expr: &Expr<'s>) -> Types {
        let types = self.types(value);
        let is_declared = self.variables.iter().any(|(known, _)| *known == name);
        if is_declared || builtins::find(name, false).is_some() || builtins::takes_predicate(name) {
            self.report(Kind::Redeclared, expr, format!("the name `{name}` already exists"));
        }
        self.variables.push((name, types));
        let types = self.types(body);
        self.variables.pop();
        types
    }

    fn pattern(&mut self, right: &Expr<'s>) {
        if let ExprKind::Str(text) = &right.kind
            && let Err(error) = Pattern::re2(text)
        {
            self.report(Kind::BadRegex, right, error.to_string());
        }
    }

    fn call(&mut self, call: &Call<'s>, expr: &Expr<'s>) -> Types {
        if let Some(signature) = builtins::fold(call.function) {
            return self.fold(call, &signature, expr);
        }
        let builtin = builtins::find(call.function, self.dialect == Dialect::Flow);
        let function = builtin.map(|index| &builtins::TABLE[usize::from(index)]);
        let Some(builtin) = function.or_else(|| self.functions?.get(call.function)) else {
            let message = format!("unknown function `{}`", call.function);
            let finding = Diagnostic::error(Kind::UnknownFunction, call.name_span, message);
            let host_functions = self.functions.into_iter().flat_map(Functions::names);
            self.findings.push(finding.suggest(call.function, builtins::names().chain(host_functions)));
            self.all(&call.arguments);
            return Types::ANY;
        };
        self.arity(call, expr, usize::from(builtin.least), usize::from(builtin.most), call.arguments.len());
        let mut actual = Types::INT;
        for (index, argument) in call.arguments.iter().enumerate().take(usize::from(builtin.most)) {
            let wanted = builtin.takes[index.min(builtin.takes.len() - 1)];
            actual = actual | self.expect(argument, wanted, &format!("{}()", builtin.name));
        }
        // The result for literal arguments is nil only if the function declares nil.
        let nil = builtin.on_nil == OnNil::Nil && actual.meets(Types::NIL);
        if nil { builtin.gives | Types::NIL } else { builtin.gives }
    }

    fn fold(&mut self, call: &Call<'s>, signature: &builtins::Signature, expr: &Expr<'s>) -> Types {
        let given = call.arguments.len() + usize::from(call.predicate.is_some());
        let least = if signature.optional { 1 } else { 2 };
        self.arity(call, expr, least, 2 + usize::from(signature.extra), given);
        let user = format!("{}()", call.function);
        let mut list = Types::NIL;
        for (index, argument) in call.arguments.iter().enumerate() {
            match (index, signature.fold) {
                (0, _) => list = self.expect(argument, Types::LIST, &user),
                (_, builtins::Fold::SortBy) => drop(self.expect(argument, Types::STR, &user)),
                _ => drop(self.types(argument)),
            }
        }
        if let Some(predicate) = &call.predicate {
            self.elements.push(signature.fold == builtins::Fold::Reduce);
            let actual = self.types(predicate);
            self.elements.pop();
            let wanted = match signature.fold {
                builtins::Fold::Sum => Types::NUMBER,
                _ if signature.boolean => Types::BOOL,
                _ => Types::ANY,
            };
            if !actual.meets(wanted | Types::NIL) {
                let message = format!("the predicate must give {wanted}, but this is {actual}");
                self.report(Kind::TypeClash, predicate, message);
            }
        }
        signature.gives | nil_of([list])
    }

    fn arity(&mut self, call: &Call<'s>, expr: &Expr<'s>, least: usize, most: usize, given: usize) {
        if (least..=most).contains(&given) {
            return;
        }
        let wanted = match (least, most) {
            (least, most) if least == most => format!("{least}"),
            (least, most) if most == usize::from(u8::MAX) => format!("{least} or more"),
            (least, most) => format!("{least} to {most}"),
        };
        let noun = if wanted == "1" { "argument" } else { "arguments" };
        let message = format!("{}() takes {wanted} {noun}, not {given}", call.function);
        self.report(Kind::WrongArity, expr, message);
    }
}

/// Nil if one of the operands can be nil: most operations propagate it.
fn nil_of<const N: usize>(operands: [Types; N]) -> Types {
    let nil = operands.iter().any(|operand| operand.meets(Types::NIL));
    if nil { Types::NIL } else { Types::NONE }
}

/// Whether neither operand can be nil, which compares with everything, so that a type mismatch is certain.
fn is_certain(left: Types, right: Types) -> bool {
    !left.meets(Types::NIL) && !right.meets(Types::NIL)
}
