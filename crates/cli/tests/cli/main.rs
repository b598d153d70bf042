//! The real program, run the way people run it: what it prints, where, and how it exits.
//!
//! The expected output is in `snapshots`. After a change that is meant, `INSTA_UPDATE=always cargo test -p branchpoint`
//! writes what is printed now; read the difference before you commit it.

mod agents;
mod attachments;
mod authoring;
mod canary;
mod chat;
mod check;
mod closed;
mod completions;
mod conditions;
mod contexts;
mod cut;
mod diff;
mod documents;
mod endless;
mod explanations;
mod expressions;
mod files;
mod hostile;
mod inputs;
mod json;
mod kinds;
mod knowledge;
mod large;
mod looping;
mod machines;
mod mcp_proxy;
mod mistakes;
mod operations;
#[path = "../../../runners/tests/tools/peer.rs"]
mod peer;
mod people;
mod policies;
#[path = "../../../runners/tests/provider/mod.rs"]
mod provider;
mod replay;
mod revisions;
mod running;
mod scripted;
mod session;
mod settings;
mod stalled;
mod storage;
mod stored;
mod usage;
mod worker;
mod workflows;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The state of a deployment, from the examples.
const DEPLOY: &str = "examples/eval/deploy.json";

/// Names in the environment that lead requests elsewhere, in capitals or not.
const PROXIES: [&str; 3] = ["http_proxy", "https_proxy", "all_proxy"];

/// The root of the repository, in which everything runs: so paths in messages are the same everywhere.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A command that does not depend on who runs the tests: on the colours they like, on the models they have keys for, and on
/// how their requests leave the house.
fn quiet(program: &str) -> Command {
    let mut command = Command::new(program);
    let is_setting = |name: &str| {
        name.starts_with("BRANCHPOINT_")
            || name.ends_with("_API_KEY")
            || name.ends_with("_BASE_URL")
            || name == "OLLAMA_HOST"
            || PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy))
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_setting)) {
        command.env_remove(name);
    }
    command.current_dir(root()).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env_remove("CLICOLOR");
    command.env("BRANCHPOINT_USER", "ada").env("SHELL", "/bin/sh");
    command
}

/// Runs the program with a text on stdin, over a store of its own unless the environment names one.
fn run(arguments: &[&str], stdin: &str, environment: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().expect("there is room for a store");
    let store = folder.path().join("store.db");
    let own = [("BRANCHPOINT_STORE", store.to_str().expect("a plain path")), ("BRANCHPOINT_USER", "ada")];
    run_in(&root(), arguments, stdin, &[&own, environment].concat())
}

/// Runs the program in a folder, which says by itself where the store is and who acts.
fn run_in(folder: &Path, arguments: &[&str], stdin: &str, environment: &[(&str, &str)]) -> Output {
    let mut child = quiet(env!("CARGO_BIN_EXE_branchpoint"))
        .current_dir(folder)
        .args(arguments)
        .env_remove("BRANCHPOINT_USER")
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A program that does not read its stdin has closed it by now, perhaps.
    let _ = child.stdin.take().expect("stdin is piped").write_all(stdin.as_bytes());
    child.wait_with_output().expect("the program ends")
}

/// Everything that can be seen of a run, as one text.
fn seen(arguments: &[&str], output: &Output) -> String {
    let typed: Vec<String> = arguments.iter().map(|argument| typed(argument)).collect();
    let status = output.status.code().map_or("none".to_owned(), |code| code.to_string());
    let mut text = format!("$ branchpoint {}\n(exit {status})\n", typed.join(" "));
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !bytes.is_empty() {
            let _ = write!(text, "--- {name}\n{}", String::from_utf8_lossy(bytes));
        }
    }
    let lines: Vec<String> = text.split('\n').map(timeless).collect();
    // Escapes are shown, so that colours can be read in a snapshot.
    lines.join("\n").replace('\u{1b}', "␛")
}

/// A line about a step or a wait without the times that differ from run to run.
fn timeless(line: &str) -> String {
    if let Some((wait, _)) = line.split_once(" until ").filter(|(wait, _)| *wait == "… waits") {
        return format!("{wait} until TIME");
    }
    if !line.starts_with(['✓', '✗', '–']) {
        return line.to_owned();
    }
    let is_time = |part: &str| {
        let number = part.strip_suffix(" ms").or_else(|| part.strip_suffix(" s"));
        number.is_some_and(|number| number.parse::<f64>().is_ok())
    };
    let (head, output) = line.split_once(": ").map_or((line, None), |(head, output)| (head, Some(output)));
    let (head, branch) = head.split_once(" → ").map_or((head, None), |(head, branch)| (head, Some(branch)));
    let mut line = head.split(", ").filter(|part| !is_time(part)).collect::<Vec<_>>().join(", ");
    line += &branch.map(|branch| format!(" → {branch}")).unwrap_or_default();
    line + &output.map(|output| format!(": {output}")).unwrap_or_default()
}

/// An argument as one would type it.
fn typed(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./=-".contains(c);
    if argument.chars().all(is_plain) && !argument.is_empty() { argument.to_owned() } else { format!("'{argument}'") }
}

/// Compares what is seen with the snapshot of that name.
#[track_caller]
fn check(name: &str, arguments: &[&str]) {
    check_with(name, arguments, "", &[]);
}

#[track_caller]
fn check_with(name: &str, arguments: &[&str], stdin: &str, environment: &[(&str, &str)]) {
    let output = run(arguments, stdin, environment);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, seen(arguments, &output)));
}
