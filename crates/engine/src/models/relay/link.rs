//! The connection between the library and the relay, for one call. A key goes over it, so it is for this process alone: a socket in
//! a folder that only this user can enter, which takes one connection, and both are gone before anything is said.

use std::fs::{DirBuilder, remove_dir, remove_file};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

use super::{Call, relayed};
use crate::models::client;
use crate::models::fault::Fault;

/// The end of the connection at which a call is relayed. It goes with the call.
pub(super) struct Link {
    served: JoinHandle<()>,
}

impl Link {
    /// A connection for a call in the first of these folders in which a socket can be made, and the client that has the other end.
    pub(super) fn new(folders: &[PathBuf], call: Arc<Call>) -> Result<(Self, reqwest::Client), String> {
        let (room, listener) = bound(folders)?;
        let client = client::within().unix_socket(room.socket()).build().map_err(|why| why.to_string())?;
        Ok((Self { served: tokio::spawn(served(room, listener, call)) }, client))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.served.abort();
    }
}

async fn served(room: Room, listener: UnixListener, call: Arc<Call>) {
    let accepted = listener.accept().await;
    drop((listener, room));
    let stream = match accepted {
        Ok((stream, _)) => TokioIo::new(stream),
        Err(why) => {
            call.broken(Fault::within(&why.to_string()));
            return;
        }
    };
    let relay = service_fn(|request| relayed(Arc::clone(&call), request));
    // Who ended the connection, and why, is known to the call.
    drop(http1::Builder::new().keep_alive(false).serve_connection(stream, relay).await);
}

/// Folders in which there may be room for a socket: the one for what is temporary, unless its name is too long for a socket or it
/// cannot be written to; then the usual one; then memory, which can be written to where nothing else can.
pub(super) fn folders() -> [PathBuf; 3] {
    [std::env::temp_dir(), "/tmp".into(), "/dev/shm".into()]
}

/// A socket in the first folder that has room for it; if none has, the first says why.
fn bound(folders: &[PathBuf]) -> Result<(Room, UnixListener), String> {
    let mut why = None;
    for folder in folders {
        let bound = Room::new(folder).and_then(|room| UnixListener::bind(room.socket()).map(|socket| (room, socket)));
        match bound {
            Ok(bound) => return Ok(bound),
            Err(error) => drop(why.get_or_insert(format!("no socket can be made in `{}`: {error}", folder.display()))),
        }
    }
    Err(why.unwrap_or_default())
}

/// A folder for a socket that only this user can enter. It goes with its socket.
struct Room(PathBuf);

impl Room {
    fn new(within: &Path) -> io::Result<Self> {
        // Nobody can guess the name; it is short, as the name of a socket must be.
        let mut name = [0; 8];
        getrandom::fill(&mut name).map_err(io::Error::other)?;
        let folder = within.join(format!("branchpoint-{:016x}", u64::from_ne_bytes(name)));
        DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self(folder))
    }

    fn socket(&self) -> PathBuf {
        self.0.join("relay")
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // What cannot be removed is an empty folder, or a socket that nobody listens at.
        let _ = remove_file(self.socket());
        let _ = remove_dir(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::ADDRESS;
    use super::*;

    #[test]
    fn nobody_else_can_enter_the_room_of_a_socket_and_it_is_gone_when_the_connection_is_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let folders = [folder.path().to_owned()];
        let entries = || std::fs::read_dir(folder.path()).expect("it is there").count();
        client::runtime().block_on(async {
            let (link, client) = Link::new(&folders, Call::to_nowhere()).expect("there is room");
            let room = std::fs::read_dir(folder.path()).expect("it is there").next().expect("a room").expect("it is");
            let mode = room.metadata().expect("it is there").permissions().mode();
            assert_eq!((mode & 0o777, entries()), (0o700, 1));
            // What leads out of the address of the provider is answered here.
            let answer = client.get("http://relay/elsewhere").send().await.expect("the connection stands");
            assert_eq!((answer.status().as_u16(), entries()), (404, 0));
            client.get(ADDRESS).send().await.expect_err("it takes one connection");
            drop(link);
        });
    }

    #[test]
    fn a_connection_that_nobody_needed_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        client::runtime().block_on(async {
            drop(Link::new(&[folder.path().to_owned()], Call::to_nowhere()).expect("there is room"));
            while std::fs::read_dir(folder.path()).expect("it is there").count() > 0 {
                tokio::task::yield_now().await;
            }
        });
    }

    #[test]
    fn a_socket_is_made_where_there_is_room() {
        let folder = tempfile::tempdir().expect("a folder");
        let missing = folder.path().join("missing");
        client::runtime().block_on(async {
            let refused =
                Link::new(std::slice::from_ref(&missing), Call::to_nowhere()).err().expect("there is no such folder");
            assert!(refused.contains("missing"), "{refused}");
            Link::new(&[missing, folder.path().to_owned()], Call::to_nowhere()).expect("there is room");
        });
    }
}
