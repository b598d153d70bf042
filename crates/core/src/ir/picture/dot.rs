//! Diagrams in the DOT language of Graphviz.

use std::fmt::Write;

use super::{Node, NodeShape, Picture};

/// A diagram as a directed graph.
///
/// ```
/// use branchpoint_core::ir::{builder::Builder, picture};
///
/// assert!(picture::dot(&picture::picture(&Builder::sample(), "")).starts_with("digraph"));
/// ```
pub fn dot(picture: &Picture) -> String {
    let mut out =
        "digraph workflow {\n  node [fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n".to_owned();
    for (number, node) in picture.nodes.iter().enumerate() {
        writeln!(out, "  n{number} [label=\"{}\", {}];", title(node), shape(node.shape))
            .expect("writing to a string does not fail");
    }
    for arrow in &picture.arrows {
        let mut attributes = Vec::new();
        if !arrow.label.is_empty() {
            attributes.push(format!("label=\"{}\"", escaped(&arrow.label)));
        }
        if arrow.failure {
            attributes.push("style=dashed".to_owned());
        }
        let attributes = if attributes.is_empty() { String::new() } else { format!(" [{}]", attributes.join(", ")) };
        writeln!(out, "  n{} -> n{}{attributes};", arrow.from, arrow.to).expect("writing to a string does not fail");
    }
    out.push_str("}\n");
    out
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
