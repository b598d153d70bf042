//! A port without a listener.

use std::net::{TcpListener, TcpStream};

/// A port without a listener, which no other process is given while this value lives: a connection still has it.
pub(crate) struct Closed {
    ours: TcpStream,
    _theirs: TcpStream,
}

impl Closed {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let theirs = TcpStream::connect(listener.local_addr().expect("it is bound")).expect("it listens");
        Self { ours: listener.accept().expect("somebody has come").0, _theirs: theirs }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.ours.local_addr().expect("it is bound"))
    }
}
