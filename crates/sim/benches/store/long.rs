//! One run of 100,000 steps: the cost of a late step, and the time to open its journal.

use std::time::Instant;

use branchpoint_core::{Fold, State};
use branchpoint_host::host::{DrivenRuns, Start, Ticket, TurnOutput};
use branchpoint_runners::Runner;

use super::{Folder, InProcess, host, saved};

const STEPS: usize = 100_000;

const DOCUMENT: &str = "steps:
  - id: outer
    step_type: while
    if: \"true\"
    max_iterations: 10000
    body:
      - {id: inner, step_type: while, if: \"true\", max_iterations: 11, body: [{id: work, step_type: prompt_call, prompt_template: hi}]}
";

pub(super) fn run() {
    let folder = Folder::new("long");
    let mut host = host(&folder, DrivenRuns::Requested);
    let workflow = saved(host.store(), DOCUMENT);
    host.start(Start::new(workflow, "long".into(), "x".into()), Ticket::default());
    let (mut steps, mut early, mut late) = (0, 0.0, 0.0);
    let mut begin = Instant::now();
    while steps < STEPS {
        for output in host.turn(1).expect("the host can take its turn") {
            if let TurnOutput::Perform { run, call, .. } = output {
                let answer = InProcess.answer_immediately(&call).expect("the runner answers at once");
                host.settle(run, &call, answer);
                steps += 1;
            }
        }
        match steps {
            100 | 99_000 => begin = Instant::now(),
            1_100 => early = begin.elapsed().as_secs_f64() / 1_000.0,
            100_000 => late = begin.elapsed().as_secs_f64() / 1_000.0,
            _ => {}
        }
    }
    println!(
        "a step after 100 steps: {:.0} us, after {STEPS}: {:.0} us: {:.2} times",
        early * 1e6,
        late * 1e6,
        late / early
    );
    let run = host.store().run("long").expect("the store is readable").expect("the run exists").run;
    drop(host);
    let host = self::host(&folder, DrivenRuns::Requested);
    let begin = Instant::now();
    let inspected = host.store().load(run).expect("the run can be read");
    println!(
        "opening it from its snapshot: {:.1} ms ({} events)",
        begin.elapsed().as_secs_f64() * 1e3,
        inspected.row.seq
    );
    let begin = Instant::now();
    let journal = host.store().journal(run).expect("the store is readable");
    Fold::new(&inspected.program, State::new(), journal).finish().expect("the stored journal folds");
    println!("folding its whole journal without snapshots: {:.0} ms", begin.elapsed().as_secs_f64() * 1e3);
}
