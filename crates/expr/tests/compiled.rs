//! What a compiled expression tells about itself: the slots it reads, and a text for people who read lowered programs.

use branchpoint_expr::{Bind, Binding, Condition, Dialect, Expression, Located, Name, Options, Value};
use serde_json::json;

/// Every root has a slot: its length, so that tests can name it. `x.y` has one of its own, 10.
struct ByLength;

impl Bind for ByLength {
    fn bind(&self, path: &[&str]) -> Option<Binding> {
        match path {
            ["x", "y", ..] => Some(Binding { slot: 10, parts: 2 }),
            [root, ..] => Some(Binding { slot: u32::try_from(root.len()).ok()?, parts: 1 }),
            [] => None,
        }
    }
}

fn options() -> Options<'static> {
    Options::dialect(Dialect::Steps).bound(&ByLength)
}

#[track_caller]
fn check_slots(text: &str, expect: &[u32]) {
    let expression = Expression::compile(text, options()).unwrap_or_else(|problems| panic!("{text}: {problems}"));
    assert_eq!(expression.slots(), expect, "{text}");
}

#[test]
fn slots_are_listed_once_in_ascending_order() {
    check_slots("1 + 2", &[]);
    check_slots("abc", &[3]);
    check_slots("abc.d + ab + abc.e", &[2, 3]);
    check_slots("x.y == 1 && x.z == 2", &[1, 10]);
    check_slots("filter(list, .price > limit)", &[4, 5]);
    check_slots("let v = a; v + bb", &[1, 2]);
}

#[test]
fn conditions_list_their_slots() {
    let condition = Condition::expression("abc == 1 || ab in ['p', 'q']", options()).expect("it compiles");
    assert_eq!(condition.slots(), [2, 3]);
    let list = json!([{"target": "input", "operator": "$eq", "value": "{{ab}}"}]);
    let step = Value::from(&json!({"conditions": list, "match": "all"}));
    let condition = Condition::targets(&Located::from(&step), options()).expect("it compiles");
    assert!(condition.slots().contains(&5), "{:?}", condition.slots());
}

#[test]
fn without_slots_there_are_none() {
    let expression = Expression::compile("inputs.x + 1", Options::default()).expect("it compiles");
    assert!(expression.slots().is_empty());
}

#[test]
fn a_constant_is_never_read_as_a_template() {
    for json in [json!(null), json!("{{ inputs.x }}"), json!({"a": ["{{inputs.x}}", 1.5]})] {
        let value = Value::from(&json);
        let constant = Expression::constant(value.clone());
        assert_eq!(constant.value(&json!({"inputs": {"x": 1}})), Ok(value));
        assert!(constant.slots().is_empty());
    }
}

#[test]
fn a_read_gives_what_the_context_has_or_nil() {
    let read = |text: &str| Expression::read(Name { text: text.into(), slot: Some(7) });
    assert_eq!(read("a b").value(&json!({"a b": [1]})), Ok(Value::from(vec![Value::Int(1)])));
    assert_eq!(read("c").value(&json!({})), Ok(Value::Null));
    assert_eq!(read("c").slots(), [7]);
}

#[track_caller]
fn check_text(text: &str, expect: &str) {
    let expression = Expression::compile(text, options()).unwrap_or_else(|problems| panic!("{text}: {problems}"));
    assert_eq!(expression.to_string(), expect, "{text}");
}

#[test]
fn a_compiled_expression_reads_like_one() {
    check_text("1", "1");
    check_text("'a'", r#""a""#);
    check_text("input.a['b c'][0]", r#"input.a["b c"][0]"#);
    check_text("input[input.key]", "input[input.key]");
    check_text("input.a == 1", "input.a == 1");
    check_text("1 + 2 * input.n", "1 + (2 * input.n)");
    check_text("!(input.a && input.b)", "!(input.a && input.b)");
    check_text("input.a ? 'x' : -input.n", r#"input.a ? "x" : -input.n"#);
    check_text("input.a ?? 'none'", r#"input.a ?? "none""#);
    check_text("input.kind in ['a', 'b']", r#"input.kind in ["a", "b"]"#);
    check_text("input.name matches '^a'", r#"input.name matches "^a""#);
    check_text("len(input.list) > 3", "len(input.list) > 3");
    check_text("[1, input.a, {'k': input.b}]", r#"[1, input.a, {"k": input.b}]"#);
    check_text("input.list[1:]", "input.list[1:]");
    check_text("filter(input.list, .price > 1)", r#"filter(input.list, $0 => $0["price"] > 1)"#);
    check_text("let v = input.a; v + 1", "let $0 = input.a; $0 + 1");
}

#[test]
fn templates_and_structured_conditions_have_a_text_too() {
    let template = Expression::template("Dear {{input.name}}!", options()).expect("it compiles");
    assert_eq!(template.to_string(), r#"text("Dear ", input.name, "!")"#);
    let group = json!({"combinator": "and", "conditions": [
        {"variable": "{{ $a }}", "operator": "equals", "value": 1},
        {"variable": "{{ $b }}", "operator": "is_empty"},
    ]});
    let options = Options::dialect(Dialect::Flow).bound(&ByLength);
    let condition = Condition::group(&Located::from(&Value::from(&group)), options).expect("it compiles");
    assert_eq!(condition.to_string(), "(a equals 1) && (b is_empty)");
}
