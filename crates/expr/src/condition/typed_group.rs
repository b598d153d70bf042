//! Compiles typed groups: `{combinator, conditions: [{variable, operator, value, type}]}`.

use bumpalo::Bump;

use super::clause::{Clause, Rule};
use super::typed_comparison::{Operator, Type, TypedComparison};
use crate::located::Located;
use crate::program::{Id, Node};
use crate::template::{Compiled, Single};
use crate::unit::{UNKNOWN, Unit};
use crate::value::keep;
use crate::work::Work;
use crate::{Kind, limits};

const GROUP_KEYS: [&str; 2] = ["combinator", "conditions"];
const GROUP_HELP: &str = "write {\"combinator\": \"and\", \"conditions\": [...]}";
const CLAUSE_KEYS: [&str; 4] = ["variable", "operator", "value", "type"];

impl Unit<'_> {
    /// Compiles a group. The top level of a typed condition is always a group.
    pub(crate) fn group(&mut self, located: &Located) -> Id {
        self.group_at(located, 0)
    }

    fn group_at(&mut self, located: &Located, depth: u16) -> Id {
        if depth >= limits::DEPTH {
            self.error(Kind::DepthLimit, located.span, "groups are nested too deeply").help =
                Some("put parts of the condition into conditions of their own".into());
            return UNKNOWN;
        }
        if !located.is_object() {
            let message = format!("a group must be an object with `conditions`, but this is {}", located.describe());
            self.error(Kind::InvalidCondition, located.span, message).help = Some(GROUP_HELP.into());
            return UNKNOWN;
        }
        self.unknown_keys(located, &GROUP_KEYS);
        let combinator = self.combinator(located);
        if located.get("conditions").is_none() {
            self.error(Kind::InvalidCondition, located.span, "a group needs `conditions`").help =
                Some(GROUP_HELP.into());
            return UNKNOWN;
        }
        let Some(children) = self.children(located, combinator) else {
            return UNKNOWN;
        };
        let ids: Vec<_> = children
            .iter()
            .map(|child| if is_group(child) { self.group_at(child, depth + 1) } else { self.clause(child) })
            .collect();
        match combinator {
            Some("or") => self.emit_all(Node::Some, &ids, located.span),
            Some("not") => self.program.emit(Node::Not(ids[0]), located.span),
            _ => self.emit_all(Node::Every, &ids, located.span),
        }
    }

    fn combinator<'l>(&mut self, located: &'l Located) -> Option<&'l str> {
        let Some(combinator) = located.get("combinator") else {
            self.warn(Kind::CombinatorAbsent, located.span, "`combinator` is missing; the default is `and`").help =
                Some("write \"combinator\": \"and\"".into());
            return Some("and");
        };
        match combinator.text().map(|text| &**text) {
            Some(known @ ("and" | "or" | "not")) => Some(known),
            other => {
                let written = other.map_or_else(|| combinator.describe().to_owned(), |text| format!("`{text}`"));
                let message = format!("`combinator` must be `and`, `or` or `not`, not {written}");
                // Findings are sorted by position, and those of a group come before those of its conditions.
                let after = located.get("conditions").is_some_and(|list| list.span.start < combinator.span.start);
                let span = if after { located.span } else { combinator.span };
                self.error(Kind::InvalidCombinator, span, message).help = Some("write it in lower case".into());
                if let Some(text) = other {
                    self.suggest(text, ["and", "or", "not"]);
                }
                None
            }
        }
    }

    fn children<'l>(&mut self, located: &'l Located, combinator: Option<&str>) -> Option<&'l [Located]> {
        let conditions = located.get("conditions")?;
        let items = self.entries(conditions, Kind::InvalidCondition)?;
        if items.is_empty() {
            self.error(Kind::EmptyConditions, conditions.span, "a group needs at least one condition").help =
                Some("add {\"variable\": …, \"operator\": …, \"value\": …}".into());
            return None;
        }
        if combinator == Some("not") && items.len() != 1 {
            let message = format!("`not` takes exactly one condition, not {}", items.len());
            self.error(Kind::NotArity, conditions.span, message).help =
                Some("put the conditions into one `and` or `or` group inside it".into());
            return None;
        }
        Some(items)
    }

    /// Compiles a clause. Findings come in this order: shape, operator, type, value, operator for type, templates, literals.
    fn clause(&mut self, located: &Located) -> Id {
        let Some((operator, ty)) = self.clause_head(located) else {
            return UNKNOWN;
        };
        let value = located.get("value").filter(|value| !value.is_null());
        if operator.takes_value() && value.is_none() {
            let message = format!("`{}` needs a `value` that is not null", operator.as_str());
            self.error(Kind::MissingValue, located.span, message).help =
                Some("add `value`, or use `is_empty` or `is_not_empty`".into());
            return UNKNOWN;
        }
        if !operator.works_on(ty) {
            let message = format!("the operator `{}` does not support the type `{}`", operator.as_str(), ty.as_str());
            let working = Operator::ALL.into_iter().filter(|known| known.works_on(ty)).map(Operator::as_str);
            let working = working.collect::<Vec<_>>().join(", ");
            self.error(Kind::InvalidOperatorForType, located.span, message).help =
                Some(format!("`{}` supports {working}", ty.as_str()));
            return UNKNOWN;
        }
        let test = TypedComparison { operator, ty };
        let variable = located.get("variable").expect("the head was checked");
        let before = self.findings.len();
        let left = self.template_value(variable, Single::Operand);
        let right =
            value.filter(|_| operator.takes_value()).map(|value| (value, self.template_value(value, Single::Operand)));
        if self.findings[before..].iter().all(|finding| finding.severity == crate::Severity::Warning) {
            self.literals(test, (variable, left), right);
        }
        let clause =
            Clause { rule: Rule::Typed(test), left: left.id, right: right.map(|(_, right)| right.id), now: None };
        self.program.clause(clause, located.span)
    }

    fn clause_head(&mut self, located: &Located) -> Option<(Operator, Type)> {
        if !located.is_object() {
            self.wrong_shape(Kind::InvalidCondition, located, "a condition must be an object").help =
                Some("write {\"variable\": …, \"operator\": …, \"value\": …}".into());
            return None;
        }
        self.unknown_keys(located, &CLAUSE_KEYS);
        if located.get("variable").is_none() {
            self.error(Kind::InvalidCondition, located.span, "`variable` is missing").help =
                Some("add `variable`, the value to test".into());
            return None;
        }
        let operator = located.get("operator");
        let Some(written) = operator.and_then(Located::text) else {
            self.error(Kind::InvalidCondition, located.span, "`operator` is missing or not text").help =
                Some("add `operator`, such as `equals`".into());
            return None;
        };
        let Some(known) = Operator::ALL.into_iter().find(|known| known.as_str() == &**written) else {
            let span = operator.map_or(located.span, |operator| operator.span);
            let known = Operator::ALL.map(Operator::as_str).join(", ");
            self.error(Kind::UnknownOperator, span, format!("unknown operator `{written}`")).help =
                Some(format!("the operators are {known}"));
            self.suggest(written, Operator::ALL.map(Operator::as_str));
            return None;
        };
        let ty = match located.get("type") {
            None => Type::Auto,
            Some(ty) => {
                let written = ty.text().map_or("", |text| &**text);
                let Some(known) = Type::ALL.into_iter().find(|known| known.as_str() == written) else {
                    let known = Type::ALL.map(Type::as_str).join(", ");
                    self.error(Kind::UnknownType, ty.span, format!("unknown type `{written}`")).help =
                        Some(format!("the types are {known}"));
                    self.suggest(written, Type::ALL.map(Type::as_str));
                    return None;
                };
                known
            }
        };
        Some((known, ty))
    }

    /// Reports literals that cannot be read as their type, with the error kind that they would have at run time.
    fn literals(&mut self, test: TypedComparison, left: (&Located, Compiled), right: Option<(&Located, Compiled)>) {
        let bump = Bump::new();
        let work = Work::new(&bump, &crate::Limits::DEFAULT);
        let operands = [Some((left.0, left.1, false)), right.map(|(located, compiled)| (located, compiled, true))];
        let literals: Vec<_> = operands.into_iter().flatten().filter(|(_, compiled, _)| compiled.literal).collect();
        let views: Vec<_> = literals.iter().map(|(located, ..)| keep(located.to_value().view(), &bump)).collect();
        for ((located, _, is_value), view) in literals.iter().zip(&views) {
            if let Err(fault) = test.check_operand(&work, *view, *is_value) {
                self.error(fault.kind, located.span, fault.message).help = Some(other_value(test));
                return;
            }
        }
        if let ([(left, ..), _], [left_view, right_view]) = (&literals[..], &views[..])
            && let Err(fault) = test.holds(&work, *left_view, *right_view)
        {
            self.error(fault.kind, left.span, fault.message).help = Some(other_value(test));
        }
    }
}

fn other_value(test: TypedComparison) -> String {
    match test.ty {
        Type::Auto => "compare values of the same type, or set `type`".to_owned(),
        ty => format!("write a value of the type `{}`, or change `type`", ty.as_str()),
    }
}

/// Whether a document is a group: it has a combinator or a list of conditions.
pub(crate) fn is_group(located: &Located) -> bool {
    located.get("conditions").is_some() || located.get("combinator").is_some()
}
