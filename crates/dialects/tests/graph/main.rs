//! The dialect `graph`: rejected documents, lowered programs, and no panics.

mod lowered;
mod never_panics;
mod rejected;

/// A graph of these nodes and connections, and a start `s`.
fn graph(nodes: &str, connections: &str) -> String {
    let start = r#"{"id": "s", "type": "start"}"#;
    let comma = if nodes.is_empty() { "" } else { ", " };
    format!(r#"{{"nodes": [{start}{comma}{nodes}], "connections": [{connections}]}}"#)
}

/// A connection. An empty text means no handle.
fn edge(source: &str, handle: &str, target: &str) -> String {
    format!(r#"{{"source": "{source}", "target": "{target}", "sourceHandle": "{handle}"}}"#)
}

/// An agent that may use subagents.
fn boss(id: &str) -> String {
    format!(r#"{{"id": "{id}", "type": "agent", "data": {{"tools": {{"subagents": true}}}}}}"#)
}
