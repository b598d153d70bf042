//! One condition has one answer, whatever road it takes: over JSON, over values, over slots; short or long; explained.

use branchpoint_expr::{Bind, Binding, Condition, Dialect, EvalError, Expression, Located, Options, Slots, Value};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value as Json;

use crate::cases;
use crate::generate::{ROOTS, any_json, condition, context, expression};

/// Every root has a slot of its own.
struct Roots;

impl Bind for Roots {
    fn bind(&self, path: &[&str]) -> Option<Binding> {
        let slot = ROOTS.iter().position(|root| *root == path[0])?;
        Some(Binding { slot: u32::try_from(slot).ok()?, parts: 1 })
    }
}

fn slots(context: &Json) -> Vec<Value> {
    ROOTS.iter().map(|root| context.get(root).map(Value::from).unwrap_or_default()).collect()
}

/// The value over JSON, over a value and over slots.
fn three_ways(text: &str, dialect: Dialect, context: &Json) -> Option<[Result<Value, EvalError>; 3]> {
    let options = Options::dialect(dialect);
    let named = Expression::compile(text, options).ok()?;
    let bound = Expression::compile(text, options.bound(&Roots)).expect("binding changes nothing in what compiles");
    Some([named.value(context), named.value(&Value::from(context)), bound.value(&Slots(&slots(context)))])
}

fn three_truths(text: &str, dialect: Dialect, context: &Json) -> Option<[Result<bool, EvalError>; 3]> {
    let options = Options::dialect(dialect);
    let named = Condition::expression(text, options).ok()?;
    let bound = Condition::expression(text, options.bound(&Roots)).expect("binding changes nothing in what compiles");
    Some([named.evaluate(context), named.evaluate(&Value::from(context)), bound.evaluate(&Slots(&slots(context)))])
}

/// A structured condition over JSON, over a value and over slots.
fn three_documents(document: &Json, dialect: Dialect, context: &Json) -> Option<[Result<bool, EvalError>; 3]> {
    let located = Located::from(&Value::from(document));
    let options = Options::dialect(dialect);
    let compile = |options| match located.get("group") {
        Some(group) => Condition::group(group, options),
        None => Condition::targets(&located, options),
    };
    let named = compile(options).ok()?;
    let bound = compile(options.bound(&Roots)).expect("binding changes nothing in what compiles");
    let outcomes =
        [named.evaluate(context), named.evaluate(&Value::from(context)), bound.evaluate(&Slots(&slots(context)))];
    assert_eq!(named.explain(context).outcome, outcomes[0], "explaining changes nothing");
    Some(outcomes)
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn structured_conditions_over_json_values_and_slots_give_the_same(document in condition(), context in context()) {
        // A slot is there, if only with nil; so the roots have to be, where the dialect tells the difference.
        let mut context = context;
        for root in ROOTS {
            context.as_object_mut().expect("a context is an object").entry(root).or_insert(Json::Null);
        }
        for dialect in [Dialect::Machine, Dialect::Steps] {
            if let Some([json, value, slots]) = three_documents(&document, dialect, &context) {
                prop_assert_eq!(&json, &value, "{:?} over a value: {}", dialect, document);
                prop_assert_eq!(&json, &slots, "{:?} over slots: {}", dialect, document);
            }
        }
    }

    #[test]
    fn json_values_and_slots_give_the_same(text in expression(Dialect::Machine), context in context()) {
        for dialect in [Dialect::Machine, Dialect::Steps, Dialect::Session] {
            if let Some([json, value, slots]) = three_ways(&text, dialect, &context) {
                prop_assert_eq!(&json, &value, "{:?} over a value: {}", dialect, text);
                prop_assert_eq!(&json, &slots, "{:?} over slots: {}", dialect, text);
            }
            if let Some([json, value, slots]) = three_truths(&text, dialect, &context) {
                prop_assert_eq!(&json, &value, "{:?} over a value: {}", dialect, text);
                prop_assert_eq!(&json, &slots, "{:?} over slots: {}", dialect, text);
            }
        }
    }
}

const OPERATORS: [&str; 13] =
    ["==", "!=", "<", "<=", ">", ">=", "in", "contains", "startsWith", "endsWith", "matches", "not in", "not contains"];

/// An operand that is read where it lies.
fn leaf() -> BoxedStrategy<String> {
    prop_oneof![
        3 => select(&["inputs.a", "inputs.b.a", "inputs", "x", "x.a", "states.check.Output", "inputs.missing"][..]),
        1 => select(&["1", "2.0", "-3", "0.5", "9007199254740993", "'a'", "'12'", "''", "true", "nil"][..]),
        1 => select(&["['a', '12']", "[1, 'a']", "[]"][..]),
    ]
    .prop_map(String::from)
    .boxed()
}

/// One comparison, plain and in a form that has to be evaluated the long way: `(true ? a : a)` is no leaf.
fn comparison() -> BoxedStrategy<(String, String)> {
    (leaf(), select(&OPERATORS[..]), leaf())
        .prop_map(|(left, operator, right)| {
            (format!("{left} {operator} {right}"), format!("(true ? {left} : {left}) {operator} {right}"))
        })
        .boxed()
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn the_fast_path_gives_what_full_evaluation_gives(
        parts in prop::collection::vec((any::<bool>(), comparison()), 1..4),
        operator in select(&[" && ", " || "][..]),
        inputs in any_json(),
        x in any_json(),
        output in any_json(),
    ) {
        let join = |long: bool| {
            let parts: Vec<_> = parts
                .iter()
                .map(|(negated, (plain, long_way))| {
                    let text = if long { long_way } else { plain };
                    if *negated { format!("!({text})") } else { text.clone() }
                })
                .collect();
            parts.join(operator)
        };
        let context = serde_json::json!({"inputs": inputs, "x": x, "states": {"check": {"Output": output}}});
        for dialect in [Dialect::Machine, Dialect::Steps, Dialect::Session] {
            let options = Options::dialect(dialect);
            let short = Condition::expression(&join(false), options);
            let long = Condition::expression(&join(true), options);
            let (Ok(short), Ok(long)) = (short, long) else { continue };
            let kinds = |outcome: Result<bool, EvalError>| outcome.map_err(|error| (error.kind, error.detail));
            let over_json = kinds(short.evaluate(&context));
            prop_assert_eq!(&over_json, &kinds(long.evaluate(&context)), "{} over {}", join(false), context);
            let value = Value::from(&context);
            prop_assert_eq!(&over_json, &kinds(short.evaluate(&value)), "{} over the value {}", join(false), context);
            let explained = kinds(short.explain(&context).outcome);
            prop_assert_eq!(&over_json, &explained, "{} explained over {}", join(false), context);
        }
    }
}
