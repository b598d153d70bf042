//! Runs that continue on a changed workflow: `runs fork`, `runs retry` and `runs migrate`.

use std::path::Path;

use super::run_in;

const OLD: &str = "name: refund
steps:
  - {id: check, step_type: command, command: \"echo checked | tee -a calls.txt\"}
  - id: ask
    step_type: human_in_the_loop
    prompt_template: Refund?
    choices: [yes, no]
    required_approvals: 2
    show: the order
  - {id: pay, step_type: command, command: \"echo paid | tee -a calls.txt\"}
";

/// A folder with a project of two approvers, and the workflow.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("there is room for a store");
    let write =
        |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("the folder is writable");
    write(
        "branchpoint.toml",
        "store = \"store.db\"\n[people]\nowner = \"ada\"\nadmins = [\"bob\"]\nmembers = [\"ada\", \"bob\"]\n",
    );
    write("refund.yaml", OLD);
    folder
}

#[track_caller]
fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = run_in(folder, arguments, "", &[("BRANCHPOINT_USER", "ada")]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

#[track_caller]
fn expect(folder: &Path, arguments: &[&str], status: i32, part: &str) {
    let (code, stdout, stderr) = run(folder, arguments);
    let printed = format!("{stdout}{stderr}");
    assert_eq!(code, status, "{arguments:?}\n{printed}");
    assert!(printed.contains(part), "{arguments:?}\nexpected {part:?} in\n{printed}");
}

fn write(folder: &Path, name: &str, from: &str, to: &str) {
    assert!(OLD.contains(from), "{from}");
    std::fs::write(folder.join(name), OLD.replace(from, to)).expect("the folder is writable");
}

fn calls(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("calls.txt")).unwrap_or_default()
}

#[test]
fn a_waiting_run_moves_and_keeps_its_id() {
    let folder = folder();
    let folder = folder.path();
    expect(folder, &["run", "refund.yaml", "--id", "r1"], 5, "Refund?");
    write(folder, "new.yaml", "echo paid", "echo refunded");
    expect(folder, &["runs", "migrate", "--to", "new.yaml"], 0, "✓ r1 can move: it waits at ask\n");
    expect(folder, &["runs", "list", "--json"], 0, "\"r1\"");
    expect(folder, &["runs", "migrate", "--to", "new.yaml", "--apply"], 0, "✓ r1 moved");
    expect(folder, &["runs", "migrate", "--to", "new.yaml"], 0, "no waiting runs");
    expect(folder, &["runs", "trace", "r1~1"], 0, "the run continues on a changed workflow as `r1`");
    expect(folder, &["doctor"], 0, "intact");
    expect(folder, &["approvals", "vote", "r1", "yes", "--as", "ada"], 0, "1 of 2");
    expect(folder, &["approvals", "vote", "r1", "yes", "--as", "bob"], 0, "completed");
    assert_eq!(calls(folder), "checked\nrefunded\n");
}

#[test]
fn votes_for_what_has_changed_are_void() {
    let folder = folder();
    let folder = folder.path();
    expect(folder, &["run", "refund.yaml", "--id", "r1"], 5, "Refund?");
    expect(folder, &["approvals", "vote", "r1", "yes", "--as", "ada"], 0, "1 of 2");
    // The same meaning keeps the vote.
    write(folder, "same.yaml", "name: refund\n", "# A comment.\nname: refund\ndescription: The same.\n");
    expect(folder, &["runs", "migrate", "r1", "--to", "same.yaml"], 0, "✓ r1 can move: it waits at ask\n");
    write(folder, "new.yaml", "echo paid", "echo refunded");
    expect(folder, &["runs", "migrate", "r1", "--to", "new.yaml"], 0, "approval `ask` opens again, 1 vote is void");
    expect(folder, &["runs", "migrate", "r1", "--to", "new.yaml", "--apply"], 0, "moved");
    expect(folder, &["approvals", "vote", "r1", "yes", "--as", "bob"], 0, "1 of 2");
    write(folder, "prompt.yaml", "Refund?", "Refund now?");
    expect(folder, &["runs", "migrate", "r1", "--to", "prompt.yaml"], 0, "approval `ask` opens again, 1 vote is void");
    assert_eq!(calls(folder), "checked\n");
}

#[test]
fn a_run_stays_if_its_history_differs() {
    let folder = folder();
    let folder = folder.path();
    expect(folder, &["run", "refund.yaml", "--id", "r1"], 5, "Refund?");
    write(folder, "other.yaml", "echo checked", "echo verified");
    expect(
        folder,
        &["runs", "migrate", "--to", "other.yaml", "--apply"],
        0,
        "✗ r1 stays: step `check` was called with another request",
    );
    write(
        folder,
        "more.yaml",
        "  - id: ask",
        "  - {id: log, step_type: command, command: \"echo logged\"}\n  - id: ask",
    );
    let differs = "✗ r1 stays: the new version would call step `log`, which has no recorded result";
    expect(folder, &["runs", "migrate", "--to", "more.yaml", "--apply"], 0, differs);
    write(
        folder,
        "gone.yaml",
        "  - {id: check, step_type: command, command: \"echo checked | tee -a calls.txt\"}\n",
        "",
    );
    let differs = "✗ r1 stays: step `check` has a recorded result, and the new version does not call it";
    expect(folder, &["runs", "migrate", "--to", "gone.yaml", "--apply"], 0, differs);
    expect(
        folder,
        &["runs", "fork", "r1", "--with", "gone.yaml"],
        1,
        "the run cannot continue on the changed workflow",
    );
    assert_eq!(calls(folder), "checked\n");
}

#[test]
fn a_failed_run_is_retried_on_a_corrected_workflow() {
    let folder = folder();
    let folder = folder.path();
    let failing = "name: report\nsteps:\n  - {id: collect, step_type: command, command: \"echo collected >> calls.txt\"}\n  \
                   - {id: send, step_type: command, command: \"exit 3\"}\n";
    std::fs::write(folder.join("report.yaml"), failing).expect("the folder is writable");
    expect(folder, &["run", "report.yaml", "--id", "r1"], 3, "failed");
    std::fs::write(folder.join("fixed.yaml"), failing.replace("exit 3", "echo sent")).expect("the folder is writable");
    expect(folder, &["runs", "retry", "r1", "--with", "fixed.yaml", "--id", "r2"], 0, "sent");
    expect(folder, &["runs", "fork", "r1", "--with", "fixed.yaml"], 1, "name the step to repeat with --at");
    expect(folder, &["runs", "fork", "r1", "--at", "send", "--with", "fixed.yaml", "--id", "r3"], 0, "sent");
    assert_eq!(calls(folder), "collected\n");
}

/// The ids of all runs with their statuses.
fn statuses(folder: &Path) -> Vec<(String, String)> {
    let (code, stdout, stderr) = run(folder, &["runs", "list", "--all", "--json"]);
    assert_eq!(code, 0, "{stderr}");
    let listed: serde_json::Value = serde_json::from_str(&stdout).expect("it is JSON");
    let rows = listed.as_array().expect("a list").iter();
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    rows.map(|row| (text(row, "run"), text(row, "status"))).collect()
}

#[test]
#[cfg(unix)]
fn a_killed_migration_leaves_every_run_on_one_version() {
    const RUNS: usize = 6;
    let folder = folder();
    let folder = folder.path();
    for number in 0..RUNS {
        expect(folder, &["run", "refund.yaml", "--id", &format!("r{number}")], 5, "Refund?");
    }
    write(folder, "new.yaml", "echo paid", "echo refunded");
    let mut delay_ms = 20;
    loop {
        let mut migration = super::quiet(env!("CARGO_BIN_EXE_branchpoint"))
            .current_dir(folder)
            .args(["runs", "migrate", "--to", "new.yaml", "--apply"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("the program starts");
        std::thread::sleep(std::time::Duration::from_millis(delay_ms));
        migration.kill().expect("it can be killed");
        migration.wait().expect("it ends");
        delay_ms += 15;
        let runs = statuses(folder);
        let moved = runs.iter().filter(|(id, _)| id.ends_with("~1")).count();
        assert_eq!(runs.len(), RUNS + moved, "{runs:?}");
        for (id, status) in &runs {
            let expected = if id.ends_with("~1") { "cancelled" } else { "waiting_people" };
            assert_eq!(status, expected, "{id} in {runs:?}");
        }
        if moved == RUNS {
            break;
        }
        assert!(delay_ms < 60_000, "{moved} of {RUNS} runs have moved");
    }
    expect(folder, &["doctor"], 0, "intact");
    for number in 0..RUNS {
        let id = format!("r{number}");
        expect(folder, &["approvals", "vote", &id, "yes", "--as", "ada"], 0, "1 of 2");
        expect(folder, &["approvals", "vote", &id, "yes", "--as", "bob"], 0, "completed");
    }
    assert_eq!(calls(folder), "checked\n".repeat(RUNS) + &"refunded\n".repeat(RUNS));
}
