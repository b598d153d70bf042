//! What holds for every text and every value: no panic, one answer by every road, an end within the bounds.
//!
//! The inputs come from `generate`: text of any kind, soup of tokens, expressions that mostly compile, JSON of any shape
//! and JSON that looks like a structured condition.

#![expect(clippy::disallowed_methods, reason = "how many cases to try may stand in the environment")]

mod bounds;
mod equivalence;
mod generate;
mod never_panics;
mod single_expansion;

use proptest::test_runner::Config;

/// As many cases as let the whole suite stay well under a minute without optimisation, times `PROPERTY_SCALE` for those
/// who have more time: `PROPERTY_SCALE=100 cargo test --profile sim -p branchpoint-expr --test properties`.
fn cases(count: u32) -> Config {
    let scale = std::env::var("PROPERTY_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1);
    Config { cases: count.saturating_mul(scale), failure_persistence: None, ..Config::default() }
}
