//! State machines with what they get from the command line: their folder, the machine, lines of a pipe.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use tempfile::TempDir;

use crate::run_in;

/// A project with files in it.
fn project(files: &[(&str, &str)]) -> TempDir {
    let place = tempfile::tempdir().expect("there is room for a project");
    for (name, text) in [("branchpoint.toml", "[agents.echo]\nprogram = \"./echo.sh\"\n")].iter().chain(files) {
        let file = place.path().join(name);
        fs::create_dir_all(file.parent().expect("it is in a folder")).expect("folders can be made");
        fs::write(&file, text).expect("files can be written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("files can be made programs");
    }
    place
}

fn shown(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[track_caller]
fn check(place: &TempDir, arguments: &[&str], stdin: &str, environment: &[(&str, &str)], expect: &str) {
    let store = place.path().join("store.db").display().to_string();
    let environment = [&[("BRANCHPOINT_STORE", &*store)], environment].concat();
    let output = run_in(place.path(), arguments, stdin, &environment);
    assert!(output.status.success() && shown(&output).contains(expect), "{}", shown(&output));
}

#[test]
fn files_are_relative_to_the_document_in_every_called_workflow() {
    let outer = "name: outer\nstates:\n  initial: a\n  a: {script_file: own.sh, on_success: b}\n  \
                 b: {type: call_workflow, workflow: inner, outputs: {s: s}, on_success: c}\n  \
                 c: {script_file: '~/home.sh', on_success: d}\n  d: {script_file: '{{.awf.scripts_dir}}/shared.sh', on_success: e}\n  \
                 e: {script_file: '{{.awf.scripts_dir}}/global.sh', on_success: z}\n  \
                 z: {type: terminal, message: '{{states.a.Output}}{{states.b.Output}}{{states.c.Output}}{{states.d.Output}}{{states.e.Output}}'}\n";
    let inner =
        "name: inner\nstates:\n  initial: s\n  s: {script_file: ./inner.sh, on_success: z}\n  z: {type: terminal}\n";
    let place = project(&[
        ("flows/outer.yaml", outer),
        ("flows/inner.yaml", inner),
        ("flows/own.sh", "printf own,"),
        ("flows/inner.sh", "printf inner,"),
        ("home/home.sh", "printf home,"),
        ("scripts/shared.sh", "printf beside,"),
        ("home/.config/awf/scripts/shared.sh", "printf wrong,"),
        ("home/.config/awf/scripts/global.sh", "printf global"),
    ]);
    let home = place.path().join("home").display().to_string();
    let environment = [("HOME", &*home), ("XDG_CONFIG_HOME", "")];
    check(&place, &["run", "flows/outer.yaml"], "", &environment, "own,inner,home,beside,global");
}

#[test]
fn the_machine_and_its_user_have_the_names_of_the_operating_system() {
    let text = "name: m\nstates:\n  initial: a\n  a: {command: \"test '{{context.Hostname}}' = \\\"$(uname -n)\\\" && \
                test '{{context.user}}' = \\\"$(id -un)\\\"\", on_success: z}\n  z: {type: terminal, message: same}\n";
    let place = project(&[("m.yaml", text)]);
    check(&place, &["run", "m.yaml"], "", &[("HOSTNAME", "wrong"), ("USER", "wrong")], "same");
}

#[test]
fn a_conversation_reads_the_lines_of_a_pipe() {
    let text = "name: m\nstates:\n  initial: a\n  a: {type: agent, provider: echo, mode: conversation, prompt: one, \
                conversation: {max_turns: 9}, on_success: z}\n  z: {type: terminal, message: 'last: {{states.a.Output}}'}\n";
    let place = project(&[("m.yaml", text), ("echo.sh", "#!/bin/sh\ntail -n 1\n")]);
    check(&place, &["run", "m.yaml"], "two\nthree\n\nfour\n", &[], "last: three");
    check(&place, &["run", "m.yaml"], "two\nend\n", &[], "last: end");
}
