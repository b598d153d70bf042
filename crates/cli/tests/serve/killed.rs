//! A server that is killed while many clients start runs, vote and follow events.
//!
//! What must hold: what was acknowledged is kept, each vote counts once, every run ends right, and a client that reconnects with the last
//! event that it has seen misses nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use branchpoint_core::Event;
use branchpoint_core::ir::Status;
use branchpoint_expr::Value as Data;
use branchpoint_host::store::{Durability, Filter, Store};
use serde_json::{Value, json};

use crate::client::{Server, command};

/// The runs, each of which is started and gets a vote.
const RUNS: usize = 600;

/// The clients, each of which has one request in flight.
const SENDERS: usize = 500;

/// The acknowledged requests after which the server is killed.
const KILLS: [usize; 3] = [100, 350, 700];

/// The pause of a client whose request was not acknowledged.
const PAUSE: Duration = Duration::from_millis(50);

const PATIENCE: Duration = Duration::from_mins(2);

const WORKFLOW: &str = "name: load
steps:
  - {id: ask, step_type: human_in_the_loop, prompt: \"Go {{input}}?\", choices: [yes, no], required_approvals: 1}
  - {id: after, step_type: text, template: \"{{step.ask.output.outcome}} {{agent.input}}\"}
";

/// The server, and what it has acknowledged.
struct Load {
    address: Mutex<String>,
    next: AtomicUsize,
    started: Mutex<BTreeSet<usize>>,
    voted: Mutex<BTreeSet<usize>>,
    /// The requests that were sent and not answered.
    in_flight: AtomicUsize,
    /// How often a follower has reconnected with the event that it had seen last.
    reconnected: AtomicUsize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread has panicked")
}

impl Load {
    fn address(&self) -> String {
        lock(&self.address).clone()
    }

    fn acknowledged(&self) -> usize {
        lock(&self.started).len() + lock(&self.voted).len()
    }

    /// Sends a request; none if there was no response, because the server is not there any more.
    fn send(&self, method: &str, path: &str, key: &str, body: &str) -> Option<(u16, Value)> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        let response = self.exchange(method, path, key, body);
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        response
    }

    fn exchange(&self, method: &str, path: &str, key: &str, body: &str) -> Option<(u16, Value)> {
        let address = self.address();
        let mut stream = TcpStream::connect(&address).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let key = if key.is_empty() { String::new() } else { format!("idempotency-key: {key}\r\n") };
        let head = format!(
            "{method} /api/v1{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{key}\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, serde_json::from_str(body).unwrap_or_default()))
    }

    /// Repeats a request until it is acknowledged.
    fn until_acknowledged(&self, path: &str, key: &str, body: &Value) {
        let begin = Instant::now();
        let mut last = None;
        while begin.elapsed() < PATIENCE {
            match self.send("POST", path, key, &body.to_string()) {
                Some((200 | 202, _)) => return,
                // The approval is not open yet.
                Some((404, _)) | None => {}
                Some(other) => last = Some(other),
            }
            thread::sleep(PAUSE);
        }
        panic!("{path} with key {key} is not acknowledged: {last:?}");
    }

    fn work(&self, request: &str) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= RUNS {
                return;
            }
            let start =
                json!({"workflow": "load", "id": format!("l{number}"), "inputs": {"input": number.to_string()}});
            self.until_acknowledged("/runs", &format!("start-{number}"), &start);
            lock(&self.started).insert(number);
            let vote = format!("/approvals/l{number}/{request}/vote");
            self.until_acknowledged(&vote, &format!("vote-{number}"), &json!({"choice": "yes"}));
            lock(&self.voted).insert(number);
        }
    }

    /// The statuses of all runs, by pages.
    fn load_all(&self, seen: &mut BTreeMap<String, String>) -> Option<()> {
        let mut path = "/runs?limit=100".to_owned();
        loop {
            let (status, page) = self.send("GET", &path, "", "")?;
            assert_eq!(status, 200, "{page}");
            for run in page["items"].as_array().into_iter().flatten() {
                note(seen, run);
            }
            path = format!("/runs?limit=100&cursor={}", page["next"].as_str().unwrap_or_default());
            if page["next"].is_null() {
                return Some(());
            }
        }
    }

    /// Follows the runs over every restart of the server. With `leaves_after`, disconnects by itself after so many events.
    fn follow(&self, leaves_after: usize) {
        let (mut seen, mut last) = (BTreeMap::new(), None);
        let begin = Instant::now();
        let is_complete =
            |seen: &BTreeMap<String, String>| seen.values().filter(|status| *status == "completed").count() == RUNS + 1;
        while !is_complete(&seen) {
            let missing =
                || (0..RUNS).map(|n| format!("l{n}")).filter(|id| seen.get(id).is_none_or(|s| s != "completed"));
            assert!(begin.elapsed() < PATIENCE, "a follower misses {:?}", missing().collect::<Vec<_>>());
            if self.listen(&mut seen, &mut last, leaves_after, &is_complete).is_none() {
                thread::sleep(Duration::from_millis(20));
            }
        }
    }

    /// Reads one stream until it ends or everything was seen. None if there is no server.
    fn listen(
        &self,
        seen: &mut BTreeMap<String, String>,
        last: &mut Option<String>,
        leaves_after: usize,
        is_complete: &dyn Fn(&BTreeMap<String, String>) -> bool,
    ) -> Option<()> {
        let address = self.address();
        let mut stream = TcpStream::connect(&address).ok()?;
        stream.set_read_timeout(Some(Duration::from_millis(500))).ok()?;
        let known = last.as_ref().map(|last| format!("last-event-id: {last}\r\n")).unwrap_or_default();
        write!(stream, "GET /api/v1/events?topics=runs HTTP/1.1\r\nhost: {address}\r\n{known}\r\n").ok()?;
        if last.is_some() {
            self.reconnected.fetch_add(1, Ordering::Relaxed);
        }
        let is_first = last.is_none();
        let (mut lines, mut line, mut name, mut count) = (BufReader::new(stream), String::new(), String::new(), 0);
        while count < leaves_after && !is_complete(seen) {
            match lines.read_line(&mut line) {
                Ok(0) => return Some(()),
                Ok(_) => {}
                Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {
                    if self.address() != address {
                        return Some(());
                    }
                    continue;
                }
                Err(_) => return Some(()),
            }
            let text = std::mem::take(&mut line);
            let text = text.trim_end();
            if let Some(id) = text.strip_prefix("id: ") {
                *last = Some(id.to_owned());
            } else if let Some(event) = text.strip_prefix("event: ") {
                event.clone_into(&mut name);
            } else if let Some(data) = text.strip_prefix("data: ") {
                count += 1;
                match &*name {
                    "run" => note(seen, &serde_json::from_str(data).expect("data is JSON")),
                    // A `reset` follows numbers of another start of the server: the client loads everything again.
                    "hello" | "reset" if (name == "reset" || is_first) && self.load_all(seen).is_none() => {
                        *last = None;
                        return None;
                    }
                    _ => {}
                }
            }
        }
        Some(())
    }
}

/// Notes the status of a run. An event may be older than what was loaded, but a run that has ended stays so.
fn note(seen: &mut BTreeMap<String, String>, run: &Value) {
    let (id, status) = (run["id"].as_str().unwrap_or_default(), run["status"].as_str().unwrap_or_default());
    let known = seen.entry(id.to_owned()).or_default();
    if known != "completed" {
        status.clone_into(known);
    }
}

#[test]
fn what_a_killed_server_has_acknowledged_is_kept_and_followers_miss_nothing() {
    let folder = tempfile::tempdir().expect("there is room for a store");
    let store = folder.path().join("store.db");
    let path = store.to_str().expect("a plain path");
    let serve = || Server::start_in(folder.path(), &["serve", "--store", path, "--listen", "127.0.0.1:0"]);
    let mut server = serve();
    server.post("/workflows", &json!({"text": WORKFLOW})).expect(201);
    let request = probe(&server);
    let load = Load {
        address: Mutex::new(server.address.clone()),
        next: AtomicUsize::new(0),
        started: Mutex::default(),
        voted: Mutex::default(),
        in_flight: AtomicUsize::new(0),
        reconnected: AtomicUsize::new(0),
    };
    let all_ready = Barrier::new(SENDERS);
    thread::scope(|scope| {
        for leaves_after in [usize::MAX, 25] {
            let load = &load;
            scope.spawn(move || load.follow(leaves_after));
        }
        let mut in_flight = Vec::new();
        for _ in 0..SENDERS {
            let (load, all_ready, request) = (&load, &all_ready, &request);
            scope.spawn(move || {
                all_ready.wait();
                load.work(request);
            });
        }
        for kill_at in KILLS {
            let begin = Instant::now();
            while load.acknowledged() < kill_at {
                assert!(begin.elapsed() < PATIENCE, "{} of {kill_at} requests are acknowledged", load.acknowledged());
                thread::sleep(Duration::from_millis(5));
            }
            in_flight.push(load.in_flight.load(Ordering::Relaxed));
            nix::sys::signal::kill(pid(&server), nix::sys::signal::SIGKILL).expect("it is killed");
            // The old process is awaited when its handle is dropped.
            server = serve();
            server.address.clone_into(&mut lock(&load.address));
        }
        // The others are between two requests.
        assert!(in_flight[0] > SENDERS / 2, "{in_flight:?} requests are in flight when the server is killed");
    });
    assert_eq!((lock(&load.started).len(), lock(&load.voted).len()), (RUNS, RUNS));
    assert!(load.reconnected.load(Ordering::Relaxed) > KILLS.len(), "followers have reconnected");
    drop(server);
    check(&store);
}

fn pid(server: &Server) -> nix::unistd::Pid {
    nix::unistd::Pid::from_raw(i32::try_from(server.id()).expect("a process id"))
}

/// Runs the workflow once, and returns the number of its approval, which is the same in every run.
fn probe(server: &Server) -> String {
    let started = server.post("/runs?wait=30s", &json!({"workflow": "load", "id": "probe", "inputs": {"input": "x"}}));
    assert_eq!(started.expect(200)["status"], "waiting_people");
    let key = server.get("/approvals").expect(200)["items"][0]["key"].as_str().expect("it is open").to_owned();
    server.post(&format!("/approvals/{key}/vote"), &json!({"choice": "yes"})).expect(200);
    key.split_once('/').expect("a run and a number").1.to_owned()
}

fn check(path: &std::path::Path) {
    let output = command(&["doctor", "--store", path.to_str().expect("a plain path")]).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let store = Store::open(path, Durability::Normal).expect("the store opens");
    let runs = store.runs(&Filter::default()).expect("the store can be read");
    assert_eq!(runs.len(), RUNS + 1, "each start made one run");
    for run in runs {
        assert_eq!(run.status, Status::Completed, "run `{}`", run.id);
        let journal = store.journal(run.run).expect("the run can be read");
        let is_vote = |event: &Event| matches!(event, Event::Signal { name, .. } if &**name == "vote");
        let votes = journal.iter().filter(|(_, event, _)| is_vote(event)).count();
        assert_eq!(votes, 1, "the vote of run `{}` is recorded once", run.id);
        let state = store.load(run.run).expect("the run can be read").state;
        let output = state.result().and_then(|(_, result)| result.get("output").map(Data::to_string));
        let input = run.id.strip_prefix('l').unwrap_or("x");
        assert_eq!(output, Some(format!("yes {input}")), "run `{}`", run.id);
    }
}
