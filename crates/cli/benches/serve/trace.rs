//! Pages of the trace of a run with 100,000 steps.

use std::time::Instant;

use serde_json::{Value, json};

use crate::program::{Program, until_idle};
use crate::{Folder, Times, size};

/// The requests of each kind.
const SAMPLES: usize = 20;

/// The items that work at the same time, so that their steps share commits.
const WIDTH: usize = 100;

const WORKFLOW: &str = "name: long
steps:
  - id: items
    step_type: for_each
    input_template: \"{{input}}\"
    parallel: true
    max_concurrency: 100
    body:
      - {id: rounds, step_type: while, if: \"true\", max_iterations: ROUNDS, body: [{id: work, step_type: prompt_call, prompt_template: hi}]}
";

pub(super) fn run() {
    let folder = Folder::new("trace");
    let store = folder.file("store.db");
    let steps = size("BENCH_STEPS", 100_000);
    let rounds = (steps / WIDTH).max(1);
    let server = Program::serve(&store);
    let mut connection = server.connect();
    connection.post("/workflows", &json!({"text": WORKFLOW.replace("ROUNDS", &rounds.to_string())}));
    let items: Vec<usize> = (0..WIDTH).collect();
    let input = serde_json::to_string(&items).expect("numbers are JSON");
    let begin = Instant::now();
    let body = json!({"workflow": "long", "id": "long", "inputs": {"input": input}, "script": {"work": "done"}});
    connection.post("/runs", &body);
    until_idle(&server);
    let run = server.connect().get("/runs/long");
    println!("a run of {} events, ended after {:.1} s: {}", run["seq"], begin.elapsed().as_secs_f64(), run["status"]);
    server.stop();
    let server = Program::serve(&store);
    let mut connection = server.connect();
    let mut measure = |name: &str, path: &str| -> Value {
        let begin = Instant::now();
        let page = connection.get(path);
        let first = begin.elapsed();
        let times = (0..SAMPLES).map(|_| {
            let begin = Instant::now();
            connection.get(path);
            begin.elapsed()
        });
        let times = Times::new(times.collect());
        println!(
            "{name}: first {:.1} ms, then median {:.1} ms, slowest {:.1} ms; {} of {} steps, omitted {}",
            first.as_secs_f64() * 1e3,
            times.at(0.5),
            times.at(1.0),
            page["items"].as_array().map_or(0, Vec::len),
            page["total"],
            page["omitted"]
        );
        page
    };
    measure("the outermost steps, after the start of the server", "/runs/long/trace");
    let all = measure("all depths", "/runs/long/trace?deep=true&limit=200");
    let key = all["items"][0]["key"].as_str().unwrap_or_default().replace('#', "%23");
    measure("a later page", "/runs/long/trace?deep=true&cursor=5000");
    measure("completed steps", "/runs/long/trace?deep=true&state=completed");
    measure("one step id", "/runs/long/trace?deep=true&step=work");
    measure("one step with its values", &format!("/runs/long/trace/{key}"));
    measure("the run", "/runs/long");
    println!("memory of the server: {:.0} MB", server.resident_mb());
    server.stop();
}
