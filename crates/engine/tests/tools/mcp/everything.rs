//! The server that the makers of the protocol test clients with, from its package.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use branchpoint_expr::Value;

use super::{action, judged, tools};

const PACKAGE: &str = "@modelcontextprotocol/server-everything@2026.8.31";

/// The program of the server, or why there is none on this machine.
fn installed() -> Result<PathBuf, String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mcp-everything");
    let program = folder.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    if program.exists() {
        return Ok(program);
    }
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let install = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--fetch-retries=0", "--prefix"])
        .arg(&folder)
        .arg(PACKAGE)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("npm cannot be started: {error}"))?;
    if program.exists() { Ok(program) } else { Err(String::from_utf8_lossy(&install.stderr).into_owned()) }
}

#[test]
fn a_server_that_others_have_written_is_called() {
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
    let offered = tools.offered(&branchpoint_engine::Stop::default()).expect("the server is there");
    assert!(offered.iter().any(|tool| &*tool.name == "echo" && tool.description.is_some()));
}
