//! Live events over HTTP.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::client::Server;
use crate::identity::Guarded;

/// An open event stream.
pub(crate) struct Stream(BufReader<TcpStream>);

#[derive(Debug)]
pub(crate) struct Event {
    id: String,
    name: String,
    pub(crate) data: Value,
}

impl Stream {
    pub(crate) fn open(server: &Server, topics: &str, last: Option<&str>) -> Self {
        let last = last.map(|last| format!("last-event-id: {last}\r\n")).unwrap_or_default();
        Self::open_with(server, topics, &last)
    }

    /// A stream of a request with these header lines.
    pub(crate) fn open_with(server: &Server, topics: &str, last: &str) -> Self {
        let mut stream = server.connect();
        let head = format!("GET /api/v1/events?topics={topics} HTTP/1.1\r\nhost: {}\r\n{last}\r\n", server.address);
        stream.write_all(head.as_bytes()).expect("the request is sent");
        let mut stream = Self(BufReader::new(stream));
        let mut line = String::new();
        stream.0.read_line(&mut line).expect("a status");
        assert!(line.contains(" 200 "), "{line}");
        stream
    }

    /// The next event. Lines of chunks are not part of events, because each event is a chunk of its own.
    pub(crate) fn next(&mut self) -> Event {
        let mut event = Event { id: String::new(), name: String::new(), data: Value::Null };
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).expect("an event arrives") > 0, "the stream has ended");
            let line = line.trim_end();
            if let Some(id) = line.strip_prefix("id: ") {
                id.clone_into(&mut event.id);
            } else if let Some(name) = line.strip_prefix("event: ") {
                name.clone_into(&mut event.name);
            } else if let Some(data) = line.strip_prefix("data: ") {
                event.data = serde_json::from_str(data).expect("data is JSON");
                return event;
            }
        }
    }

    /// Reads to the end of the stream. Returns false if it stays open for longer than a silent stream shows that it is alive.
    pub(crate) fn ends(mut self) -> bool {
        let mut line = String::new();
        loop {
            line.clear();
            match self.0.read_line(&mut line) {
                Ok(0) => return true,
                // The last chunk of the response. The connection stays open for other requests.
                Ok(_) if line.trim_end() == "0" => return true,
                Ok(_) if line.starts_with(": ping") => return false,
                Ok(_) => {}
                Err(_) => return false,
            }
        }
    }

    #[track_caller]
    pub(crate) fn until(&mut self, is_expected: impl Fn(&Event) -> bool) -> Event {
        for _ in 0..500 {
            let event = self.next();
            if is_expected(&event) {
                return event;
            }
        }
        panic!("the event does not arrive");
    }
}

fn start_waiting(server: &Server, id: &str) {
    let body = json!({"workflow": "approved-email", "id": id, "script": {"draft_email": ["Hello"], "send": ["mail-1"]},
        "inputs": {"input": "a", "metadata": {"email": "bob@example.com"}}});
    server.post("/runs?wait=30s", &body).expect(200);
}

#[test]
fn a_client_follows_runs_and_changes_its_topics() {
    let server = Server::demo();
    let mut stream = Stream::open(&server, "runs,approvals", None);
    let hello = stream.next();
    assert_eq!(hello.name, "hello");
    let client = hello.data["client"].as_str().unwrap().to_owned();
    start_waiting(&server, "e1");
    let waiting = stream.until(|e| e.name == "run" && e.data["status"] == "waiting_people");
    assert_eq!(waiting.data["id"], "e1");
    let approval = stream.until(|e| e.name == "approval");
    assert_eq!(approval.data["key"], "e1/4");
    assert_eq!(approval.data.get("may_vote"), None);
    let path = format!("/events/{client}/topics");
    let change = server.post(&path, &json!({"add": ["run:e1"], "remove": ["runs"]}));
    assert_eq!(change.status, 204, "{}", change.text);
    assert_eq!(server.post("/events/nope/topics", &json!({"add": []})).problem(404), "not_found");
    assert_eq!(server.post(&path, &json!({"add": ["nope"]})).problem(400), "bad_request");
    server.post("/approvals/e1/4/vote", &json!({"choice": "approve"})).expect(200);
    let step = stream
        .until(|e| e.name == "step" && e.data["step"]["step"] == "send" && e.data["step"]["status"] == "completed");
    assert_eq!(step.data["run"], "e1");
    stream.until(|e| e.name == "run" && e.data["status"] == "completed");
    let settled = stream.until(|e| e.name == "approval_settled");
    assert_eq!(settled.data["outcome"], "approve");
}

#[test]
fn a_client_that_reconnects_misses_nothing() {
    let server = Server::demo();
    let mut stream = Stream::open(&server, "runs", None);
    let hello = stream.next();
    drop(stream);
    start_waiting(&server, "e1");
    // The events are published while no client listens.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let mut again = Stream::open(&server, "runs", Some(&hello.id));
    assert_eq!(again.next().name, "hello");
    let run = again.until(|e| e.name == "run" && e.data["status"] == "waiting_people");
    assert_eq!(run.data["id"], "e1");
    let mut rest = Stream::open(&server, "runs", Some(&run.id));
    assert_eq!(rest.next().name, "hello");
    server.post("/runs/e1/cancel", &json!({})).expect(202);
    let cancelled = rest.until(|e| e.name == "run");
    assert!(cancelled.data["updated"].as_str() >= run.data["updated"].as_str());
}

#[test]
fn a_client_of_another_start_loads_everything_again() {
    let server = Server::demo();
    for last in ["00000000-7", "x", "9999999999999999999999"] {
        let mut stream = Stream::open(&server, "runs,run:r1", Some(last));
        assert_eq!(stream.next().name, "hello");
        let topics = [stream.next(), stream.next()].map(|event| (event.name, event.data["topic"].clone()));
        assert_eq!(topics, [("reset".to_owned(), json!("runs")), ("reset".to_owned(), json!("run:r1"))]);
    }
    assert_eq!(server.get("/events?topics=all").problem(400), "bad_request");
    let many: Vec<String> = (0..300).map(|n| format!("run:{n}")).collect();
    assert_eq!(server.get(&format!("/events?topics={}", many.join(","))).problem(422), "invalid_input");
}

#[test]
fn streams_end_when_the_server_stops() {
    let server = Server::demo();
    let mut stream = Stream::open(&server, "runs", None);
    assert_eq!(stream.next().name, "hello");
    let begin = std::time::Instant::now();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(i32::try_from(server.id()).unwrap()), nix::sys::signal::SIGTERM)
        .unwrap();
    let mut rest = String::new();
    let _ = std::io::Read::read_to_string(&mut stream.0, &mut rest);
    assert!(begin.elapsed().as_secs() < 8, "the stream ends before the grace period");
}

#[test]
fn a_stream_ends_with_its_credential() {
    let guarded = Guarded::new();
    let open = |token: &str| {
        let mut stream = Stream::open_with(&guarded.server, "runs", &format!("authorization: Bearer {token}\r\n"));
        assert_eq!(stream.next().name, "hello");
        stream
    };
    let remaining = guarded.token(&["create", "--user", "ada", "--role", "admin"]);
    let mut remaining_stream = open(&remaining);
    let expiring = open(&guarded.token(&["create", "--user", "eve", "--expires", "3s"]));
    // Another process revokes it.
    let revoked = guarded.token(&["create", "--user", "bob"]);
    let revoked_stream = open(&revoked);
    let id = revoked.split('_').nth(1).expect("the id is part of the token");
    guarded.token(&["revoke", id]);
    assert!(revoked_stream.ends(), "the stream of a revoked token goes on");
    assert!(expiring.ends(), "the stream of an expired token goes on");
    let text = "name: hello\nsteps:\n  - {id: greet, step_type: text, template: Hello}\n";
    guarded.with(&remaining, "POST", "/workflows", &json!({"text": text})).expect(201);
    guarded.with(&remaining, "POST", "/runs?wait=30s", &json!({"workflow": "hello", "id": "r1"})).expect(200);
    remaining_stream.until(|event| event.name == "run" && event.data["id"] == "r1");
}

#[test]
fn one_user_follows_a_share_of_all_topics() {
    let guarded = Guarded::new();
    let tokens = ["eve", "ada"].map(|user| guarded.token(&["create", "--user", user]));
    let open = |token: &str, begin: usize| {
        let topics: Vec<String> = (begin..begin + 200).map(|number| format!("run:r{number}")).collect();
        Stream::open_with(&guarded.server, &topics.join(","), &format!("authorization: Bearer {token}\r\n"))
    };
    let streams: Vec<Stream> = (0..5).map(|at| open(&tokens[0], at * 200)).collect();
    let many = (2_000..2_100).map(|number| format!("run:r{number}")).collect::<Vec<_>>().join(",");
    let refused = guarded.with(&tokens[0], "GET", &format!("/events?topics={many}"), &Value::Null);
    assert_eq!(refused.problem(429), "limit_reached");
    assert_eq!(open(&tokens[1], 2_000).next().name, "hello");
    drop(streams);
}
