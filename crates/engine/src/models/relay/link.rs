//! The connection between the library and the relay, for one call. A key goes over it, so it is for this process alone: whoever else
//! comes is not let in. It leaves nothing behind.

use std::fs::{DirBuilder, remove_dir, remove_file};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use super::{Call, relayed};
use crate::models::client;
use crate::models::fault::Fault;

/// The end of the connection at which a call is relayed. It goes with the call.
pub(super) struct Link {
    served: JoinHandle<()>,
}

impl Link {
    /// A connection for a call, and the client that has the other end.
    pub(super) fn new(call: Arc<Call>) -> Result<(Self, reqwest::Client), String> {
        let place = Place::new().map_err(|why| format!("no socket can be made: {why}"))?;
        let client = client::within().unix_socket(place.path()).build().map_err(|why| why.to_string())?;
        let listener = UnixListener::bind(place.path()).map_err(|why| format!("no socket can be made: {why}"))?;
        Ok((Self { served: tokio::spawn(served(place, listener, call)) }, client))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.served.abort();
    }
}

async fn served(place: Place, listener: UnixListener, call: Arc<Call>) {
    let stream = match accepted(&listener).await {
        Ok(stream) => stream,
        Err(why) => {
            // Known before the other end sees that nobody is there.
            call.broken(Fault::within(&why.to_string()));
            return;
        }
    };
    drop((listener, place));
    let relay = service_fn(|request| relayed(Arc::clone(&call), request));
    // Who ended the connection, and why, is known to the call.
    drop(http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), relay).await);
}

/// The connection of this process. The name of a socket is no secret to others on this machine.
async fn accepted(listener: &UnixListener) -> io::Result<UnixStream> {
    loop {
        let (stream, _) = listener.accept().await?;
        if stream.peer_cred()?.pid() == i32::try_from(process::id()).ok() {
            return Ok(stream);
        }
    }
}

/// Where the two ends find each other.
enum Place {
    /// A name that is no file, which Linux has.
    Name(PathBuf),
    /// A folder for a socket that only this user can enter. It goes with its socket.
    Folder(PathBuf),
}

impl Place {
    fn new() -> io::Result<Self> {
        if cfg!(target_os = "linux") { Self::name() } else { Self::folder(&std::env::temp_dir()) }
    }

    fn name() -> io::Result<Self> {
        Ok(Self::Name(format!("\0{}", random()?).into()))
    }

    fn folder(within: &Path) -> io::Result<Self> {
        let folder = within.join(random()?);
        DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self::Folder(folder))
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Name(name) => name.clone(),
            Self::Folder(folder) => folder.join("relay"),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Self::Folder(folder) = self {
            // What cannot be removed is an empty folder, or a socket that nobody listens at.
            let _ = remove_file(folder.join("relay"));
            let _ = remove_dir(folder);
        }
    }
}

/// A name that nobody else has. It is short, as the name of a socket must be.
fn random() -> io::Result<String> {
    let mut name = [0; 8];
    getrandom::fill(&mut name).map_err(io::Error::other)?;
    Ok(format!("branchpoint-{:016x}", u64::from_ne_bytes(name)))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::super::ADDRESS;
    use super::*;

    /// The relay of a call in a folder, and where it is.
    fn relay_in(folder: &Path) -> (PathBuf, Link) {
        let place = Place::folder(folder).expect("there is room");
        let (path, listener) = (place.path(), UnixListener::bind(place.path()).expect("there is room"));
        (path, Link { served: tokio::spawn(served(place, listener, Call::to_nowhere())) })
    }

    #[test]
    fn a_connection_is_taken_once_and_leads_nowhere_else() {
        client::runtime().block_on(async {
            let (link, client) = Link::new(Call::to_nowhere()).expect("a socket can be made");
            let answer = client.get("http://relay/elsewhere").send().await.expect("the connection stands");
            assert_eq!(answer.status(), 404);
            client.get(ADDRESS).send().await.expect_err("it takes one connection");
            drop(link);
        });
    }

    #[test]
    fn whoever_else_comes_is_not_let_in() {
        let folder = tempfile::tempdir().expect("a folder");
        client::runtime().block_on(async {
            let (path, _link) = relay_in(folder.path());
            let room = path.parent().expect("a folder").to_owned();
            assert_eq!(room.metadata().expect("it is there").permissions().mode() & 0o777, 0o700);
            let own = std::env::current_exe().expect("a test has a path");
            let stranger = ["--exact", "models::relay::link::tests::stranger", "--nocapture"];
            let other = Command::new(own).args(stranger).env("BRANCHPOINT_TEST_RELAY", &path).status();
            assert!(other.expect("it starts").success(), "nothing is said to another process");
            let ours = client::within().unix_socket(path).build().expect("a client");
            let answer = ours.get("http://relay/elsewhere").send().await.expect("the connection stands");
            assert_eq!((answer.status().as_u16(), room.exists()), (404, false));
        });
    }

    /// The other process of the test above; alone it tests nothing.
    #[test]
    fn stranger() {
        let Some(path) = std::env::var_os("BRANCHPOINT_TEST_RELAY") else { return };
        let mut stream = std::os::unix::net::UnixStream::connect(path).expect("it listens");
        assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0, "the relay hangs up");
    }

    #[test]
    fn a_connection_that_nobody_needed_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        client::runtime().block_on(async {
            drop(relay_in(folder.path()));
            while std::fs::read_dir(folder.path()).expect("it is there").count() > 0 {
                tokio::task::yield_now().await;
            }
        });
    }
}
