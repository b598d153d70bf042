//! A backend over the HTTP API of a Branchpoint server.
//!
//! [`Remote`] implements [`Backend`](branchpoint_backend::Backend), so a command over it prints what it prints over a store. It reads rows,
//! programs, states and events with `/api/v1/read` and computes the rest, and it changes runs with the endpoints that every client uses. What
//! a server does not offer is an error that says so.
//!
//! ```no_run
//! use branchpoint_backend::{Backend, Filter};
//! use branchpoint_client::{Remote, ServerAddress, Token};
//!
//! let address: ServerAddress = "https://flows.example".parse()?;
//! let remote = Remote::connect(address, Token::from_environment())?;
//! for run in remote.runs(&Filter::default())? {
//!     println!("{} {}", run.id, run.status.as_str());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod backend;
mod changes;
mod connection;
mod followed_run;
mod live;
mod reads;
mod start;
mod token;

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, PoisonError};

use branchpoint_backend::{BackendError, EventListener, READ_VERSION, RunNo};
use serde::Deserialize;

pub use address::{InvalidAddress, ServerAddress};
pub use start::RemoteStart;
pub use token::Token;

use connection::Connection;
use followed_run::FollowedRuns;
use live::Live;
use reads::Cache;

/// A server.
pub struct Remote(Arc<Shared>);

/// What the handles on a server share.
struct Shared {
    connection: Connection,
    user: String,
    cache: Cache,
    live: Mutex<Option<Live>>,
    /// Grows whenever something may have changed.
    version: AtomicI64,
    listeners: Mutex<Vec<EventListener>>,
    followed: Mutex<Option<FollowedRuns>>,
    /// The run that the process is about, which is followed live.
    focus: Mutex<Option<(RunNo, String)>>,
}

/// The caller and the server, from `/me`.
#[derive(Deserialize)]
struct Me {
    user: String,
    server: ServerFacts,
}

#[derive(Deserialize)]
struct ServerFacts {
    version: String,
    #[serde(default)]
    reads: u32,
}

impl Remote {
    /// Connects to a server, and checks the token and the versions.
    pub fn connect(address: ServerAddress, token: Option<Token>) -> Result<Self, BackendError> {
        let connection = Connection::new(address, token)?;
        let me: Me = connection.get(&["me"])?;
        check_version(connection.address(), &me.server)?;
        let (live, listeners, followed, focus) =
            (Mutex::default(), Mutex::default(), Mutex::default(), Mutex::default());
        let (cache, version) = (Cache::default(), AtomicI64::new(1));
        Ok(Self(Arc::new(Shared { connection, user: me.user, cache, live, version, listeners, followed, focus })))
    }

    /// The user whom the server knows by the token.
    pub fn user(&self) -> &str {
        &self.0.user
    }

    /// The address of the server.
    pub fn address(&self) -> &ServerAddress {
        self.0.connection.address()
    }
}

impl Shared {
    fn focus(&self) -> Option<(RunNo, String)> {
        self.focus.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_focus(&self, run: RunNo, id: &str) {
        *self.focus.lock().unwrap_or_else(PoisonError::into_inner) = Some((run, id.to_owned()));
    }
}

/// Rejects a server whose requests have another version.
fn check_version(address: &ServerAddress, server: &ServerFacts) -> Result<(), BackendError> {
    let this = env!("CARGO_PKG_VERSION");
    let (which, remedy) = match server.reads {
        READ_VERSION => return Ok(()),
        reads if reads < READ_VERSION => ("older", "update the server, or use a program of its version"),
        _ => ("newer", "update this program"),
    };
    Err(BackendError::Incompatible(format!(
        "the server at {address} is {which} than this program (server {}, program {this})\nhelp: {remedy}",
        server.version
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_other_versions_are_rejected() {
        let address: ServerAddress = "https://flows.example".parse().expect("an address");
        let message = |reads: u32| {
            let server = ServerFacts { version: "9.9.9".into(), reads };
            check_version(&address, &server).map_err(|error| error.to_string())
        };
        assert_eq!(message(READ_VERSION), Ok(()));
        assert!(message(0).is_err_and(|text| text.contains("older than this program (server 9.9.9")));
        assert!(
            message(READ_VERSION + 1).is_err_and(|text| text.contains("newer") && text.contains("update this program"))
        );
    }
}
