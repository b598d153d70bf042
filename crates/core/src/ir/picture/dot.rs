//! A picture in the language of Graphviz.

use std::fmt::Write;

use super::{Node, NodeShape, Picture};

/// The directed graph of a picture.
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
            .expect("writing to a text does not fail");
    }
    for arrow in &picture.arrows {
        let mut looks = Vec::new();
        if !arrow.label.is_empty() {
            looks.push(format!("label=\"{}\"", escaped(&arrow.label)));
        }
        if arrow.failure {
            looks.push("style=dashed".to_owned());
        }
        let looks = if looks.is_empty() { String::new() } else { format!(" [{}]", looks.join(", ")) };
        writeln!(out, "  n{} -> n{}{looks};", arrow.from, arrow.to).expect("writing to a text does not fail");
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

/// Text inside quotes. Graphviz reads entities of HTML there.
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
    fn entities_stay_what_they_are() {
        assert_eq!(escaped("&lt; && <b>"), "&amp;lt; &amp;&amp; <b>");
    }
}
