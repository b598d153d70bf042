//! Starts a Restate server as a child process on loopback, without telemetry.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use branchpoint_restate::{Addresses, Client, Worker};
use branchpoint_runners::agent::AgentLimits;
use branchpoint_runners::{CancellationToken, runtime};

use super::live_run::CurrentRunner;

/// The variable with the path of the server's program.
const PROGRAM: &str = "RESTATE_SERVER";

/// Where `make restate` installs the server.
const INSTALLED: &str = "target/restate/node_modules/@restatedev";

const SETTINGS: &str = "restate.toml";
const LOG: &str = "restate.log";

/// How long the server may take to start.
const START_LIMIT: Duration = Duration::from_mins(1);

/// Runs the server until the standard input of this shell is closed, which happens however its parent ends. Then it removes the folder, unless
/// it has read the word `keep`.
const GUARD: &str = "\"$0\" --no-logo -c \"$1/restate.toml\" & read -r word; kill -9 $!; wait $! 2>/dev/null; [ \"$word\" = keep ] || rm -rf \"$1\"";

/// A running server.
#[derive(Debug)]
pub struct Server {
    client: Client,
    program: PathBuf,
    guard: Mutex<Child>,
    folder: PathBuf,
}

impl Server {
    /// Starts a server with an empty folder, and registers a worker of this process.
    pub fn start() -> Result<Self> {
        let program = program()?;
        let folder = std::env::temp_dir().join(format!("branchpoint-restate-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let [ingress, admin, node] = free_ports()?;
        std::fs::write(folder.join(SETTINGS), config(&folder, ingress, admin, node))?;
        let guard = Mutex::new(spawn(&program, &folder)?);
        let url = |port: u16| format!("http://127.0.0.1:{port}").parse();
        let client = Client::new(Addresses { ingress: url(ingress)?, admin: url(admin)? })?;
        let server = Self { client, program, guard, folder };
        server.register_worker()?;
        Ok(server)
    }

    /// A client of the server.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Kills the server with SIGKILL, and starts it again on the same folder.
    pub fn kill_and_restart(&self) {
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        let input = guard.stdin.as_mut().expect("the input of the guard is a pipe");
        input.write_all(b"keep\n").expect("the guard reads its input");
        kill(&mut guard);
        *guard = spawn(&self.program, &self.folder).expect("the Restate server can be started again");
    }

    /// Serves the handlers from this process, and registers them as soon as the server accepts it.
    fn register_worker(&self) -> Result<()> {
        let runtime = runtime();
        let _within = runtime.enter();
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let runner = Arc::new(CurrentRunner);
        let worker = Worker::new(self.client.clone(), runner, AgentLimits::default(), listen)?;
        let deployment = format!("http://{}", worker.address()?).parse()?;
        runtime.spawn(worker.serve(CancellationToken::new()));
        let begin = Instant::now();
        loop {
            match runtime.block_on(self.client.register(&deployment)) {
                Ok(_) => return Ok(()),
                Err(error) if begin.elapsed() > START_LIMIT => {
                    let log = std::fs::read_to_string(self.folder.join(LOG)).unwrap_or_default();
                    bail!("the Restate server does not start: {error}\n{log}");
                }
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        kill(self.guard.get_mut().unwrap_or_else(PoisonError::into_inner));
    }
}

fn spawn(program: &Path, folder: &Path) -> Result<Child> {
    let log = std::fs::File::options().create(true).append(true).open(folder.join(LOG))?;
    let mut guard = Command::new("sh");
    guard.args(["-c", GUARD]).arg(program).arg(folder);
    guard.env("DO_NOT_TRACK", "1").stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log);
    guard.spawn().context("the Restate server cannot be started")
}

/// Closes the input of the guard, which kills the server and ends.
fn kill(guard: &mut Child) {
    drop(guard.stdin.take());
    let _ = guard.wait();
}

/// The server of this process, which is started when it is first needed.
pub fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start().unwrap_or_else(|error| panic!("{error:#}")))
}

/// The program of the server.
fn program() -> Result<PathBuf> {
    if let Some(program) = std::env::var_os(PROGRAM) {
        return Ok(program.into());
    }
    let platform = format!("restate-server-{}-{}", std::env::consts::OS.replace("macos", "darwin"), architecture());
    let program = Path::new(INSTALLED).join(platform).join("bin/restate-server");
    ensure!(
        program.exists(),
        "no Restate server at {}. Install it with `make restate`, or set {PROGRAM} to its path",
        program.display()
    );
    Ok(program)
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Ports that were free a moment ago.
fn free_ports<const N: usize>() -> Result<[u16; N]> {
    let listeners: Vec<TcpListener> =
        (0..N).map(|_| TcpListener::bind(("127.0.0.1", 0))).collect::<std::io::Result<_>>()?;
    let ports: Vec<u16> =
        listeners.iter().map(|listener| listener.local_addr().map(|at| at.port())).collect::<std::io::Result<_>>()?;
    ports.try_into().map_err(|_| anyhow::anyhow!("the system has no free ports"))
}

fn config(folder: &Path, ingress: u16, admin: u16, node: u16) -> String {
    let mut text = String::from(
        "cluster-name = \"vectors\"\nauto-provision = true\ndisable-telemetry = true\nlisten-mode = \"tcp\"\nbind-ip = \"127.0.0.1\"\nlog-filter = \"warn\"\nlog-disable-ansi-codes = true\ndefault-num-partitions = 4\nrocksdb-total-memory-size = \"256.0 MiB\"\n",
    );
    // Writing to a text cannot fail.
    let _ = write!(
        text,
        "base-dir = '{}'\nbind-port = {node}\n[admin]\ndisable-web-ui = true\nbind-address = \"127.0.0.1:{admin}\"\n[ingress]\nbind-address = \"127.0.0.1:{ingress}\"\n",
        folder.join("data").display()
    );
    text
}
