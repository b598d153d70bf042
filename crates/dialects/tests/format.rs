//! The changes of the formatter, and the text that it leaves unchanged.

use branchpoint_dialects::format;
use branchpoint_expr::Dialect;

/// Checks the formatted text, and that formatting it again changes nothing.
#[track_caller]
fn check(written: &str, expect: &str) {
    assert_eq!(format(written, None).as_deref(), Ok(expect), "{written}");
    assert_eq!(format(expect, None).as_deref(), Ok(expect), "a second time");
}

#[track_caller]
fn check_kept(written: &str) {
    check(written, written);
}

#[test]
fn lists_are_indented_under_their_key() {
    check("steps:\n- id: a\n  step_type: text\n", "steps:\n  - id: a\n    step_type: text\n");
    check(
        "steps:\n    -   id: a\n        step_type: if_else\n        if: 'true'\n        then_steps:\n        -   id: b\n            step_type: text\n",
        "steps:\n  - id: a\n    step_type: if_else\n    if: 'true'\n    then_steps:\n      - id: b\n        step_type: text\n",
    );
    check("steps:\n- - 1\n  - 2\n- -   3\n", "steps:\n  - - 1\n    - 2\n  - - 3\n");
}

#[test]
fn comments_move_with_their_keys() {
    check(
        "# top\nsteps:\n# first\n- id: a\n  # kind\n  step_type: text # same line\n  # end of a\n# second\n- id: b\n  step_type: text\n# last\n",
        "# top\nsteps:\n  # first\n  - id: a\n    # kind\n    step_type: text # same line\n    # end of a\n  # second\n  - id: b\n    step_type: text\n# last\n",
    );
}

#[test]
fn keys_of_steps_come_in_order() {
    check(
        "steps:\n  - step_type: text\n    template: hi\n    # who\n    id: a\n    name: A\n",
        "steps:\n  - step_type: text\n    template: hi\n    # who\n    id: a\n    name: A\n",
    );
    check(
        "steps:\n  - step_type: text # what\n    template: |\n      hi\n\n    name: A\n    id: a\n",
        "steps:\n  - id: a\n    step_type: text # what\n    name: A\n    template: |\n      hi\n",
    );
    check("steps: [{step_type: text, id: a, template: x}]\n", "steps: [{id: a, step_type: text, template: x}]\n");
    // Objects that only look like steps keep their order, also inside.
    check_kept("steps:\n  - id: a\n    step_type: http\n    url: u\n    body:\n      step_type: x\n      id: y\n");
}

#[test]
fn nested_steps_are_sorted() {
    check(
        "steps:\n  - step_type: conditional\n    if: 'true'\n    then:\n      - step_type: text\n        id: b\n    id: a\n",
        "steps:\n  - id: a\n    step_type: conditional\n    if: 'true'\n    then:\n      - id: b\n        step_type: text\n",
    );
}

#[test]
fn texts_of_several_lines_keep_their_white_space() {
    check(
        "steps:\n- id: a\n  step_type: text\n  template: |\n     one  \n       two\n\n     three\n\n\n",
        "steps:\n  - id: a\n    step_type: text\n    template: |\n       one  \n         two\n\n       three\n",
    );
    check_kept("steps:\n  - id: a\n    step_type: text\n    template: |+\n      one\n\n\n");
    check(
        "steps:\n- id: a\n  step_type: text\n  template: \"one\n    two\n\n    three\"  \n",
        "steps:\n  - id: a\n    step_type: text\n    template: \"one\n      two\n\n      three\"\n",
    );
    check(
        "steps:\n- id: a\n  step_type: agent\n  tools: [\n    a, # first\n    b\n  ]\n",
        "steps:\n  - id: a\n    step_type: agent\n    tools: [\n      a, # first\n      b\n    ]\n",
    );
}

#[test]
fn line_ends_and_the_end_of_the_text_are_plain() {
    check("steps:\r\n  - id: a  \r\n    step_type: text\t\r\n\r\n\r\n", "steps:\n  - id: a\n    step_type: text\n");
    check("name: x", "name: x\n");
    check("name: x\n\n\n", "name: x\n");
}

#[test]
fn unsupported_notation_is_kept() {
    check_kept("steps:\n- &first\n  id: a\n  step_type: text\n- ? id\n  : b\n");
    check_kept("a: &x\n  - 1\nb: *x\n");
}

#[test]
fn json_has_one_value_per_line() {
    check(
        r#"{"name":"é","steps":[{"step_type":"text","id":"a","n":[1.0,1e3,[],{}]}]}"#,
        "{\n  \"name\": \"é\",\n  \"steps\": [\n    {\n      \"id\": \"a\",\n      \"step_type\": \"text\",\n      \"n\": [\n        1.0,\n        1e3,\n        [],\n        {}\n      ]\n    }\n  ]\n}\n",
    );
}

#[test]
fn other_dialects_have_no_order_of_keys() {
    let flow = "name: x\nsteps:\n  - type: finish\n    step_type: a\n    id: b\n    config: {}\n";
    assert_eq!(format(flow, Some(Dialect::Flow)).as_deref(), Ok(flow));
}

#[test]
fn unreadable_text_is_reported() {
    assert!(format("steps: [", None).is_err());
}
