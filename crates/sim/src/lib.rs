//! Simulation, conformance vectors and repo checks. This crate is never published.
//!
//! - [`world`] simulates runs with a virtual clock, a disk that loses unflushed writes, and effects and people that misbehave.
//!   [`generate`] generates workflows as a [`tree`], [`lower`] lowers them to programs, [`model`] is an independent interpreter of
//!   the same tree that audits every event, and [`shrink`] reduces a failing case. The binary `sim` is its command line; a seed and
//!   a commit reproduce every run.
//! - [`real_clock`] runs a program with real commands and the real clock. [`examples`] lists the documents in `examples/`.
//! - [`restate`] starts a Restate server on this machine, and runs programs on it.
//! - [`journal`]: golden journals in `golden/`, which `tests/golden.rs` folds with every build.
//! - [`vectors`] runs the conformance vectors in `vectors/` and other files of the same formats. The binary `vectors` is its
//!   command line.
//! - `tests/repo/` checks the repository itself: dependencies between crates, lengths of files, a page for every diagnostic kind.
//!   These checks are ordinary tests, so `cargo test` runs them.

pub mod examples;
pub mod generate;
pub mod journal;
pub mod lower;
pub mod model;
pub mod real_clock;
pub mod restate;
pub mod rng;
pub mod shrink;
pub mod tree;
pub mod vectors;
pub mod world;
