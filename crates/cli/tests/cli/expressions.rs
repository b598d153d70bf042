//! Expressions on the command line.

use super::{DEPLOY, check, check_with};

#[test]
fn true_is_printed_and_is_exit_0() {
    check("true", &["eval", r#"inputs.count > 10 && inputs.mode == "prod""#, "--context", DEPLOY]);
}

#[test]
fn false_is_printed_and_is_exit_1() {
    check("false", &["eval", "states.lint.ExitCode == 0", "--context", DEPLOY]);
}

#[test]
fn explain_shows_why_it_is_false() {
    let expression = r#"states.lint.ExitCode == 0 && states.check.Output contains "success""#;
    check("explain_false", &["eval", expression, "--context", DEPLOY, "--explain"]);
}

#[test]
fn explain_shows_about_every_element() {
    check("explain_any", &["eval", r#"any(inputs.regions, # startsWith "us")"#, "--context", DEPLOY, "--explain"]);
}

#[test]
fn an_unknown_function_is_reported_with_the_nearest() {
    let expression = r#"inputs.mode startsWith "pr" && any(inputs.regions, hasPrefx(#, "eu"))"#;
    check("unknown_function", &["eval", expression, "--context", DEPLOY]);
}

#[test]
fn a_bad_regex_is_reported_before_anything_runs() {
    check("bad_regex", &["eval", r#"inputs.mode matches "(prod|test""#]);
}

#[test]
fn text_that_does_not_parse_is_reported() {
    check("syntax", &["eval", r#"inputs.mode == "prod" &&"#]);
}

#[test]
fn every_mistake_is_reported_at_once() {
    check("two_mistakes", &["eval", "lenn(inputs.mode) > 1 and inputs.count / 0 > 2"]);
}

#[test]
fn a_result_that_is_not_boolean_is_an_error() {
    check("not_boolean", &["eval", "inputs.mode", "--context", DEPLOY]);
}

#[test]
fn values_that_cannot_be_compared_are_an_error_with_an_explanation() {
    check("wrong_kind", &["eval", "inputs.mode > 3", "--context", DEPLOY, "--explain"]);
}

#[test]
fn a_warning_does_not_change_the_exit_status() {
    check("warning", &["eval", "states.check.Exitcode == nil", "--context", DEPLOY]);
}

#[test]
fn without_a_context_the_condition_sees_nothing() {
    check("no_context", &["eval", "inputs.mode == nil", "--explain"]);
}

#[test]
fn the_expressions_of_a_flow_name_variables() {
    let variables = "examples/eval/flow-variables.json";
    check("flow_expression", &["eval", "-d", "flow", "$order.total > 100", "-c", variables, "-e"]);
    check("flow_expression_missing", &["eval", "-d", "flow", "$order.totl > 100", "-c", variables]);
}

#[test]
fn colours_are_printed_only_on_request() {
    let arguments = ["eval", "lenn(inputs.mode) == 4"];
    check_with("colours_forced", &arguments, "", &[("CLICOLOR_FORCE", "1")]);
    check_with("colours_unwanted", &arguments, "", &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]);
}
