//! A running process: the server of the real program, or a floor.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use crate::http::Connection;

/// How long a benchmark waits for anything.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

pub(crate) struct Program {
    child: Child,
    pub(crate) address: String,
    /// Kept open, because a closed pipe would make messages fail.
    _stderr: BufReader<ChildStderr>,
}

impl Program {
    /// `branchpoint serve` over a store.
    pub(crate) fn serve(store: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_branchpoint"));
        command.arg("serve").arg("--store").arg(store).args(["--listen", "127.0.0.1:0"]);
        Self::start(&mut command, store.parent().expect("the store is in a folder"))
    }

    /// Starts a server that prints `Serving http://ADDRESS` to stderr.
    pub(crate) fn start(command: &mut Command, folder: &Path) -> Self {
        command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let address = printed_address(&mut stderr);
        Self { child, address, _stderr: stderr }
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::open(&self.address)
    }

    /// The resident memory in megabytes.
    pub(crate) fn resident_mb(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok()).unwrap_or_default() / 1024.0
    }

    /// Ends the process as an operator does, and waits for it.
    pub(crate) fn stop(mut self) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).expect("a process id"));
        nix::sys::signal::kill(pid, nix::sys::signal::SIGTERM).expect("it is running");
        let ended = self.child.wait().expect("it ends");
        assert!(ended.success(), "{ended}");
    }
}

/// The address that a server prints when it is ready.
fn printed_address(stderr: &mut impl BufRead) -> String {
    loop {
        let mut line = String::new();
        assert!(stderr.read_line(&mut line).expect("stderr is text") > 0, "the server has ended");
        if let Some(address) = line.trim().strip_prefix("Serving http://") {
            return address.split('/').next().unwrap_or_default().to_owned();
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until no run works any more, and returns how long that took.
pub(crate) fn until_idle(server: &Program) -> Duration {
    // The server closes connections that are silent for long.
    let (begin, mut connection) = (Instant::now(), server.connect());
    while connection.get("/overview")["counts"]["running"] != 0 {
        assert!(begin.elapsed() < PATIENCE, "the runs do not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    begin.elapsed()
}
