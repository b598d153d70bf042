//! Runs the command of the project with a notice.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How long a command may take: one that hangs must not delay the other notices.
const LIMIT: Duration = Duration::from_secs(30);

/// Runs the command of the project with the notice on its standard input.
pub(super) fn run(command: &str, folder: &Path, notice: &str) -> Result<()> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("the command cannot be started")?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read is not wrong.
        let _ = stdin.write_all(notice.as_bytes());
    }
    let until = Instant::now() + LIMIT;
    while Instant::now() < until {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => bail!("`{command}` ended with {status}"),
            None => thread::sleep(Duration::from_millis(10)),
        }
    }
    child.kill()?;
    child.wait()?;
    bail!("`{command}` took more than {} s and was ended", LIMIT.as_secs())
}
