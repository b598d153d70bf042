//! Lists of a million runs: pages, filters, searches and totals.

use std::time::Instant;

use serde_json::{Value, json};

use crate::fill::fill;
use crate::http::Connection;
use crate::program::{Program, until_idle};
use crate::{Folder, Times, size};

/// The requests of each kind.
const SAMPLES: usize = 30;

const WORKFLOW: &str = "name: NAME
steps:
  - {id: ask, step_type: prompt_call, prompt_template: \"Answer {{input}}\"}
  - {id: say, step_type: text, template: \"{{step.ask.output}}\"}
";

pub(super) fn run() {
    let folder = Folder::new("lists");
    let store = folder.file("store.db");
    let server = Program::serve(&store);
    let mut connection = server.connect();
    originals(&mut connection);
    until_idle(&server);
    server.stop();
    fill(&store, size("BENCH_RUNS", 1_000_000));
    let begin = Instant::now();
    let server = Program::serve(&store);
    let mut connection = server.connect();
    println!("the server listens after {:.0} ms", begin.elapsed().as_secs_f64() * 1e3);
    let newest = connection.get("/runs?limit=1");
    let old = cursor_of_an_old_run(&newest);
    let rows = [
        ("the newest", "/runs".to_owned()),
        ("200 of them", "/runs?limit=200".to_owned()),
        ("a page in the middle", format!("/runs?cursor={old}")),
        ("status=completed", "/runs?status=completed".to_owned()),
        ("status=failed", "/runs?status=failed".to_owned()),
        ("status=failed,cancelled", "/runs?status=failed,cancelled".to_owned()),
        ("status=running", "/runs?status=running".to_owned()),
        ("workflow", "/runs?workflow=rare".to_owned()),
        ("workflow and status", "/runs?workflow=usual&status=failed".to_owned()),
        ("tag", "/runs?tag=red".to_owned()),
        ("tag and status", "/runs?tag=red&status=failed".to_owned()),
        ("since=24h", "/runs?since=24h".to_owned()),
        ("with called runs", "/runs?children=true".to_owned()),
        ("a word of one run", "/runs?q=500001".to_owned()),
        ("a word of every 1000th run", "/runs?q=thousandth".to_owned()),
        ("a word of every 10th run", "/runs?q=tenth".to_owned()),
        ("a word of every run", "/runs?q=question".to_owned()),
        ("a word of every run, status=failed", "/runs?q=question&status=failed".to_owned()),
        ("totals and hours (`/overview`)", "/overview".to_owned()),
        ("workflows with their last runs", "/workflows".to_owned()),
    ];
    for (name, path) in rows {
        measure(&mut connection, name, &path);
    }
    println!("memory of the server: {:.0} MB", server.resident_mb());
    server.stop();
}

/// A hundred runs: some fail, some are of a rare workflow, some have tags.
fn originals(connection: &mut Connection) {
    for name in ["usual", "rare"] {
        connection.post("/workflows", &json!({"text": WORKFLOW.replace("NAME", name)}));
    }
    for number in 0..100 {
        let workflow = if number % 50 == 7 { "rare" } else { "usual" };
        let tags = if number % 20 == 3 { json!(["red", "blue"]) } else { json!([]) };
        let answer = if number % 25 == 4 { json!({"$error": "no"}) } else { json!("an answer") };
        let inputs = json!({"input": format!("question {number}")});
        let body = json!({"workflow": workflow, "id": format!("run-{number}"), "inputs": inputs, "tags": tags,
            "script": {"ask": answer}});
        connection.post("/runs", &body);
    }
}

/// A cursor 100,000 seconds before the newest run.
fn cursor_of_an_old_run(newest: &Value) -> String {
    let started = newest["items"][0]["started"].as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    let started_ms = started.expect("there are runs").as_millisecond();
    format!("{}-1", started_ms - 100_000_000)
}

fn measure(connection: &mut Connection, name: &str, path: &str) {
    let begin = Instant::now();
    let response = connection.get(path);
    let first = begin.elapsed();
    let items = response["items"].as_array().map_or(0, Vec::len);
    let times = (0..SAMPLES).map(|_| {
        let begin = Instant::now();
        connection.get(path);
        begin.elapsed()
    });
    let times = Times::new(times.collect());
    println!(
        "{name}: {items} items, first {:.1} ms, then median {:.1} ms, slowest {:.1} ms",
        first.as_secs_f64() * 1e3,
        times.at(0.5),
        times.at(1.0)
    );
}
