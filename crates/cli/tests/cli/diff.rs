//! `branchpoint diff`: versions of a workflow compared by meaning.

use super::{check, run, run_in};

const OLD: &str = "name: refund
steps:
  - id: draft
    step_type: prompt_call
    prompt_template: Answer {{input}}
  - id: route
    step_type: if_else
    if: len(input) > 100
    then_steps:
      - {id: long, step_type: text, template: long}
    else_steps:
      - {id: short, step_type: text, template: short}
";

fn new() -> String {
    OLD.replace("len(input) > 100", "len(input) > 500").replace("{id: long", "{id: lengthy")
        + "  - {id: show, step_type: display_result}\n"
}

/// Both versions in a folder.
fn versions() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("there is room for two files");
    std::fs::write(folder.path().join("old.yaml"), OLD).expect("the folder is writable");
    std::fs::write(folder.path().join("new.yaml"), new()).expect("the folder is writable");
    folder
}

#[track_caller]
fn diff(arguments: &[&str], status: i32, stdout: &str) {
    let folder = versions();
    let output = run_in(folder.path(), &[&["diff"], arguments].concat(), "", &[]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(status), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(printed, stdout);
}

#[test]
fn changes_are_printed_by_group() {
    let text = "Decisions
  ~ route: if
      - len(input) > 100
      + len(input) > 500

Steps
  = long is now lengthy (text)
  + show (display_result)
";
    diff(&["old.yaml", "new.yaml"], 1, text);
}

#[test]
fn equal_meaning_is_exit_0() {
    diff(&["old.yaml", "old.yaml"], 0, "");
    let reordered = format!(
        "# A comment.\n{}",
        OLD.replace(
            "    step_type: prompt_call\n    prompt_template: Answer {{input}}\n",
            "    prompt_template: \"Answer {{input}}\"\n    step_type: prompt_call\n"
        )
    );
    let folder = versions();
    std::fs::write(folder.path().join("same.yaml"), reordered).expect("the folder is writable");
    let output = run_in(folder.path(), &["diff", "old.yaml", "same.yaml", "--json"], "", &[]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "{\n  \"same\": true,\n  \"changes\": []\n}\n");
}

#[test]
fn the_picture_marks_changes() {
    let folder = versions();
    let output = run_in(folder.path(), &["diff", "old.yaml", "new.yaml", "--graph"], "", &[]);
    insta::assert_snapshot!("diff_mermaid", String::from_utf8_lossy(&output.stdout));
    let output = run_in(folder.path(), &["diff", "old.yaml", "new.yaml", "--graph", "dot"], "", &[]);
    insta::assert_snapshot!("diff_dot", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn versions_of_the_store_have_names() {
    let folder = versions();
    let run = |arguments: &[&str]| {
        let output = run_in(folder.path(), arguments, "", &[("BRANCHPOINT_STORE", "store.db")]);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let file = |text: &str| std::fs::write(folder.path().join("refund.yaml"), text).expect("the folder is writable");
    file(OLD);
    let (_, added) = run(&["workflows", "add", "refund.yaml"]);
    file(&new());
    run(&["workflows", "add", "refund.yaml"]);
    assert_eq!(run(&["diff", "refund", "new.yaml"]).0, Some(0));
    let version = format!("refund@{}", &added[..8]);
    assert_eq!(run(&["diff", &version, "old.yaml"]).0, Some(0));
    assert_eq!(run(&["diff", &version, "refund"]).0, Some(1));
}

#[test]
fn errors_are_exit_2() {
    check("diff_missing", &["diff", "examples/workflows/support.yaml", "nothing.yaml"]);
    check("diff_dialects", &["diff", "examples/workflows/support.yaml", "examples/workflows/orders.json"]);
    check("diff_invalid", &["diff", "examples/workflows/support.yaml", "crates/cli/tests/fixtures/broken.yaml"]);
    assert_eq!(run(&["diff", "a.yaml"], "", &[]).status.code(), Some(2));
}
