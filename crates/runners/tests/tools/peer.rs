//! A server that speaks HTTP as plainly as can be: it hears requests and says what the test has written.

#![allow(dead_code, reason = "each test crate uses its part")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// A server on this machine, for as long as the test runs.
pub(crate) struct Peer {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Peer {
    /// Answers each request with the bytes that are written for it.
    pub(crate) fn new(answer: impl Fn(&Heard) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (kept, answer) = (Arc::clone(&heard), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                thread::spawn(move || converse(stream, &kept, &*answer));
            }
        });
        Self { port, heard }
    }

    /// Answers every request with the same status, type and body.
    pub(crate) fn saying(status: &'static str, content_type: &'static str, body: &'static str) -> Self {
        Self::new(move |_| response(status, &[("content-type", content_type)], body))
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().expect("nobody panics while holding it").clone()
    }
}

pub(crate) fn response(status: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let headers: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let headers = headers.concat();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
        .into_bytes()
}

fn converse(stream: TcpStream, kept: &Mutex<Vec<Heard>>, answer: &dyn Fn(&Heard) -> Vec<u8>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a stream has two ends"));
    let mut stream = stream;
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let mut heard = Heard {
        method: words.next().unwrap_or_default(),
        target: words.next().unwrap_or_default(),
        ..Heard::default()
    };
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            heard.headers.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    let length = heard.headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_ok() {
        heard.body = String::from_utf8_lossy(&body).into_owned();
    }
    kept.lock().expect("nobody panics while holding it").push(heard.clone());
    let said = answer(&heard);
    // An answer of nothing is a peer that never answers; it holds the line until the other side lets go.
    if said.is_empty() {
        let _ = reader.read(&mut [0; 1]);
    }
    let _ = stream.write_all(&said);
}
