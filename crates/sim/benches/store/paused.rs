//! A million runs that wait for a person in one store: the time to open it, its size, and the time to resume a run.

use std::time::Instant;

use branchpoint_core::{ApprovalKey, Offer, offers};
use branchpoint_expr::Value;
use branchpoint_host::host::{DrivenRuns, RunEventKind, Start, Ticket, TurnOutput};

use super::{Folder, host, resident_mb, saved};

const DOCUMENT: &str = "steps:
  - {id: ask, step_type: human_in_the_loop, prompt_template: \"Go on with {{input}}?\", recipient_distribution: selected_members, recipient_user_ids: [anna]}
";

pub(super) fn run() {
    let runs: usize = std::env::var("RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(1_000_000);
    let folder = Folder::new("paused");
    let mut host = host(&folder, DrivenRuns::All);
    let workflow = saved(host.store(), DOCUMENT);
    let begin = Instant::now();
    for number in 0..runs {
        host.start(Start::new(workflow, format!("run-{number:012}"), "x".into()), Ticket::default());
        if number % 1_000 == 999 {
            host.turn(1).expect("the host can take its turn");
        }
    }
    while host.next_ms().is_some_and(|at_ms| at_ms <= 1) {
        host.turn(1).expect("the host can take its turn");
    }
    println!("{runs} runs started and waiting: {:.0} per second", runs as f64 / begin.elapsed().as_secs_f64());
    host.close().expect("the host closes");
    let bytes = std::fs::metadata(folder.file()).expect("it is there").len();
    println!("on disk: {:.0} bytes per run", bytes as f64 / runs as f64);
    resumed(&folder, runs);
}

fn resumed(folder: &Folder, runs: usize) {
    let before = resident_mb();
    let begin = Instant::now();
    let mut host = host(folder, DrivenRuns::All);
    println!("opening the store: {:.0} ms", begin.elapsed().as_secs_f64() * 1e3);
    let mut took = Vec::new();
    for sample in 0..1_000 {
        let id = format!("run-{:012}", sample * (runs / 1_000).max(1) % runs);
        let begin = Instant::now();
        let run = host.store().run(&id).expect("the store is readable").expect("the run exists").run;
        let inspected = host.store().load(run).expect("the run can be read");
        let request = offers(&inspected.program, &inspected.state).iter().find_map(|offer| match offer {
            Offer::Vote { request, .. } => Some(*request),
            Offer::Signal { .. } => None,
        });
        let approval = ApprovalKey::Request(request.expect("the run has an open approval"));
        host.send(run, approval.answer(Some("anna"), &Value::from("approve"), None), Ticket::default());
        let outputs = host.turn(2).expect("the host can take its turn");
        let is_end = |kind: &RunEventKind| matches!(kind, RunEventKind::Status(status, _) if status.is_final());
        let ended = outputs.iter().any(|output| matches!(output, TurnOutput::Event(event) if is_end(&event.kind)));
        assert!(ended, "the vote ends the run: {outputs:?}");
        took.push(begin.elapsed().as_secs_f64() * 1e3);
        // People answer rarely, so the driver is idle in between.
        host.do_idle_work().expect("the store works");
    }
    took.sort_by(f64::total_cmp);
    let [median, most, slowest] = [500, 990, 999].map(|position| took[position]);
    println!("resuming one of them: median {median:.1} ms, 99 % {most:.1} ms, slowest of 1,000 {slowest:.1} ms");
    println!("memory: {:.0} MB in total, {:.0} MB before the store was opened", resident_mb(), before);
}
