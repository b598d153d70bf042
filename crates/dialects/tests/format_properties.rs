//! Properties of every document: formatting changes no value, loses no comment, and changes nothing the second time.

use std::fmt::Write as _;

use branchpoint_dialects::{format, read};
use proptest::prelude::*;
use proptest::strategy::{Strategy, ValueTree};

/// A part of a document and its notation.
#[derive(Clone, Debug)]
enum Node {
    /// A scalar that fits behind a key, perhaps over several lines.
    Leaf(usize),
    List {
        items: Vec<Node>,
        further: usize,
        gap: usize,
    },
    Object {
        fields: Vec<(usize, Node)>,
        further: usize,
        comment: bool,
    },
}

const KEYS: [&str; 10] = ["id", "step_type", "name", "purpose", "steps", "then", "template", "'quoted'", "body", "x y"];

fn node() -> impl Strategy<Value = Node> {
    let leaf = (0_usize..12).prop_map(Node::Leaf);
    leaf.prop_recursive(5, 40, 5, |inner| {
        let list = (prop::collection::vec(inner.clone(), 1..4), 0_usize..4, 1_usize..4);
        let field = (0..KEYS.len(), inner);
        let object = (prop::collection::vec(field, 1..6), 1_usize..5, any::<bool>());
        prop_oneof![
            list.prop_map(|(items, further, gap)| Node::List { items, further, gap }),
            object.prop_map(|(fields, further, comment)| Node::Object { fields, further, comment }),
        ]
    })
}

/// Writes a node after a key or dash, in blocks whose parent is at `column`.
fn write(out: &mut String, node: &Node, column: usize, beside: bool) {
    match node {
        Node::Leaf(kind) => leaf(out, *kind, column),
        Node::List { items, further, gap } => {
            // A list may be as far out as its key, but not as far out as the dash around it.
            let inner = column + if beside { (*further).max(1) } else { *further };
            for item in items {
                out.push('\n');
                out.push_str(&" ".repeat(inner));
                out.push('-');
                match item {
                    Node::Object { fields, comment, .. } => {
                        out.push_str(&" ".repeat(*gap));
                        object(out, fields, inner + 1 + gap, *comment, true);
                    }
                    other => write(out, other, inner, true),
                }
            }
        }
        Node::Object { fields, further, comment } => object(out, fields, column + further, *comment, false),
    }
}

fn object(out: &mut String, fields: &[(usize, Node)], column: usize, comment: bool, compact: bool) {
    let mut seen = Vec::new();
    for (key, value) in fields {
        if seen.contains(key) {
            continue;
        }
        if !(compact && seen.is_empty()) {
            out.push('\n');
            if comment && seen.len() == 1 {
                let _ = writeln!(out, "{}# about {key}", " ".repeat(column));
            }
            out.push_str(&" ".repeat(column));
        }
        seen.push(*key);
        out.push_str(KEYS[*key]);
        out.push(':');
        write(out, value, column, false);
    }
}

fn leaf(out: &mut String, kind: usize, column: usize) {
    let pad = " ".repeat(column + 1);
    let text = match kind {
        0 => " plain".to_owned(),
        1 => " 1.50  ".to_owned(),
        2 => format!(" |\n{pad}one  \n{pad}  two\n\n{pad}three"),
        3 => format!(" >+\n{pad} one\n{pad} two\n\n"),
        4 => format!(" \"a\n{pad}b \\\n{pad}c\""),
        5 => format!(" one\n{pad}two # comment {kind}"),
        6 => " # nothing".to_owned(),
        7 => " {step_type: a, id: b, c: [1, 2]}".to_owned(),
        8 => format!(" [a, # first\n{pad}b]"),
        9 => format!("\n{pad}{pad}alone"),
        10 => format!(" 'it''s\n\n{pad}  quoted'"),
        _ => format!(" |2-\n{}x\n{}y", " ".repeat(column + 2), " ".repeat(column + 4)),
    };
    out.push_str(&text);
}

fn document() -> impl Strategy<Value = String> {
    (prop::collection::vec(node(), 1..4), any::<bool>(), any::<bool>()).prop_map(|(steps, windows, end)| {
        let mut text = "# head\nname: n\nsteps:".to_owned();
        write(&mut text, &Node::List { items: steps, further: 0, gap: 1 }, 0, false);
        if end {
            text.push_str("\n# end\n");
        }
        if windows { text.replace('\n', "\r\n") } else { text }
    })
}

/// The comments that the generator writes, in any order.
fn comments(text: &str) -> Vec<&str> {
    let mut actual: Vec<&str> =
        text.match_indices('#').map(|(at, _)| text[at..].lines().next().unwrap_or("").trim_end()).collect();
    actual.sort_unstable();
    actual
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn formatting_changes_no_value_loses_no_comment_and_is_stable(text in document()) {
        let Ok(before) = read(&text) else { return Ok(()) };
        let formatted = format(&text, None).expect("a readable document can be formatted");
        let after = read(&formatted).expect("a formatted document can be read");
        prop_assert_eq!(before.to_value(), after.to_value(), "{}", formatted);
        prop_assert_eq!(comments(&text), comments(&formatted));
        prop_assert_eq!(&format(&formatted, None).expect("a formatted document can be formatted"), &formatted);
    }

    #[test]
    fn any_text_is_formatted_or_rejected(text in "[-a:#|>?&*!{}\\[\\],'\"\\\\ \n\t]{0,60}") {
        if let Ok(before) = read(&text) {
            let formatted = format(&text, None).expect("a readable document can be formatted");
            let after = read(&formatted).expect("a formatted document can be read");
            prop_assert_eq!(before.to_value(), after.to_value());
            prop_assert_eq!(&format(&formatted, None).expect("a formatted document can be formatted"), &formatted);
        }
    }
}

/// The formatter omits a stage that would change a value. That must be rare.
#[test]
fn nearly_everything_is_indented() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = document();
    let texts = (0..200).map(|_| strategy.new_tree(&mut runner).expect("a document").current());
    let readable: Vec<String> = texts.filter(|text| read(text).is_ok()).collect();
    let left: Vec<&String> =
        readable.iter().filter(|text| !format(text, None).is_ok_and(|text| text.contains("\nsteps:\n  -"))).collect();
    assert!(readable.len() > 100, "only {} of 200 can be read", readable.len());
    assert!(left.len() * 50 < readable.len(), "{} of {} are not: {left:#?}", left.len(), readable.len());
}
