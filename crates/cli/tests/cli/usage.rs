//! Wrong arguments, and the pages of help.

use super::{check, check_with};

#[test]
fn help_reads_like_a_page_of_the_manual() {
    check("help", &["--help"]);
    check("help_eval", &["eval", "--help"]);
    for command in ["new", "check", "fmt", "run", "work", "graph", "diff", "ir", "schema"] {
        check(&format!("help_{command}"), &[command, "--help"]);
    }
    check("help_explain", &["explain", "--help"]);
    check("help_completions", &["completions", "--help"]);
}

#[test]
fn help_in_short() {
    check("help_short", &["eval", "-h"]);
}

#[test]
fn wrong_arguments_are_exit_2() {
    check("usage_nothing", &["eval"]);
    check("usage_both", &["eval", "true", "--condition", "a.json"]);
    check("usage_dialect", &["eval", "true", "--dialect", "flwo"]);
    check("usage_command", &["evaluate", "true"]);
}

#[test]
fn stdin_can_be_only_one_thing() {
    check_with("usage_stdin_twice", &["eval", "--condition", "-", "--context", "-"], "{}", &[]);
}
