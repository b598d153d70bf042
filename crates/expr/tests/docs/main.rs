//! The documents are true: every example in them is run, and everything they show as printed is what is printed.
//!
//! Checked are `docs/reference/expressions.md`, `docs/reference/conditions.md` and the pages of `docs/diagnostics`. The format of the examples is
//! described in `docs/diagnostics/README.md`. After a change of wording, `UPDATE_DOCS=1 cargo test --test docs` writes
//! what is printed now into the pages; read the difference before you commit it.
#![expect(clippy::disallowed_methods, reason = "the test reads the documents it checks")]

mod examples;
mod located;
mod page;

use std::fs;
use std::path::{Path, PathBuf};

use branchpoint_expr::Kind;
use page::{Page, PageResult};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn read(name: &str) -> String {
    let path = docs().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs the examples of one document. With `UPDATE_DOCS` set, what it shows as printed is written anew.
fn run(name: &str) -> (Page, PageResult) {
    let text = read(name);
    let page = Page::parse(&text);
    let mut seen = page.run();
    let updated = page.with(&seen.printed);
    if std::env::var_os("UPDATE_DOCS").is_some() && updated != text {
        fs::write(docs().join(name), updated).expect("the document can be written");
    }
    for complaint in &mut seen.complaints {
        complaint.insert_str(0, &format!("docs/{name}:"));
    }
    (page, seen)
}

#[track_caller]
fn expect_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn every_example_of_the_language_reference_gives_what_it_says() {
    let (_, seen) = run("reference/expressions.md");
    expect_none(&seen.complaints);
    assert!(seen.examples > 100, "the reference has only {} examples", seen.examples);
}

/// Functions that only templates and structured conditions are made of.
const INNER_FUNCTIONS: [&str; 7] = ["shellQuote", "splitTrimmed", "trimSpace", "html", "js", "urlquery", "shellEscape"];

#[test]
fn the_language_reference_has_an_example_of_every_function() {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/builtins/mod.rs");
    let table = fs::read_to_string(table).expect("the table of functions is there");
    let entries = ["function(\"", " test(\"", " any(\"", "    (\""];
    let names = table.lines().filter_map(|line| {
        let (_, rest) = entries.iter().find_map(|entry| line.split_once(entry))?;
        rest.split_once('"').map(|(name, _)| name)
    });
    let names: Vec<_> = names.filter(|name| !INNER_FUNCTIONS.contains(name)).collect();
    assert!(names.len() > 60, "the table is written otherwise now: only {} functions were found in it", names.len());
    let page = Page::parse(&read("reference/expressions.md"));
    let lacking: Vec<_> = names.iter().filter(|name| !page.sources().any(|source| calls(source, name))).collect();
    assert!(lacking.is_empty(), "docs/reference/expressions.md has no example of {lacking:?}");
}

fn calls(source: &str, function: &str) -> bool {
    source.match_indices(&format!("{function}(")).any(|(at, _)| !source[..at].ends_with(char::is_alphanumeric))
}

#[test]
fn every_example_of_the_guide_to_conditions_gives_what_it_says() {
    let (_, seen) = run("reference/conditions.md");
    expect_none(&seen.complaints);
    assert!(seen.examples > 10, "the guide has only {} examples", seen.examples);
}

/// The names of the pages: a repo check compares them with the kinds of all crates.
fn kinds_with_pages() -> Vec<String> {
    let entries = fs::read_dir(docs().join("diagnostics")).expect("the pages are there");
    let names = entries.map(|entry| entry.expect("the folder can be read").file_name().to_string_lossy().into_owned());
    names.filter_map(|name| name.strip_suffix(".md").filter(|kind| *kind != "README").map(str::to_owned)).collect()
}

#[test]
fn every_diagnostic_page_shows_its_kind_and_a_way_out() {
    let mut complaints = Vec::new();
    for kind in kinds_with_pages() {
        let name = format!("diagnostics/{kind}.md");
        let (page, seen) = run(&name);
        complaints.extend(seen.complaints);
        let mut complain = |about: &str| complaints.push(format!("docs/{name}: {about}"));
        let mut lines = page.lines.iter().map(String::as_str);
        if lines.next() != Some(&format!("# {kind}")) {
            complain("the heading is not the kind");
        }
        if lines.skip(1).take_while(|line| !line.is_empty()).count() != 1 {
            complain("the first paragraph is not one line");
        }
        // Other crates check the examples of their kinds, and whole documents.
        let Some(own) = Kind::ALL.iter().find(|own| own.as_str() == kind && !page.shows_documents()) else { continue };
        if !seen.kinds.contains(own) {
            complain("no example gives this kind");
        }
        if seen.mended == 0 {
            complain("no example shows the way out");
        }
    }
    expect_none(&complaints);
}

#[test]
fn the_list_of_pages_repeats_the_summary_of_every_page() {
    let list = read("diagnostics/README.md");
    for kind in kinds_with_pages() {
        let page = read(&format!("diagnostics/{kind}.md"));
        let summary = page.lines().nth(2).unwrap_or_default();
        let row = format!("| [`{kind}`]({kind}.md) | {summary} |");
        assert!(list.contains(&row), "docs/diagnostics/README.md lacks this row:\n{row}");
    }
}

#[test]
fn a_page_with_wrong_output_is_reported() {
    let complaints = |text: &str| Page::parse(text).run().complaints;
    assert_eq!(complaints("```expr machine value\n1 + 1 => 2\n```\n"), [""; 0]);
    assert_eq!(complaints("```expr machine value\n1 + 1 => 3\n```\n"), ["2: `1 + 1` gives 2, not 3"]);
    assert_eq!(complaints("```expr machine value\n1 +\n```\n"), ["2: `1 +` does not say what it gives"]);
    assert_eq!(complaints("```expr machine value\n1 / 0 => refused zero_divisor\n```\n"), [""; 0]);
    assert_eq!(complaints("```expr nowhere value\n1 => 1\n```\n"), ["1: there is no dialect `nowhere`"]);
    let shown = complaints("```expr machine condition\ninputs.a >\n```\n\n```text\nall is well\n```\n");
    assert!(shown[0].starts_with("6: printed is\nerror[bad_condition]"), "{shown:?}");
}
