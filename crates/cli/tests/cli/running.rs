//! Runs that are kept: started once under one id, interrupted and taken up again, with secrets that are not shown.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use super::quiet;

/// A folder to run in, with a store of its own.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("files can be written");
        }
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn store(&self) -> std::path::PathBuf {
        self.path().join("store").join("store.db")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = quiet(env!("CARGO_BIN_EXE_branchpoint"));
        command.current_dir(self.path()).args(arguments).env("BRANCHPOINT_STORE", self.store());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().expect("the program starts")
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    /// Waits until a file holds a text: somebody else writes it.
    #[track_caller]
    pub(crate) fn await_text(&self, name: &str, text: &str) {
        for _ in 0..3000 {
            if self.read(name).contains(text) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("{name} never holds {text:?}, only {:?}", self.read(name));
    }

    /// Everything that is in the files of the store.
    fn bytes(&self) -> Vec<u8> {
        let folder = self.path().join("store");
        let files = fs::read_dir(&folder).expect("there is a store").map(|entry| entry.expect("it can be read").path());
        files.filter(|path| path.is_file()).flat_map(|path| fs::read(path).expect("it can be read")).collect()
    }
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Sends a signal, as a shell would.
pub(crate) fn signal(name: &str, process: &str) -> bool {
    let sent = Command::new("kill").args([&format!("-{name}"), process]).stderr(Stdio::null()).status();
    sent.expect("there is a kill").success()
}

#[track_caller]
pub(crate) fn exits(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "stdout: {}\nstderr: {}", out(output), err(output));
}

const COUNT: &str = r#"
name: count
states:
  initial: add
  add: {command: "echo once >> counted", on_success: done, on_failure: bad}
  done: {type: terminal, message: "counted"}
  bad: {type: terminal, status: failure}
"#;

#[test]
fn starting_twice_under_one_id_starts_once() {
    let place = Place::new(&[("count.yaml", COUNT)]);
    let first = place.run(&["run", "count.yaml", "--id", "k"]);
    let second = place.run(&["run", "count.yaml", "--id", "k"]);
    exits(&first, 0);
    exits(&second, 0);
    assert_eq!((out(&first), out(&second)), ("counted\n".to_owned(), "counted\n".to_owned()));
    assert!(err(&second).contains("Run `k` already exists; showing its result."), "{}", err(&second));
    assert_eq!(place.read("counted"), "once\n");
    exits(&place.run(&["run", "count.yaml", "--id", "other"]), 0);
    assert_eq!(place.read("counted"), "once\nonce\n");
}

#[test]
fn an_id_must_be_a_word() {
    let place = Place::new(&[("count.yaml", COUNT)]);
    exits(&place.run(&["run", "count.yaml", "--id", "a.b"]), 1);
    exits(&place.run(&["run", "count.yaml", "--id", ""]), 1);
}

const SLOW: &str = r#"
name: slow
states:
  initial: wait
  wait: {command: "echo $$ >> pids; test -e go || exec sleep 600", on_success: done, on_failure: bad}
  done: {type: terminal, message: "went"}
  bad: {type: terminal, status: failure}
"#;

#[test]
fn an_interrupted_run_exits_with_130_and_can_be_resumed() {
    let place = Place::new(&[("slow.yaml", SLOW)]);
    let run = place.spawn(&["run", "slow.yaml", "--id", "k"]);
    place.await_text("pids", "\n");
    assert!(signal("INT", &run.id().to_string()));
    let output = run.wait_with_output().expect("it ends");
    exits(&output, 130);
    assert!(err(&output).contains("branchpoint runs resume k"), "{}", err(&output));
    let pid = place.read("pids").trim().to_owned();
    assert!(!signal("0", &pid), "the command is gone");
    fs::write(place.path().join("go"), "").expect("files can be written");
    let again = place.run(&["run", "slow.yaml", "--id", "k"]);
    exits(&again, 0);
    assert_eq!(out(&again), "went\n");
    assert_eq!(place.read("pids").lines().count(), 2, "what was in flight is done again");
}

/// One branch has won as soon as the other has begun.
const RACE: &str = r#"
name: race
states:
  initial: both
  both: {type: parallel, strategy: any_succeed, parallel: [fast, slow], on_success: done}
  fast: {command: "until test -s pids; do sleep 0.02; done"}
  slow: {command: "echo $$ >> pids; exec sleep 600"}
  done: {type: terminal, message: "won"}
"#;

#[test]
fn a_command_that_is_no_longer_awaited_does_not_outlive_the_program() {
    let place = Place::new(&[("race.yaml", RACE)]);
    let output = place.run(&["run", "race.yaml"]);
    exits(&output, 0);
    assert_eq!(out(&output), "won\n");
    assert!(!signal("0", place.read("pids").trim()), "the command is gone");
}

#[test]
fn a_run_that_another_process_executes_is_awaited() {
    let place =
        Place::new(&[("slow.yaml", SLOW.replace("exec sleep 600", "until test -e go; do sleep 0.02; done").as_str())]);
    let first = place.spawn(&["run", "slow.yaml", "--id", "k"]);
    place.await_text("pids", "\n");
    let second = place.spawn(&["run", "slow.yaml", "--id", "k"]);
    fs::write(place.path().join("go"), "").expect("files can be written");
    let (first, second) = (first.wait_with_output().expect("it ends"), second.wait_with_output().expect("it ends"));
    exits(&first, 0);
    exits(&second, 0);
    assert_eq!((out(&first), out(&second)), ("went\n".to_owned(), "went\n".to_owned()));
    assert_eq!(place.read("pids").lines().count(), 1);
}

#[test]
fn a_script_continues_where_an_interrupted_run_stopped() {
    let workflow = r#"
name: scripted
states:
  initial: first
  first: {command: "true", on_success: wait, on_failure: bad}
  wait: {command: "echo $$ >> pids; test -e go || exec sleep 600", on_success: again, on_failure: bad}
  again: {type: for_each, items: [a, b], body: [first_again], on_complete: done}
  first_again: {command: "echo {{states.first.Output}}", on_success: again, on_failure: bad}
  done: {type: terminal, message: "{{states.first_again.Output}}"}
  bad: {type: terminal, status: failure}
"#;
    let script = "first: [{$exit: 0, stdout: one}, {$exit: 1}]\n";
    let place = Place::new(&[("scripted.yaml", workflow), ("script.yaml", script)]);
    let arguments = ["run", "scripted.yaml", "-s", "script.yaml", "--id", "k"];
    let run = place.spawn(&arguments);
    place.await_text("pids", "\n");
    assert!(signal("INT", &run.id().to_string()));
    exits(&run.wait_with_output().expect("it ends"), 130);
    fs::write(place.path().join("go"), "").expect("files can be written");
    let again = place.run(&arguments);
    exits(&again, 0);
    assert_eq!(out(&again).trim(), "one");
}

#[test]
fn a_state_machine_sets_the_exit_status() {
    let inline = r#"
name: inline
inputs: [{name: count, type: integer, required: true}]
states:
  initial: a
  a: {command: "exit 9", on_failure: {message: "no luck", status: 42}, on_success: done}
  done: {type: terminal}
"#;
    let place = Place::new(&[("inline.yaml", inline)]);
    let failed = place.run(&["run", "inline.yaml", "-i", "count:=1"]);
    exits(&failed, 42);
    assert!(err(&failed).contains("no luck"), "{}", err(&failed));
    let report = place.run(&["run", "inline.yaml", "-i", "count:=1", "--json", "--id", "k"]);
    exits(&report, 42);
    let report: serde_json::Value = serde_json::from_str(&out(&report)).expect("it is JSON");
    assert_eq!((&report["run"], &report["status"], &report["exit_code"]), (&"k".into(), &"failed".into(), &42.into()));
    let refused = place.run(&["run", "inline.yaml", "-i", "count=many"]);
    exits(&refused, 1);
    assert!(err(&refused).contains("was not started"), "{}", err(&refused));
}

#[test]
fn inputs_come_from_files_and_from_stdin() {
    let workflow = "name: echo\ninputs: [{name: a}, {name: b}]\nstates:\n  initial: done\n  done: {type: terminal, message: \"{{inputs.a}} {{inputs.b}}\"}\n";
    let place = Place::new(&[
        ("echo.yaml", workflow),
        ("in.json", r#"{"a": "one"}"#),
        ("both.json", r#"{"a": "one", "b": "two"}"#),
        ("list.json", "[1]"),
    ]);
    let read = place.run(&["run", "echo.yaml", "--input", "@in.json", "-i", "b=two"]);
    exits(&read, 0);
    assert_eq!(out(&read), "one two\n");
    exits(&place.run(&["run", "echo.yaml", "--input", "@list.json"]), 1);
    exits(&place.run(&["run", "echo.yaml", "--input", "@in.json", "-i", "a=again"]), 1);
    let mut piped = place.command(&["run", "echo.yaml", "--input", "-"]);
    piped.stdin(fs::File::open(place.path().join("both.json")).expect("it is there"));
    let piped = piped.output().expect("it starts");
    exits(&piped, 0);
    assert_eq!(out(&piped), "one two\n");
}

#[test]
fn secrets_are_used_in_calls_and_never_shown() {
    let workflow = r#"
name: secretive
inputs: [{name: TOKEN_in, required: true}]
states:
  initial: show
  show: {command: "echo {{inputs.TOKEN_in}} {{secret.FROM_FILE}} {{secret.FROM_BOTH}}", on_success: done, on_failure: bad}
  done: {type: terminal, message: "fine"}
  bad: {type: terminal, status: failure}
"#;
    let settings = "[secrets]\nfile = \"secrets.env\"\n";
    let secrets = "# comment\nFROM_FILE=canary-file\nFROM_BOTH=canary-lost\n";
    let place = Place::new(&[("secretive.yaml", workflow), ("branchpoint.toml", settings), ("secrets.env", secrets)]);
    let mut command = place.command(&["run", "secretive.yaml", "-i", "TOKEN_in=canary-input", "--id", "k"]);
    let output = command.env("FROM_BOTH", "canary-env").output().expect("it starts");
    exits(&output, 0);
    assert!(err(&output).contains("*** *** ***"), "{}", err(&output));
    assert!(!err(&output).contains("canary"), "{}", err(&output));
    let stored = String::from_utf8_lossy(&place.bytes()).into_owned();
    assert!(!stored.contains("canary-input"), "a secret input is sealed");
    let again = place.run(&["run", "secretive.yaml", "--id", "k", "--json"]);
    assert!(!err(&again).contains("canary"), "{}", err(&again));
}

#[test]
fn a_store_that_cannot_be_used_is_exit_4() {
    let place =
        Place::new(&[("count.yaml", COUNT), ("text.db", "this is no database, and long enough to be read as one")]);
    let output = place.run(&["run", "count.yaml", "--store", "text.db"]);
    exits(&output, 4);
    assert!(err(&output).contains("text.db"), "{}", err(&output));
    assert_eq!(place.read("counted"), "");
}

#[test]
fn a_document_that_cannot_run_is_reported_with_the_kinds_that_can() {
    let place = Place::new(&[("count.yaml", COUNT)]);
    let session = super::root().join("examples/session/guard.json");
    let session = place.run(&["run", &session.display().to_string()]);
    exits(&session, 1);
    assert!(err(&session).contains("branchpoint session"), "{}", err(&session));
    exits(&place.run(&["run", "missing.yaml"]), 1);
    exits(&place.run(&["run"]), 1);
    exits(&place.run(&["runn"]), 1);
}

#[test]
fn a_second_start_that_differs_is_an_error_that_shows_the_difference() {
    let greet = "name: greet\ninputs: [{name: who}, {name: TOKEN_x, default: none}]\nstates:\n  initial: end\n  end: {type: terminal, message: \"hello {{inputs.who}}\"}\n";
    let place = Place::new(&[("greet.yaml", greet), ("count.yaml", COUNT)]);
    let secret = "TOKEN_x=very-secret-word";
    exits(&place.run(&["run", "greet.yaml", "--id", "d1", "-i", "who=ada", "-i", secret]), 0);
    let again = place.run(&["run", "greet.yaml", "--id", "d1", "-i", "who=ada", "-i", secret]);
    exits(&again, 0);
    assert_eq!(out(&again), "hello ada\n");
    let other = place.run(&["run", "greet.yaml", "--id", "d1", "-i", "who=bob", "-i", "TOKEN_x=another-secret-word"]);
    exits(&other, 1);
    let report = err(&other);
    assert!(report.contains("run `d1` already exists"), "{report}");
    assert!(report.contains("input.who: the run has ada, this start has bob"), "{report}");
    assert!(report.contains("input.TOKEN_x") && !report.contains("secret-word"), "{report}");
    assert_eq!(out(&other), "");
    let other = place.run(&["run", "count.yaml", "--id", "d1"]);
    exits(&other, 1);
    assert!(err(&other).contains("workflow: the run has `greet` from"), "{}", err(&other));
    assert_eq!(place.read("counted"), "", "nothing was run");
    let listed = place.run(&["workflows", "list"]);
    assert!(!out(&listed).contains("count"), "the refused workflow is not stored: {}", out(&listed));
}

#[test]
fn the_limit_of_open_files_is_raised() {
    let document = COUNT.replace("echo once >> counted", "ulimit -Sn > files");
    let place = Place::new(&[("files.yaml", &document)]);
    let wanted = place.command(&["run", "files.yaml"]);
    // It may be that even fewer are allowed here.
    let few = "ulimit -Sn 200; (ulimit -Hn 1500) && ulimit -Hn 1500; ulimit -Hn > allowed; exec \"$0\" \"$@\"";
    let mut limited = Command::new("sh");
    limited.args(["-c", few]).arg(wanted.get_program()).args(wanted.get_args()).current_dir(place.path());
    limited.envs(wanted.get_envs().filter_map(|(name, value)| Some((name, value?))));
    exits(&limited.output().expect("it starts"), 0);
    assert_eq!(place.read("files"), place.read("allowed"));
    assert_ne!(place.read("files").trim(), "200");
}

#[test]
fn the_exit_status_does_not_depend_on_the_process_that_completes_the_run() {
    let fails = "on_failure: {message: no luck, status: 7}";
    let document = COUNT.replace("echo once >> counted", "exit 1").replace("on_failure: bad", fails);
    let place = Place::new(&[("fails.yaml", &document)]);
    let output = place.run(&["run", "fails.yaml"]);
    exits(&output, 7);
    exits(&place.run(&["run", "fails.yaml", "--detach", "--id", "later"]), 0);
    let resumed = place.run(&["runs", "resume", "later"]);
    exits(&resumed, 7);
    let report = err(&output).lines().find(|line| line.starts_with("error")).expect("why").to_owned();
    assert!(err(&resumed).contains(&report), "{report}\n{}", err(&resumed));
}
