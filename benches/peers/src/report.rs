//! The Markdown that the bench binaries print.

use crate::{Case, Engine, Probe, engines};
use std::fs;

const LOCK: &str = include_str!("../Cargo.lock");
const PEERS: [&str; 6] = ["datalogic-rs", "zen-expression", "cel", "expr-lang", "rhai", "minijinja"];

/// On shared cores a neighbour slows down whole seconds: every row is measured this often, and its best figures count.
const PASSES: usize = 3;

const COLUMNS: usize = Case::ALL.len() + 1;

/// Measures every engine on every condition and prints one row each.
pub fn table(probe: Probe) {
    let engines = engines();
    let mut rows = vec![[f64::INFINITY; COLUMNS]; engines.len()];
    for _ in 0..PASSES {
        for (engine, row) in engines.iter().zip(&mut rows) {
            improve(row, engine.as_ref(), probe);
        }
    }
    println!("| engine | {} | compile (1) |", Case::ALL.map(Case::label).join(" | "));
    println!("|---|{}", "---:|".repeat(COLUMNS));
    for (engine, row) in engines.iter().zip(rows) {
        println!("| {} | {} |", engine.name(), row.map(figure).join(" | "));
    }
}

fn improve(row: &mut [f64; COLUMNS], engine: &dyn Engine, probe: Probe) {
    let cases = Case::ALL.into_iter().map(|case| Some(engine.evaluate(case, probe)));
    let compile = std::iter::once_with(|| engine.compile(probe));
    for (best, measured) in row.iter_mut().zip(cases.chain(compile)) {
        *best = best.min(measured.unwrap_or(f64::INFINITY));
    }
}

fn figure(value: f64) -> String {
    if value.is_infinite() {
        "–".into()
    } else if value.fract() == 0.0 || value >= 10.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

/// What the figures were made with: versions, processor, command.
pub fn environment() -> String {
    let versions = PEERS.map(|name| format!("{name} {}", locked_version(name)));
    format!(
        "Peers: {}.\nCPU: {}, {} cores.\nCommand: `cd benches/peers && cargo bench`",
        versions.join(", "),
        cpu_model().unwrap_or_else(|| "unknown".into()),
        std::thread::available_parallelism().map_or(1, usize::from),
    )
}

fn locked_version(package: &str) -> &'static str {
    let entry = format!("name = \"{package}\"\nversion = \"");
    LOCK.split_once(&entry).and_then(|(_, rest)| rest.split_once('"')).map_or("?", |(version, _)| version)
}

fn cpu_model() -> Option<String> {
    let cpus = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = cpus.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(": ")?.1.to_owned())
}
