//! How one closure is measured.

use stats_alloc::{INSTRUMENTED_SYSTEM, Region};
use std::hint::black_box;
use std::time::{Duration, Instant};

const SAMPLES: usize = 15;
const LEAST_SAMPLE_TIME: Duration = Duration::from_millis(10);
const COUNTED_RUNS: u32 = 1_000;

/// What to measure of a closure. Generic over it, so that the loop around a fast one is free of indirect calls.
#[derive(Clone, Copy, Debug)]
pub enum Probe {
    /// Median nanoseconds per run.
    Nanoseconds,
    /// Allocations and reallocations per run. The binary must install [`INSTRUMENTED_SYSTEM`].
    Allocations,
}

impl Probe {
    /// Measures `subject`, which must answer true.
    pub fn run(self, mut subject: impl FnMut() -> bool) -> f64 {
        assert!(subject(), "a condition of the benchmark is not true");
        match self {
            Self::Nanoseconds => nanoseconds(&mut subject),
            Self::Allocations => allocations(&mut subject),
        }
    }
}

fn nanoseconds(subject: &mut impl FnMut() -> bool) -> f64 {
    let runs = runs_per_sample(subject);
    let mut samples: [Duration; SAMPLES] = std::array::from_fn(|_| sample(subject, runs));
    samples.sort_unstable();
    samples[SAMPLES / 2].as_secs_f64() * 1e9 / f64::from(runs)
}

/// Doubles the runs until they fill a sample's time, which warms up as well.
fn runs_per_sample(subject: &mut impl FnMut() -> bool) -> u32 {
    let mut runs = 64;
    while sample(subject, runs) < LEAST_SAMPLE_TIME {
        runs *= 2;
    }
    runs
}

fn sample(subject: &mut impl FnMut() -> bool, runs: u32) -> Duration {
    let start = Instant::now();
    for _ in 0..runs {
        black_box(subject());
    }
    start.elapsed()
}

fn allocations(subject: &mut impl FnMut() -> bool) -> f64 {
    let region = Region::new(&INSTRUMENTED_SYSTEM);
    for _ in 0..COUNTED_RUNS {
        black_box(subject());
    }
    let change = region.change();
    (change.allocations + change.reallocations) as f64 / f64::from(COUNTED_RUNS)
}
