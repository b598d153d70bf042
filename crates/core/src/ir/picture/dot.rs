//! Diagrams in the DOT language of Graphviz.

use std::fmt::Write;

use super::{ComparedPicture, Node, NodeShape, Picture, PictureMark};

/// A diagram as a directed graph.
///
/// ```
/// use branchpoint_core::ir::{builder::Builder, picture};
///
/// assert!(picture::dot(&picture::picture(&Builder::sample(), "")).starts_with("digraph"));
/// ```
pub fn dot(picture: &Picture) -> String {
    draw(picture, &[], &[])
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
/// assert_eq!(picture::dot_compared(&compared), picture::dot(&drawn));
/// ```
pub fn dot_compared(compared: &ComparedPicture) -> String {
    draw(&compared.picture, &compared.nodes, &compared.arrows)
}

fn draw(picture: &Picture, nodes: &[Option<PictureMark>], arrows: &[Option<PictureMark>]) -> String {
    let mut out =
        "digraph workflow {\n  node [fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n".to_owned();
    for (number, node) in picture.nodes.iter().enumerate() {
        let mark = nodes.get(number).copied().flatten().map_or("", style);
        writeln!(out, "  n{number} [label=\"{}\", {}{mark}];", title(node), shape(node.shape))
            .expect("writing to a string does not fail");
    }
    for (number, arrow) in picture.arrows.iter().enumerate() {
        let mut attributes = Vec::new();
        if !arrow.label.is_empty() {
            attributes.push(format!("label=\"{}\"", escaped(&arrow.label)));
        }
        let mark = arrows.get(number).copied().flatten();
        if arrow.failure && mark != Some(PictureMark::Removed) {
            attributes.push("style=dashed".to_owned());
        }
        attributes.extend(mark.map(|mark| style(mark).trim_start_matches(", ").to_owned()));
        let attributes = if attributes.is_empty() { String::new() } else { format!(" [{}]", attributes.join(", ")) };
        writeln!(out, "  n{} -> n{}{attributes};", arrow.from, arrow.to).expect("writing to a string does not fail");
    }
    out.push_str("}\n");
    out
}

fn style(mark: PictureMark) -> &'static str {
    match mark {
        PictureMark::Added => ", color=\"#2e7d32\", penwidth=2",
        PictureMark::Changed => ", color=\"#ef6c00\", penwidth=2",
        PictureMark::Removed => ", color=\"#c62828\", style=dotted",
    }
}

fn shape(shape: NodeShape) -> &'static str {
    match shape {
        NodeShape::End => "shape=oval",
        NodeShape::Work => "shape=box",
        NodeShape::Decision => "shape=diamond",
        NodeShape::Loop => "shape=box, peripheries=2",
        NodeShape::People => "shape=hexagon",
        NodeShape::Merge => "shape=circle",
    }
}

fn title(node: &Node) -> String {
    let title = escaped(&node.title);
    if node.kind.is_empty() { title } else { format!("{title}\\n{}", escaped(&node.kind)) }
}

/// Escapes text inside quotes, including HTML entities, which Graphviz would decode.
fn escaped(text: &str) -> String {
    super::label(text).replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;")
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn quotes_and_backslashes_are_escaped() {
        assert_eq!(escaped("a == \"\\n\""), "a == \\\"\\\\n\\\"");
    }

    #[test]
    fn entities_are_escaped() {
        assert_eq!(escaped("&lt; && <b>"), "&amp;lt; &amp;&amp; <b>");
    }
}
