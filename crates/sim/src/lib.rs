//! What keeps Branchpoint honest, and is never published.
//!
//! - [`vectors`] runs the conformance vectors of `vectors/`, and any other file of the same formats; the binary of that
//!   name is its command line.
//! - `tests/repo/` checks the repository itself: who may depend on whom, how long a file may be, that every diagnostic
//!   kind has its page. These are ordinary tests, so `cargo test` is all it takes to know that the house is in order.

pub mod generate;
pub mod lower;
pub mod model;
pub mod rng;
pub mod shrink;
pub mod tree;
pub mod vectors;
pub mod world;
