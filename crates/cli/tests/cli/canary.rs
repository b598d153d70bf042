//! Secrets are planted, and every file of the store, every message and every trace is searched for them.

use std::fs;
use std::path::Path;

use branchpoint_core::Event;
use branchpoint_expr::Value;
use branchpoint_host::store::{Durability, Store};

use super::run_in;

/// A secret input, a secret of the host, and steps that repeat both wherever they can.
const WORKFLOW: &str = r#"
name: canary
inputs: [{name: api_key, type: string, required: true}]
states:
  initial: use
  use:
    type: command
    command: "echo got {{.inputs.api_key}} and {{.secret.PLANTED}}; echo {{.inputs.api_key}} {{.secret.PLANTED}} >&2"
    transitions:
      - {when: "states.use.Output contains 'nothing'", goto: bad}
      - {goto: fails}
  fails: {type: command, command: "echo {{.states.use.Output}}; exit 3", continue_on_error: true, on_success: done}
  bad: {type: terminal, status: failure, message: "{{.states.use.Output}}"}
  done: {type: terminal, message: "all is well"}
"#;

const INPUT: &str = "canary-input-7f3a";
const SECRET: &str = "canary-secret-9b1c";

#[test]
fn a_secret_is_in_no_file_message_or_trace() {
    let folder = tempfile::tempdir().expect("there is room");
    fs::write(folder.path().join("canary.yaml"), WORKFLOW).expect("there is room");
    let store = folder.path().join("kept");
    let store = store.join("store.db");
    let environment = [("PLANTED", SECRET), ("BRANCHPOINT_STORE", store.to_str().expect("a plain path"))];
    let input = format!("api_key={INPUT}");
    let run = |arguments: &[&str]| {
        let output = run_in(folder.path(), arguments, "", &environment);
        let report = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.code(), report)
    };
    let (status, [stdout, stderr]) = run(&["run", "canary.yaml", "-i", &input, "--id", "planted"]);
    assert_eq!(status, Some(0), "{stdout}{stderr}");
    assert!(stderr.contains("got *** and ***"), "what was printed is shown, without its secrets: {stderr}");
    clean("what `run` tells", &stderr);
    let commands: [&[&str]; 9] = [
        &["runs", "list"],
        &["runs", "show", "planted"],
        &["runs", "show", "planted", "--json"],
        &["runs", "trace", "planted"],
        &["runs", "trace", "planted", "--json"],
        &["runs", "explain", "planted", "use"],
        &["runs", "explain", "planted", "fails", "--json"],
        &["runs", "export", "planted"],
        &["doctor"],
    ];
    for command in commands {
        let (status, [stdout, stderr]) = run(command);
        assert_eq!(status, Some(0), "{command:?}: {stdout}{stderr}");
        clean(&format!("{command:?}"), &(stdout + &stderr));
    }
    let files = everything(store.parent().expect("it has a folder"));
    assert!(files.len() >= 2, "there is a store and a key: {files:?}");
    for file in files {
        let bytes = fs::read(&file).expect("it can be read");
        clean(&file.display().to_string(), &String::from_utf8_lossy(&bytes));
    }
}

/// A secret in the document is known to its readers, but the output of the run does not repeat it.
#[test]
fn a_default_secret_and_a_secret_of_a_dry_run_are_masked() {
    let folder = tempfile::tempdir().expect("there is room");
    let optional = WORKFLOW.replace("required: true", &format!("default: {INPUT}"));
    fs::write(folder.path().join("default.yaml"), optional).expect("there is room");
    let fails = "{name: fails, inputs: [{name: token_x, required: true}], states: {initial: end, end: {type: terminal, status: failure, message: \"bad {{.inputs.token_x}}\"}}}";
    fs::write(folder.path().join("fails.yaml"), fails).expect("there is room");
    let store = folder.path().join("store.db");
    let environment = [("PLANTED", SECRET), ("BRANCHPOINT_STORE", store.to_str().expect("a plain path"))];
    let given = format!("token_x={INPUT}");
    let commands: [(&[&str], i32); 4] = [
        (&["run", "default.yaml", "--id", "default"], 0),
        (&["runs", "trace", "default"], 0),
        (&["run", "fails.yaml", "-i", &given, "--dry-run"], 3),
        (&["run", "fails.yaml", "--dry-run"], 1),
    ];
    reveal_nothing(folder.path(), &commands, &environment);
}

/// One step is given a secret; another prints the same digits, which it has from somewhere else.
const CHANCE: &str = r#"
name: chance
states:
  initial: given
  given: {type: command, command: "echo the code is {{.secret.CODE}}", on_success: other}
  other: {type: command, command: "echo order 4711", on_success: done}
  done: {type: terminal}
"#;

#[test]
fn an_answer_is_masked_only_if_its_own_call_received_the_secret() {
    let folder = tempfile::tempdir().expect("there is room");
    fs::write(folder.path().join("chance.yaml"), CHANCE).expect("there is room");
    let store = folder.path().join("store.db");
    let environment = [("CODE", "4711"), ("BRANCHPOINT_STORE", store.to_str().expect("a plain path"))];
    let output = run_in(folder.path(), &["run", "chance.yaml", "--id", "chance"], "", &environment);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let store = Store::open(&store, Durability::Normal).expect("the store opens");
    let run = store.run("chance").expect("it can be read").expect("it was started");
    let settled = store.journal(run.run).expect("it can be read").into_iter().filter_map(|(_, event, _)| match event {
        Event::Settled { result: Ok(value), .. } => value.get("output").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    });
    assert_eq!(settled.collect::<Vec<_>>(), ["the code is ***\n", "order 4711\n"]);
}

/// A key that only the environment has: a command prints it, the next one uses what was printed. Another prints it in two pieces.
const LEAKY: &str = r#"
name: leaky
states:
  initial: print
  print: {type: command, command: "echo key $CANARY_API_KEY", on_success: use}
  use: {type: command, command: "test $(echo '{{.states.print.Output}}' | wc -w)/$(echo '{{.states.print.Output}}' | grep -c $CANARY_API_KEY) = 2/1 || exit 7; echo $CANARY_API_KEY >&2", on_success: pieces}
  pieces: {type: command, command: "printf %s ${CANARY_API_KEY%-*}; sleep 0.3; printf '%s\\n' -${CANARY_API_KEY##*-}", on_success: done}
  done: {type: terminal}
"#;

#[test]
fn a_key_of_the_environment_that_a_command_prints_is_not_stored() {
    let folder = tempfile::tempdir().expect("there is room");
    fs::write(folder.path().join("leaky.yaml"), LEAKY).expect("there is room");
    let store = folder.path().join("kept").join("store.db");
    let environment = [("CANARY_API_KEY", SECRET), ("BRANCHPOINT_STORE", store.to_str().expect("a plain path"))];
    let commands: [(&[&str], i32); 4] = [
        (&["run", "leaky.yaml", "--id", "leaky", "--record", "tape.yaml"], 0),
        (&["runs", "trace", "leaky", "--json"], 0),
        (&["runs", "show", "leaky"], 0),
        (&["runs", "export", "leaky"], 0),
    ];
    reveal_nothing(folder.path(), &commands, &environment);
    for file in everything(folder.path()) {
        clean(&file.display().to_string(), &String::from_utf8_lossy(&fs::read(&file).expect("it can be read")));
    }
}

/// `base64` breaks its lines after 76 letters.
#[test]
fn a_secret_in_base64_on_several_lines_is_shown_and_stored_nowhere() {
    use base64::prelude::{BASE64_STANDARD, Engine as _};
    const PRINTS: &str = r#"
name: wrapped
inputs: [{name: SECRET_IN, type: string}]
states:
  initial: print
  print: {type: command, command: "printf %s \"$CANARY_API_KEY\" | base64; printf %s \"$SECRET_IN\" | base64 | sed 's/$/\r/'", on_success: done}
  done: {type: terminal, message: "{{.states.print.Output}}"}
"#;
    for length in [58, 200] {
        let secret = |step| {
            ('!'..='~').filter(char::is_ascii_alphanumeric).cycle().step_by(step).take(length).collect::<String>()
        };
        let (key, input) = (secret(7), secret(5));
        let folder = tempfile::tempdir().expect("there is room");
        fs::write(folder.path().join("wrapped.yaml"), PRINTS).expect("there is room");
        let store = folder.path().join("store.db");
        let environment = [("CANARY_API_KEY", &*key), ("BRANCHPOINT_STORE", store.to_str().expect("a plain path"))];
        let given = format!("SECRET_IN={input}");
        let clean = |place: &str, text: &str| {
            for secret in [&key, &input] {
                let encoded = BASE64_STANDARD.encode(secret);
                let seen =
                    [&encoded[..12], &encoded[64..76], &encoded[76..]].into_iter().find(|part| text.contains(part));
                assert_eq!(seen, None, "{place}: {text}");
            }
        };
        let commands: [&[&str]; 5] = [
            &["run", "wrapped.yaml", "--id", "w", "-i", &given],
            &["runs", "show", "w"],
            &["runs", "trace", "w", "--json"],
            &["runs", "explain", "w", "print"],
            &["runs", "export", "w"],
        ];
        for command in commands {
            let output = run_in(folder.path(), command, "", &environment);
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&text);
            assert_eq!(output.status.code(), Some(0), "{command:?}: {text}");
            clean(&format!("{command:?}"), &text);
        }
        for file in everything(folder.path()) {
            clean(&file.display().to_string(), &String::from_utf8_lossy(&fs::read(&file).expect("it can be read")));
        }
    }
}

/// Runs commands, which end with these codes and tell no secret.
#[track_caller]
fn reveal_nothing(folder: &Path, commands: &[(&[&str], i32)], environment: &[(&str, &str)]) {
    for (command, code) in commands {
        let output = run_in(folder, command, "", environment);
        let report = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.code(), Some(*code), "{command:?}: {report}");
        clean(&format!("{command:?}"), &report);
    }
}

#[track_caller]
fn clean(what: &str, text: &str) {
    for canary in [INPUT, SECRET] {
        assert!(!text.contains(canary), "{what} holds {canary}:\n{text}");
    }
}

/// All files of a folder and the folders in it.
fn everything(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).expect("it is there").flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { everything(&path) } else { vec![path] }).collect()
}
