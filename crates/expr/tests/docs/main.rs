//! The documents are true: every example in them is run, and everything they show as printed is what is printed.
//!
//! Checked are `docs/expressions.md`, `docs/conditions.md` and the pages of `docs/diagnostics`. The format of the examples is
//! described in `docs/diagnostics/README.md`. After a change of wording, `UPDATE_DOCS=1 cargo test --test docs` writes
//! what is printed now into the pages; read the difference before you commit it.
#![expect(clippy::disallowed_methods, reason = "the test reads the documents it checks")]

mod examples;
mod located;
mod page;

use std::fs;
use std::path::{Path, PathBuf};

use branchpoint_expr::Kind;
use page::{Page, Seen};

/// Pages about what other crates find: their examples are checked there.
const FOUND_ELSEWHERE: [&str; 1] = ["yaml"];

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Checks one document, or rewrites what it shows as printed.
#[track_caller]
fn check(name: &str) -> (Page, Seen) {
    let path = docs().join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let page = Page::parse(&text);
    let seen = page.run();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, page.with(&seen.printed)).expect("the document can be written");
        return (page, seen);
    }
    assert!(seen.complaints.is_empty(), "docs/{name}:\n{}", seen.complaints.join("\n"));
    (page, seen)
}

#[test]
fn every_example_of_the_language_reference_gives_what_it_says() {
    let (_, seen) = check("expressions.md");
    assert!(seen.examples > 100, "the reference has {} examples that are checked", seen.examples);
}

#[test]
fn every_example_of_the_guide_to_conditions_gives_what_it_says() {
    let (_, seen) = check("conditions.md");
    assert!(seen.examples > 10, "the guide has {} examples that are checked", seen.examples);
}

#[test]
fn every_diagnostic_page_shows_its_kind_and_a_way_out() {
    for kind in Kind::ALL {
        let name = format!("diagnostics/{kind}.md");
        let (page, seen) = check(&name);
        let mut lines = page.lines.iter().map(String::as_str);
        assert_eq!(lines.next(), Some(&*format!("# {kind}")), "docs/{name}: the heading is the kind");
        let summary: Vec<_> = lines.skip(1).take_while(|line| !line.is_empty()).collect();
        assert_eq!(summary.len(), 1, "docs/{name}: the first paragraph is one line");
        if FOUND_ELSEWHERE.contains(&kind.as_str()) {
            continue;
        }
        assert!(seen.kinds.contains(kind), "docs/{name}: no example gives this kind, only {:?}", seen.kinds);
        assert!(seen.mended > 0, "docs/{name}: no example shows the way out");
    }
}

#[test]
fn the_list_of_pages_tells_every_kind_in_the_words_of_its_page() {
    let list = fs::read_to_string(docs().join("diagnostics/README.md")).expect("the list of pages is there");
    for kind in Kind::ALL {
        let page = fs::read_to_string(docs().join(format!("diagnostics/{kind}.md"))).expect("every kind has a page");
        let summary = page.lines().nth(2).unwrap_or_default();
        let row = format!("| [`{kind}`]({kind}.md) | {summary} |");
        assert!(list.contains(&row), "docs/diagnostics/README.md lacks this row:\n{row}");
    }
}

#[test]
fn a_page_that_lies_is_told() {
    let complaints = |text: &str| Page::parse(text).run().complaints;
    assert_eq!(complaints("```expr machine value\n1 + 1 => 2\n```\n"), [""; 0]);
    assert_eq!(complaints("```expr machine value\n1 + 1 => 3\n```\n"), ["2: `1 + 1` gives 2, not 3"]);
    assert_eq!(complaints("```expr machine value\n1 +\n```\n"), ["2: `1 +` does not say what it gives"]);
    assert_eq!(complaints("```expr machine value\n1 / 0 => refused zero_divisor\n```\n"), [""; 0]);
    assert_eq!(complaints("```expr nowhere value\n1 => 1\n```\n"), ["1: there is no dialect `nowhere`"]);
    let shown = complaints("```expr machine condition\ninputs.a >\n```\n\n```text\nall is well\n```\n");
    assert!(shown[0].starts_with("6: printed is\nerror[bad_condition]"), "{shown:?}");
}
