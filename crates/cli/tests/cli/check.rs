//! `branchpoint check`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use super::running::{Place, err, exits, out};
use super::{check, check_with, quiet, run};

const BROKEN: &str = "crates/cli/tests/fixtures/broken.yaml";

#[test]
fn findings_are_printed_with_their_places() {
    check("check_broken", &["check", BROKEN]);
    check_with("check_unknown", &["check", "-"], "title: x\n", &[]);
}

#[test]
fn a_missing_file_does_not_hide_the_others() {
    check("check_unread", &["check", "nowhere.yaml", BROKEN]);
}

#[test]
fn programs_read_json_or_sarif() {
    check("check_json", &["check", "--format", "json", "nowhere.yaml", BROKEN]);
    check("check_sarif", &["check", "--format", "sarif", "nowhere.yaml", BROKEN]);
}

#[test]
fn stdin_is_read_once_and_not_watched() {
    check_with("check_stdin_twice", &["check", "-", "-"], "", &[]);
    check_with("check_stdin_watched", &["check", "--watch", "-"], "", &[]);
    check("check_watched_json", &["check", "--watch", "--format", "json", BROKEN]);
}

#[test]
fn colours_are_printed_only_on_request() {
    let forced = run(&["check", BROKEN], "", &[("CLICOLOR_FORCE", "1")]);
    assert!(String::from_utf8_lossy(&forced.stdout).contains('\u{1b}'));
    let unwanted = run(&["check", BROKEN], "", &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]);
    assert!(!String::from_utf8_lossy(&unwanted.stdout).contains('\u{1b}'));
}

#[test]
fn every_rule_of_sarif_describes_itself() {
    let output = run(&["check", "--format", "sarif", BROKEN], "", &[]);
    let log: Value = serde_json::from_slice(&output.stdout).expect("SARIF is JSON");
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules");
    assert!(!rules.is_empty());
    for rule in rules {
        assert!(rule["shortDescription"]["text"].as_str().is_some_and(|text| text.ends_with('.')), "{rule}");
    }
}

#[test]
fn a_watched_file_is_checked_again_when_it_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.yaml");
    fs::write(&file, "steps: [").expect("the file is written");
    let mut child = quiet(env!("CARGO_BIN_EXE_branchpoint"))
        .args(["check", "--watch"])
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut report = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
    let mut next_summary = || loop {
        let line = report.next().expect("it goes on").expect("it can be read");
        if line.contains("checked") {
            return line;
        }
    };
    let first = next_summary();
    assert!(first.contains("1 error"), "{first}");
    fs::write(&file, "name: x\nnodes: []\n").expect("the file is written");
    let second = next_summary();
    assert!(second.contains("checked"), "{second}");
    child.kill().expect("it can be ended");
    child.wait().expect("it ends");
}

#[test]
fn a_watched_directory_includes_new_folders() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    fs::write(folder.path().join("a.yaml"), "name: a\nsteps:\n  - {id: a, step_type: text, template: x}\n")
        .expect("it is written");
    let mut child = quiet(env!("CARGO_BIN_EXE_branchpoint"))
        .args(["check", "--watch"])
        .arg(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
    let mut await_summary = |part: &str| {
        while !lines.next().expect("the watch continues").expect("it can be read").contains(part) {}
    };
    await_summary("1 file checked");
    let new = folder.path().join("new");
    fs::create_dir(&new).expect("the folder is created");
    await_summary("1 file checked");
    fs::write(new.join("b.yaml"), "name: b\nsteps:\n  - {id: b, step_type: text, template: x}\n")
        .expect("it is written");
    await_summary("2 files checked");
    fs::write(new.join("b.yaml"), "steps: [").expect("it is written");
    await_summary("2 files checked: 1 error");
    child.kill().expect("it can be ended");
    child.wait().expect("it ends");
}

#[test]
fn steps_without_a_configured_runner_are_warnings_where_there_is_a_configuration() {
    let document = "name: t\nsteps:\n  - {id: look, step_type: web_search, query: a}\n  \
                    - {id: put, step_type: write_aws_s3_object, key: k}\n  \
                    - {id: act, step_type: agent, model: m, tools: [files.read]}\n  \
                    - {id: keep, step_type: add_memory}\n";
    let place = Place::new(&[("t.yaml", document)]);
    let unconfigured = place.run(&["check", "t.yaml"]);
    exits(&unconfigured, 0);
    assert!(!out(&unconfigured).contains("no_runner"), "{}", out(&unconfigured));
    // A server that is started writes a file.
    let settings = "[objects]\nbucket = \"b\"\naccess_key_env = \"NOT_SET\"\n[models]\n\
                    [mcp.files]\ncommand = \"sh\"\nargs = [\"-c\", \"touch started\"]\n";
    fs::write(place.path().join("branchpoint.toml"), settings).expect("files can be written");
    let configured = place.run(&["check", "t.yaml"]);
    exits(&configured, 0);
    let findings = out(&configured);
    assert!(findings.contains("step `look`") && findings.contains("[search]"), "{findings}");
    assert!(findings.contains("step `put`") && findings.contains("NOT_SET"), "{findings}");
    assert!(!findings.contains("step `keep`"), "{findings}");
    assert!(!place.path().join("started").exists(), "no server is started");
    exits(&place.run(&["check", "--deny-warnings", "t.yaml"]), 2);
    fs::write(place.path().join("branchpoint.toml"), "[objects]\nregion = \"x\"\n").expect("files can be written");
    let unreadable = place.run(&["check", "t.yaml"]);
    exits(&unreadable, 0);
    assert!(err(&unreadable).contains("branchpoint.toml"), "{}", err(&unreadable));
}
