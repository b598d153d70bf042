//! Internal functions for variables and types.

use branchpoint_core::functions::{ENVIRONMENT, Typing, is_same};
use branchpoint_expr::{Bind, Binding, Dialect, Expression, Options, Slots, Value};

/// Binds every name to a field of one slot.
struct OneObject;

impl Bind for OneObject {
    fn bind(&self, _: &[&str]) -> Option<Binding> {
        Some(Binding { slot: 0, parts: 0 })
    }
}

fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

/// Evaluates a formula over the variables `{"o": {"a": {"b": 1}}, "t": "x", "n": null, "l": [1]}`.
#[track_caller]
fn check(formula: &str, expect: &str) {
    let variables = [value(r#"{"o": {"a": {"b": 1}}, "t": "x", "n": null, "l": [1]}"#)];
    let options = Options::dialect(Dialect::Flow).bound(&OneObject).environment(&ENVIRONMENT).generated();
    let expression = Expression::compile(formula, options).unwrap_or_else(|problems| panic!("{formula}: {problems}"));
    let got = match expression.value(&ENVIRONMENT.over(&Slots(&variables))) {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("{}: {}", error.kind, error.message),
    };
    assert!(got.starts_with(expect), "{formula}\nexpected {expect}\ngot      {got}");
}

#[test]
fn a_slot_may_be_bound_to_the_empty_path() {
    check("$o.a.b", "1");
    check("$t", "\"x\"");
    check("$l[0]", "1");
    check("$nope", "missing_variable: `nope` does not exist");
    check("$o.nope.x", "missing_variable: `o.nope.x` does not exist");
    check("$nope ?? 7", "7");
}

#[test]
fn documents_cannot_call_inner_functions() {
    let problems = Expression::compile("putPath($a, [], 1)", Options::dialect(Dialect::Flow)).unwrap_err();
    assert_eq!(problems.first().cause().as_str(), "unknown_function");
}

#[test]
fn setting_a_path_creates_missing_objects() {
    check(r#"putPath($o, ["a", "c"], 2)"#, r#"{"a":{"b":1,"c":2}}"#);
    check(r#"putPath($o, ["x", "y", "z"], $l)"#, r#"{"a":{"b":1},"x":{"y":{"z":[1]}}}"#);
    check(r#"putPath($o, ["a"], nil)"#, r#"{"a":null}"#);
    check(
        r#"putPath($o, ["a", "b", "c"], 1)"#,
        "path_conflict: `c` cannot be set inside the number 1, which is not an object",
    );
    check(
        r#"putPath({"n": $n}, ["n", "x"], 1)"#,
        "path_conflict: `x` cannot be set inside nil, which is not an object",
    );
}

#[test]
fn names_with_dots_are_nested_in_any_order() {
    check(r#"nested({"u.t": 1, "u": {"a": 2}, "v": 3})"#, r#"{"u":{"a":2,"t":1},"v":3}"#);
    check(r#"nested({"u.t.x": 1, "u.t.y": 2})"#, r#"{"u":{"t":{"x":1,"y":2}}}"#);
    check(r#"nested({"u.t": 1, "u": "text"})"#, "path_conflict");
    check("nested(nil)", "{}");
    check("nested($l)", "type_mismatch");
}

#[test]
fn variables_are_picked_by_their_keys() {
    check(r#"pick($o, ["a", "nope", "a"])"#, r#"{"a":{"b":1}}"#);
    check("pick($o, [])", "{}");
}

#[test]
fn a_declaration_converts_a_value_to_its_type() {
    for (given, ty, expect) in [
        ("nil", "string", "null"),
        ("5", "string", "\"5\""),
        ("true", "string", "\"true\""),
        ("[1]", "string", "type_mismatch"),
        ("'  '", "string", "\"  \""),
        ("'  '", "number", "null"),
        ("' 7 '", "number", "7"),
        ("'1e999'", "number", "type_mismatch"),
        ("true", "number", "type_mismatch"),
        ("'YES'", "boolean", "true"),
        ("'off'", "boolean", "false"),
        ("1", "boolean", "true"),
        ("2", "boolean", "type_mismatch"),
        ("'[1]'", "array", "[1]"),
        ("'{}'", "array", "type_mismatch"),
        (r#"'{"a":1}'"#, "object", r#"{"a":1}"#),
        ("''", "object", "null"),
        ("'x'", "null", "type_mismatch"),
    ] {
        let expect = if expect == "type_mismatch" { expect.to_owned() } else { format!(r#"{{"v":{expect}}}"#) };
        check(&format!(r#"declared({{"v": {given}}}, ["v"], "{ty}")"#), &expect);
        check(&format!(r#"declared({{}}, ["v"], "{ty}", {given})"#), &expect);
    }
    check(r#"declared({"v": nil}, ["v"], "number", 5)"#, r#"{"v":null}"#);
    check(r#"declared({}, ["v"], "number")"#, "{}");
    check(r#"declared({"v": 1}, ["v", "w"], "number", 2)"#, "path_conflict");
}

#[test]
fn an_assignment_checks_a_value() {
    for (given, ty, expect) in [
        ("[1]", "auto", "[1]"),
        ("nil", "number", "null"),
        ("'x'", "string", "\"x\""),
        ("5", "string", "type_mismatch"),
        ("' +5. '", "number", "5"),
        ("''", "number", "type_mismatch"),
        ("'true'", "boolean", "type_mismatch"),
        ("'[]'", "array", "[]"),
        ("'x'", "object", "type_mismatch"),
        ("'2024-02-30'", "datetime", "type_mismatch"),
        ("'2024-02-29'", "datetime", "\"2024-02-29\""),
        ("1e3", "datetime", "1000"),
        ("true", "datetime", "type_mismatch"),
    ] {
        check(&format!(r#"assigned({given}, "{ty}")"#), expect);
    }
}

#[test]
fn limits_of_loops_are_whole_numbers() {
    check("wholeNumber(' -3 ')", "-3");
    check("wholeNumber(2.0)", "2");
    check("wholeNumber('2.0')", "type_mismatch");
    check("wholeNumber(true)", "type_mismatch");
    check("wholeNumber(nil)", "type_mismatch");
    check("rounds(1, 3, 1)", "3");
    check("rounds(5, 1, -2)", "3");
    check("rounds(3, 1, 1)", "0");
    check("rounds(1, 1, 5)", "1");
    check("rounds(-9223372036854775807, 9223372036854775807, 1)", "9223372036854775807");
    check("rounds(1, 2, 0)", "invalid_config");
    check("listed('[1]')", "type_mismatch");
}

#[test]
fn settings_are_checked_when_they_are_known() {
    check("field(2, 'number', 'temperature', 0, 2)", "2");
    check("field(nil, 'number', 'temperature', 0, 2)", "null");
    let range = "invalid_config: `temperature` must be a number from 0 to 2, but is the number 2.1";
    check("field(2.1, 'number', 'temperature', 0, 2)", range);
    check("field(1.5, 'integer', 'most', 1, 3)", "invalid_config: `most` must be a whole number from 1 to 3");
    check("field(' 2 ', 'integer', 'most', 1, 3)", "2");
    check(
        "field('two', 'integer', 'most', 1, 9223372036854775807)",
        "invalid_config: `most` must be a whole number of at least 1, but",
    );
    check("field('true', 'boolean', 'flag')", "true");
    check("field(7, 'boolean', 'flag')", "invalid_config: `flag` must be true or false, but is the number 7");
    check("field([1], 'array', 'args')", "[1]");
    check("field('[1]', 'array', 'args')", "invalid_config: `args` must be a list");
    check("field([], 'object', 'env')", "invalid_config: `env` must be an object");
    check("webAddress('HTTPS://a', 'url')", "\"HTTPS://a\"");
    check("webAddress('ftp://a', 'url')", "invalid_config");
    check("webAddress('http://', 'url')", "invalid_config");
    check(r#"keyed([{"key": "a", "value": 1}, {"key": "b", "value": nil}], true, 'h')"#, r#"{"a":"1","b":"null"}"#);
    check(r#"keyed([{"key": "a", "value": 1}], false, 'h')"#, r#"{"a":1}"#);
    check("keyed(nil, true, 'h')", "{}");
    check("keyed([1], true, 'h')", "invalid_config: `h` has the number 1");
    check("keyed(1, true, 'h')", "invalid_config: `h` must be a list of keys and values, but is the number 1");
}

#[test]
fn cases_match_equal_values_or_equal_texts() {
    for (left, right, same) in [
        ("'Pro'", "'pRO'", true),
        ("1", "'1'", true),
        ("1", "1.0", true),
        ("true", "'TRUE'", true),
        ("true", "1", false),
        ("nil", "'null'", true),
        (r#"{"a": 1, "b": 2}"#, r#"{"b": 2, "a": 1}"#, true),
        ("'Ä'", "'ä'", true),
        ("'a '", "'a'", false),
    ] {
        check(&format!("sameAs({left}, {right})"), &same.to_string());
    }
    assert!(is_same(&Value::from("A"), &Value::from("a")));
    assert!(!is_same(&Value::from("A"), &Value::Null));
}

#[test]
fn literals_are_checked_before_anything_runs() {
    assert!(Typing::Declared.check(&Value::from("yes"), "boolean").is_ok());
    let refused = Typing::Assigned.check(&Value::from("yes"), "boolean").unwrap_err();
    assert_eq!((refused.kind.as_str(), &*refused.message), ("type_mismatch", "the text \"yes\" is not a boolean"));
}
