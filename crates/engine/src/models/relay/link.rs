//! The one connection between the library and the relay. Keys go over it, so it is for this process alone: a socket in a folder that
//! only this user can enter, which takes one connection, and both are gone before the first call. If the connection ends, it is made
//! anew, in the same way.

use std::fs::{DirBuilder, remove_dir, remove_file};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use futures_util::future::try_join;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

use super::{Broken, Passing};
use crate::models::client;

/// Where the library finds the relay. The name is never looked up: all it asks goes over the socket.
pub(super) const ADDRESS: &str = "http://relay/";

/// How large a piece of an answer may be. The relay hands on what comes as it comes, mostly in smaller ones; a large one is not cut
/// into many, with each of which the library would look at an unfinished event again.
const PIECE: u32 = 256 * 1024;

/// How much of one answer is under way between the relay and the library, and of all together: whoever does not read must not
/// keep the others from reading.
const WINDOW: u32 = 1024 * 1024;
const ALL_WINDOWS: u32 = 1 << 30;

/// How many calls there may be at once, and how many may have been called off before the relay has looked at them: all of them, when
/// a process ends its runs. A server takes the latter for an attack, unless it is told that its only client is no stranger.
const CALLS: u32 = 1 << 20;

/// The connection, for as long as it holds.
pub(super) struct Link {
    served: JoinHandle<()>,
}

impl Link {
    /// A connection in the first of these folders in which a socket can be made, to whoever serves its requests; and the client that has
    /// the other end.
    pub(super) async fn new<S, A>(folders: &[PathBuf], serves: S) -> Result<(Self, reqwest::Client), String>
    where
        S: Fn(Request<Incoming>) -> A + Send + 'static,
        A: Future<Output = Result<Response<Passing>, Broken>> + Send + 'static,
    {
        let (room, listener) = bound(folders)?;
        let client = client::within()
            .unix_socket(room.socket())
            .http2_prior_knowledge()
            .http2_max_frame_size(PIECE)
            .http2_initial_stream_window_size(WINDOW)
            .http2_initial_connection_window_size(ALL_WINDOWS)
            .pool_idle_timeout(None)
            .build()
            .map_err(|why| why.to_string())?;
        let accepted = async {
            let (stream, _) = listener.accept().await.map_err(|why| why.to_string())?;
            let mut server = http2::Builder::new(TokioExecutor::new());
            server.max_concurrent_streams(CALLS);
            server.max_pending_accept_reset_streams(usize::try_from(CALLS).ok()).max_local_error_reset_streams(None);
            let connection = server.serve_connection(TokioIo::new(stream), service_fn(serves));
            // Whoever closes the connection has what they wanted.
            Ok(tokio::spawn(async { drop(connection.await) }))
        };
        // The first request is what makes the connection; what is answered does not matter.
        let asked = async { client.get(ADDRESS).send().await.map_err(|why| why.to_string()) };
        let (served, _) = try_join(accepted, asked).await?;
        Ok((Self { served }, client))
    }

    /// Whether the connection stands.
    pub(super) fn holds(&self) -> bool {
        !self.served.is_finished()
    }

    #[cfg(test)]
    pub(super) fn cut(&self) {
        self.served.abort();
    }
}

/// Folders in which there may be room for a socket: the one for what is temporary, unless its name is too long for a socket or it
/// cannot be written to; then the usual one; then memory, which can be written to where nothing else can.
pub(super) fn folders() -> [PathBuf; 3] {
    [std::env::temp_dir(), "/tmp".into(), "/dev/shm".into()]
}

/// A name that nobody can guess.
pub(super) fn random() -> Result<String, String> {
    let mut name = [0; 16];
    getrandom::fill(&mut name).map_err(|error| format!("there is no randomness here: {error}"))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(name)))
}

/// A socket in the first folder that has room for it; if none has, the first says why.
fn bound(folders: &[PathBuf]) -> Result<(Room, UnixListener), String> {
    let name = random()?;
    let mut why = None;
    for folder in folders {
        let bound =
            Room::new(folder, &name).and_then(|room| UnixListener::bind(room.socket()).map(|socket| (room, socket)));
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
    fn new(within: &Path, name: &str) -> io::Result<Self> {
        // The name of a socket may not be long; half of it is enough for a folder that must be new.
        let folder = within.join(format!("branchpoint-{}", &name[..name.len() / 2]));
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

    use super::*;

    #[test]
    fn nobody_else_can_enter_the_room_of_a_socket_and_it_is_gone_when_the_connection_is_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let entries = || std::fs::read_dir(folder.path()).expect("it is there").count();
        client::runtime().block_on(async {
            let (room, _socket) = bound(&[folder.path().into()]).expect("there is room");
            let mode = std::fs::metadata(&room.0).expect("it is there").permissions().mode();
            assert_eq!((mode & 0o777, entries()), (0o700, 1));
            drop(room);
            let link = Link::new(&[folder.path().into()], |_| async { Ok(super::super::nowhere()) }).await;
            let (link, client) = link.expect("there is room");
            assert_eq!(entries(), 0, "nobody can connect any more");
            let answer = client.get(ADDRESS).send().await.expect("the connection stands");
            assert!(answer.status() == 404 && link.holds());
        });
    }

    #[test]
    fn calls_that_are_called_off_all_at_once_do_not_end_the_connection() {
        let folder = tempfile::tempdir().expect("a folder");
        client::runtime().block_on(async {
            let link = Link::new(&[folder.path().into()], |_| async { Ok(super::super::nowhere()) }).await;
            let (link, client) = link.expect("there is room");
            for _ in 0..20 {
                let calls = (0..500).map(|_| {
                    let request = client.get(ADDRESS).send();
                    tokio::spawn(request)
                });
                for call in calls.collect::<Vec<_>>() {
                    tokio::task::yield_now().await;
                    call.abort();
                }
            }
            let answer = client.get(ADDRESS).send().await.expect("the connection stands");
            assert!(answer.status() == 404 && link.holds());
        });
    }
}
