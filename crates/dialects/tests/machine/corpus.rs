//! Documents in the style of the original system, with the findings that are expected for each.

use branchpoint_dialects::{Library, load_from};
use branchpoint_expr::Severity;

const CORPUS: &str = include_str!("corpus.txt");

/// A folder without workflows.
struct Empty;

impl Library for Empty {
    fn workflow(&self, _: &str) -> Option<String> {
        None
    }
}

/// The documents: a name, the kinds of findings, and the text.
fn documents() -> Vec<(&'static str, Vec<&'static str>, &'static str)> {
    let read = |part: &'static str| {
        let (head, text) = part.split_once('\n').expect("a document has a head line");
        let (name, kinds) = head.split_once(':').expect("a head line has a name and kinds");
        (name, kinds.split_whitespace().collect(), text)
    };
    CORPUS.split("--- ").skip(1).map(read).collect()
}

#[test]
fn the_corpus_has_the_expected_findings() {
    let mut wrong = Vec::new();
    for (name, expect, text) in documents() {
        let loaded = load_from(text, None, &Empty);
        let actual: Vec<&str> = loaded.diagnostics.iter().map(|finding| finding.kind.as_str()).collect();
        if actual != expect {
            wrong.push(format!("{name}: expected {expect:?}, found {:#?}", loaded.diagnostics));
        }
        let rejected = loaded.diagnostics.iter().any(|finding| finding.severity == Severity::Error);
        assert_eq!(loaded.program.is_none(), rejected, "{name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
