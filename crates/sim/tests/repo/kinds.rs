//! Every kind of diagnostic has a page of its own, and every page a kind.

use std::collections::BTreeSet;

use branchpoint_expr::Kind;

use crate::tree::{SourceFile, expect_none, text_files};

const PAGES: &str = "docs/diagnostics/";

#[test]
fn every_diagnostic_kind_has_its_page_and_every_page_its_kind() {
    let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    expect_none(
        &page_complaints(&kinds, &text_files()),
        "a page says what the diagnostic means, shows a document that gets it, and how to mend it; \
         the kinds stand in crates/expr/src/diagnostic/kind.rs",
    );
}

fn page_complaints(kinds: &[&str], files: &[SourceFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut known = BTreeSet::new();
    for kind in kinds {
        if !known.insert(*kind) {
            complaints.push(format!("two kinds are called {kind}"));
        }
    }
    let mut pages = BTreeSet::new();
    for file in files {
        let Some(kind) = file.path.strip_prefix(PAGES).and_then(|name| name.strip_suffix(".md")) else { continue };
        // The folder may introduce itself.
        if kind == "README" {
            continue;
        }
        pages.insert(kind);
        if !known.contains(kind) {
            complaints.push(format!("{} is about a kind that does not exist", file.path));
        }
        // A heading alone is no page.
        if file.text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).count() == 0 {
            complaints.push(format!("{} says nothing", file.path));
        }
    }
    complaints.extend(known.difference(&pages).map(|kind| format!("{PAGES}{kind}.md is missing")));
    complaints
}

#[track_caller]
fn check(kinds: &[&str], pages: &[(&str, &str)], expect: &[&str]) {
    let files: Vec<_> = pages.iter().map(|(name, text)| SourceFile::new(format!("{PAGES}{name}"), *text)).collect();
    assert_eq!(page_complaints(kinds, &files), expect);
}

#[test]
fn a_missing_an_orphaned_and_an_empty_page_are_told() {
    check(&["a"], &[("a.md", "# a\n\nMeans a.\n"), ("README.md", "")], &[]);
    check(&["a"], &[], &["docs/diagnostics/a.md is missing"]);
    check(&[], &[("b.md", "# b\n\nMeans b.\n")], &["docs/diagnostics/b.md is about a kind that does not exist"]);
    check(&["a"], &[("a.md", "# a\n")], &["docs/diagnostics/a.md says nothing"]);
}

#[test]
fn two_kinds_with_one_name_are_told() {
    check(&["a", "a"], &[("a.md", "# a\n\nMeans a.\n")], &["two kinds are called a"]);
}
