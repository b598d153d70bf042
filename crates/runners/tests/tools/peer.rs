//! A minimal HTTP server: it records requests and sends the responses of the test.

#![allow(dead_code, reason = "each test crate uses its part")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request that the server has received.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// A server on this machine, for as long as the test runs.
pub(crate) struct Peer {
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Peer {
    /// Responds to each request with the bytes that `answer` returns.
    pub(crate) fn new(answer: impl Fn(&ReceivedRequest) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (list, answer) = (Arc::clone(&requests), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (list, answer) = (Arc::clone(&list), Arc::clone(&answer));
                thread::spawn(move || converse(stream, &list, &*answer));
            }
        });
        Self { port, requests }
    }

    /// Responds to every request with the same status, type and body.
    pub(crate) fn saying(status: &'static str, content_type: &'static str, body: &'static str) -> Self {
        Self::new(move |_| response(status, &[("content-type", content_type)], body))
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        self.requests.lock().expect("no thread panics while holding it").clone()
    }
}

pub(crate) fn response(status: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let headers: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let headers = headers.concat();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
        .into_bytes()
}

fn converse(stream: TcpStream, requests: &Mutex<Vec<ReceivedRequest>>, answer: &dyn Fn(&ReceivedRequest) -> Vec<u8>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a stream has two ends"));
    let mut stream = stream;
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let mut request = ReceivedRequest {
        method: words.next().unwrap_or_default(),
        target: words.next().unwrap_or_default(),
        ..ReceivedRequest::default()
    };
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            request.headers.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    let length = request.headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_ok() {
        request.body = String::from_utf8_lossy(&body).into_owned();
    }
    requests.lock().expect("no thread panics while holding it").push(request.clone());
    let response = answer(&request);
    // An empty response means that the server never responds. It keeps the connection open until the client closes it.
    if response.is_empty() {
        let _ = reader.read(&mut [0; 1]);
    }
    let _ = stream.write_all(&response);
}
