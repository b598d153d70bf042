//! The memory of a server to which many clients listen, and the time until all of them have an event.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::program::{PATIENCE, Program};
use crate::{Folder, size};

/// The threads that read the streams.
const READERS: usize = 16;

const WORKFLOW: &str = "name: bench
steps:
  - {id: ask, step_type: human_in_the_loop, prompt: \"Go {{input}}?\", choices: [yes, no], required_approvals: 1}
";

/// The runs of which the listeners get events.
const RUNS: usize = 20;

pub(super) fn run() {
    let folder = Folder::new("listeners");
    let server = Program::serve(&folder.file("store.db"));
    let mut connection = server.connect();
    connection.post("/workflows", &json!({"text": WORKFLOW}));
    connection.post("/runs?wait=30s", &json!({"workflow": "bench", "id": "first", "inputs": {"input": "x"}}));
    let count = size("BENCH_LISTENERS", 5_000);
    let before = server.resident_mb();
    let begin = Instant::now();
    let mut streams: Vec<BufReader<TcpStream>> = (0..count).map(|_| follow(&server.address)).collect();
    for stream in &mut streams {
        read_until(stream, "event: hello");
    }
    let connected = begin.elapsed();
    let silent = server.resident_mb();
    // The server closes connections that are silent for long.
    let mut connection = server.connect();
    let begin = Instant::now();
    let last = format!("\"run-{}\"", RUNS - 1);
    let slowest = thread::scope(|scope| {
        for streams in streams.chunks_mut(count.div_ceil(READERS).max(1)) {
            let last = &last;
            scope.spawn(move || streams.iter_mut().for_each(|stream| read_until(stream, last)));
        }
        for run in 0..RUNS {
            connection
                .post("/runs", &json!({"workflow": "bench", "id": format!("run-{run}"), "inputs": {"input": "x"}}));
            thread::sleep(Duration::from_millis(100));
        }
        Instant::now()
    })
    .elapsed();
    println!(
        "{count} listeners: connected in {:.1} s; memory of the server {before:.0} MB without them, {silent:.0} MB with them, \
         {:.0} MB after {RUNS} runs were published to all; the last listener has the last event {:.1} s after the first run started \
         ({:.0} ms after the last one)",
        connected.as_secs_f64(),
        server.resident_mb(),
        begin.elapsed().as_secs_f64(),
        slowest.as_secs_f64() * 1e3,
    );
    drop(streams);
    server.stop();
}

fn follow(address: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).expect("the server has room");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let request = format!("GET /api/v1/events?topics=runs,approvals,overview HTTP/1.1\r\nhost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it is sent");
    // Small, because the client has as many of them as the server.
    BufReader::with_capacity(512, stream)
}

/// Reads a stream until a line contains a text.
fn read_until(stream: &mut BufReader<TcpStream>, text: &str) {
    let mut line = String::new();
    while !line.contains(text) {
        line.clear();
        assert!(stream.read_line(&mut line).expect("events arrive") > 0, "the stream has ended");
    }
}
