//! Runs conformance vectors: `cargo run -p branchpoint-sim --bin vectors -- [--host plain|sqlite|restate] [--crash-every-event] FILE...`.
//!
//! Prints a line for each failing vector, and last the line `N passed, N failed`.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use branchpoint_sim::vectors::{self, Hosting, set_hosting};

fn main() -> Result<ExitCode> {
    let files = arguments()?;
    anyhow::ensure!(!files.is_empty(), "no vector file given; name one or more, such as vectors/*.json");
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

/// Parses the arguments: sets the host and returns the files.
fn arguments() -> Result<Vec<String>> {
    let (mut hosting, mut crashing, mut files) = (Hosting::Plain, false, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--host" => match arguments.next().as_deref() {
                Some("plain") => hosting = Hosting::Plain,
                Some("sqlite") => hosting = Hosting::Sqlite,
                Some("restate") => hosting = Hosting::Restate,
                other => bail!("--host is `plain`, `sqlite` or `restate`, not {other:?}"),
            },
            "--crash-every-event" => crashing = true,
            unknown if unknown.starts_with("--") => bail!("unknown option {unknown}"),
            file => files.push(file.to_owned()),
        }
    }
    anyhow::ensure!(!crashing || hosting == Hosting::Sqlite, "--crash-every-event needs --host sqlite");
    set_hosting(if crashing { Hosting::Crashing } else { hosting });
    Ok(files)
}
