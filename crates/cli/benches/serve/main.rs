//! The server of the real program under load: `cargo bench -p branchpoint --bench serve [-- starts|listeners|lists|trace]`.
//!
//! Clients and server share the machine. Every rate is printed with that of a floor from the same run, on the same disk. The stores are in the
//! folder `BRANCHPOINT_BENCH_DIR`, or below the working directory, because temporary folders are often in memory. Smaller sizes for a
//! quick look: `BENCH_SECONDS`, `BENCH_LISTENERS`, `BENCH_RUNS`, `BENCH_STEPS`.

mod fill;
mod floor;
mod http;
mod listeners;
mod lists;
mod program;
mod starts;
mod trace;

use std::path::{Path, PathBuf};
use std::time::Duration;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if let [floor::COMMAND, template, file] = &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return floor::serve(Path::new(template), Path::new(file));
    }
    let wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|argument| argument == name);
    if wanted("starts") {
        starts::run();
    }
    if wanted("listeners") {
        listeners::run();
    }
    if wanted("lists") {
        lists::run();
    }
    if wanted("trace") {
        trace::run();
    }
}

/// A size, unless the environment has another.
fn size(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A folder that is removed after the benchmark.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let root = std::env::var_os("BRANCHPOINT_BENCH_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
        let folder = root.join(format!("bench-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the folder can be created");
        Self(folder.canonicalize().expect("it is there"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A remaining folder does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Measured times, sorted.
struct Times(Vec<Duration>);

impl Times {
    fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The time in milliseconds that a part of all measurements does not exceed.
    fn at(&self, part: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a length")]
        let position = (last as f64 * part).round() as usize;
        self.0.get(position).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    }
}
