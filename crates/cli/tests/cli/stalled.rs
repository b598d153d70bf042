//! If the output is not read, runs and signals are not delayed.

use std::process::Child;
use std::time::{Duration, Instant};

use super::running::{Place, signal};

/// A command that prints far more than a pipe holds, and then does something else.
fn machine(then: &str) -> String {
    format!(
        "name: loud\nstates:\n  initial: print\n  print: {{type: command, command: \"seq 300000; echo yes > printed; {then}\", on_success: done}}\n  done: {{type: terminal}}\n"
    )
}

/// Waits for the end of a process, without reading anything of it. The limit only keeps a failure from hanging.
fn exit_code(mut child: Child) -> Option<i32> {
    let until = Instant::now() + Duration::from_mins(1);
    while Instant::now() < until {
        if let Some(status) = child.try_wait().expect("it is a child") {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("it is a child");
    panic!("the process still runs");
}

#[test]
fn a_run_ends_although_its_messages_are_not_read() {
    let place = Place::new(&[("loud.yaml", &machine("true"))]);
    let child = place.spawn(&["run", "loud.yaml"]);
    assert_eq!(exit_code(child), Some(0));
}

#[test]
fn a_run_is_interrupted_although_its_messages_are_not_read() {
    for name in ["TERM", "INT"] {
        let place = Place::new(&[("loud.yaml", &machine("sleep 1000"))]);
        let child = place.spawn(&["run", "loud.yaml"]);
        place.await_text("printed", "yes");
        assert!(signal(name, &child.id().to_string()));
        assert_eq!(exit_code(child), Some(130), "{name}");
    }
}
