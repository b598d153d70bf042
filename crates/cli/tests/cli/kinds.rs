//! `branchpoint explain`.

use std::fs;

use branchpoint_dialects::all_kinds;

use super::{check, root, run};

#[test]
fn every_kind_has_a_page() {
    for kind in all_kinds() {
        let path = root().join(format!("docs/diagnostics/{kind}.md"));
        let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let output = run(&["explain", kind.as_str()], "", &[]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), page, "{kind}");
    }
}

#[test]
fn without_a_kind_all_are_listed_with_a_summary() {
    let output = run(&["explain"], "", &[]);
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(listed.lines().count(), all_kinds().count(), "{listed}");
    for kind in all_kinds() {
        let line = listed.lines().find(|line| line.split(' ').next() == Some(kind.as_str()));
        let summary = line.and_then(|line| line.split_once("  ")).map(|(_, summary)| summary.trim());
        assert!(summary.is_some_and(|summary| !summary.is_empty()), "{kind}: {line:?}");
    }
}

#[test]
fn an_unknown_kind_is_reported_with_near_names() {
    check("explain_misspelt", &["explain", "unknown_oprator"]);
    check("explain_word", &["explain", "operator"]);
    check("explain_unknown", &["explain", "weather"]);
}
