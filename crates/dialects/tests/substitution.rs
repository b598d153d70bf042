//! Data in shell commands: which placeholders are warned about.

use branchpoint_dialects::load;
use branchpoint_expr::{Dialect, Severity};

/// The warnings about a document: the kind, and the text at its place.
fn warnings(source: &str, dialect: Dialect) -> Vec<(String, String)> {
    let loaded = load(source, Some(dialect));
    assert!(loaded.diagnostics.iter().all(|finding| finding.severity == Severity::Warning), "{:?}", loaded.diagnostics);
    let ours = |kind: &str| ["unquoted_substitution", "escape_in_quotes"].contains(&kind);
    let actual = loaded.diagnostics.iter().filter(|finding| ours(finding.kind.as_str()));
    let names = |message: &str| message.split('`').find(|part| part.contains('.')).unwrap_or_default().to_owned();
    actual.map(|finding| (finding.kind.to_string(), names(&finding.message))).collect()
}

#[track_caller]
fn machine(command: &str, expect: &[(&str, &str)]) {
    let command = serde_json::to_string(command).expect("text is JSON");
    let source = format!(
        "name: m\ninputs: [{{name: count, type: integer}}, {{name: on, type: boolean}}, {{name: mode, validation: {{enum: [a, b]}}}}, \
         {{name: free, type: string}}]\n\
         states:\n  initial: each\n  first: {{command: x, on_success: each}}\n  \
         each: {{type: for_each, items: '{{{{inputs.free}}}}', body: [run], on_complete: done}}\n  \
         run:\n    command: {command}\n    hooks: {{post: [{{command: 'echo {{{{inputs.count}}}}'}}]}}\n  done: {{type: terminal}}\n"
    );
    let expect: Vec<_> = expect.iter().map(|(kind, at)| ((*kind).to_owned(), (*at).to_owned())).collect();
    assert_eq!(warnings(&source, Dialect::Machine), expect, "{source}");
}

const UNQUOTED: &str = "unquoted_substitution";
const IN_QUOTES: &str = "escape_in_quotes";

#[test]
fn data_in_a_command_of_a_machine_must_be_escaped() {
    machine("echo {{inputs.free}}", &[(UNQUOTED, "inputs.free")]);
    machine("echo '{{inputs.free}}' \"{{loop.Item}}\"", &[(UNQUOTED, "inputs.free"), (UNQUOTED, "loop.Item")]);
    machine("echo {{trimSpace inputs.undeclared}}", &[(UNQUOTED, "inputs.undeclared")]);
    machine("echo {{env.TITLE}} {{states.run.Output}}", &[(UNQUOTED, "env.TITLE"), (UNQUOTED, "states.run.Output")]);
    machine("cat <<END\n{{inputs.free}}\nEND", &[(UNQUOTED, "inputs.free")]);
    machine("echo {{inputs.free | escape}} {{escape loop.item}} a{{escape (trimSpace inputs.free)}}b", &[]);
    machine("echo {{inputs.free | escape | trimSpace}}", &[(UNQUOTED, "inputs.free")]);
}

#[test]
fn numbers_and_texts_of_the_document_are_not_data() {
    machine("echo {{loop.index}} {{loop.Index1}} {{loop.Length}} {{loop.Parent.Index}}", &[]);
    machine("exit {{states.run.ExitCode}} # {{states.run.Status}} {{len inputs.free}}", &[]);
    machine("echo {{inputs.count}} {{inputs.on}} {{inputs.mode}} {{workflow.Name}} {{context.WorkingDir}}", &[]);
    machine("echo {{secret.TOKEN}} plain", &[]);
}

#[test]
fn escape_must_not_be_inside_quotes() {
    machine("echo \"{{inputs.free | escape}}\"", &[(IN_QUOTES, "inputs.free")]);
    machine("echo 'x {{inputs.free | escape}}' {{inputs.free | escape}}", &[(IN_QUOTES, "inputs.free")]);
    machine("echo \"a\"{{inputs.free | escape}}'b' \\\"{{inputs.free | escape}}", &[]);
    machine("X={{secret.A}}; echo \"$X {{escape inputs.free}}\"", &[(IN_QUOTES, "inputs.free")]);
}

#[test]
fn data_in_blocks_must_be_escaped_too() {
    machine("{{range inputs.files}}rm {{.}}; {{end}}", &[(UNQUOTED, "inputs.files")]);
    machine("{{with inputs.name}}echo {{.}}{{end}}", &[(UNQUOTED, "inputs.name")]);
    machine("{{$x := inputs.name}}echo {{$x}}", &[(UNQUOTED, "inputs.name")]);
    machine("{{if inputs.name}}echo {{inputs.name}}{{end}}", &[(UNQUOTED, "inputs.name")]);
    machine("{{range inputs.files}}rm {{escape .}}; {{end}}{{with $x := 3}}echo {{$x}}{{end}}", &[]);
}

#[test]
fn commands_of_hooks_are_checked() {
    let source = "name: m\nhooks: {workflow_start: [{command: 'echo {{inputs.x}}'}, {log: 'got {{inputs.x}}'}]}\n\
                  states:\n  initial: done\n  done: {type: terminal}\n";
    assert_eq!(warnings(source, Dialect::Machine), [(UNQUOTED.to_owned(), "inputs.x".to_owned())]);
}

#[test]
fn a_shell_among_the_arguments_of_a_step_is_a_shell() {
    let step = |step: &str, expect: usize| {
        let source = format!("steps:\n  - {{id: a, step_type: command, {step}}}\n");
        assert_eq!(warnings(&source, Dialect::Steps).len(), expect, "{source}");
    };
    step("command: 'echo {{input}}'", 0);
    step("argv: [sh, -c, 'echo {{input}}']", 1);
    step("argv: [/usr/bin/bash, -euo, pipefail, -c, 'echo {{metadata.x}}']", 1);
    step("argv: [sh, -ec, 'echo {{step.a.exit_code}}']", 0);
    step("argv: [sh, -c, 'echo \"$1\"', sh, '{{input}}']", 0);
    step("argv: [grep, -c, '{{input}}']", 0);
    step("argv: [sh, script.sh, '{{input}}']", 0);
}

#[test]
fn a_shell_among_the_arguments_of_a_flow_is_a_shell() {
    let flow = |block: &str, expect: usize| {
        let source = format!(
            r#"{{"name": "f", "description": "d", "uuid": "u", "steps": [{{"id": "l", "type": "loop", "config": {{"loopType": "for",
               "startValue": 1, "endValue": 2, "counterVariable": "i", "loopBlocks": [{{"id": "c", "type": "runCommand", "config": {block}}}]}}}}]}}"#
        );
        assert_eq!(warnings(&source, Dialect::Flow).len(), expect, "{source}");
    };
    flow(r#"{"command": "echo", "args": ["{{ $x }}"]}"#, 0);
    flow(r#"{"command": "bash", "args": ["-c", "echo {{ $x }}"]}"#, 1);
    flow(r#"{"command": "bash", "args": ["-c", "echo {{ $i }} {{ len($x) }}"]}"#, 0);
    flow(r#"{"command": "bash", "args": "{{ $args }}"}"#, 0);
}
