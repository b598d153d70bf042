//! What this machine does for a run, as the run asks for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use branchpoint_core::EffectNo;
use branchpoint_engine::{Answer, Call, Local, Secrets, Stop, agents};
use branchpoint_expr::Value;

fn call(kind: &str, input: &str) -> Call {
    Call {
        run: "run".into(),
        folder: "".into(),
        effect: EffectNo(1),
        attempt: 1,
        answers: 0,
        kind: kind.into(),
        spec: serde_json::from_str(r#"{"secrets": [["command"]]}"#).expect("this is JSON"),
        input: serde_json::from_str(input).expect("this is JSON"),
        attempt_limit_ms: None,
        step: None,
        path: Vec::new(),
    }
}

#[test]
fn secrets_are_put_in_at_the_moment_of_the_call_and_masked_in_what_is_heard_and_in_what_comes_back() {
    let heard = Arc::new(Mutex::new(String::new()));
    let list = Arc::clone(&heard);
    let inputs: Value = serde_json::from_str(r#"{"API_KEY": "hunter2"}"#).expect("this is JSON");
    let local = Local {
        listener: Arc::new(move |_, text| list.lock().expect("no panic").push_str(text)),
        mask: Secrets::of(&inputs),
        shell: Some("/bin/sh".into()),
        secrets: Arc::new(|name| (name == "KEY").then(|| "hunter2".to_owned())),
        ..Local::new(std::env::temp_dir())
    };
    let asked = call("shell", r#"{"command": ["s=", {"secret": "KEY"}, "; printf '<%s> %s' $s ${#s}"]}"#);
    let answer = local.perform(&asked, &Stop::default()).expect("commands are for this machine");
    assert!(matches!(&answer, Answer::Process { stdout, .. } if &**stdout == "<***> 7"), "{answer:?}");
    assert_eq!(*heard.lock().expect("no panic"), "<***> 7");

    let missing = call("shell", r#"{"command": ["", {"secret": "OTHER"}, ""]}"#);
    assert!(matches!(local.perform(&missing, &Stop::default()), Some(Answer::Failed(_))));
    assert_eq!(local.perform(&call("model", "{}"), &Stop::default()), None);
}

#[test]
fn what_a_command_says_in_pieces_is_heard_whole_and_without_secrets() {
    let heard = Arc::new(Mutex::new(String::new()));
    let list = Arc::clone(&heard);
    let inputs: Value = serde_json::from_str(r#"{"TOKEN": "swordfish"}"#).expect("this is JSON");
    let local = Local {
        listener: Arc::new(move |_, text| list.lock().expect("no panic").push_str(text)),
        mask: Secrets::of(&inputs),
        shell: Some("/bin/sh".into()),
        // Nobody gave it as an input, and yet nobody hears it.
        secrets: Arc::new(|_| Some("hunter2".to_owned())),
        ..Local::new(std::env::temp_dir())
    };
    let command = r"printf 'a sword'; sleep 0.05; printf 'fish b \303'; sleep 0.05; printf '\251 hun'; sleep 0.05; printf 'ter2. sword'; : ";
    let command = serde_json::to_string(command).expect("text is JSON");
    let asked = call("shell", &format!(r#"{{"command": [{command}, {{"secret": "KEY"}}, ""]}}"#));
    let answer = local.perform(&asked, &Stop::default()).expect("commands are for this machine");
    // An input is data and stays whole; what the call was given by name does not come back.
    let said = "a swordfish b \u{e9} ***. sword";
    assert!(matches!(&answer, Answer::Process { stdout, .. } if &**stdout == said), "{answer:?}");
    assert_eq!(*heard.lock().expect("no panic"), "a *** b \u{e9} ***. sword");
}

/// An agent that is this script.
fn program(script: &str) -> (Local, Call) {
    let settings = agents::Settings {
        program: Some("/bin/sh".to_owned()),
        arguments: Some(vec!["-c".to_owned(), script.to_owned()]),
        ..agents::Settings::default()
    };
    let local = Local { agents: BTreeMap::from([("mine".to_owned(), settings)]), ..Local::new(std::env::temp_dir()) };
    (local, call("agent", r#"{"provider": "mine", "prompt": "hi"}"#))
}

#[test]
fn a_program_that_fails_says_why_in_a_message_that_people_can_read() {
    let told = |script: &str| {
        let (local, asked) = program(script);
        match local.agent(&asked, &Stop::default()) {
            Some(Answer::Failed(failed)) => failed.message.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let long = told(
        "i=0; while [ $i -lt 2000 ]; do echo 'a line of noise' >&2; i=$((i+1)); done; echo 'the cause' >&2; exit 3",
    );
    assert!(long.contains("code 3") && long.contains("the cause") && long.len() < 3_000, "{long}");
    assert!(told("echo 'on the wrong stream'; exit 1").contains("on the wrong stream"));
}

#[test]
fn a_program_that_prints_more_than_is_read_has_not_answered() {
    let (local, asked) = program("head -c 5000000 /dev/zero | tr '\\0' x");
    let answer = local.agent(&asked, &Stop::default());
    let told = |message: &str| message.contains("more than");
    assert!(matches!(&answer, Some(Answer::Failed(failed)) if told(&failed.message)), "{:.200}", format!("{answer:?}"));
}
