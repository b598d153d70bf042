//! State machines beyond the conformance vectors: rules of the specification that no vector covers, and random machines whose
//! path an independent model predicts.

mod children;
mod examples;
mod paths;
mod step_list;

use branchpoint_sim::vectors;

/// In the format of `vectors/README.machine.md`; these are ours and change with the specification.
const RUNS: &str = include_str!("runs.json");

#[test]
fn runs_end_as_the_specification_says() {
    let verdicts = vectors::run(RUNS).expect("a valid file of vectors");
    assert!(verdicts.len() > 100, "only {} runs were found", verdicts.len());
    let wrong: Vec<String> = verdicts
        .into_iter()
        .filter_map(|verdict| {
            let failure = verdict.failure?;
            Some(format!("{}: expected {}, got {}", verdict.name, failure.expected, failure.got))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
