//! Functions that a host registers.

use branchpoint_expr::function::{Function, OnNil, Types, fault};
use branchpoint_expr::{Condition, Environment, Expression, Kind, Options, Value, View};
use serde_json::json;

/// `twice(number)` is pure, `ticks()` is not and costs 10 steps, `late()` fails with a kind of its own, `kind(value)` takes nil.
fn environment() -> Environment {
    let twice = Function::new("twice", 1..=1, [Types::INT], Types::INT, |_, arguments| {
        Ok(View::Int(arguments[0].expect_integer("twice()")?.saturating_mul(2)))
    });
    let ticks = Function::new("ticks", 0..=0, [], Types::INT, |_, _| Ok(View::Int(1)));
    let late =
        Function::new("late", 0..=0, [], Types::BOOL, |_, _| fault(Kind::new("too_late"), "the shop has closed"));
    let kind =
        Function::new("kind", 1..=1, [Types::ANY], Types::STR, |_, arguments| Ok(View::Str(arguments[0].type_name())));
    let mut environment = Environment::default();
    for function in [twice.pure(), ticks.cost(10), late, kind.on_nil(OnNil::Call)] {
        environment.functions.register(function).expect("every name is there once");
    }
    environment
}

/// What an expression gives over `{"n": 21}`, or the cause of its failure.
#[track_caller]
fn check(text: &str, expect: &str) {
    let environment = environment();
    let got = match Expression::compile(text, Options::default().environment(&environment)) {
        Err(problems) => format!("refused {}", problems.first().cause()),
        Ok(expression) => match expression.value(&environment.over(&json!({"n": 21}))) {
            Ok(value) => format!("{value:?}"),
            Err(error) => format!("failed {}", error.detail),
        },
    };
    assert_eq!(got, expect, "{text}");
}

#[test]
fn a_registered_function_is_called_and_checked_like_a_built_in_one() {
    check("twice(n)", "42");
    check("sum(map(1..3, twice(#)))", "12");
    check("twice(nothing)", "null");
    check("kind(nothing)", "\"nil\"");
    check("twice()", "refused wrong_arity");
    check("twice('a')", "refused type_clash");
    check("twise(n)", "refused unknown_function");
    check("late()", "failed too_late");
}

#[test]
fn a_suggestion_names_registered_functions() {
    let environment = environment();
    let problems = Expression::compile("twise(n)", Options::default().environment(&environment)).unwrap_err();
    assert_eq!(problems.first().help.as_deref(), Some("did you mean `twice`?"));
}

#[test]
fn a_function_that_is_not_registered_where_it_is_called_is_an_error() {
    let environment = environment();
    let twice = Expression::compile("twice(n)", Options::default().environment(&environment)).unwrap();
    assert_eq!(twice.host_functions().collect::<Vec<_>>(), ["twice"]);
    assert_eq!(twice.value(&json!({"n": 1})).unwrap_err().detail, Kind::UnknownFunction);
    let mut other = Environment::default();
    let pair = Function::new("twice", 2..=2, [Types::INT], Types::INT, |_, arguments| Ok(arguments[1]));
    other.functions.register(pair).unwrap();
    assert_eq!(twice.value(&other.over(&json!({"n": 1}))).unwrap_err().detail, Kind::WrongArity);
}

#[test]
fn names_of_functions_are_unique() {
    for name in ["twice", "len", "map", "strip", "shellQuote"] {
        let function = Function::new(name, 0..=0, [], Types::NIL, |_, _| Ok(View::Null));
        assert_eq!(environment().functions.register(function).unwrap_err().0, name);
    }
}

#[test]
fn every_call_costs_what_its_function_says() {
    let mut environment = environment();
    environment.limits.steps = 45;
    let ticks = |times: usize| {
        let text = vec!["ticks()"; times].join(" + ");
        let expression = Expression::compile(&text, Options::default().environment(&environment)).unwrap();
        expression.value(&environment.over(&Value::Null)).map_err(|error| error.detail)
    };
    assert_eq!(ticks(4), Ok(Value::Int(4)));
    assert_eq!(ticks(5), Err(Kind::StepLimit));
}

#[test]
fn a_condition_is_pure_if_all_its_functions_are() {
    let environment = environment();
    let is_pure = |text| {
        let condition = Condition::expression(text, Options::default().environment(&environment)).unwrap();
        condition.is_pure(&environment)
    };
    assert!(is_pure("twice(n) > 3 && len(name) > 1"));
    assert!(!is_pure("ticks() > 3"));
    assert!(!is_pure("any([1], twice(#) == ticks())"));
}

#[test]
fn stored_programs_keep_the_names_of_registered_functions() {
    let environment = environment();
    let condition = Condition::expression("twice(n) == 42", Options::default().environment(&environment)).unwrap();
    let stored = serde_json::to_string(&condition).unwrap();
    assert!(stored.contains("\"twice\""), "{stored}");
    let read: Condition = serde_json::from_str(&stored).unwrap();
    assert!(read.evaluate(&environment.over(&json!({"n": 21}))).unwrap());
}
