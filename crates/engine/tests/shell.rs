//! Commands run for real: what they print, how they end, and that nothing of them is left behind.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use branchpoint_engine::{Answer, KEPT_BYTES, Listener, Shell, Stop, Stream};

fn shell(command: &str) -> Shell {
    Shell {
        command: command.into(),
        dir: std::env::temp_dir(),
        env: Vec::new(),
        limit: None,
        shell: Some(PathBuf::from("/bin/sh")),
    }
}

fn nobody() -> Listener {
    Arc::new(|_, _| {})
}

/// Exit code, output and complaints.
fn run(shell: &Shell) -> (i32, String, String) {
    match shell.run(&Stop::default(), &nobody()) {
        Answer::Process { exit, stdout, stderr } => (exit, stdout.to_string(), stderr.to_string()),
        other => panic!("it ended otherwise: {other:?}"),
    }
}

#[test]
fn a_command_gives_its_code_and_both_streams() {
    assert_eq!(run(&shell("printf out; printf err >&2; exit 3")), (3, "out".into(), "err".into()));
    assert_eq!(run(&shell("kill -9 $$")).0, 137);
}

#[test]
fn the_environment_has_what_is_given_and_keeps_what_decides_what_runs() {
    let env = [("WHO", "bob"), ("PATH", "/nowhere"), ("LD_PRELOAD", "x.so"), ("IFS", "x"), ("A=B", "c")];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let (exit, out, _) =
        run(&Shell { env, ..shell("printf '%s %s' \"$WHO\" \"${LD_PRELOAD:-none}\"; command -v ls > /dev/null") });
    assert_eq!((exit, &*out), (0, "bob none"));
}

#[test]
fn a_limit_ends_the_whole_group_and_keeps_what_was_printed() {
    let file = std::env::temp_dir().join(format!("branchpoint-shell-{}", std::process::id()));
    let command = format!("printf part; (sleep 0.4; touch {}) & wait", file.display());
    let began = Instant::now();
    let limited = Shell { limit: Some(Duration::from_millis(100)), ..shell(&command) };
    let answer = limited.run(&Stop::default(), &nobody());
    assert!(matches!(&answer, Answer::TimedOut { stdout, .. } if &**stdout == "part"), "{answer:?}");
    assert!(began.elapsed() < Duration::from_millis(390), "it waited for what it should have ended");
    thread::sleep(Duration::from_millis(500));
    assert!(!file.exists(), "something of the group went on");
}

#[test]
fn a_word_stops_a_command() {
    let stop = Stop::default();
    let inside = stop.inside(None);
    let told = thread::spawn(move || shell("sleep 5").run(&inside, &nobody()));
    thread::sleep(Duration::from_millis(30));
    stop.set();
    assert_eq!(told.join().expect("it ends"), Answer::Never);
}

#[test]
fn output_is_told_while_the_command_runs() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&heard);
    let began = Instant::now();
    let listener: Listener =
        Arc::new(move |stream, text| list.lock().expect("no panic").push((stream, text.to_owned(), began.elapsed())));
    shell("printf first; sleep 0.2; printf second >&2").run(&Stop::default(), &listener);
    let heard = heard.lock().expect("no panic");
    assert_eq!((heard[0].0, &*heard[0].1), (Stream::Out, "first"));
    assert!(heard[0].2 < Duration::from_millis(190), "it was told only at the end");
    assert_eq!((heard[1].0, &*heard[1].1), (Stream::Err, "second"));
}

#[test]
fn what_is_too_long_is_cut_and_that_is_told() {
    let (exit, out, _) = run(&shell(&format!("head -c {} /dev/zero | tr '\\0' x", KEPT_BYTES + 10)));
    assert_eq!(exit, 0);
    assert!(out.ends_with("[output cut after 4 MiB]\n"));
    assert_eq!(out.trim_end_matches("\n[output cut after 4 MiB]\n").len(), KEPT_BYTES);
}

#[test]
fn something_left_in_the_background_is_not_waited_for() {
    let began = Instant::now();
    assert_eq!(run(&shell("sleep 3 & printf started")).1, "started");
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_directory_that_is_not_there_is_a_failure() {
    let answer = Shell { dir: "/nowhere/at/all".into(), ..shell("true") }.run(&Stop::default(), &nobody());
    assert!(matches!(&answer, Answer::Failed(failed) if failed.message.contains("/nowhere/at/all")), "{answer:?}");
}
