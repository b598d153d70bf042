//! Inputs of a run in the environment of its commands.

use std::sync::{Arc, Mutex};

use branchpoint_core::effect::{Kind, ProcessResult};
use branchpoint_core::ir::Effect;
use branchpoint_core::ir::builder::effect;
use branchpoint_expr::{Object, Value};
use branchpoint_runners::{Answer, Call, CancellationToken, Local, no_secrets, runtime};

/// The standard output of a command that the machine's shell runs with these inputs, and everything that is heard.
fn run(command: &str, inputs: &[(&str, &str)]) -> (String, String) {
    let heard = Arc::new(Mutex::new(String::new()));
    let list = Arc::clone(&heard);
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
    let heard = heard.lock().expect("no panic").clone();
    (stdout.to_string(), heard)
}

#[test]
fn an_input_is_a_variable_of_its_command() {
    let (printed, heard) = run("printf %s \"$title\"", &[("title", "a 'b' $(c)")]);
    assert_eq!(printed, "a 'b' $(c)");
    assert!(!heard.contains("warning"), "{heard}");
}

#[test]
fn no_input_defines_a_function_or_moves_a_program() {
    let inputs =
        [("BASH_FUNC_ls%%", "() { echo owned; }"), ("PYTHONHOME", "/nonexistent"), ("BRANCHPOINT_KEY", "mine")];
    let (printed, heard) = run("ls / >/dev/null; echo \"[$PYTHONHOME]\"; ls -d /; echo \"$BRANCHPOINT_KEY\"", &inputs);
    assert_eq!(printed, "[]\n/\nrun/1/0\n");
    for (name, _) in inputs {
        assert!(heard.contains(&format!("warning: input {name:?} is not in the environment")), "{heard}");
    }
}

#[test]
fn a_large_input_is_left_out_and_found_in_a_file() {
    let large = "x".repeat(140_000);
    let (printed, heard) =
        run("echo ${#large}; wc -c < \"$BRANCHPOINT_INPUTS\"; echo $small", &[("large", &large), ("small", "s")]);
    // {"large":"…"} and nothing else.
    assert_eq!(printed, format!("0\n{}\ns\n", large.len() + r#"{"large":""}"#.len()));
    assert!(heard.contains("140000 bytes") && heard.contains("$BRANCHPOINT_INPUTS"), "{heard}");
}

#[test]
fn the_file_with_inputs_is_private_and_gone_after_the_command() {
    let (printed, _) = run("stat -c %a \"$BRANCHPOINT_INPUTS\"; echo \"$BRANCHPOINT_INPUTS\"", &[("a-b", "x")]);
    let (mode, path) = printed.trim().split_once('\n').expect("two lines");
    assert_eq!(mode, "600");
    assert!(!std::path::Path::new(path).exists(), "{path}");
}
