//! Inputs of a run in the environment of its commands.

use std::sync::{Arc, Mutex};

use branchpoint_core::effect::{Kind, ProcessResult};
use branchpoint_core::ir::Effect;
use branchpoint_core::ir::builder::effect;
use branchpoint_expr::{Object, Value};
use branchpoint_runners::{Answer, Call, CancellationToken, Local, no_secrets, runtime};

/// Runs a command with these inputs. Returns its standard output, and everything that the listener received.
fn run(command: &str, inputs: &[(&str, &str)]) -> (String, String) {
    let received = Arc::new(Mutex::new(String::new()));
    let list = Arc::clone(&received);
    let local = Local {
        listener: Arc::new(move |_, text| list.lock().expect("no panic").push_str(text)),
        shell: Some("/bin/bash".into()),
        ..Local::new(std::env::temp_dir())
    };
    let inputs: Object = inputs.iter().map(|(name, value)| ((*name).into(), Value::from(*value))).collect();
    let input: Object =
        [("command".into(), Value::from(command)), ("inputs".into(), Value::from(inputs))].into_iter().collect();
    let fixed = [("user_shell".into(), Value::Bool(true))].into_iter().collect();
    let call = Call::first(Effect { fixed, ..effect(Kind::Process) }, Value::from(input));
    let prepared = call.prepare(&no_secrets()).expect("it can be performed");
    let answer = runtime().block_on(local.perform(&prepared, &CancellationToken::new()));
    let Some(Answer::Process(ProcessResult { exit_code: Some(0), stdout, .. })) = answer else { panic!("{answer:?}") };
    let received = received.lock().expect("no panic").clone();
    (stdout.to_string(), received)
}

#[test]
fn an_input_is_a_variable_of_its_command() {
    let (printed, received) = run("printf %s \"$title\"", &[("title", "a 'b' $(c)")]);
    assert_eq!(printed, "a 'b' $(c)");
    assert!(!received.contains("warning"), "{received}");
}

#[test]
fn no_input_defines_a_shell_function_or_changes_the_path_of_programs() {
    let inputs =
        [("BASH_FUNC_ls%%", "() { echo owned; }"), ("PYTHONHOME", "/nonexistent"), ("BRANCHPOINT_KEY", "mine")];
    let (printed, received) =
        run("ls / >/dev/null; echo \"[$PYTHONHOME]\"; ls -d /; echo \"$BRANCHPOINT_KEY\"", &inputs);
    assert_eq!(printed, "[]\n/\nrun/1/0\n");
    for (name, _) in inputs {
        assert!(received.contains(&format!("warning: input {name:?} is not in the environment")), "{received}");
    }
}

#[test]
fn a_large_input_is_passed_in_a_file() {
    let large = "x".repeat(140_000);
    let (printed, received) =
        run("echo ${#large}; wc -c < \"$BRANCHPOINT_INPUTS\"; echo $small", &[("large", &large), ("small", "s")]);
    // {"large":"…"} and nothing else.
    assert_eq!(printed, format!("0\n{}\ns\n", large.len() + r#"{"large":""}"#.len()));
    assert!(received.contains("140000 bytes") && received.contains("$BRANCHPOINT_INPUTS"), "{received}");
}

#[test]
fn the_file_with_inputs_is_private_and_removed_after_the_command() {
    let (printed, _) = run("stat -c %a \"$BRANCHPOINT_INPUTS\"; echo \"$BRANCHPOINT_INPUTS\"", &[("a-b", "x")]);
    let (mode, path) = printed.trim().split_once('\n').expect("two lines");
    assert_eq!(mode, "600");
    assert!(!std::path::Path::new(path).exists(), "{path}");
}
