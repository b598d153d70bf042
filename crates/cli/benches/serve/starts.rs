//! Starts of runs per second over many connections, beside an insert of the same rows behind a bare server.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::http::Connection;
use crate::program::{Program, until_idle};
use crate::{Folder, Times, floor, size};

const CONNECTIONS: usize = 64;

/// Server and floor take turns, so that both see the same machine.
const ROUNDS: usize = 5;

const WORKFLOW: &str = "name: bench
steps:
  - {id: ask, step_type: prompt_call, prompt_template: \"Answer {{input}}\"}
";

pub(super) fn run() {
    let folder = Folder::new("starts");
    let time = Duration::from_secs(size("BENCH_SECONDS", 4) as u64);
    let body = json!({"workflow": "bench", "inputs": {"input": "a question"}, "script": {"ask": "an answer"}});
    let server = Program::serve(&folder.file("store.db"));
    let mut connection = server.connect();
    connection.post("/workflows", &json!({"text": WORKFLOW}));
    let mut template = body.clone();
    template["id"] = floor::TEMPLATE.into();
    assert_eq!(connection.post("/runs?wait=30s", &template)["status"], "completed");
    let mut command = Command::new(std::env::current_exe().expect("the benchmark is a program"));
    command.arg(floor::COMMAND).arg(folder.file("store.db")).arg(folder.file("floor.db"));
    let bare = Program::start(&mut command, &folder.0);
    let body = body.to_string();
    drive(&server.address, &body, Duration::from_secs(1));
    drive(&bare.address, &body, Duration::from_secs(1));
    let (mut ratios, mut rates) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let (rate, times) = drive(&server.address, &body, time);
        let idle = until_idle(&server);
        let (floor, floor_times) = drive(&bare.address, &body, time);
        ratios.push(rate / floor);
        rates.push(rate);
        println!(
            "round {round}: {rate:.0} starts/s, p50 {:.1} ms, p99 {:.1} ms; all runs ended {:.0} ms after the last start; \
             the same rows behind bare axum: {floor:.0}/s, p50 {:.1} ms, p99 {:.1} ms: {:.0} %",
            times.at(0.5),
            times.at(0.99),
            idle.as_secs_f64() * 1e3,
            floor_times.at(0.5),
            floor_times.at(0.99),
            rate / floor * 100.0,
        );
    }
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    println!(
        "{CONNECTIONS} connections: {:.0} starts/s, {:.0} % of the same rows behind bare axum (medians); memory of the server {:.0} MB",
        median(&mut rates),
        median(&mut ratios) * 100.0,
        server.resident_mb()
    );
    server.stop();
}

/// Starts runs over all connections for a time. Returns starts per second and the time of each.
fn drive(address: &str, body: &str, time: Duration) -> (f64, Times) {
    let begin = Instant::now();
    let work = || {
        let mut connection = Connection::open(address);
        let mut times = Vec::new();
        while begin.elapsed() < time {
            let sent = Instant::now();
            let (status, response) = connection.send("POST", "/runs", body);
            assert_eq!(status, 202, "{}", String::from_utf8_lossy(response));
            times.push(sent.elapsed());
        }
        times
    };
    let times: Vec<Duration> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(work)).collect();
        clients.into_iter().flat_map(|client| client.join().expect("no client panics")).collect()
    });
    (times.len() as f64 / begin.elapsed().as_secs_f64(), Times::new(times))
}
