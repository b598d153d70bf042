//! Secrets in values that are shortened: whole values are redacted first, so no part of a secret is shown, wherever the cut falls.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;

use nix::pty::openpty;

use super::running::{Place, err, exits, out, signal};

/// Longer than every cut of a single value but that of errors, and shorter than all of them.
const LONG: &str =
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwiYWRtaW4iOnRydWV9.dozjgNryP4J3jVmNHl0w5NXgL0n3I9PlFUP0THsR8U";
const SHORT: &str = "Hq7zT2wK9b";

/// Beyond the longest cut of a value.
const OFFSETS: usize = 108;

/// Beyond the cut of a value in an explanation.
const DECISIONS: usize = 64;

/// Steps that put the secret behind 0 to 107 letters, into outputs and conditions, and ask people with it.
fn workflow() -> String {
    let mut text = "name: cut\nsteps:\n".to_owned();
    for at in 0..OFFSETS {
        let filler = "x".repeat(at);
        let _ = writeln!(text, "  - {{id: t{at}, step_type: text, template: '{filler}{{{{metadata.SECRET_K}}}}'}}");
        if at < DECISIONS {
            let _ = writeln!(
                text,
                "  - {{id: i{at}, step_type: if_else, input_template: '{filler}{{{{metadata.SECRET_K}}}}', \
                 conditions: [{{target: input, operator: $eq, value: never}}], \
                 then_steps: [{{id: a{at}, step_type: text, template: a}}], else_steps: [{{id: b{at}, step_type: text, template: b}}]}}"
            );
        }
    }
    text + "  - {id: ask, step_type: human_in_the_loop, prompt_template: 'Use {{metadata.SECRET_K}}?'}\n"
}

/// Commands that print the secret, fail with it, and give it as the result.
const MACHINE: &str = r#"
name: printed
inputs: [{name: SECRET_K, type: string, required: true}]
states:
  initial: one
  one: {type: command, command: "printf %s '{{.inputs.SECRET_K}}'; echo 'a {{.inputs.SECRET_K}}' >&2", on_success: two, on_failure: bad}
  two:
    type: command
    command: "echo 'FILLER {{.inputs.SECRET_K}}' >&2; exit 3"
    continue_on_error: true
    transitions:
      - {when: "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' + inputs.SECRET_K == 'never'", goto: bad}
      - {goto: cut}
  cut:
    type: command
    command: "printf '%0950d' 0; printf %s \"$SECRET_K\"; printf '%0950d' 0 >&2; printf %s \"$SECRET_K\" >&2; exit 4"
    max_output: 1000
    truncate: true
    continue_on_error: true
    on_success: done
    on_failure: done
  bad: {type: terminal, status: failure}
  done: {type: terminal, message: "gave {{.inputs.SECRET_K}}"}
"#;

/// No five letters of a secret are next to each other.
#[track_caller]
fn is_clean(what: &str, text: &str, secret: &str) {
    for start in 0..=secret.len() - 5 {
        let part = &secret[start..start + 5];
        let around = text.find(part).map(|at| text[..at].lines().next_back().unwrap_or_default().to_owned());
        assert!(around.is_none(), "{what} shows {part:?} after {around:?}");
    }
}

#[track_caller]
fn everything_is_clean(folder: &Path, secret: &str) {
    for entry in fs::read_dir(folder).expect("it is there").flatten().map(|entry| entry.path()) {
        if entry.is_dir() {
            everything_is_clean(&entry, secret);
        } else {
            let bytes = fs::read(&entry).expect("it can be read");
            is_clean(&entry.display().to_string(), &String::from_utf8_lossy(&bytes), secret);
        }
    }
}

#[track_caller]
fn check(secret: &str) {
    let settings = "[notify]\ncommand = \"cat >> report\"\n";
    let machine = MACHINE.replace("FILLER", &"x".repeat(370));
    let place = Place::new(&[("cut.yaml", &workflow()), ("printed.yaml", &machine), ("branchpoint.toml", settings)]);
    let seen = |arguments: &[&str], code: i32| {
        let output = place.run(arguments);
        exits(&output, code);
        is_clean(&arguments.join(" "), &(out(&output) + &err(&output)), secret);
    };
    let (input, metadata) = (format!("SECRET_K={secret}"), format!("metadata.SECRET_K={secret}"));
    seen(&["run", "cut.yaml", "-i", &metadata, "--id", "c"], 5);
    seen(&["run", "cut.yaml", "-i", &metadata, "--dry-run"], 5);
    seen(&["approvals", "list"], 0);
    seen(&["approvals", "show", "c"], 0);
    seen(&["approvals", "show", "c", "--json"], 0);
    seen(&["approvals", "approve", "c", "--comment", secret], 0);
    seen(&["run", "cut.yaml", "-i", &metadata, "--id", "c", "--json", "--record", "tape.yaml"], 0);
    for json in [None, Some("--json")] {
        let read = |arguments: &[&str]| seen(&[arguments, json.as_slice()].concat(), 0);
        read(&["runs", "list"]);
        read(&["runs", "show", "c"]);
        read(&["runs", "trace", "c"]);
        for step in ["i0", "i1", "i30", "i57", "i58", "i59", "i60", "i61", "t99", "ask"] {
            read(&["runs", "explain", "c", step]);
        }
    }
    seen(&["runs", "export", "c"], 0);
    seen(&["run", "printed.yaml", "-i", &input, "--id", "p", "--record", "printed.tape.yaml"], 0);
    seen(&["runs", "trace", "p"], 0);
    seen(&["runs", "explain", "p", "two"], 0);
    seen(&["run", "printed.yaml", "-i", &input, "--id", "d", "--detach"], 0);
    let worker = place.spawn(&["work", "--metrics", "counted.prom"]);
    seen(&["run", "printed.yaml", "-i", &input, "--id", "d"], 0);
    assert!(signal("TERM", &worker.id().to_string()));
    let worked = worker.wait_with_output().expect("it ends");
    is_clean("work", &(out(&worked) + &err(&worked)), secret);
    // Nothing but the command line itself has the secret: neither the store nor recordings, counters and notices.
    assert!(place.read("report").contains("Use ***?") && place.read("tape.yaml").contains("***"));
    everything_is_clean(place.path(), secret);
}

#[test]
fn no_part_of_a_long_secret_is_shown_or_stored_wherever_it_is_cut() {
    check(LONG);
}

#[test]
fn no_part_of_a_short_secret_is_shown_or_stored_wherever_it_is_cut() {
    check(SHORT);
}

#[test]
fn the_live_view_on_a_terminal_shows_no_part_of_a_secret() {
    let place = Place::new(&[("cut.yaml", &workflow())]);
    for secret in [LONG, SHORT] {
        let terminal = openpty(None, None).expect("there is a terminal");
        let input = format!("metadata.SECRET_K={secret}");
        let mut command = place.command(&["run", "cut.yaml", "-i", &input]);
        let side = || Stdio::from(terminal.slave.try_clone().expect("it can be opened again"));
        let mut child = command.stdout(side()).stderr(side()).env("TERM", "xterm").spawn().expect("it starts");
        drop(command);
        drop(terminal.slave);
        let mut shown = Vec::new();
        // The last reader of a terminal gets its end as an error.
        let _ = File::from(terminal.master).read_to_end(&mut shown);
        assert_eq!(child.wait().expect("it ends").code(), Some(5));
        let shown = String::from_utf8_lossy(&shown).into_owned();
        assert!(shown.contains("xxx***") && shown.contains("t107"), "{shown}");
        is_clean("the live view", &shown, secret);
    }
}
