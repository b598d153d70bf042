//! The dialect `graph`: rejected documents, lowered programs, and no panics.

mod lowered;
mod never_panics;
mod refused;

/// A graph of these nodes and connections, beside a start `s`.
fn graph(nodes: &str, connections: &str) -> String {
    let start = r#"{"id": "s", "type": "start"}"#;
    let comma = if nodes.is_empty() { "" } else { ", " };
    format!(r#"{{"nodes": [{start}{comma}{nodes}], "connections": [{connections}]}}"#)
}

/// A connection; an empty handle is none.
fn edge(source: &str, handle: &str, target: &str) -> String {
    format!(r#"{{"source": "{source}", "target": "{target}", "sourceHandle": "{handle}"}}"#)
}

/// An agent that may use subagents.
fn boss(id: &str) -> String {
    format!(r#"{{"id": "{id}", "type": "agent", "data": {{"tools": {{"subagents": true}}}}}}"#)
}
