//! Every kind of diagnostic has a page of its own, and every page a kind.

use std::collections::BTreeSet;

use branchpoint_dialects::all_kinds;
use branchpoint_expr::Kind;

use crate::tree::{SourceFile, expect_none, text_files};

const PAGES: &str = "docs/diagnostics/";

#[test]
fn every_diagnostic_kind_has_its_page_and_every_page_its_kind() {
    let kinds: Vec<&str> = all_kinds().map(Kind::as_str).collect();
    expect_none(
        &page_complaints(&kinds, &text_files()),
        "a page says what the diagnostic means, shows a document that gets it, and how to mend it; \
         the kinds stand in kind.rs of crates/expr, crates/core and crates/dialects",
    );
}

/// Where the kinds of errors of runs stand in the code: what is before them, up to the quote.
const KINDS_STAND_AFTER: [&str; 14] = [
    "failed(\"",
    "impossible(\"",
    "refused(\"",
    "error_object(\"",
    "fault(\"",
    " kind: \"",
    "\"kind\": \"",
    "unexpected(\"",
    "kind_or(\"",
    "timed_out_or(\"",
    "failed_with(\"",
    "fail(\"'",
    "fail_as(\"",
    "failed_run(here, \"",
];

/// Words after these that are no kinds of errors: kinds of boxes, of metrics and of runners.
const OTHER_KINDS: [&str; 4] = ["step", "gauge", "counter", "http"];

#[test]
fn every_kind_of_error_that_a_run_can_end_with_is_known_and_so_has_its_page() {
    let kinds: Vec<&str> = all_kinds().map(Kind::as_str).collect();
    let sources = text_files().into_iter().filter(|file| is_code_of_runs(&file.path)).collect::<Vec<_>>();
    let used_kinds: BTreeSet<String> = sources.iter().flat_map(|file| written_kinds(&file.text)).collect();
    assert!(used_kinds.len() > 20, "only these kinds were found: {used_kinds:?}");
    expect_none(
        &unknown_kinds(&kinds, &sources),
        "add the kind to kind.rs of crates/core or crates/dialects, with a page",
    );
}

fn is_code_of_runs(path: &str) -> bool {
    let crates = ["core", "runners", "host", "dialects", "cli"].map(|name| format!("crates/{name}/src/"));
    path.strip_suffix(".rs").is_some_and(|path| !path.ends_with("tests"))
        && crates.iter().any(|folder| path.starts_with(folder))
}

fn unknown_kinds(kinds: &[&str], files: &[SourceFile]) -> Vec<String> {
    let unknown = |kind: &String| !kinds.contains(&&**kind) && !OTHER_KINDS.contains(&&**kind);
    let complaints = files.iter().flat_map(|file| {
        let unknown = written_kinds(&file.text).into_iter().filter(unknown);
        unknown.map(|kind| format!("{} has the kind `{kind}`, which is not known", file.path)).collect::<Vec<_>>()
    });
    complaints.collect()
}

fn written_kinds(text: &str) -> Vec<String> {
    // Tests stand at the end of a file.
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let after = |start: &&str| {
        let places = code.match_indices(*start).map(|(at, _)| &code[at + start.len()..]);
        places.map(word).filter(|kind| !kind.is_empty()).collect::<Vec<_>>()
    };
    KINDS_STAND_AFTER.iter().flat_map(after).collect()
}

/// The word at the beginning of a text, if a quote ends it.
fn word(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(text.len());
    if text[end..].starts_with(['"', '\'']) { text[..end].to_owned() } else { String::new() }
}

#[test]
fn a_kind_without_a_page_is_found_in_every_file() {
    let check = |code: &str, expect: &[&str]| {
        let files = [SourceFile::new("crates/host/src/a.rs".to_owned(), code)];
        assert_eq!(written_kinds(code), expect, "{code}");
        let unknown = expect.iter().filter(|kind| **kind != "known").count();
        assert_eq!(unknown_kinds(&["known"], &files).len(), unknown, "{code}");
    };
    check(r#"Answer::failed("known", x)"#, &["known"]);
    check(r#"Failed { kind: "lost".into() }"#, &["lost"]);
    check(r##"r#"{"kind": "lost", "message": x}"#"##, &["lost"]);
    check(r#"self.fail("'lost'", message)"#, &["lost"]);
    check(r#"failed("not a kind", x)"#, &[]);
    check("fn a() {}\n#[cfg(test)]\nmod tests { failed(\"lost\") }", &[]);
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
fn missing_orphaned_and_empty_pages_are_reported() {
    check(&["a"], &[("a.md", "# a\n\nMeans a.\n"), ("README.md", "")], &[]);
    check(&["a"], &[], &["docs/diagnostics/a.md is missing"]);
    check(&[], &[("b.md", "# b\n\nMeans b.\n")], &["docs/diagnostics/b.md is about a kind that does not exist"]);
    check(&["a"], &[("a.md", "# a\n")], &["docs/diagnostics/a.md says nothing"]);
}

#[test]
fn two_kinds_with_one_name_are_reported() {
    check(&["a", "a"], &[("a.md", "# a\n\nMeans a.\n")], &["two kinds are called a"]);
}
