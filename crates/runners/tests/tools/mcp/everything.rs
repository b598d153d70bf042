//! The server that the makers of the protocol test clients with, from its package.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use branchpoint_expr::Value;

use super::{action, judged, tools};

const PACKAGE: &str = "@modelcontextprotocol/server-everything@2026.8.31";

/// How long the package may take to come.
const PATIENCE: Duration = Duration::from_mins(2);

/// The program of the server, or why there is none on this machine.
fn installed() -> Result<PathBuf, String> {
    let within = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let folder = within.join("mcp-everything-2026.8.31");
    let program = folder.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    if program.exists() {
        return Ok(program);
    }
    // A half installation, or one that somebody else makes at the same time, is never taken for a whole one.
    let aside = tempfile::tempdir_in(&within).map_err(|error| error.to_string())?;
    install(aside.path())?;
    match std::fs::rename(aside.path(), &folder) {
        Err(error) if !program.exists() => Err(format!("it cannot be put into its place: {error}")),
        _ => Ok(program),
    }
}

fn install(folder: &Path) -> Result<(), String> {
    let said = folder.join("npm.log");
    let log = File::create(&said).map_err(|error| error.to_string())?;
    let mut npm = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--fetch-retries=0", "--prefix"])
        .arg(folder)
        .arg(PACKAGE)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(|error| format!("npm cannot be started: {error}"))?;
    let until = Instant::now() + PATIENCE;
    loop {
        match npm.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(_) => return Err(std::fs::read_to_string(&said).unwrap_or_default()),
            None if Instant::now() > until => {
                npm.kill().and_then(|()| npm.wait()).map_err(|error| error.to_string())?;
                return Err(format!("npm has not ended within {} s", PATIENCE.as_secs()));
            }
            None => thread::sleep(Duration::from_millis(100)),
        }
    }
}

#[test]
fn real_server_that_others_have_written_is_called() {
    let program = match installed() {
        Ok(program) => program,
        Err(reason) => return println!("skipped, because {PACKAGE} cannot be installed here: {reason}"),
    };
    let tools = tools(&format!(
        "[mcp.everything]\ncommand = \"node\"\nargs = [{:?}, \"stdio\"]",
        program.display().to_string()
    ));
    let said = judged(&tools, &action("everything", "echo", r#"{"message": "hello"}"#));
    assert_eq!(said, Value::from("Echo: hello"));
    let offered = branchpoint_runners::runtime().block_on(tools.described(&["echo"]));
    assert!(offered[0].as_ref().is_some_and(|tool| tool.description.is_some()));
}
