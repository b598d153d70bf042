//! Inputs of runs: declared ones, those of graphs, and those that commands find in their environment.

use std::process::Output;

use super::running::Place;

const FLOW: &str = r#"{"name": "f", "description": "d", "uuid": "u", "inputs": [
    {"name": "count", "type": "integer", "required": true, "description": "How many"},
    {"name": "user.tier", "enum": ["free", "paid"], "default": "free"}],
  "steps": [{"id": "l", "type": "loop", "config": {"loopType": "for", "startValue": 1, "endValue": "{{ $count }}", "counterVariable": "i",
    "loopBlocks": [{"id": "a", "type": "setVariables", "config": {"variables": [{"name": "x", "value": "{{ 6 / ($i - 2) }}"}]}}]}}]}"#;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn a_run_with_wrong_inputs_shows_the_declared_ones() {
    let place = Place::new(&[("f.json", FLOW)]);
    for dry in [&[][..], &["--dry-run"]] {
        let output = place.run(&[&["run", "f.json", "-i", "count=5", "-i", "user.teir=paid"], dry].concat());
        let report = text(&output.stderr);
        assert_eq!(code(&output), Some(1), "{report}");
        for part in [
            "the run was not started [unknown_input]: there is no input `user.teir`; did you mean `user.tier`?; input `count` must be an \
             integer, but is text",
            "  count      integer, required: How many\n",
            "  user.tier  one of \"free\", \"paid\", default \"free\"\n",
            "Give text as -i NAME=TEXT and other values as -i NAME:=JSON.",
        ] {
            assert!(report.contains(part), "{part}\nis not in\n{report}");
        }
    }
}

#[test]
fn the_help_on_inputs_masks_secret_defaults() {
    let flow = FLOW.replace("\"inputs\": [", "\"inputs\": [{\"name\": \"api_key\", \"default\": \"hunter2hunter2\"},");
    let report = text(&Place::new(&[("f.json", &flow)]).run(&["run", "f.json"]).stderr);
    assert!(report.contains("  api_key    default \"***\"\n") && !report.contains("hunter2"), "{report}");
}

#[test]
fn a_loop_that_loses_a_round_ends_with_a_warning() {
    let place = Place::new(&[("f.json", FLOW)]);
    for dry in [&[][..], &["--dry-run"]] {
        let output = place.run(&[&["run", "f.json", "-i", "count:=3"], dry].concat());
        assert_eq!(code(&output), Some(0));
        let warning = "warning[failed_rounds]: round 2 of loop `l` failed in step `a` [expression]:";
        assert!(text(&output.stderr).contains(warning), "{}", text(&output.stderr));
    }
    let output = place.run(&["run", "f.json", "-i", "count:=3", "--json"]);
    assert!(text(&output.stdout).contains(r#""kind": "failed_rounds""#), "{}", text(&output.stdout));
}

#[test]
fn the_input_of_a_graph_replaces_the_text_of_its_start() {
    let graph = r#"{"nodes": [{"id": "s", "type": "start", "data": {"initialInput": "initial"}}, {"id": "e", "type": "end"}],
        "connections": [{"source": "s", "target": "e"}]}"#;
    let place = Place::new(&[("g.json", graph)]);
    assert_eq!(text(&place.run(&["run", "g.json"]).stdout), "initial\n");
    assert_eq!(text(&place.run(&["run", "g.json", "-i", "input=given"]).stdout), "given\n");
    let output = place.run(&["run", "g.json", "-i", "inptu=given"]);
    assert_eq!(code(&output), Some(1));
    assert!(text(&output.stderr).contains("a graph has no input `inptu`"), "{}", text(&output.stderr));
}

#[test]
fn inputs_of_a_machine_are_data_and_never_commands() {
    let machine = "name: m\nstates:\n  initial: a\n  a: {command: 'ls -d /; wc -c < \"$BRANCHPOINT_INPUTS\"', on_success: done}\n  \
                   done: {type: terminal, message: '{{states.a.Output}}'}\n";
    let large = format!("large={}", "x".repeat(130_000));
    let inputs = ["-i", "BASH_FUNC_ls%%=() { echo owned; }", "-i", "PYTHONHOME=/nowhere", "-i", &large];
    let place = Place::new(&[("m.yaml", machine)]);
    let output = place.command(&[&["run", "m.yaml"][..], &inputs].concat()).env("SHELL", "/bin/bash").output().unwrap();
    let (report, printed) = (text(&output.stderr), text(&output.stdout));
    assert_eq!(code(&output), Some(0), "{report}");
    assert!(printed.starts_with("/\n13"), "{printed}");
    for name in ["BASH_FUNC_ls%%", "PYTHONHOME", "large"] {
        assert!(
            report.contains(&format!("input \"{name}\" is not in the environment of this command")),
            "{name}: {report}"
        );
    }
}

#[test]
fn an_id_stays_free_after_a_start_with_invalid_inputs() {
    let place = Place::new(&[("f.json", FLOW)]);
    for more in [&[][..], &["--detach"], &["--json"]] {
        let output = place.run(&[&["run", "f.json", "-i", "count=many", "--id", "k"], more].concat());
        assert_eq!(code(&output), Some(1), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("was not started [invalid_input]"), "{}", text(&output.stderr));
    }
    let output = place.run(&["run", "f.json", "-i", "count:=1", "--id", "k"]);
    assert_eq!(code(&output), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_dotted_key_in_a_file_of_inputs_is_a_path() {
    let steps = "name: s\nsteps:\n  - {id: a, step_type: text, template: \"{{input}} of {{metadata.customer}}\"}\n";
    let inputs = r#"{"input": "order", "metadata.customer": "ada"}"#;
    let place = Place::new(&[("s.yaml", steps), ("in.json", inputs), ("data.json", r#"{"a.b": 1}"#)]);
    let output = place.run(&["run", "s.yaml", "-i", "@in.json"]);
    assert_eq!(text(&output.stdout), "order of ada\n", "{}", text(&output.stderr));
    // A file with other keys is the input itself.
    let output = place.run(&["run", "s.yaml", "-i", "@data.json", "-i", "metadata.customer=ada"]);
    assert!(text(&output.stdout).contains("\"a.b\":1"), "{}", text(&output.stdout));
}

#[test]
fn a_quiet_dry_run_prints_only_its_result() {
    let steps =
        "name: s\nsteps:\n  - {id: w, step_type: wait, duration: 1h}\n  - {id: a, step_type: text, template: done}\n";
    let place = Place::new(&[("s.yaml", steps)]);
    let loud = place.run(&["run", "s.yaml", "-i", "input=x", "--dry-run"]);
    assert!(text(&loud.stderr).contains("skipped a wait") && text(&loud.stderr).contains("a (text)"));
    let output = place.run(&["run", "s.yaml", "-i", "input=x", "--dry-run", "--quiet"]);
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("done\n".to_owned(), String::new()));
}
