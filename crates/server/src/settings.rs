//! The settings of a server.

use std::net::SocketAddr;
use std::time::Duration;

/// Where a server listens and what it accepts.
///
/// ```
/// let settings = branchpoint_server::Settings { base_path: "/branchpoint".into(), ..Default::default() };
/// assert!(settings.listen.ip().is_loopback());
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address to listen on. Port 0 chooses a free port.
    pub listen: SocketAddr,
    /// The path below which everything is served, such as `/branchpoint`; empty for the root.
    pub base_path: String,
    /// Host names under which the server may be addressed, besides loopback names and the address it listens on.
    pub hosts: Vec<String>,
    /// Whether requests need a token or a cookie. Without it, everybody who can connect is the local user, so the server must listen on
    /// loopback only.
    pub requires_sign_in: bool,
    /// Whether a proxy in front of the server sets `Forwarded` or `X-Forwarded-Host` and `X-Forwarded-Proto`.
    pub behind_proxy: bool,
    /// The most bytes of a request body, except for attachments.
    pub body_bytes: usize,
    /// The most bytes of a request with attachments.
    pub upload_bytes: usize,
    /// The most bytes of the headers of a request.
    pub header_bytes: usize,
    /// The most headers of a request.
    pub headers: usize,
    /// How long a client may take to send the headers of a request.
    pub header_time: Duration,
    /// How long a request may take, without `wait`.
    pub request_time: Duration,
    /// The most requests at the same time. Event streams count only until they begin.
    pub requests: usize,
    /// The most connections at the same time.
    pub connections: usize,
    /// The most event streams at the same time.
    pub streams: usize,
    /// The most requests that use the storage at the same time. Each has a connection of its own.
    pub handles: usize,
    /// How long requests and calls in flight may take to end when the server stops.
    pub grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            base_path: String::new(),
            hosts: Vec::new(),
            requires_sign_in: false,
            behind_proxy: false,
            body_bytes: 4 * 1024 * 1024,
            upload_bytes: 64 * 1024 * 1024,
            header_bytes: 32 * 1024,
            headers: 64,
            header_time: Duration::from_secs(10),
            request_time: Duration::from_secs(30),
            requests: 512,
            connections: 10_000,
            streams: 8_000,
            handles: 16,
            grace: Duration::from_secs(10),
        }
    }
}
