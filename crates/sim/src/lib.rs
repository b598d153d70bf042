//! What keeps Branchpoint honest, and is never published.
//!
//! - [`world`] simulates: one virtual clock, several runs, a disk that loses what was not flushed, effects and people that
//!   misbehave. [`generate`] makes workflows as a [`tree`], [`lower`] turns them into programs, [`model`] is an independent,
//!   slow reading of the same tree that audits every event, [`shrink`] makes a failing case small. The binary `sim` is its
//!   command line; a seed and a commit reproduce everything.
//! - [`examples`] finds the documents in `examples/`.
//! - [`journal`]: journals that are kept for good, in `golden/`; `tests/golden.rs` folds them with every build.
//! - [`vectors`] runs the conformance vectors of `vectors/`, and any other file of the same formats; the binary of that
//!   name is its command line.
//! - `tests/repo/` checks the repository itself: who may depend on whom, how long a file may be, that every diagnostic
//!   kind has its page. These are ordinary tests, so `cargo test` is all it takes to know that the house is in order.

pub mod examples;
pub mod generate;
pub mod journal;
pub mod live;
pub mod lower;
pub mod model;
pub mod rng;
pub mod shrink;
pub mod tree;
pub mod vectors;
pub mod world;
