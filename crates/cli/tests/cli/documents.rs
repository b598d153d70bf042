//! The examples of the help are true: every `$` line is executed, and prints the text
//! below it.
#![cfg(unix)]

use std::ffi::OsString;
use std::path::Path;

use super::{quiet, run};

/// A command and what it is said to print.
#[derive(Debug)]
struct Example {
    command: String,
    printed: String,
}

/// The examples of a text: a command after `$ `, going on while lines end in `\`, and its output: everything up to the
/// next command, the end of the block, or a line with less indentation.
fn examples(text: &str) -> Vec<Example> {
    let mut examples = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
        let Some(command) = rest.strip_prefix("$ ") else { continue };
        let mut command = command.to_owned();
        while command.ends_with('\\') {
            command.push('\n');
            command.push_str(lines.next().expect("a command that goes on"));
        }
        let is_output = |line: &&str| match line.strip_prefix(indent) {
            Some(rest) => !rest.starts_with("$ ") && !rest.starts_with("```"),
            None => line.is_empty(),
        };
        let mut printed = String::new();
        while let Some(line) = lines.next_if(is_output) {
            printed.push_str(line.strip_prefix(indent).unwrap_or_default());
            printed.push('\n');
        }
        examples.push(Example { command, printed: printed.trim_end().to_owned() });
    }
    examples
}

#[track_caller]
fn check_examples(text: &str, at_least: usize) {
    let folder = Path::new(env!("CARGO_BIN_EXE_branchpoint")).parent().expect("the program lies in a folder");
    let mut path = OsString::from(folder);
    if let Some(rest) = std::env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    let store = tempfile::tempdir().expect("there is room for a store");
    let examples = examples(text);
    assert!(examples.len() >= at_least, "{} examples found: {examples:?}", examples.len());
    for Example { command, printed } in examples {
        let shell = format!("exec 2>&1\n{command}");
        let mut bash = quiet("bash");
        bash.args(["-c", &shell]).env("PATH", &path).env("BRANCHPOINT_STORE", store.path().join("store.db"));
        let output = bash.output().expect("bash starts");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), printed, "{command}");
    }
}

#[test]
fn the_examples_of_the_help_are_true() {
    let help = run(&["eval", "--help"], "", &[]).stdout;
    check_examples(&String::from_utf8_lossy(&help), 5);
}
