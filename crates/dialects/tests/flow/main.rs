//! The dialect `flow`: rejected documents, lowered programs, and no panics.

mod lowered;
mod never_panics;
mod refused;

/// A flow of these steps, without anything to warn of.
fn flow(steps: &str) -> String {
    format!(r#"{{"name": "n", "description": "d", "uuid": "u", "steps": [{steps}]}}"#)
}
