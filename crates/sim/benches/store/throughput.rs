//! The workflow "start, if/else, one of two steps, merge, ten sequential steps": 12 recorded transitions, 1,000 runs at a time.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use branchpoint_expr::Value;
use branchpoint_host::host::{DrivenRuns, RunEvent, RunEventKind, Start};
use branchpoint_host::{CallLimits, Driver};
use branchpoint_runners::{Answer, AnswerFuture, Call, CancellationToken, Runner};

use super::floor;
use super::{Folder, host, saved};

const RUNS: usize = 10_000;
const ROUNDS: usize = 7;
const AT_A_TIME: usize = 1_000;
const TRANSITIONS: usize = 12;

fn document() -> String {
    let mut text = String::from(
        "steps:\n  - id: route\n    step_type: if_else\n    if: \"input == 'left'\"\n    then_steps: [{id: left, step_type: prompt_call, prompt_template: \"{{input}}\"}]\n    else_steps: [{id: right, step_type: prompt_call, prompt_template: \"{{input}}\"}]\n",
    );
    for step in 0..10 {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "  - {{id: s{step}, step_type: prompt_call, prompt_template: \"{{{{input}}}}\"}}");
    }
    text
}

/// Answers at once, and measures how long each run waited for its next step.
#[derive(Default)]
struct Timed {
    last: Mutex<HashMap<Arc<str>, Instant>>,
    micros: Mutex<Vec<u32>>,
}

impl Runner for Timed {
    fn perform<'c>(&'c self, _: &'c Call, _: &'c CancellationToken) -> AnswerFuture<'c> {
        unreachable!("every call is answered at once")
    }

    fn answer_immediately(&self, call: &Call) -> Option<Answer> {
        let now = Instant::now();
        let before = self.last.lock().expect("no thread has panicked").insert(call.run.clone(), now);
        if let Some(before) = before {
            let micros = u32::try_from((now - before).as_micros()).unwrap_or(u32::MAX);
            self.micros.lock().expect("no thread has panicked").push(micros);
        }
        Some(Answer::model("done"))
    }

    fn fact(&self, _: &str) -> Value {
        Value::Null
    }
}

/// Transitions per second, and the latencies of steps.
fn measure(runs: usize, at_a_time: usize) -> (f64, Vec<u32>) {
    let folder = Folder::new("throughput");
    let host = host(&folder, DrivenRuns::Requested);
    let workflow = saved(host.store(), &document());
    let runner = Arc::new(Timed::default());
    let (sender, ended) = channel();
    let driver = Driver::new(host, runner.clone(), CallLimits::default());
    let listener = Box::new(move |event: &RunEvent| {
        if let RunEventKind::Status(status, _) = event.kind
            && status.is_final()
        {
            let _ = sender.send(status);
        }
    });
    driver.subscribe(listener).expect("the driver accepts it");
    let start = |number: usize| {
        let side = if number.is_multiple_of(2) { "left" } else { "right" };
        drop(
            driver
                .begin(Start::new(workflow, format!("run-{number:012}"), Value::from(side)))
                .expect("the driver accepts it"),
        );
    };
    let begin = Instant::now();
    (0..at_a_time.min(runs)).for_each(start);
    for number in 0..runs {
        let status = ended.recv().expect("runs end");
        assert_eq!(status.as_str(), "completed");
        if number + at_a_time < runs {
            start(number + at_a_time);
        }
    }
    let elapsed = begin.elapsed().as_secs_f64();
    driver.stop(std::time::Duration::ZERO).expect("the store works");
    let mut micros = std::mem::take(&mut *runner.micros.lock().expect("no thread has panicked"));
    micros.sort_unstable();
    ((runs * TRANSITIONS) as f64 / elapsed, micros)
}

/// Bare SQLite and the host take turns, because the speed of a shared machine changes. The result is the median of the ratios of
/// consecutive measurements.
pub(super) fn run() {
    let rounds: Vec<(floor::Floor, f64, f64)> = (0..ROUNDS)
        .map(|_| {
            let floor = floor::measure();
            let (rate, micros) = measure(RUNS, AT_A_TIME);
            (floor, rate, f64::from(micros[(micros.len() - 1) * 99 / 100]) / 1_000.0)
        })
        .collect();
    let of = |figure: &dyn Fn(&(floor::Floor, f64, f64)) -> f64| median(rounds.iter().map(figure).collect());
    println!("median of {ROUNDS} rounds");
    println!("bare SQLite, one row, commits of 100:       {:>9.0} transitions/s", of(&|round| round.0.one_row));
    println!("bare SQLite, the same rows, commits of 100: {:>9.0} transitions/s", of(&|round| round.0.same_rows));
    println!("bare SQLite, one row, one commit each:      {:>9.0} transitions/s", of(&|round| round.0.single));
    println!("branchpoint, {AT_A_TIME} runs at a time:           {:>9.0} transitions/s", of(&|round| round.1));
    let (least, most) =
        rounds.iter().map(share).fold((f64::MAX, 0.0), |(least, most), share| (share.min(least), share.max(most)));
    println!("  of bare SQLite with the same rows: {:.0} % ({least:.0} to {most:.0})", of(&share));
    println!("  p99 of a step: {:.1} ms", of(&|round| round.2));
}

fn share((floor, rate, _): &(floor::Floor, f64, f64)) -> f64 {
    100.0 * rate / floor.same_rows
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

pub(super) fn alone() {
    let floor = floor::measure();
    let (_, micros) = measure(200, 1);
    let mean = micros.iter().map(|micros| f64::from(*micros)).sum::<f64>() / micros.len() as f64;
    let median = micros[micros.len() / 2];
    let bare = 1e6 / floor.single;
    println!(
        "one run alone: a step takes {mean:.0} us (median {median} us), a bare commit {bare:.0} us: {:.2} times",
        mean / bare
    );
}
