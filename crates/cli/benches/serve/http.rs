//! A client that keeps its connection.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

pub(crate) struct Connection {
    address: String,
    stream: BufReader<TcpStream>,
    head: String,
    body: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("a setting of sockets");
        Self { address: address.to_owned(), stream: BufReader::new(stream), head: String::new(), body: Vec::new() }
    }

    /// Sends a request, and returns the status and the body of its response.
    pub(crate) fn send(&mut self, method: &str, path: &str, body: &str) -> (u16, &[u8]) {
        self.head.clear();
        let _ = write!(
            self.head,
            "{method} /api/v1{path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all(self.head.as_bytes()).expect("the request is sent");
        let (mut line, mut length, mut status) = (String::new(), 0, 0);
        loop {
            line.clear();
            assert!(
                self.stream.read_line(&mut line).expect("the server responds") > 0,
                "the server has closed the connection"
            );
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            match line.split_once(": ") {
                None => status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default(),
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse().expect("a number");
                }
                Some(_) => {}
            }
        }
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body).expect("the body arrives");
        (status, &self.body)
    }

    pub(crate) fn get(&mut self, path: &str) -> Value {
        let (status, body) = self.send("GET", path, "");
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(body));
        serde_json::from_slice(body).expect("it is JSON")
    }

    #[track_caller]
    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Value {
        let (status, body) = self.send("POST", path, &body.to_string());
        assert!((200..300).contains(&status), "{path}: {status} {}", String::from_utf8_lossy(body));
        serde_json::from_slice(body).expect("it is JSON")
    }
}
