//! The dialect `flow`: rejected documents, lowered programs, and no panics.

mod lowered;
mod never_panics;
mod rejected;

/// A flow of these steps, without warnings.
fn flow(steps: &str) -> String {
    format!(r#"{{"name": "n", "description": "d", "uuid": "u", "steps": [{steps}]}}"#)
}
