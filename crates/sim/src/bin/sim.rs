//! Simulates seeds: `cargo run --profile sim -p branchpoint-sim --bin sim -- --seeds 0..10000`.
//!
//! Prints what it covered, and last the line `N passed, N failed`. The first failing seed is shrunk and shown.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail};
use branchpoint_core::ir::print;
use branchpoint_sim::generate::trees;
use branchpoint_sim::lower::lower;
use branchpoint_sim::shrink::shrink;
use branchpoint_sim::tree::Tree;
use branchpoint_sim::world::{Coverage, simulate};

fn main() -> Result<ExitCode> {
    let (first, end) = seeds()?;
    // A panic counts as a failure and is reported with its seed, not by the hook.
    std::panic::set_hook(Box::new(|_| {}));
    let (seen, mut failures) = simulate_all(first, end);
    for (name, count) in &seen {
        println!("{name:>26} {count}");
    }
    failures.sort();
    for (seed, reason) in failures.iter().skip(1).take(20) {
        println!("seed {seed} failed: {}", reason.lines().next().unwrap_or_default());
    }
    if let Some((seed, _)) = failures.first() {
        shrink_and_print(*seed);
    }
    let failed = failures.len() as u64;
    println!("{} passed, {failed} failed", end - first - failed);
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn seeds() -> Result<(u64, u64)> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [option, range] = &arguments[..] else { bail!("usage: sim --seeds FIRST..END") };
    let (first, end) = range.split_once("..").context("seeds are a range such as 0..10000")?;
    let (first, end): (u64, u64) = (first.parse()?, end.parse()?);
    if option != "--seeds" || first >= end {
        bail!("usage: sim --seeds FIRST..END");
    }
    Ok((first, end))
}

/// Simulates all seeds in parallel. Seeds are independent of each other.
fn simulate_all(first: u64, end: u64) -> (Coverage, Vec<(u64, String)>) {
    let next = AtomicU64::new(first);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let work = || {
        let (mut seen, mut failures) = (Coverage::new(), Vec::new());
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return (seen, failures);
            }
            match attempt(seed, &trees(seed)) {
                Ok(more) => more.into_iter().for_each(|(name, count)| *seen.entry(name).or_default() += count),
                Err(reason) => failures.push((seed, reason)),
            }
        }
    };
    let (mut seen, mut failures) = (Coverage::new(), Vec::new());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let (more, failed) = worker.join().expect("a worker catches every panic of a seed");
            for (name, count) in more {
                *seen.entry(name).or_default() += count;
            }
            failures.extend(failed);
        }
    });
    (seen, failures)
}

fn attempt(seed: u64, trees: &[Tree]) -> Result<Coverage, String> {
    catch_unwind(AssertUnwindSafe(|| simulate(seed, trees))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(format!("panicked: {}", text.unwrap_or("(no message)")))
    })
}

fn shrink_and_print(seed: u64) {
    // A tree that fails at run time must not shrink to one that the validator rejects.
    let is_rejected = |trees: &[Tree]| trees.iter().any(|tree| lower(tree).is_err());
    let whole = trees(seed);
    let rejected = is_rejected(&whole);
    let fails = |trees: &[Tree]| is_rejected(trees) == rejected && attempt(seed, trees).is_err();
    let small = shrink(whole, fails);
    let reason = attempt(seed, &small).err().unwrap_or_default();
    println!("seed {seed} failed: {reason}\n");
    for tree in &small {
        println!("{tree:#?}\n");
        if let Ok(program) = lower(tree) {
            println!("{}", print(&program));
        }
    }
}
