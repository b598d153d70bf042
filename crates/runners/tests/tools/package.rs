//! Third-party packages for tests, installed once into the folder for temporary files of tests.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long one command of an installation may take.
const PATIENCE: Duration = Duration::from_mins(3);

/// The file `program` of a package, which `commands` install into a folder, or why it cannot be installed on this machine.
pub(crate) fn installed(
    name: &str,
    program: &str,
    commands: impl Fn(&Path) -> Vec<Command>,
) -> Result<PathBuf, String> {
    let within = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let folder = within.join(name);
    let program = folder.join(program);
    if program.exists() {
        return Ok(program);
    }
    // An incomplete installation, or a concurrent one, must not be used.
    let aside = tempfile::tempdir_in(&within).map_err(|error| error.to_string())?;
    for command in commands(aside.path()) {
        install(aside.path(), command)?;
    }
    match std::fs::rename(aside.path(), &folder) {
        Err(error) if !program.exists() => Err(format!("it cannot be put into its place: {error}")),
        _ => Ok(program),
    }
}

fn install(folder: &Path, mut command: Command) -> Result<(), String> {
    let log_path = folder.join("install.log");
    let log = File::create(&log_path).map_err(|error| error.to_string())?;
    let copy = log.try_clone().map_err(|error| error.to_string())?;
    let name = command.get_program().display().to_string();
    command.stdin(Stdio::null()).stdout(copy).stderr(log);
    let mut child = command.spawn().map_err(|error| format!("{name} cannot be started: {error}"))?;
    let until = Instant::now() + PATIENCE;
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(_) => return Err(std::fs::read_to_string(&log_path).unwrap_or_default()),
            None if Instant::now() > until => {
                child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
                return Err(format!("{name} has not ended within {} s", PATIENCE.as_secs()));
            }
            None => thread::sleep(Duration::from_millis(100)),
        }
    }
}
