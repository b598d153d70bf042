//! A server of the real program, and a small HTTP client that shows exactly what is sent and received.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long a test waits for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A running `branchpoint serve`.
pub(crate) struct Server {
    process: Process,
    pub(crate) address: String,
    /// Kept open, because a closed pipe would make the server's messages fail.
    _stderr: BufReader<ChildStderr>,
}

impl Server {
    /// A server with the examples.
    pub(crate) fn demo() -> Self {
        Self::start(&["serve", "--demo", "--listen", "127.0.0.1:0"])
    }

    /// A server with these arguments.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_in(Path::new("."), arguments)
    }

    /// A server in a folder with these arguments.
    pub(crate) fn start_in(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = command(arguments);
        command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Self::of(command)
    }

    /// A server of a command whose stderr is piped.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut process = Process(command.spawn().expect("the program starts"));
        let mut stderr = BufReader::new(process.0.stderr.take().expect("stderr is piped"));
        let mut seen = String::new();
        loop {
            let mut line = String::new();
            let read = stderr.read_line(&mut line).expect("stderr is text");
            assert!(read > 0, "the server has ended: {seen}");
            if let Some(address) = line.trim().strip_prefix("Serving http://") {
                let address = address.split('/').next().unwrap_or_default().to_owned();
                return Self { process, address, _stderr: stderr };
            }
            seen += &line;
        }
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.send("GET", path, &[], "")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Response {
        self.send("POST", path, &[("content-type", "application/json")], &body.to_string())
    }

    pub(crate) fn replace(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Response {
        let headers: Vec<_> = headers.iter().copied().chain([("content-type", "application/json")]).collect();
        self.send("PUT", path, &headers, &body.to_string())
    }

    /// Sends a request below `/api/v1`, or to an absolute path that begins with two slashes.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        self.send_bytes(method, path, headers, body.as_bytes())
    }

    pub(crate) fn send_bytes(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let path = path
            .strip_prefix('/')
            .filter(|path| path.starts_with('/'))
            .map_or_else(|| format!("/api/v1{path}"), str::to_owned);
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "host") {
            let _ = write!(head, "host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let mut stream = self.connect();
        stream.write_all(head.as_bytes()).expect("the request is sent");
        stream.write_all(b"\r\n").expect("the request is sent");
        // A server that rejects a request may stop reading it.
        let _ = stream.write_all(body);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Response::parse(&bytes)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// Starts a run of an example and returns its record when it has ended or waits for people.
    #[track_caller]
    pub(crate) fn run(&self, workflow: &str, inputs: &Value) -> Value {
        let body = serde_json::json!({"workflow": workflow, "inputs": inputs});
        let started = self.post("/runs?wait=30s", &body);
        assert_eq!(started.status, 200, "{}", started.text);
        started.json()
    }

    /// Repeats a request until its response is as expected.
    #[track_caller]
    pub(crate) fn until(&self, path: &str, is_expected: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        loop {
            let response = self.get(path);
            let value = response.json();
            if is_expected(&value) {
                return value;
            }
            assert!(begin.elapsed() < PATIENCE, "{path} does not become as expected: {value:#}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.0.id()
    }
}

/// A process that ends with its test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The program, independent of who runs the tests.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_branchpoint"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("BRANCHPOINT_") || name.ends_with("_API_KEY") || name.to_lowercase().ends_with("_proxy") {
            command.env_remove(&name);
        }
    }
    command.args(arguments).env("BRANCHPOINT_USER", "ada");
    command
}

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) text: String,
}

impl Response {
    #[track_caller]
    fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("a response has a head");
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
        // Headers that are repeated, such as cookies, have a line for each value.
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let values = headers.entry(name.to_ascii_lowercase()).or_default();
            let separator = if values.is_empty() { "" } else { "\n" };
            let _ = write!(values, "{separator}{}", value.trim());
        }
        let body = &bytes[end + 4..];
        let is_chunked = headers.get("transfer-encoding").is_some_and(|encoding| encoding == "chunked");
        let body = if is_chunked { dechunked(body) } else { body.to_vec() };
        let text = String::from_utf8_lossy(&body).into_owned();
        Self { status: status.expect("a response has a status"), headers, text }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.text))
    }

    /// The JSON of a response with this status.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()
    }

    /// The kind of a problem response with this status.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16) -> String {
        let value = self.expect(status);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(value["status"], status);
        assert!(!value["detail"].as_str().unwrap_or_default().is_empty(), "{value}");
        value["kind"].as_str().unwrap_or_default().to_owned()
    }
}

fn dechunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..end]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let Some(size) = size.filter(|size| *size > 0 && bytes.len() >= end + 2 + size) else { break };
        body.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = bytes.get(end + 4 + size..).unwrap_or_default();
    }
    body
}
