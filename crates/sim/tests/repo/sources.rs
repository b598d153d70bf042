//! What source files must look like.

use crate::tree::{SourceFile, expect_none, text_files};

/// No source file may be longer: beyond this a file is several rooms without a door between them.
const MAX_LINES: usize = 600;

/// Macros that mean "not finished" or "still looking".
const UNFINISHED: &[&str] = &["todo!", "unimplemented!", "dbg!"];

#[test]
fn no_source_file_is_longer_than_600_lines() {
    expect_none(
        &long_files(&text_files()),
        "split it along its own seams; a generated file says @generated in its first five lines",
    );
}

#[test]
fn no_unfinished_code_is_left_in_src() {
    expect_none(&unfinished_code(&text_files()), "finish it, or return an error that says what is not supported");
}

#[test]
fn nothing_decides_by_the_text_of_a_message() {
    expect_none(&decisions_by_message(&text_files()), "match on a kind or a code; only the edge turns it into words");
}

#[test]
fn the_command_line_opens_its_backend_in_one_file() {
    let help = "use `branchpoint_backend::Backend`; only crates/cli/src/backend.rs knows the host behind it";
    expect_none(&uses_of_the_host(&text_files()), help);
}

/// Types of the embedded host that have a counterpart in the backend.
const HOST_TYPES: &[&str] = &["TurnOutput", "Driver", "Embedded", "Host", "StoredSessions", "Store", "StoreError"];

/// Lines of the command line that import a type of the embedded host, outside of the file that opens it.
fn uses_of_the_host(files: &[SourceFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    let is_checked =
        |file: &&SourceFile| file.path.starts_with("crates/cli/src/") && file.path != "crates/cli/src/backend.rs";
    for file in files.iter().filter(is_checked) {
        for (number, line) in file.text.lines().enumerate().filter(|(_, line)| line.contains("branchpoint_host::")) {
            let words = line.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
            let named = words.filter(|word| HOST_TYPES.contains(word));
            complaints.extend(named.map(|name| format!("{}:{} names `{name}`", file.path, number + 1)));
        }
    }
    complaints
}

/// Names of values that hold messages, when a search for a text follows.
const MESSAGES: &[&str] =
    &["message", "help", "reason", "why", "error", "refused", "rejected", "trouble", "to_string()"];

/// Lines of sources, without their tests, that search a message for a text.
fn decisions_by_message(files: &[SourceFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    let is_source = |file: &&SourceFile| {
        let in_src = file.path.split('/').any(|part| part == "src");
        file.extension() == "rs" && in_src && !file.path.ends_with("tests.rs")
    };
    for file in files.iter().filter(is_source) {
        let code = file.text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
        for (number, line) in code.enumerate() {
            let searched = ["contains", "starts_with", "ends_with"].iter().find_map(|search| {
                let (before, _) = line.split_once(&format!(".{search}(\""))?;
                MESSAGES.iter().find(|name| calls(before, name) && before.ends_with(**name))
            });
            complaints.extend(searched.map(|name| format!("{}:{} searches `{name}`", file.path, number + 1)));
        }
    }
    complaints
}

fn long_files(files: &[SourceFile]) -> Vec<String> {
    files
        .iter()
        .filter(|file| matches!(file.extension(), "rs" | "ts" | "tsx"))
        .filter(|file| !file.text.lines().take(5).any(|line| line.contains("@generated")))
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(file, lines)| format!("{} has {lines} lines; {MAX_LINES} is the most", file.path))
        .collect()
}

fn unfinished_code(files: &[SourceFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.extension() == "rs" && file.path.split('/').any(|part| part == "src")) {
        for (number, line) in file.text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for name in UNFINISHED.iter().filter(|name| calls(code, name)) {
                complaints.push(format!("{}:{} calls {name}", file.path, number + 1));
            }
        }
    }
    complaints
}

/// Whether the code names the macro itself, not one whose name merely ends like it.
fn calls(code: &str, name: &str) -> bool {
    code.match_indices(name)
        .any(|(at, _)| !code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_'))
}

#[test]
fn a_search_in_a_message_is_reported_unless_it_is_a_test() {
    let lines = |line: &str| decisions_by_message(&[SourceFile::new("crates/a/src/b.rs", line)]).len();
    assert_eq!(lines("if problem.message.contains(\"not accepted\") {"), 1);
    assert_eq!(lines("if refused.to_string().starts_with(\"no\") {"), 1);
    assert_eq!(lines("if text.contains(\"{{\") || message.contains(&key) {"), 0);
    assert_eq!(lines("#[cfg(test)]\nmod tests { why.contains(\"x\") }"), 0);
}

#[test]
fn a_type_of_the_host_in_the_command_line_is_reported() {
    let uses = |path: &str, line: &str| uses_of_the_host(&[SourceFile::new(path, line)]).len();
    assert_eq!(uses("crates/cli/src/runs/list.rs", "use branchpoint_host::store::{Prune, Store};"), 1);
    assert_eq!(uses("crates/cli/src/run_driver.rs", "use branchpoint_host::{Embedded, VirtualDriver};"), 1);
    assert_eq!(uses("crates/cli/src/run/dry_run/mod.rs", "use branchpoint_host::{CallLimits, VirtualDriver};"), 0);
    assert_eq!(uses("crates/cli/src/backend.rs", "use branchpoint_host::host::{DrivenRuns, Host};"), 0);
}

#[test]
fn the_601st_line_is_reported() {
    let lines = |count: usize| "x\n".repeat(count);
    assert_eq!(long_files(&[SourceFile::new("a.rs", lines(600))]), Vec::<String>::new());
    for path in ["a.rs", "web/a.ts", "web/a.tsx"] {
        assert_eq!(long_files(&[SourceFile::new(path, lines(601))]).len(), 1, "{path}");
    }
}

#[test]
fn generated_files_and_other_formats_may_be_long() {
    let long = "x\n".repeat(801);
    assert_eq!(long_files(&[SourceFile::new("a.json", long.clone())]), Vec::<String>::new());
    assert_eq!(long_files(&[SourceFile::new("a.rs", format!("// @generated by x\n{long}"))]), Vec::<String>::new());
}

#[track_caller]
fn check_unfinished(path: &str, line: &str, complaints: usize) {
    assert_eq!(unfinished_code(&[SourceFile::new(path, line)]).len(), complaints, "{path}: {line}");
}

#[test]
fn unfinished_code_is_reported_in_src_only() {
    check_unfinished("crates/a/src/lib.rs", "fn f() { todo!(\"later\") }", 1);
    check_unfinished("crates/a/src/lib.rs", "let x = std::dbg!(y);", 1);
    check_unfinished("crates/a/src/b/c.rs", "_ => unimplemented![],", 1);
    check_unfinished("crates/a/tests/b.rs", "todo!()", 0);
}

#[test]
fn a_comment_and_a_longer_name_are_no_unfinished_code() {
    check_unfinished("crates/a/src/lib.rs", "/// Never `todo!` here.", 0);
    check_unfinished("crates/a/src/lib.rs", "my_dbg!(x)", 0);
}
