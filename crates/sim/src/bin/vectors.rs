//! Runs conformance vectors: `cargo run -p branchpoint-sim --bin vectors -- FILE...`.
//!
//! One line for each vector that fails, and last the line `N passed, N failed`.

use std::process::ExitCode;

use anyhow::{Context, Result};
use branchpoint_sim::vectors;

fn main() -> Result<ExitCode> {
    let files: Vec<_> = std::env::args().skip(1).collect();
    anyhow::ensure!(!files.is_empty(), "no vector file is named; give one or more, such as vectors/*.json");
    let (mut passed, mut failed) = (0_usize, 0_usize);
    for file in &files {
        let text = std::fs::read_to_string(file).with_context(|| format!("{file} cannot be read"))?;
        for verdict in vectors::run(&text).with_context(|| file.clone())? {
            match verdict.failure {
                None => passed += 1,
                Some(failure) => {
                    failed += 1;
                    println!("{}: expected {}, got {}", verdict.name, failure.expected, failure.got);
                }
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
