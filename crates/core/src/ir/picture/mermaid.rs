//! Diagrams as Mermaid text, which code hosts and documentation tools render.

use std::fmt::Write;

use super::{ComparedPicture, Node, NodeShape, Picture, PictureMark};

/// A diagram as a flowchart.
///
/// ```
/// use branchpoint_core::ir::{builder::Builder, picture};
///
/// assert!(picture::mermaid(&picture::picture(&Builder::sample(), "")).starts_with("flowchart"));
/// ```
pub fn mermaid(picture: &Picture) -> String {
    draw(picture, &[])
}

/// A diagram of two documents: added parts are green, changed ones orange, removed ones red and dotted.
///
/// ```
/// use std::collections::{BTreeMap, BTreeSet};
///
/// use branchpoint_core::ir::{builder::Builder, picture};
///
/// let drawn = picture::picture(&Builder::sample(), "");
/// let compared = picture::compare(&drawn, &drawn, &BTreeSet::new(), &BTreeMap::new());
/// assert!(picture::mermaid_compared(&compared).starts_with("flowchart"));
/// ```
pub fn mermaid_compared(compared: &ComparedPicture) -> String {
    let mut out = draw(&compared.picture, &compared.nodes);
    for (mark, style) in MARKS {
        let name = mark.as_str();
        let of_mark = |marks: &[Option<PictureMark>]| -> Vec<String> {
            let matching = marks.iter().enumerate().filter(|(_, other)| **other == Some(mark));
            matching.map(|(at, _)| at.to_string()).collect()
        };
        if !of_mark(&compared.nodes).is_empty() {
            writeln!(out, "  classDef {name} {style}").expect("writing to a string does not fail");
        }
        let arrows = of_mark(&compared.arrows);
        if !arrows.is_empty() {
            writeln!(out, "  linkStyle {} {style}", arrows.join(",")).expect("writing to a string does not fail");
        }
    }
    out
}

const MARKS: [(PictureMark, &str); 3] = [
    (PictureMark::Added, "stroke:#2e7d32,stroke-width:3px"),
    (PictureMark::Changed, "stroke:#ef6c00,stroke-width:3px"),
    (PictureMark::Removed, "stroke:#c62828,stroke-width:2px,stroke-dasharray:3 3"),
];

fn draw(picture: &Picture, marks: &[Option<PictureMark>]) -> String {
    let mut out = "flowchart TD\n".to_owned();
    for (number, node) in picture.nodes.iter().enumerate() {
        let (open, close) = brackets(node.shape);
        let class = marks.get(number).copied().flatten().map_or(String::new(), |mark| format!(":::{}", mark.as_str()));
        writeln!(out, "  n{number}{open}\"{}\"{close}{class}", title(node)).expect("writing to a string does not fail");
    }
    for arrow in &picture.arrows {
        let line = if arrow.failure { "-.->" } else { "-->" };
        let label = if arrow.label.is_empty() { String::new() } else { format!("|\"{}\"|", escaped(&arrow.label)) };
        writeln!(out, "  n{} {line}{label} n{}", arrow.from, arrow.to).expect("writing to a string does not fail");
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

/// Escapes text inside quotes: characters with a meaning become entities, `#` and a number.
fn escaped(text: &str) -> String {
    let text = super::label(text);
    let mut out = String::new();
    for (at, c) in text.char_indices() {
        if has_meaning(&text[..at], c, text[at + c.len_utf8()..].chars().next()) {
            write!(out, "#{};", u32::from(c)).expect("writing to a string does not fail");
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether Mermaid would interpret a character: labels may contain HTML, icons and formulas, and in most versions Markdown. Characters
/// inside words and numbers are not escaped where that is safe, so that the source stays readable.
fn has_meaning(before: &str, c: char, next: Option<char>) -> bool {
    let last = before.chars().next_back();
    match c {
        '"' | '#' | '<' | '>' | '&' | '`' | '\\' | '*' | '[' | '~' | '@' => true,
        '_' => !last.is_some_and(char::is_alphanumeric) || !next.is_some_and(char::is_alphanumeric),
        // Two of these characters begin a formula or a directive.
        '$' | '%' => last == Some(c) || next == Some(c),
        // A URL becomes a link, and `fa:fa-car` an icon.
        ':' => next.is_some_and(|next| next != ' '),
        // The marker of a list.
        '-' | '+' => before.is_empty(),
        '.' | ')' => last.is_some() && before.chars().all(|c| c.is_ascii_digit()) || before.ends_with("www"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn markup_of_labels_is_escaped() {
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
    fn syntax_of_mermaid_is_escaped() {
        assert_eq!(escaped("a < \"b\""), "a #60; #34;b#34;");
        assert_eq!(escaped("one\ntwo"), "one two");
        assert_eq!(escaped("größer #1"), "größer #35;1");
        assert_eq!(escaped("-->|x| end"), "#45;-#62;|x| end");
        assert_eq!(escaped("<script>&amp;"), "#60;script#62;#38;amp;");
        assert_eq!(escaped(&"x".repeat(100)).chars().count(), 80);
    }
}
