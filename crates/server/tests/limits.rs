//! Attacks on the resources of a server: slow requests, and floods of requests and event streams. The limits are small, so that the tests
//! need not wait.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use branchpoint_host::Embedded;
use branchpoint_host::store::Store;
use branchpoint_runners::CancellationToken;
use branchpoint_server::{Content, Host, Settings, serve_until};

/// How long a test waits for anything.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server over a store in memory, which ends with its test.
struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start(settings: Settings) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a store");
        let store = Store::open(&folder.path().join("store.db"), branchpoint_host::store::Durability::Normal);
        let host = Host::new(Box::new(Embedded::read_only(store.expect("the store opens"))), "ada");
        let settings = Settings { listen: ([127, 0, 0, 1], 0).into(), ..settings };
        let (stop, (listening, address)) = (CancellationToken::default(), channel());
        let token = stop.clone();
        let thread = thread::spawn(move || {
            let listening = |address| listening.send(address).expect("the test waits");
            serve_until(host, Content::default(), settings, &token, listening).expect("it serves");
        });
        let address = address.recv_timeout(PATIENCE).expect("the server listens");
        Self { address, stop, thread: Some(thread), _folder: folder }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// Sends the beginning of a request.
    fn begin(&self, text: &str) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(text.as_bytes()).expect("it is sent");
        stream
    }

    /// The response to a request.
    fn get(&self, path: &str) -> String {
        let host = self.address;
        rest(self.begin(&format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")))
    }

    /// An event stream, with the head of its response.
    fn follow(&self) -> (TcpStream, String) {
        let host = self.address;
        let mut stream = self.begin(&format!("GET /api/v1/events?topics=runs HTTP/1.1\r\nhost: {host}\r\n\r\n"));
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).expect("the server responds");
            head.extend(byte);
        }
        (stream, String::from_utf8_lossy(&head).into_owned())
    }

    /// Repeats a request until its response is as expected.
    fn until(&self, path: &str, is_expected: impl Fn(&str) -> bool) {
        let begin = Instant::now();
        loop {
            let response = self.get(path);
            if is_expected(&response) {
                return;
            }
            assert!(begin.elapsed() < PATIENCE, "{path}: {response}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Everything that the server sends until it closes the connection.
fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    // A server that closes a connection with unread bytes resets it.
    if let Err(error) = stream.read_to_end(&mut bytes) {
        assert!(error.kind() == std::io::ErrorKind::ConnectionReset, "{error}");
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A request whose body never comes.
fn without_body(server: &Server) -> String {
    let host = server.address;
    format!(
        "POST /api/v1/check HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{{"
    )
}

#[test]
fn a_client_that_does_not_send_its_headers_is_disconnected() {
    let server = Server::start(Settings { header_time: Duration::from_millis(300), ..Settings::default() });
    let silent = server.begin("GET /healthz HT");
    // Each byte comes in time, the request never does.
    let mut slow = server.begin("GET /healthz HTTP/1.1\r\n");
    let begin = Instant::now();
    while slow.write_all(b"x").is_ok() {
        assert!(begin.elapsed() < PATIENCE, "a client may send its headers for ever");
        thread::sleep(Duration::from_millis(20));
    }
    assert!(!rest(silent).contains(" 200 "));
    assert!(server.get("/healthz").contains(" 200 "), "other clients are served");
}

#[test]
fn a_client_that_does_not_send_its_body_gets_a_timeout_and_frees_its_place() {
    let limits = Settings { request_time: Duration::from_millis(500), requests: 2, ..Settings::default() };
    let server = Server::start(limits);
    let slow = [(); 2].map(|()| server.begin(&without_body(&server)));
    // Both places are taken as soon as the server has read the heads of both requests.
    server.until("/api/v1/me", |response| response.contains(" 503 ") || response.contains(" 200 "));
    for stream in slow {
        let response = rest(stream);
        assert!(response.contains("\"kind\":\"timeout\""), "{response}");
    }
    server.until("/api/v1/me", |response| response.contains(" 200 "));
}

#[test]
fn more_requests_than_the_limit_are_rejected_until_one_ends() {
    let server = Server::start(Settings { requests: 2, ..Settings::default() });
    let slow = [(); 2].map(|()| server.begin(&without_body(&server)));
    server.until("/api/v1/me", |response| {
        response.contains(" 503 ")
            && response.contains("retry-after: 1")
            && response.contains("\"kind\":\"unavailable\"")
    });
    // The client completes its request, which is not a document.
    for mut stream in slow {
        stream.write_all(b"\"text\":1").expect("it is sent");
        drop(rest(stream));
    }
    server.until("/api/v1/me", |response| response.contains(" 200 "));
}

#[test]
fn more_event_streams_than_the_limit_are_rejected_until_one_ends() {
    let server = Server::start(Settings { streams: 3, ..Settings::default() });
    let mut streams: Vec<TcpStream> = Vec::new();
    for _ in 0..3 {
        let (stream, head) = server.follow();
        assert!(head.contains(" 200 "), "{head}");
        streams.push(stream);
    }
    let (_, head) = server.follow();
    assert!(head.contains(" 503 ") && head.contains("retry-after: 5"), "{head}");
    // Streams do not count as requests, and other requests are served.
    assert!(server.get("/api/v1/me").contains(" 200 "));
    streams.pop();
    let begin = Instant::now();
    while !server.follow().1.contains(" 200 ") {
        assert!(begin.elapsed() < PATIENCE, "the place of a closed stream stays taken");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn connections_above_the_limit_wait_for_their_turn() {
    let server =
        Server::start(Settings { connections: 2, header_time: Duration::from_millis(500), ..Settings::default() });
    let silent = [server.begin("GET"), server.begin("GET")];
    // Both silent clients are disconnected, then it is the turn of this one.
    assert!(server.get("/healthz").contains(" 200 "));
    for stream in silent {
        assert!(!rest(stream).contains(" 200 "));
    }
}
