//! Runs the command of the project with a notice.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
#[cfg(unix)]
use nix::sys::signal::{Signal, killpg};
#[cfg(unix)]
use nix::unistd::Pid;

/// How long a command may take: one that hangs must not delay the other notices.
const LIMIT: Duration = Duration::from_secs(30);

/// Runs the command of the project with the notice on its standard input.
pub(super) fn run(command: &str, folder: &Path, notice: &str) -> Result<()> {
    run_within(LIMIT, command, folder, notice)
}

fn run_within(limit: Duration, command: &str, folder: &Path, notice: &str) -> Result<()> {
    let mut child = spawn(command, folder)?;
    if let Some(mut stdin) = child.stdin.take() {
        let notice = notice.to_owned();
        // A thread of its own, because a command that does not read would block the write. The end of the command ends it.
        thread::spawn(move || {
            // A command that does not read is not wrong.
            let _ = stdin.write_all(notice.as_bytes());
        });
    }
    let status = wait(&mut child, limit)?;
    // What the command has left behind would keep its standard input open.
    end(&mut child);
    match status {
        Some(status) if status.success() => Ok(()),
        Some(status) => bail!("`{command}` ended with {status}"),
        None => bail!("`{command}` took more than {} s and was ended", limit.as_secs_f64()),
    }
}

fn spawn(command: &str, folder: &Path) -> Result<Child> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::null());
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        // A group of its own, so that programs which the shell starts end with it.
        shell.process_group(0);
    }
    shell.spawn().context("the command cannot be started")
}

/// The status of a command, or none if it takes longer than the limit.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let until = Instant::now() + limit;
    while Instant::now() < until {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(None)
}

/// Ends the process group of a command.
fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Ok(group) = i32::try_from(child.id()) {
        // It fails if the group is empty, which is fine.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
    // Both fail if the command has ended, which is fine.
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A notice that is larger than the buffer of a pipe.
    fn large() -> String {
        "x".repeat(1024 * 1024)
    }

    #[test]
    fn a_command_that_does_not_read_its_input_is_ended_at_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let run = |command: &str| run_within(Duration::from_millis(300), command, folder.path(), &large());
        for command in ["exec sleep 10", "sleep 10; true", "sleep 10 & wait"] {
            let message = run(command).unwrap_err().to_string();
            assert!(message.contains("took more than 0.3 s"), "{command}: {message}");
        }
    }

    #[test]
    fn a_command_gets_the_whole_notice_and_reports_its_status() {
        let folder = tempfile::tempdir().unwrap();
        run("cat > notice.txt", folder.path(), &large()).unwrap();
        assert!(std::fs::read_to_string(folder.path().join("notice.txt")).unwrap() == large());
        run("true", folder.path(), &large()).unwrap();
        assert!(run("exit 3", folder.path(), "").unwrap_err().to_string().contains('3'));
    }
}
