//! The dialect `flow`: what is refused and where, what programs come of it, and that nothing makes it panic.

mod lowered;
mod never_panics;
mod refused;

/// A flow of these steps, without anything to warn of.
fn flow(steps: &str) -> String {
    format!(r#"{{"name": "n", "description": "d", "uuid": "u", "steps": [{steps}]}}"#)
}
