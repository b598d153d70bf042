//! `branchpoint new`, `fmt` and `schema`: what helps with writing workflows.

use std::fs;
use std::path::Path;
use std::process::Output;

use super::{check, check_with, quiet, root};

/// Runs the program in a folder.
fn run_in(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = quiet(env!("CARGO_BIN_EXE_branchpoint"));
    command.current_dir(folder).args(arguments).output().expect("the program runs")
}

fn messages(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_template_passes_check_and_is_formatted() {
    let folder = tempfile::tempdir().expect("a folder");
    for template in TEMPLATES {
        let created = run_in(folder.path(), &["new", template, "--template", template]);
        assert_eq!(created.status.code(), Some(0), "{template}: {}", messages(&created));
        let file = format!("{template}.yaml");
        let checked = run_in(folder.path(), &["check", "--deny-warnings", &file]);
        assert_eq!(checked.status.code(), Some(0), "{template}: {checked:?}");
        let formatted = run_in(folder.path(), &["fmt", "--check", &file]);
        assert_eq!(formatted.status.code(), Some(0), "{template}: {}", messages(&formatted));
    }
}

const TEMPLATES: [&str; 9] = ["hello", "approval", "route", "loop", "quality", "flow", "machine", "graph", "session"];

/// What a run of a template prints, over the answers and inputs that were written with it.
fn run_with_script(folder: &Path, template: &str, script: &str) -> Output {
    let file = format!("{template}.yaml");
    if template != "session" {
        let inputs = format!("@{template}.inputs.json");
        let arguments = ["run", &file, "--script", script, "-i", &inputs, "--store", "store.db"];
        return run_in(folder, &arguments);
    }
    let lines = fs::File::open(folder.join("session.inputs.txt")).expect("it is written");
    let mut command = quiet(env!("CARGO_BIN_EXE_branchpoint"));
    command.current_dir(folder).args(["chat", &file, "--script", script, "--store", "store.db"]);
    command.stdin(lines).output().expect("the program runs")
}

#[test]
fn every_template_runs_with_its_script_and_inputs() {
    let folder = tempfile::tempdir().expect("a folder");
    let outputs = [
        ("hello", "Hello, Ada! Nice to meet you."),
        ("approval", "delivered"),
        ("route", "For the billing team: I was charged twice."),
        ("loop", "Tides follow the moon."),
        ("quality", "A light oak chair for small kitchens."),
        ("flow", "Billing looks into it: I was charged twice."),
        ("machine", "passed: 12 tests passed"),
        ("graph", "News: the autumn release is here."),
        ("session", "Tides follow the moon."),
    ];
    assert_eq!(outputs.map(|(template, _)| template), TEMPLATES);
    for (template, output) in outputs {
        let created = run_in(folder.path(), &["new", template, "--template", template, "--with-script"]);
        assert_eq!(created.status.code(), Some(0), "{template}: {}", messages(&created));
        assert_eq!(String::from_utf8_lossy(&created.stdout).lines().count(), 3, "{template}");
        let ran = run_with_script(folder.path(), template, &format!("{template}.script.yaml"));
        assert_eq!(ran.status.code(), Some(0), "{template}: {}", messages(&ran));
        assert!(String::from_utf8_lossy(&ran.stdout).contains(output), "{template}: {ran:?}");
        assert!(!messages(&ran).contains("warning"), "{template}: {}", messages(&ran));
    }
}

#[test]
fn new_writes_no_file_when_one_of_them_exists() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.script.yaml"), "precious").expect("it is written");
    let output = run_in(folder.path(), &["new", "a", "--with-script"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(messages(&output).contains("a.script.yaml already exists"), "{}", messages(&output));
    assert!(!folder.path().join("a.yaml").exists());
}

#[test]
fn a_dry_run_writes_an_answers_file_that_a_run_can_use() {
    let folder = tempfile::tempdir().expect("a folder");
    for template in TEMPLATES.into_iter().filter(|template| *template != "session") {
        run_in(folder.path(), &["new", template, "--template", template, "--with-script"]);
        let (file, inputs) = (format!("{template}.yaml"), format!("@{template}.inputs.json"));
        let answers = format!("{template}.answers.yaml");
        let dry = run_in(folder.path(), &["run", &file, "-i", &inputs, "--dry-run", "--write-script", &answers]);
        // The example answer of the flow is an empty object, and the flow reads a field of it.
        let expect = if template == "flow" { 3 } else { 0 };
        assert_eq!(dry.status.code(), Some(expect), "{template}: {}", messages(&dry));
        let ran = run_with_script(folder.path(), template, &answers);
        assert_eq!(ran.status.code(), Some(expect), "{template}: {}", messages(&ran));
        assert_eq!(dry.stdout, ran.stdout, "{template}");
    }
    let written = fs::read_to_string(folder.path().join("approval.answers.yaml")).expect("it is written");
    let expect =
        "draft: [\"An answer.\"]  # model\nask: [\"send\"]  # one of: send, discard\nmail: [\"delivered\"]  # mail\n";
    assert!(written.ends_with(expect), "{written}");
    let again = ["run", "approval.yaml", "--dry-run", "--write-script", "approval.answers.yaml"];
    assert!(messages(&run_in(folder.path(), &again)).contains("already exists"));
}

#[test]
fn every_example_passes_check_and_is_drawn() {
    for folder in ["examples/workflows", "examples/flow"] {
        for entry in fs::read_dir(root().join(folder)).expect("there are examples") {
            let name = entry.expect("a file").file_name().to_string_lossy().into_owned();
            if name.contains(".script.") || name == "README.md" {
                continue;
            }
            let file = format!("{folder}/{name}");
            let checked = run_in(&root(), &["check", "--deny-warnings", &file]);
            assert_eq!(checked.status.code(), Some(0), "{file}: {checked:?}");
            assert_eq!(run_in(&root(), &["graph", &file]).status.code(), Some(0), "{file}");
            assert_eq!(run_in(&root(), &["fmt", "--check", &file]).status.code(), Some(0), "{file}");
        }
    }
}

#[test]
fn the_first_workflow_of_a_new_user_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    run_in(folder.path(), &["new", "hello"]);
    let output = run_in(folder.path(), &["run", "hello.yaml", "-i", "input=Ada", "--store", "store.db"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Hello, Ada! Nice to meet you.\n");
}

#[test]
fn new_takes_the_name_of_a_file_too() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(run_in(folder.path(), &["new", "greet.yml"]).status.code(), Some(0));
    let text = fs::read_to_string(folder.path().join("greet.yml")).expect("it is written");
    assert!(text.contains("name: greet\n"), "{text}");
}

#[test]
fn new_never_overwrites() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("mine.yaml"), "precious").expect("it is written");
    let output = run_in(folder.path(), &["new", "mine"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(messages(&output).contains("mine.yaml already exists"), "{}", messages(&output));
    assert_eq!(fs::read_to_string(folder.path().join("mine.yaml")).expect("it is there"), "precious");
}

#[test]
fn an_unknown_template_is_answered_with_the_list() {
    check("new_template", &["new", "x", "--template", "aproval"]);
    check("new_name", &["new", "no name"]);
}

#[test]
fn fmt_rewrites_files_and_check_only_lists_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let (messy, tidy) = (folder.path().join("messy.yaml"), folder.path().join("tidy.yaml"));
    fs::write(&messy, "steps:\n- step_type: text # what\n  id: a\n").expect("it is written");
    fs::write(&tidy, "steps:\n  - id: a\n    step_type: text\n").expect("it is written");
    let listed = run_in(folder.path(), &["fmt", "--check", "messy.yaml", "tidy.yaml"]);
    assert_eq!((listed.status.code(), &*String::from_utf8_lossy(&listed.stdout)), (Some(2), "messy.yaml\n"));
    assert_eq!(run_in(folder.path(), &["fmt", "messy.yaml", "tidy.yaml"]).status.code(), Some(0));
    let written = fs::read_to_string(&messy).expect("it is there");
    assert_eq!(written, "steps:\n  - id: a\n    step_type: text # what\n");
    assert_eq!(run_in(folder.path(), &["fmt", "--check", "messy.yaml", "tidy.yaml"]).status.code(), Some(0));
}

#[test]
fn fmt_works_as_a_filter() {
    check_with("fmt_stdin", &["fmt", "-"], "steps:\n- step_type: text\n  id: a", &[]);
    check_with("fmt_broken", &["fmt", "-"], "steps: [", &[]);
    check("fmt_unread", &["fmt", "nowhere.yaml"]);
}

#[test]
fn a_schema_is_printed_for_what_can_be_loaded() {
    for dialect in ["steps", "flow", "machine", "session", "graph"] {
        let output = run_in(Path::new("."), &["schema", dialect]);
        let schema: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a schema is JSON");
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    }
    check("schema_unknown", &["schema", "yaml"]);
}
