//! `branchpoint session`: lines in, lines out.

use super::{check, check_with};

const FILE: &str = "examples/session/post-analysis.json";

#[test]
fn a_session_answers_line_by_line() {
    let lines = r#"{"ask": true}
{"tool": "think", "key": "k1"}
{"tool": "think", "key": "k1"}
{"ask": true, "session": "other"}
{"reset": true}
"#;
    check_with("session_lines", &["session", FILE, "--tools", "think,search,summarize"], lines, &[]);
}

#[test]
fn a_session_explains() {
    check_with("session_explained", &["session", FILE, "--tools", "think", "--explain"], "{\"ask\": true}\n", &[]);
}

#[test]
fn invalid_lines_are_answered_with_an_error() {
    let lines = "nonsense\n[]\n{}\n{\"ask\": true, \"tool\": \"x\"}\n{\"ask\": false}\n{\"tol\": \"x\"}\n{\"ask\": true, \"session\": \"\"}\n";
    check_with("session_errors", &["session", FILE], lines, &[]);
}

#[test]
fn an_invalid_document_is_exit_2() {
    check("session_refused", &["session", "crates/cli/tests/fixtures/gate.yaml"]);
    check("session_ttl", &["session", FILE, "--ttl=-1"]);
    check("help_session", &["session", "--help"]);
}
