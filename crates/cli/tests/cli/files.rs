//! What files are taken for.

use super::{check, check_with};

#[test]
fn a_file_that_ends_in_expr_holds_the_text_of_an_expression() {
    let condition = "crates/cli/tests/fixtures/regions.expr";
    check("expression_file", &["eval", "--condition", condition, "--context", super::DEPLOY, "--explain"]);
}

#[test]
fn yaml_is_read_by_any_other_name() {
    let condition = "crates/cli/tests/fixtures/gate.yaml";
    check_with("yaml_file", &["eval", "-d", "steps", "--condition", condition, "-c", "-"], r#"{"input": "wip"}"#, &[]);
}
