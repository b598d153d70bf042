//! Seeds of the simulator that failed once, each with the count that it must cover, and what its seeds cover together.

use branchpoint_sim::generate::trees;
use branchpoint_sim::world::simulate;

#[track_caller]
fn check(seed: u64, seen: &str) {
    let counts = simulate(seed, &trees(seed)).unwrap_or_else(|reason| panic!("seed {seed}: {reason}"));
    assert!(counts.get(seen).is_some_and(|count| *count > 0), "seed {seed} has no {seen}: {counts:?}");
}

/// Values doubled with each merge and each parallel until storing one did not end.
#[test]
fn values_that_share_their_parts_are_bounded() {
    check(10_831_442, "values too large");
    check(10_876_279, "values too large");
    check(10_913_461, "values too large");
}

#[test]
fn the_simulator_knows_approvals_with_groups_forms_vetoes_escalations_and_delegates() {
    let mut seen = branchpoint_sim::world::Coverage::new();
    for seed in 0..600 {
        let counts = simulate(seed, &trees(seed)).unwrap_or_else(|reason| panic!("seed {seed}: {reason}"));
        for (name, count) in counts {
            *seen.entry(name).or_default() += count;
        }
    }
    for name in [
        "requests decided",
        "requests vetoed",
        "requests without quorum",
        "requests ended early",
        "requests refused",
        "votes of delegates",
        "votes with an edited form",
        "delegations revoked",
        "escalations",
    ] {
        assert!(seen.get(name).is_some_and(|count| *count > 0), "no {name} in {seen:?}");
    }
}
