//! Runs with a budget, parallel branches and calls in flight, while the worker is killed again and again: no budget is exceeded by as
//! much as two calls, and nothing is counted twice.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use branchpoint_core::Event;
use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use super::{PATIENCE, Place, kill, opened, pause};

const LIMIT: u64 = 4_000;

/// What a call of each step uses.
const SMALL: u64 = 90;
const LARGE: u64 = 130;

const RUNS: u32 = 4;
const MOST_KILLS: u32 = 12;

/// Two loops of calls at the same time, which would use 8800 tokens.
const WORKFLOW: &str = "
name: budgeted
budget: {tokens: 4000}
on_budget: [{id: over, step_type: text, template: '{{budget.reason}} {{budget.tokens}}'}]
steps:
  - id: both
    step_type: parallel
    branches:
      - name: small
        steps:
          - id: smalls
            step_type: for_each
            input_template: '40'
            limit: 40
            parallel: true
            max_concurrency: 4
            body: [{id: small, step_type: prompt_call, prompt_template: x}]
      - name: large
        steps:
          - id: larges
            step_type: for_each
            input_template: '40'
            limit: 40
            parallel: true
            max_concurrency: 3
            body: [{id: large, step_type: prompt_call, prompt_template: y}]
";

const SCRIPT: &str = "
small: [{$text: x, $usage: {tokens: 90}, $delay_ms: 120}]
large: [{$text: y, $usage: {tokens: 130}, $delay_ms: 160}]
";

#[test]
fn a_budget_is_exceeded_by_less_than_one_call_whenever_the_worker_is_killed() {
    let place = Place::new("budgeted.yaml", WORKFLOW);
    place.write("script.yaml", SCRIPT);
    for run in 0..RUNS {
        let id = format!("b{run}");
        let arguments = ["run", "budgeted.yaml", "--script", "script.yaml", "--detach", "--id", &id];
        assert!(place.program(&arguments).wait().expect("it was started").success());
    }
    let (mut interrupted, mut round) = (0, 0);
    while round < MOST_KILLS {
        let before = total(&place);
        let mut worker = place.program(&["work"]);
        let begin = Instant::now();
        // Calls are in flight when others have just ended.
        while total(&place) == before && begin.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(10));
        }
        pause(round, 150);
        kill(&mut worker);
        round += 1;
        let journals = place.journals();
        interrupted += journals.values().filter(|(status, journal)| !status.is_final() && used(journal) > 0).count();
        if journals.values().all(|(status, _)| status.is_final()) {
            break;
        }
    }
    place.finish();
    assert!(interrupted > 0, "some run was killed between two of its calls");
    let store = opened(&place.store()).expect("there is a store");
    for (id, (status, journal)) in place.journals() {
        assert_eq!(status, Status::Completed, "run `{id}`");
        let used = used(&journal);
        assert!((LIMIT..LIMIT + LARGE).contains(&used), "run `{id}` used {used} tokens");
        let run = store.run(&id).expect("the store can be read").expect("the run is there").run;
        let state = store.load(run).expect("the run can be read").state;
        let output = state.result().and_then(|(_, result)| result.get("output")).map(Value::to_string);
        assert_eq!(output, Some(format!("tokens {used}")), "run `{id}` has counted each call once");
    }
}

fn total(place: &Place) -> u64 {
    place.journals().values().map(|(_, journal)| used(journal)).sum()
}

/// The tokens of all recorded calls, each of which is recorded once.
fn used(journal: &super::Journal) -> u64 {
    let mut settled = BTreeSet::new();
    let usages = journal.iter().filter_map(|(_, event, _)| match event {
        Event::Settled { effect, attempt, usage, .. } => {
            assert!(settled.insert((effect.0, *attempt)), "effect {} is recorded twice", effect.0);
            assert!([SMALL, LARGE].contains(&usage.tokens), "{usage:?}");
            Some(usage.tokens)
        }
        _ => None,
    });
    usages.sum()
}
