//! Where the values come from.

use std::process::Output;

use super::{check, check_with, run};

#[test]
fn a_context_can_come_from_stdin() {
    check_with("stdin", &["eval", "inputs.n == 3", "--context", "-"], r#"{"inputs": {"n": "3"}}"#, &[]);
}

#[test]
fn a_missing_context_is_reported() {
    check("missing_file", &["eval", "true", "--context", "nowhere.json"]);
}

#[test]
fn a_context_that_is_not_json_is_reported_with_its_place() {
    check_with("context_not_json", &["eval", "true", "--context", "-"], "{\"a\": 1,\n \"b\" 2}\n", &[]);
}

#[test]
fn a_context_that_is_empty_is_reported() {
    check_with("context_empty", &["eval", "true", "--context", "-"], "", &[]);
}

#[test]
fn a_context_that_is_not_an_object_is_reported() {
    check_with("context_no_object", &["eval", "true", "--context", "-"], "[1, 2]", &[]);
}

#[track_caller]
fn check_true(arguments: &[&str], context: &str) {
    let Output { status, stdout, stderr } = run(arguments, context, &[]);
    let printed = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(0), "{arguments:?} over {context}: {printed}");
}

#[test]
fn steps_are_given_the_time_unless_the_context_shows_it() {
    let this_year = ["eval", "-d", "steps", "datetime.now > '2025' and datetime.now endsWith 'Z'", "-c", "-"];
    check_true(&this_year, "{}");
    check_true(&this_year, r#"{"datetime": {}}"#);
    check_true(
        &["eval", "-d", "steps", "datetime.now == '2020-02-02T00:00:00Z'", "-c", "-"],
        r#"{"datetime": {"now": "2020-02-02T00:00:00Z"}}"#,
    );
}

#[test]
fn graphs_are_given_the_text_of_the_input() {
    check_true(&["eval", "-d", "graph", "text == 'hallo äöü'", "-c", "-"], r#"{"input": "Hallo ÄÖÜ"}"#);
    check_true(&["eval", "-d", "graph", r#"text == '{"a":[1,null]}'"#, "-c", "-"], r#"{"input": {"A": [1.0, null]}}"#);
    check_true(&["eval", "-d", "graph", "text == ''", "-c", "-"], "{}");
    check_true(&["eval", "-d", "graph", "text == ''", "-c", "-"], r#"{"input": null}"#);
}
