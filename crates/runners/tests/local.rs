//! Calls that are performed on this machine.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use branchpoint_core::effect::{Content, Kind, ModelResult, ProcessResult, SecretText};
use branchpoint_core::ir::Effect;
use branchpoint_core::ir::builder::effect;
use branchpoint_core::{AttemptError, RetryHint};
use branchpoint_expr::Value;
use branchpoint_runners::{Answer, Call, CancellationToken, Local, SecretStore, Secrets, agents, runtime};

fn call(kind: Kind, input: &str) -> Call {
    let secrets = vec![SecretText::plain(vec!["command".into()])];
    let name = match kind {
        Kind::Process => "user_shell",
        _ => "program",
    };
    let flag = matches!(kind, Kind::Process | Kind::Model).then(|| (name.into(), Value::Bool(true)));
    let fixed = flag.into_iter().collect();
    Call::first(Effect { fixed, secrets, ..effect(kind) }, serde_json::from_str(input).expect("this is JSON"))
}

/// Performs a call with the secret `KEY`, which is not an input.
fn perform(local: &Local, call: &Call) -> Option<Answer> {
    let secrets: SecretStore = Arc::new(|name| (name == "KEY").then(|| "hunter2".to_owned()));
    let stop = CancellationToken::new();
    let prepared = match call.prepare(&secrets) {
        Ok(prepared) => prepared,
        Err(answer) => return Some(answer),
    };
    runtime().block_on(async {
        match local.perform(&prepared, &stop).await {
            None => local.agent(&prepared, &stop).await,
            answer => answer,
        }
    })
}

#[test]
fn secrets_are_filled_in_for_the_call_and_masked_in_output_and_answer() {
    let received = Arc::new(Mutex::new(String::new()));
    let list = Arc::clone(&received);
    let inputs: Value = serde_json::from_str(r#"{"API_KEY": "hunter2"}"#).expect("this is JSON");
    let local = Local {
        listener: Arc::new(move |_, text| list.lock().expect("no panic").push_str(text)),
        mask: Secrets::of(&inputs).into(),
        shell: Some("/bin/sh".into()),
        ..Local::new(std::env::temp_dir())
    };
    let command_call = call(Kind::Process, r#"{"command": ["s=", {"secret": "KEY"}, "; printf '<%s> %s' $s ${#s}"]}"#);
    let answer = perform(&local, &command_call).expect("commands are for this machine");
    assert!(matches!(&answer, Answer::Process(ProcessResult { stdout, .. }) if &**stdout == "<***> 7"), "{answer:?}");
    assert_eq!(*received.lock().expect("no panic"), "<***> 7");

    let missing = call(Kind::Process, r#"{"command": ["", {"secret": "OTHER"}, ""]}"#);
    let answer = perform(&local, &missing);
    let is_final = |failed: &AttemptError| failed.retry == RetryHint::Never && failed.message.contains("`OTHER`");
    assert!(matches!(&answer, Some(Answer::Failed(failed)) if is_final(failed)), "{answer:?}");
    assert_eq!(perform(&local, &call(Kind::Model, "{}")), None);
}

#[test]
fn output_in_pieces_is_reported_completely_and_without_secrets() {
    let received = Arc::new(Mutex::new(String::new()));
    let list = Arc::clone(&received);
    let inputs: Value = serde_json::from_str(r#"{"TOKEN": "swordfish"}"#).expect("this is JSON");
    let local = Local {
        listener: Arc::new(move |_, text| list.lock().expect("no panic").push_str(text)),
        mask: Secrets::of(&inputs).into(),
        shell: Some("/bin/sh".into()),
        ..Local::new(std::env::temp_dir())
    };
    let command = r"printf 'a sword'; sleep 0.05; printf 'fish b \303'; sleep 0.05; printf '\251 hun'; sleep 0.05; printf 'ter2. sword'; : ";
    let command = serde_json::to_string(command).expect("text is JSON");
    let command_call = call(Kind::Process, &format!(r#"{{"command": [{command}, {{"secret": "KEY"}}, ""]}}"#));
    let answer = perform(&local, &command_call).expect("commands are for this machine");
    // An input is data and stays; a secret that the call names is masked in the answer.
    let expected = "a swordfish b \u{e9} ***. sword";
    assert!(matches!(&answer, Answer::Process(ProcessResult { stdout, .. }) if &**stdout == expected), "{answer:?}");
    assert_eq!(*received.lock().expect("no panic"), "a *** b \u{e9} ***. sword");
}

/// An agent whose program is this script.
fn program(script: &str) -> (Local, Call) {
    let settings = agents::Settings {
        program: Some("/bin/sh".to_owned()),
        arguments: Some(vec!["-c".to_owned(), script.to_owned()]),
        ..agents::Settings::default()
    };
    let local = Local { agents: BTreeMap::from([("mine".to_owned(), settings)]), ..Local::new(std::env::temp_dir()) };
    (local, call(Kind::Model, r#"{"provider": "mine", "prompt": "hi"}"#))
}

#[test]
fn the_message_of_a_failed_program_is_readable() {
    let message_of = |script: &str| {
        let (local, command_call) = program(script);
        match perform(&local, &command_call) {
            Some(Answer::Failed(failed)) => failed.message.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let long = message_of(
        "i=0; while [ $i -lt 2000 ]; do echo 'a line of noise' >&2; i=$((i+1)); done; echo 'the cause' >&2; exit 3",
    );
    assert!(long.contains("code 3") && long.contains("the cause") && long.len() < 3_000, "{long}");
    assert!(message_of("echo 'on the wrong stream'; exit 1").contains("on the wrong stream"));
}

#[test]
fn a_reply_of_a_program_that_exceeds_the_limit_is_a_failure() {
    let (local, command_call) = program("head -c 5000000 /dev/zero | tr '\\0' x");
    let answer = perform(&local, &command_call);
    let names_limit = |message: &str| message.contains("exceeds");
    assert!(
        matches!(&answer, Some(Answer::Failed(failed)) if names_limit(&failed.message)),
        "{:.200}",
        format!("{answer:?}")
    );
}

#[test]
fn on_a_server_commands_scripts_and_agents_inherit_only_allowed_variables() {
    let (local, agent) = program("env; cat > /dev/null");
    let local = Local { environment: Some(vec!["PATH".to_owned()]), shell: Some("/bin/sh".into()), ..local };
    let mut script = call(Kind::Process, r##"{"command": "#!/usr/bin/env sh\nenv"}"##);
    Arc::make_mut(&mut script.definition).fixed.insert("script".into(), Value::Bool(true));
    for command_call in [call(Kind::Process, r#"{"command": "env"}"#), script, agent] {
        let seen = match perform(&local, &command_call) {
            Some(
                Answer::Process(ProcessResult { stdout, .. })
                | Answer::Model(ModelResult { value: Value::Str(stdout), .. }),
            ) => stdout,
            other => panic!("{other:?}"),
        };
        let mut names: Vec<_> = seen.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
        // Shells add variables of their own.
        names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
        names.sort_unstable();
        assert_eq!(names, ["BRANCHPOINT_KEY", "PATH"], "{:?}", command_call.kind());
    }
}

#[test]
fn only_regular_files_within_the_limit_are_read() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let local = Local::new(folder.path());
    let mkfifo = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status();
    assert!(mkfifo.is_ok_and(|status| status.success()));
    std::fs::write(folder.path().join("long"), vec![b'x'; 1024 * 1024 + 1]).expect("there is room for a file");
    std::fs::write(folder.path().join("just"), vec![b'x'; 1024 * 1024]).expect("there is room for a file");
    let read = |path: &str| perform(&local, &call(Kind::Files, &format!(r#"{{"path": {path:?}}}"#)));
    for (path, why) in [
        ("pipe", "not a regular file"),
        ("/dev/zero", "not a regular file"),
        (".", "not a regular file"),
        ("long", "more than"),
    ] {
        let answer = read(path);
        assert!(matches!(&answer, Some(Answer::Failed(failed)) if failed.message.contains(why)), "{path}: {answer:?}");
    }
    assert!(matches!(read("just"), Some(Answer::Data(_))));
    if std::path::Path::new("/proc/self/status").exists() {
        let answer = read("/proc/self/status");
        let text = |value: &Value| value.as_str().is_some_and(|text| text.contains("Pid:"));
        assert!(matches!(&answer, Some(Answer::Data(Content { value, .. })) if text(value)), "{answer:?}");
    }
}
