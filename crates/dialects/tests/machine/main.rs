//! The dialect `machine`: rejected documents, lowered programs, and no panics.

mod corpus;
mod lowered;
mod never_panics;
mod rejected;

/// A machine of these states with the initial state `a`, and terminal states of success and failure.
fn machine(states: &str) -> String {
    format!("name: n\nstates:\n  initial: a\n{states}  done: {{type: terminal}}\n")
}
