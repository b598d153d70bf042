//! A million runs that wait for a person in one store: how fast it opens, how much it takes, how fast any one goes on.

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
            host.turn(1).expect("the store is fine");
        }
    }
    while host.next_ms().is_some_and(|at_ms| at_ms <= 1) {
        host.turn(1).expect("the store is fine");
    }
    println!("{runs} runs started and waiting: {:.0} a second", runs as f64 / begin.elapsed().as_secs_f64());
    host.close().expect("it closes");
    let bytes = std::fs::metadata(folder.file()).expect("it is there").len();
    println!("on disk: {:.0} bytes a run", bytes as f64 / runs as f64);
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
        let run = host.store().run(&id).expect("it reads").expect("it is there").run;
        let look = host.store().load(run).expect("it opens");
        let request = offers(&look.program, &look.state).iter().find_map(|offer| match offer {
            Offer::Vote { request, .. } => Some(*request),
            Offer::Signal { .. } => None,
        });
        let approval = ApprovalKey::Request(request.expect("it asks"));
        host.send(run, approval.answer(Some("anna"), &Value::from("approve"), None), Ticket::default());
        let outputs = host.turn(2).expect("the store is fine");
        let is_end = |kind: &RunEventKind| matches!(kind, RunEventKind::Status(status, _) if status.is_final());
        let ended = outputs.iter().any(|output| matches!(output, TurnOutput::Event(event) if is_end(&event.kind)));
        assert!(ended, "the vote ends the run: {outputs:?}");
        took.push(begin.elapsed().as_secs_f64() * 1e3);
        // People answer now and then, and a driver rests in between.
        host.do_idle_work().expect("the store is fine");
    }
    took.sort_by(f64::total_cmp);
    let [median, most, slowest] = [500, 990, 999].map(|position| took[position]);
    println!("resuming any one of them: median {median:.1} ms, 99 % {most:.1} ms, slowest of 1,000 {slowest:.1} ms");
    println!("memory: {:.0} MB in all, {:.0} MB of it before the store was opened", resident_mb(), before);
}
