//! Every bound has its kind, and what goes over it ends there: no hang, no panic, no memory without end.

use branchpoint_expr::{Condition, Dialect, Environment, Expression, Limits, Object, Options, Value, limits};
use serde_json::json;

/// The cause of what stopped an expression, at load or at run.
fn stopped(dialect: Dialect, source: &str, context: &serde_json::Value) -> String {
    match Expression::compile(source, Options::dialect(dialect)) {
        Err(problems) => format!("refused {}", problems.first().cause()),
        Ok(expression) => match expression.value(context) {
            Err(error) => format!("failed {}", error.detail),
            Ok(_) => "nothing".into(),
        },
    }
}

#[track_caller]
fn check(source: &str, expect: &str) {
    let context = json!({
        "inputs": {"text": "ab".repeat(600_000), "list": (0..5000).collect::<Vec<_>>(), "pattern": "a.*b",
            "texts": vec!["ab".repeat(30_000); 10]},
    });
    let shown: String = source.chars().take(100).collect();
    assert_eq!(stopped(Dialect::Session, source, &context), expect, "{shown}");
}

#[test]
fn nesting_is_bounded_in_every_form_it_takes() {
    let around = |open: &str, inner: &str, close: &str| format!("{}{inner}{}", open.repeat(200), close.repeat(200));
    check(&around("(", "1", ")"), "refused depth_limit");
    check(&around("[", "1", "]"), "refused depth_limit");
    check(&around("{a: ", "1", "}"), "refused depth_limit");
    check(&around("len(", "1", ")"), "refused depth_limit");
    check(&around("map([1], ", "1", ")"), "refused depth_limit");
    check(&around("!", "true", ""), "refused depth_limit");
    check(&around("-", "1", ""), "refused depth_limit");
    check(&around("not ", "true", ""), "refused depth_limit");
    check(&around("2 ** ", "2", ""), "refused depth_limit");
    check(&around("true ? 1 : ", "1", ""), "refused depth_limit");
    check(&around("if true { 1 } else { ", "1", "}"), "refused depth_limit");
    check(&around("if true { 1 } else ", "{ 1 }", ""), "refused depth_limit");
    check(&around("let x = 1; ", "1", ""), "refused depth_limit");
    check(&around("1; ", "1", ""), "refused depth_limit");
    check(&"1;".repeat(9000), "refused depth_limit");
    check(&around("1 < (", "1", " ? 1 : 2) < 9"), "refused depth_limit");
    check(&format!("inputs{}", ".a".repeat(200)), "refused depth_limit");
    check(&format!("inputs{}", "[0]".repeat(200)), "refused depth_limit");
    check(&format!("1{}", " + 1".repeat(200)), "refused depth_limit");
    check(&format!("inputs{}", " | len()".repeat(200)), "refused depth_limit");
    check(&format!("nil{}", " ?? nil".repeat(200)), "refused depth_limit");
    check(&format!("{{{{inputs{}}}}}", ".a".repeat(200)), "refused syntax");
    // What is long is not deep.
    check(&format!("true{}", " && true".repeat(5000)), "nothing");
}

#[test]
fn the_deepest_accepted_expression_fits_on_the_stack_of_a_thread() {
    let nested = |open: &str, inner: &str, close: &str, depth: usize| {
        format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    for (open, close) in
        [("[", "]"), ("(", ")"), ("{a: ", "}"), ("len([", "])"), ("map([1], ", ")"), ("(true ? 1 : ", ")")]
    {
        for depth in 1..130 {
            let source = nested(open, "1", close, depth);
            let _ = stopped(Dialect::Session, &source, &json!({}));
            let source = format!("{source} == 1");
            if let Ok(condition) = Condition::expression(&source, Options::dialect(Dialect::Session)) {
                let _ = condition.explain(&json!({})).tree.render();
            }
        }
    }
}

#[test]
fn groups_are_bounded_in_depth() {
    let mut group = json!({"variable": 1, "operator": "equals", "value": 1});
    for _ in 0..200 {
        group = json!({"combinator": "and", "conditions": [group]});
    }
    let refused = Condition::group(&crate::located(&group), Options::dialect(Dialect::Flow)).expect_err("too deep");
    assert_eq!(refused.first().kind.as_str(), "depth_limit");
}

#[test]
fn parts_and_text_are_bounded() {
    check(&format!("[{}]", "1,".repeat(20_001)), "refused node_limit");
    check(&format!("'{}'", "x".repeat(1 << 20)), "refused node_limit");
    let targets: Vec<_> = (0..7000).map(|n| json!({"target": "input", "operator": "$eq", "value": n})).collect();
    let targets = crate::located(&json!({"conditions": targets}));
    let refused = Condition::targets(&targets, Options::dialect(Dialect::Steps)).expect_err("too many");
    assert_eq!(refused.first().kind.as_str(), "node_limit");
}

#[test]
fn work_is_bounded() {
    check("all(1..9000000000000000000, inputs.text[5] == 'b')", "failed step_limit");
    check("sum(1..9000000000000000000, len(inputs.text))", "failed step_limit");
    // Text is looked at, too, and so are the elements of lists.
    check("all(1..1000000, !(inputs.text contains 'zz'))", "failed step_limit");
    check("all(1..1000000, inputs.text == inputs.text)", "failed step_limit");
    check("all(1..1000000, inputs.text <= inputs.text)", "failed step_limit");
    check("all(1..1000000, inputs.text in ['x', 'y'] || true)", "failed step_limit");
    check("all(1..1000000, inputs.texts == inputs.texts)", "failed step_limit");
    check("all(1..1000000, inputs.text in inputs.texts || true)", "failed step_limit");
    check(
        "all(inputs.list, all(inputs.list, len(inputs.list) > 0 && first(inputs.list[1:]) > 0))",
        "failed size_limit",
    );
    // What takes no work may be endless.
    check("(1..9000000000000000000) == (1..9000000000000000000)", "failed step_limit");
    check("'x' in (1..9000000000000000000)", "nothing");
    check("9000000000000000000 in (1..9000000000000000000)", "nothing");
    check("len(1..9000000000000000000) + last(1..9000000000000000000) > 0", "failed out_of_range");
    check("take(1..9000000000000000000, 5)", "nothing");
}

#[test]
fn values_that_share_their_parts_are_bounded_when_they_are_unfolded() {
    let doubled = "reduce(1..60, [#acc, #acc], inputs.text)";
    check(doubled, "failed size_limit");
    check(&format!("{doubled} == {doubled}"), "failed step_limit");
    check(&format!("toJSON({doubled})"), "failed size_limit");
    check("flatten(reduce(1..60, [#acc, #acc], inputs.list))", "failed size_limit");
    check("max(reduce(1..60, [#acc, #acc], inputs.list))", "failed size_limit");
    // Such a value is also too long to be shown in full, and the message does not try.
    check(&format!("{doubled} > 1"), "failed wrong_kind");
    check(&format!("{doubled}.field"), "failed wrong_kind");
    let nested: Vec<_> = (0..60).map(|n| format!("let v{} = [v{n}, v{n}];", n + 1)).collect();
    check(&format!("let v0 = inputs.text; {} v60", nested.concat()), "failed size_limit");
}

/// Doubles a value of a context again and again, as a workflow does that sets `x` to `[x, x]`: the value before is shared.
fn doubled(source: &str, mut x: Value) -> (usize, String) {
    let double = Expression::compile(source, Options::dialect(Dialect::Session)).expect("it compiles");
    for times in 0..100 {
        let context = Value::from([("x".into(), x.clone())].into_iter().collect::<Object>());
        match double.value(&context) {
            Ok(value) => x = value,
            Err(error) => {
                assert!(x.size().bytes <= limits::VALUE_BYTES);
                return (times, format!("{} {}", error.kind, error.detail));
            }
        }
    }
    panic!("it never ends");
}

#[test]
fn a_value_made_of_shared_parts_is_bounded_when_it_is_made() {
    // An eight-byte part becomes 2^n parts of eight bytes each, and 2^n - 1 lists of eight bytes: 64 MiB at n = 22.
    assert_eq!(doubled("[x, x]", Value::Int(1)), (22, "value_limit value_limit".into()));
    assert_eq!(doubled("({'a': x, 'b': x})", Value::Int(1)).1, "value_limit value_limit");
    assert_eq!(doubled("({'a': [x, x, x]})", Value::from("abc")).1, "value_limit value_limit");
    // Texts are written out as they are made, and that has a bound of its own.
    assert_eq!(doubled("x + x", Value::from("ab")).1, "condition_error size_limit");
}

#[test]
fn the_size_of_a_value_is_that_of_its_unfolded_form() {
    fn unfolded(value: &Value) -> u64 {
        8 + match value {
            Value::Str(text) => text.len() as u64,
            Value::List(items) => items.iter().map(unfolded).sum(),
            Value::Object(fields) => fields.iter().map(|(key, value)| 8 + key.len() as u64 + unfolded(value)).sum(),
            _ => 0,
        }
    }
    let text = r#"{"a": [1, 2.5, null, true, "text", [], {}], "b": {"c": [["x"], ["y", ["z"]]]}}"#;
    let mut value: Value = serde_json::from_str(text).expect("this is JSON");
    assert_eq!((value.size().bytes, value.size().depth), (unfolded(&value), 5));
    for _ in 0..6 {
        value = Value::from(vec![value.clone(), Value::from("x"), value]);
        assert_eq!(value.size().bytes, unfolded(&value));
    }
    let Value::List(mut list) = value.clone() else { panic!("it is a list") };
    let before = list.push(value.clone());
    assert_eq!(list.size(), Value::from(list.to_vec()).size());
    assert_eq!(list.size().depth, value.size().depth + 1);
    list.undo_push(before);
    assert_eq!((list.size(), Value::List(list)), (value.size(), value.clone()), "the other copy has not changed");
    let fields: Object = [("old".into(), value)].into_iter().collect();
    let Value::Object(mut fields) = Value::from(fields) else { panic!("it is an object") };
    fields.edit(|fields| fields.insert("new".into(), Value::from("abc")));
    assert_eq!(fields.size().bytes, unfolded(&Value::Object(fields.clone())));
}

#[test]
fn values_are_bounded_in_depth() {
    let deep = "reduce(1..100000, [#acc], 1)";
    check(deep, "failed depth_limit");
    check(&format!("{deep} == {deep}"), "failed depth_limit");
    check(&format!("toJSON({deep})"), "failed depth_limit");
    check(&format!("uniq([{deep}])"), "failed depth_limit");
    check(&format!("flatten({deep})"), "failed depth_limit");
    check(&format!("mean({deep})"), "failed depth_limit");
    check(&format!("{deep} + 1"), "failed wrong_kind");
    check("reduce(1..100000, ({'a': #acc}), 1)", "failed depth_limit");
    check("fromJSON(repeat('[', 200) + repeat(']', 200))", "failed bad_json");
}

#[test]
fn produced_bytes_are_bounded() {
    check("repeat('x', 100000000)", "failed size_limit");
    check("repeat('x', 9000000000000000000)", "failed size_limit");
    check("repeat(inputs.text, 60) == ''", "failed size_limit");
    check("repeat(inputs.text, 50) == ''", "nothing");
    check("reduce(1..60, #acc + #acc, inputs.text)", "failed size_limit");
    check("reduce(1..60, concat(#acc, #acc), inputs.list)", "failed size_limit");
    check("1..9000000000000000000", "failed size_limit");
    check("map(1..9000000000000000000, split(inputs.text, 'a'))", "failed size_limit");
    check("filter(1..9000000000000000000, upper(inputs.text) != '')", "failed size_limit");
    check("map(1..5000, inputs.list[1:])", "failed size_limit");
    check("reverse(1..5000000)", "failed size_limit");
    check("(1..9000000000000000000)[2:]", "failed step_limit");
    check("replace(inputs.text, 'a', inputs.text)", "failed size_limit");
    check("replace(inputs.text, 'zz', inputs.text) == ''", "nothing");
    check("join(map(1..1000, inputs.text), ',')", "failed size_limit");
    check("split(inputs.text, 'a')", "nothing");
    check("map(1..1000, fromJSON('[' + inputs.text + ']'))", "failed bad_json");
    check("map(1..1000, toBase64(inputs.text))", "failed size_limit");
}

#[test]
fn regular_expressions_are_bounded_all_together() {
    // One search would do; together they are too much.
    check("all(1..5, inputs.text matches '^a{100}' || true)", "nothing");
    check("all(1..1000, inputs.text matches '^a{100}' || true)", "failed regex_limit");
    check("inputs.text matches '^a{1000}'", "failed regex_limit");
    // The same pattern is compiled once; patterns that differ are paid for.
    check("all(inputs.list, 'x' matches inputs.pattern || true)", "nothing");
    check("all(1..100000, 'x' matches repeat('a', # + 5000) || true)", "failed regex_limit");
    check("'x' matches repeat('a', 100000)", "failed bad_regex");
    check("'x' matches '(' + inputs.pattern", "failed bad_regex");
}

#[test]
fn the_bounds_are_the_same_over_values_and_in_explanations() {
    let source = "all(1..9000000000000000000, len(inputs.text) > 0)";
    let context = json!({"inputs": {"text": "x".repeat(1_000_000)}});
    let condition = Condition::expression(source, Options::dialect(Dialect::Session)).expect("it compiles");
    let over_value = condition.evaluate(&Value::from(&context)).expect_err("too much");
    assert_eq!(over_value.detail.as_str(), "step_limit");
    assert_eq!(condition.explain(&context).outcome, Err(over_value));
}

#[test]
fn numbers_that_a_host_should_not_have_do_not_panic() {
    // A float of a value is finite; a host that breaks this gets an odd answer, not a panic.
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let object = Value::from([("x".into(), Value::Float(odd))].into_iter().collect::<branchpoint_expr::Object>());
        for source in
            ["x", "x == 1", "x > 1", "string(x)", "x + 1", "int(x)", "round(x)", "x % 2", "[x]", "sort([x, 1])"]
        {
            let expression = Expression::compile(source, Options::dialect(Dialect::Session)).expect("it compiles");
            let _ = expression.value(&object).map(|value| value.to_string());
        }
    }
}

/// What stops an expression under one lowered limit; the default limits let all of these pass.
#[track_caller]
fn check_lowered(source: &str, lower: impl FnOnce(&mut Limits), expect: &str) {
    let mut environment = Environment::default();
    let context = json!({"list": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "text": "abcdefghij", "nested": [[[[1]]]]});
    let run = |environment: &Environment| {
        let options = Options::dialect(Dialect::Session).environment(environment);
        match Expression::compile(source, options) {
            Err(problems) => format!("refused {}", problems.first().cause()),
            Ok(expression) => match expression.value(&environment.over(&context)) {
                Err(error) => format!("failed {}", error.detail),
                Ok(_) => "nothing".into(),
            },
        }
    };
    assert_eq!(run(&environment), "nothing", "{source}");
    lower(&mut environment.limits);
    assert_eq!(run(&environment), expect, "{source}");
}

#[test]
fn every_limit_can_be_lowered() {
    check_lowered("[[[[1]]]]", |limits| limits.depth = 3, "refused depth_limit");
    check_lowered("flatten(nested)", |limits| limits.depth = 3, "failed depth_limit");
    check_lowered("nested == [[[[1]]]] ? 1 : 2", |limits| limits.depth = 3, "refused depth_limit");
    check_lowered("nested", |limits| limits.depth = 3, "failed depth_limit");
    check_lowered("1 + 2 + 3 + 4", |limits| limits.nodes = 5, "refused node_limit");
    check_lowered("text == 'abc'", |limits| limits.source_bytes = 8, "refused node_limit");
    check_lowered("map(list, # + 1)", |limits| limits.steps = 20, "failed step_limit");
    check_lowered("repeat(text, 20)", |limits| limits.produced_bytes = 100, "failed size_limit");
    check_lowered("toJSON(list)", |limits| limits.produced_bytes = 10, "failed size_limit");
    check_lowered("list", |limits| limits.value_bytes = 20, "failed value_limit");
    check_lowered("text matches 'a.*j'", |limits| limits.regex_steps = 5, "failed regex_limit");
}

#[test]
fn a_depth_beyond_what_a_stack_holds_counts_as_the_default() {
    let environment = Environment { limits: Limits { depth: u16::MAX, ..Limits::DEFAULT }, ..Environment::default() };
    let source = format!("{}1{}", "(".repeat(50_000), ")".repeat(50_000));
    let problems = Expression::compile(&source, Options::default().environment(&environment)).unwrap_err();
    assert_eq!(problems.first().cause().as_str(), "depth_limit");
}
