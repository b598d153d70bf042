//! The reference server `server-everything` of the MCP project, from its package.

use std::path::{Path, PathBuf};
use std::process::Command;

use branchpoint_expr::Value;

use super::{action, judged, tools};
use crate::package;

const PACKAGE: &str = "@modelcontextprotocol/server-everything@2026.8.31";

/// The program of the server, or why there is none on this machine.
fn installed() -> Result<PathBuf, String> {
    let program = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    package::installed("mcp-everything-2026.8.31", program, |folder: &Path| {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--fetch-retries=0", "--prefix"]).arg(folder).arg(PACKAGE);
        vec![npm]
    })
}

#[test]
fn a_third_party_server_is_called() {
    let program = match installed() {
        Ok(program) => program,
        Err(reason) => return println!("skipped, because {PACKAGE} cannot be installed here: {reason}"),
    };
    let tools = tools(&format!(
        "[mcp.everything]\ncommand = \"node\"\nargs = [{:?}, \"stdio\"]",
        program.display().to_string()
    ));
    let result = judged(&tools, &action("everything", "echo", r#"{"message": "hello"}"#));
    assert_eq!(result, Value::from("Echo: hello"));
    let offered = branchpoint_runners::runtime().block_on(tools.tool_descriptions(&["echo"]));
    assert!(offered[0].as_ref().is_some_and(|tool| tool.description.is_some()));
}
