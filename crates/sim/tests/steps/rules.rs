//! Rules of step trees that the public vectors do not cover, in the same format.

use branchpoint_sim::vectors;

#[test]
fn step_trees_run_as_the_spec_says() {
    let verdicts = vectors::run(include_str!("../fixtures/steps-runs.json")).expect("the fixtures can be read");
    let failures: Vec<String> = verdicts
        .iter()
        .filter_map(|verdict| Some((&verdict.name, verdict.failure.as_ref()?)))
        .map(|(name, failure)| format!("{name}: expected {}, got {}", failure.expected, failure.got))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
