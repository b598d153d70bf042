//! Runs that loop without effects: they are bounded, and keep nobody else from working.

use super::running::{Place, err, exits};

/// A hundred million rounds that do nothing.
const ROUNDS: &str = r#"
name: rounds
steps:
  - id: outer
    step_type: while
    if: "true"
    max_iterations: 10000
    body:
      - id: inner
        step_type: while
        if: "true"
        max_iterations: 10000
        body: [{id: nothing, step_type: text}]
"#;

/// States that lead to each other for ever.
const CYCLE: &str = r#"
name: cycle
states:
  initial: a
  a: {type: for_each, items: "[]", body: [work], on_complete: b, on_failure: done}
  b: {type: for_each, items: "[]", body: [work], on_complete: a, on_failure: done}
  work: {command: "true"}
  done: {type: terminal}
"#;

const FILES: [(&str, &str); 3] =
    [("rounds.yaml", ROUNDS), ("cycle.yaml", CYCLE), ("branchpoint.toml", "[limits]\nops = 20_000\n")];

#[test]
fn a_run_that_loops_ends_at_the_operators_limit() {
    let place = Place::new(&FILES);
    for (file, id) in [("rounds.yaml", "r"), ("cycle.yaml", "c")] {
        let ran = place.run(&["run", file, "--id", id]);
        exits(&ran, 3);
        assert!(err(&ran).contains("[op_limit]: the run has executed 20000 operations"), "{}", err(&ran));
        let tried = place.run(&["run", file, "--dry-run"]);
        exits(&tried, 3);
        assert!(err(&tried).contains("[op_limit]"), "{}", err(&tried));
    }
}
