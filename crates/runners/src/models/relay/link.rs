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
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::super::ADDRESS;
    use super::*;

    /// Where the other process of a test finds the relay: a path, or a name behind an `@`, since no environment can hold its NUL.
    const RELAY: &str = "BRANCHPOINT_TEST_RELAY";

    /// The relay of a call at a place, and where that is.
    fn relay_at(place: io::Result<Place>) -> (PathBuf, Link) {
        let place = place.expect("there is room");
        let (path, listener) = (place.path(), UnixListener::bind(place.path()).expect("there is room"));
        (path, Link { served: tokio::spawn(served(place, listener, Call::to_nowhere())) })
    }

    #[test]
    fn a_connection_is_taken_once_and_leads_nowhere_else() {
        crate::runtime::runtime().block_on(async {
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
        crate::runtime::runtime().block_on(async {
            let (path, _link) = relay_at(Place::folder(folder.path()));
            let room = path.parent().expect("a folder").to_owned();
            assert_eq!(room.metadata().expect("it is there").permissions().mode() & 0o777, 0o700);
            only_this_process_is_let_in(path).await;
            assert!(!room.exists());
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn whoever_else_knows_the_name_is_not_let_in() {
        crate::runtime::runtime().block_on(async {
            let (name, _link) = relay_at(Place::name());
            only_this_process_is_let_in(name).await;
        });
    }

    async fn only_this_process_is_let_in(path: PathBuf) {
        let own = std::env::current_exe().expect("a test has a path");
        let place = path.to_str().expect("a plain path").replace('\0', "@");
        let stranger = ["--exact", "models::relay::link::tests::stranger", "--nocapture"];
        let other = Command::new(own).args(stranger).env(RELAY, place).output().expect("it starts");
        let said = String::from_utf8_lossy(&other.stdout);
        // A name that no test has is no failure either.
        let is_tested = other.status.success() && said.contains("1 passed");
        assert!(is_tested, "nothing is said to another process: {said}{}", String::from_utf8_lossy(&other.stderr));
        let ours = client::within().unix_socket(path).build().expect("a client");
        let answer = ours.get("http://relay/elsewhere").send().await.expect("the connection stands");
        assert_eq!(answer.status(), 404);
    }

    /// The other process of the tests above; alone it tests nothing.
    #[test]
    fn stranger() {
        let Ok(place) = std::env::var(RELAY) else { return };
        let mut stream = connected(&place).expect("it listens");
        // Whoever is let in is answered. The relay may have hung up by now.
        let _ = stream.write_all(b"GET /elsewhere HTTP/1.1\r\nhost: relay\r\n\r\n");
        assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0, "the relay hangs up");
    }

    fn connected(place: &str) -> io::Result<std::os::unix::net::UnixStream> {
        #[cfg(target_os = "linux")]
        if let Some(name) = place.strip_prefix('@') {
            use std::os::linux::net::SocketAddrExt;
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
            return std::os::unix::net::UnixStream::connect_addr(&address);
        }
        std::os::unix::net::UnixStream::connect(place)
    }

    #[test]
    fn a_connection_that_nobody_needed_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        crate::runtime::runtime().block_on(async {
            drop(relay_at(Place::folder(folder.path())));
            while std::fs::read_dir(folder.path()).expect("it is there").count() > 0 {
                tokio::task::yield_now().await;
            }
        });
    }
}
