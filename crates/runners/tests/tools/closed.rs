//! A closed port.

use tokio::net::TcpSocket;

/// A port that no process listens on, reserved while this value lives.
pub(crate) struct Closed(TcpSocket);

impl Closed {
    pub(crate) fn new() -> Self {
        let socket = TcpSocket::new_v4().expect("there are sockets");
        socket.bind(([127, 0, 0, 1], 0).into()).expect("a port is free");
        Self(socket)
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.local_addr().expect("it is bound").port()
    }
}
