//! A picture as Mermaid text, which code hosts and documentation draw.

use std::fmt::Write;

use super::{Node, NodeShape, Picture};

/// The flowchart of a picture.
///
/// ```
/// use branchpoint_core::ir::{builder::Builder, picture};
///
/// assert!(picture::mermaid(&picture::picture(&Builder::sample(), "")).starts_with("flowchart"));
/// ```
pub fn mermaid(picture: &Picture) -> String {
    let mut out = "flowchart TD\n".to_owned();
    for (number, node) in picture.nodes.iter().enumerate() {
        let (open, close) = brackets(node.shape);
        writeln!(out, "  n{number}{open}\"{}\"{close}", title(node)).expect("writing to a text does not fail");
    }
    for arrow in &picture.arrows {
        let line = if arrow.failure { "-.->" } else { "-->" };
        let label = if arrow.label.is_empty() { String::new() } else { format!("|\"{}\"|", escaped(&arrow.label)) };
        writeln!(out, "  n{} {line}{label} n{}", arrow.from, arrow.to).expect("writing to a text does not fail");
    }
    out
}

fn brackets(shape: NodeShape) -> (&'static str, &'static str) {
    match shape {
        NodeShape::End => ("([", "])"),
        NodeShape::Work => ("[", "]"),
        NodeShape::Decision => ("{", "}"),
        NodeShape::Loop => ("[[", "]]"),
        NodeShape::People => ("{{", "}}"),
        NodeShape::Merge => ("((", "))"),
    }
}

fn title(node: &Node) -> String {
    let title = escaped(&node.title);
    if node.kind.is_empty() { title } else { format!("{title}<br/><small>{}</small>", escaped(&node.kind)) }
}

/// Text inside quotes, with what means something there as entities: `#` and a number.
fn escaped(text: &str) -> String {
    let text = super::label(text);
    let mut out = String::new();
    for (at, c) in text.char_indices() {
        if has_meaning(&text[..at], c, text[at + c.len_utf8()..].chars().next()) {
            write!(out, "#{};", u32::from(c)).expect("writing to a text does not fail");
        } else {
            out.push(c);
        }
    }
    out
}

/// Mermaid reads HTML, icons and formulas in labels, and most of its versions read Markdown. What stands in the middle of a
/// word or a number is left alone where that is safe, because people read the text as well.
fn has_meaning(before: &str, c: char, next: Option<char>) -> bool {
    let last = before.chars().next_back();
    match c {
        '"' | '#' | '<' | '>' | '&' | '`' | '\\' | '*' | '[' | '~' | '@' => true,
        '_' => !last.is_some_and(char::is_alphanumeric) || !next.is_some_and(char::is_alphanumeric),
        // Two of them begin a formula, or a directive, which Mermaid obeys wherever it stands.
        '$' | '%' => last == Some(c) || next == Some(c),
        // An address becomes a link, and `fa:fa-car` the picture of a car.
        ':' => next.is_some_and(|next| next != ' '),
        // The first sign of a list.
        '-' | '+' => before.is_empty(),
        '.' | ')' => last.is_some() && before.chars().all(|c| c.is_ascii_digit()) || before.ends_with("www"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_would_be_drawn_as_something_else_is_escaped() {
        assert_eq!(escaped("1. one"), "1#46; one");
        assert_eq!(escaped("- one - two"), "#45; one - two");
        assert_eq!(escaped("*a* _b_ c_d"), "#42;a#42; #95;b#95; c_d");
        assert_eq!(escaped("[a](b)"), "#91;a](b)");
        assert_eq!(escaped("$$x$$ and $y"), "#36;#36;x#36;#36; and $y");
        assert_eq!(escaped("%%{init: {}}%%"), "#37;#37;{init: {}}#37;#37;");
        assert_eq!(escaped("see: https://a.b"), "see: https#58;//a.b");
        assert_eq!(escaped("fa:fa-car"), "fa#58;fa-car");
    }

    #[test]
    fn what_mermaid_would_read_is_escaped() {
        assert_eq!(escaped("a < \"b\""), "a #60; #34;b#34;");
        assert_eq!(escaped("one\ntwo"), "one two");
        assert_eq!(escaped("größer #1"), "größer #35;1");
        assert_eq!(escaped("-->|x| end"), "#45;-#62;|x| end");
        assert_eq!(escaped("<script>&amp;"), "#60;script#62;#38;amp;");
        assert_eq!(escaped(&"x".repeat(100)).chars().count(), 80);
    }
}
