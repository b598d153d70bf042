//! A picture as Mermaid text, which code hosts and documentation draw.

use std::fmt::Write;

use super::{Look, Node, Picture};

/// The flowchart of a picture.
pub fn mermaid(picture: &Picture) -> String {
    let mut out = "flowchart TD\n".to_owned();
    for (number, node) in picture.nodes.iter().enumerate() {
        let (open, close) = brackets(node.look);
        writeln!(out, "  n{number}{open}\"{}\"{close}", title(node)).expect("writing to a text does not fail");
    }
    for arrow in &picture.arrows {
        let line = if arrow.failure { "-.->" } else { "-->" };
        let label = if arrow.label.is_empty() { String::new() } else { format!("|\"{}\"|", escaped(&arrow.label)) };
        writeln!(out, "  n{} {line}{label} n{}", arrow.from, arrow.to).expect("writing to a text does not fail");
    }
    out
}

fn brackets(look: Look) -> (&'static str, &'static str) {
    match look {
        Look::End => ("([", "])"),
        Look::Work => ("[", "]"),
        Look::Decision => ("{", "}"),
        Look::Loop => ("[[", "]]"),
        Look::People => ("{{", "}}"),
        Look::Merge => ("((", "))"),
    }
}

fn title(node: &Node) -> String {
    let title = escaped(&node.title);
    if node.kind.is_empty() { title } else { format!("{title}<br/><small>{}</small>", escaped(&node.kind)) }
}

/// Text inside quotes. Mermaid reads entities written with `#` and a number, HTML, and Markdown between backticks.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in super::dot::cut(text).chars() {
        match c {
            '\n' => out.push(' '),
            '"' | '#' | '<' | '>' | '&' | '`' | '\\' => {
                write!(out, "#{};", u32::from(c)).expect("writing to a text does not fail");
            }
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_mermaid_would_read_is_escaped() {
        assert_eq!(escaped("a < \"b\""), "a #60; #34;b#34;");
        assert_eq!(escaped("one\ntwo"), "one two");
        assert_eq!(escaped("größer #1"), "größer #35;1");
        assert_eq!(escaped(&"x".repeat(100)).chars().count(), 80);
    }
}
