//! Files that have no end, or more than anyone wants: reading stops at the limit, wherever a file is named.

use std::process::Output;

use super::run;
use super::running::{Place, err, exits};

/// Asserts that a command fails because of the limit, and says what to do.
#[track_caller]
fn stops(output: &Output, limit: u64) {
    let report = String::from_utf8_lossy(&output.stderr);
    // `eval` has exit statuses of its own.
    assert!(matches!(output.status.code(), Some(1 | 2)), "{report}");
    assert!(report.contains(&format!("more than the allowed {limit} bytes")) && report.contains("help: "), "{report}");
    assert!(report.len() < 2_000, "{report}");
}

const DOCUMENT: u64 = 8 * 1024 * 1024;

#[test]
fn an_endless_file_is_read_up_to_the_limit() {
    let expression = "crates/cli/tests/fixtures/broken.yaml";
    for (arguments, limit) in [
        (&["check", "/dev/zero"][..], DOCUMENT),
        (&["fmt", "--check", "/dev/zero"], DOCUMENT),
        (&["graph", "/dev/zero"], DOCUMENT),
        (&["run", "/dev/zero"], DOCUMENT),
        (&["session", "/dev/zero"], DOCUMENT),
        (&["eval", "--condition", "/dev/zero"], DOCUMENT),
        (&["eval", "true", "-c", "/dev/zero"], 2 * DOCUMENT),
        (&["run", "examples/machine/triage.yaml", "-s", "/dev/zero"], DOCUMENT),
        (&["run", "examples/machine/triage.yaml", "-i", "@/dev/zero"], 2 * DOCUMENT),
    ] {
        stops(&run(arguments, "", &[]), limit);
    }
    let unread = run(&["check", expression, "/dev/zero"], "", &[]);
    assert!(String::from_utf8_lossy(&unread.stdout).contains("broken.yaml"), "the other file is checked");
}

#[test]
fn stdin_is_read_up_to_the_limit() {
    let newlines = "\n".repeat(9 * 1024 * 1024);
    stops(&run(&["check", "-"], &newlines, &[]), DOCUMENT);
    stops(&run(&["fmt", "-"], &newlines, &[]), DOCUMENT);
}

#[test]
fn a_called_workflow_that_is_not_a_file_or_too_long_is_an_error_with_its_reason() {
    let caller = "name: c\nstates:\n  initial: a\n  a: {type: call_workflow, workflow: child, on_success: end}\n  end: {type: terminal}\n";
    let place = Place::new(&[("c.yaml", caller), ("child.yaml", &"#\n".repeat(5 * 1024 * 1024))]);
    let checked = place.command(&["check", "c.yaml"]).output().expect("it runs");
    exits(&checked, 2);
    let report = String::from_utf8_lossy(&checked.stdout);
    assert!(report.contains("child") && report.contains("8388608 bytes"), "{report} {}", err(&checked));
}
