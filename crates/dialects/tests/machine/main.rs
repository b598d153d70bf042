//! The dialect `machine`: rejected documents, lowered programs, and no panics.

mod corpus;
mod lowered;
mod never_panics;
mod refused;

/// A machine of these states, of which the first is `a`, with a good end and a bad one.
fn machine(states: &str) -> String {
    format!("name: n\nstates:\n  initial: a\n{states}  done: {{type: terminal}}\n")
}
