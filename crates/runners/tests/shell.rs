//! Real commands: their output, how they end, and that none of their processes remains.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use branchpoint_core::effect::{ProcessResult, Stream};
use branchpoint_runners::{Answer, CancellationToken, Listener, MAX_OUTPUT, Secrets, Shell, runtime};

fn shell(command: &str) -> Shell {
    Shell {
        command: command.into(),
        dir: std::env::temp_dir(),
        inherited: None,
        env: Vec::new(),
        limit: None,
        max_output: MAX_OUTPUT,
        limited: vec![Stream::Out, Stream::Err],
        secrets: Secrets::default(),
        shell: Some(PathBuf::from("/bin/sh")),
    }
}

fn no_listener() -> Listener {
    Arc::new(|_, _| {})
}

/// Longer than any of these tests takes on any machine.
const LONG: Duration = Duration::from_mins(1);

/// Increasing time limits, because machines differ in speed: tests repeat until one is long enough.
const LIMITS: [Duration; 4] =
    [Duration::from_millis(500), Duration::from_secs(3), Duration::from_secs(15), Duration::from_mins(1)];

/// A listener, and a channel that is disconnected when all users of the listener have ended.
fn watched() -> (Listener, Receiver<()>) {
    let (sender, gone) = channel::<()>();
    let sender = Mutex::new(sender);
    (
        Arc::new(move |_, _| {
            let _ = &sender;
        }),
        gone,
    )
}

/// Exit code, output and error output.
fn run(shell: &Shell) -> (i32, String, String) {
    match runtime().block_on(shell.run(&CancellationToken::new(), &no_listener())) {
        Answer::Process(ProcessResult { exit_code: Some(exit), stdout, stderr, .. }) => {
            (exit, stdout.to_string(), stderr.to_string())
        }
        other => panic!("it ended otherwise: {other:?}"),
    }
}

#[test]
fn a_command_returns_its_exit_code_and_both_streams() {
    assert_eq!(run(&shell("printf out; printf err >&2; exit 3")), (3, "out".into(), "err".into()));
    assert_eq!(run(&shell("kill -9 $$")).0, 137);
}

#[test]
fn the_environment_has_the_given_variables() {
    let env = vec![("WHO".to_owned(), "bob".to_owned())];
    let (exit, out, _) = run(&Shell { env, ..shell("printf %s \"$WHO\"") });
    assert_eq!((exit, &*out), (0, "bob"));
}

/// Runs a command that must fail. Returns the kind and the message.
#[track_caller]
fn failure(shell: &Shell) -> (String, String) {
    let answer = runtime().block_on(shell.run(&CancellationToken::new(), &no_listener()));
    let Answer::Failed(failed) = answer else { panic!("{answer:?}") };
    (failed.kind.to_string(), failed.message.to_string())
}

#[test]
fn a_forbidden_variable_fails_the_command() {
    for name in ["PATH", "LD_PRELOAD", "IFS", "A=B", "", "a\0b"] {
        let env = vec![("WHO".to_owned(), "bob".to_owned()), (name.to_owned(), "x".to_owned())];
        let (kind, message) = failure(&Shell { env, ..shell("true") });
        assert!(kind == "bad_env_name" && message.contains(&format!("`{name}`")), "{kind}: {message}");
    }
}

#[test]
fn a_time_limit_ends_the_process_group_and_keeps_the_output() {
    // The file shows that the command has begun, whether or not its output until then is kept.
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let begun = folder.path().join("begun");
    let command = format!("sleep 1000 & printf part; : > {}; wait", begun.display());
    for limit in LIMITS {
        let (listener, gone) = watched();
        let answer = runtime()
            .block_on(Shell { limit: Some(limit), ..shell(&command) }.run(&CancellationToken::new(), &listener));
        let Answer::Process(ProcessResult { exit_code: None, stdout, .. }) = &answer else {
            panic!("its limit has not ended it: {answer:?}")
        };
        drop(listener);
        assert_eq!(gone.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected), "a process of the group still runs");
        if begun.exists() {
            assert_eq!(&**stdout, "part");
            return;
        }
    }
    panic!("it never began")
}

#[test]
fn cancellation_stops_a_command() {
    let (stop, (sender, receiver)) = (CancellationToken::new(), channel());
    let inside = stop.child_token();
    let answer = thread::spawn(move || {
        let listener: Listener = Arc::new(move |_, text| drop(sender.send(text.to_owned())));
        runtime().block_on(shell("echo begun; sleep 100").run(&inside, &listener))
    });
    receiver.recv_timeout(LONG).expect("it has begun");
    stop.cancel();
    assert_eq!(answer.join().expect("it ends"), Answer::Missing);
}

/// The command ends only after the listener has received its first output.
#[test]
fn output_is_delivered_while_the_command_runs() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let (file, received) = (folder.path().join("go"), Arc::new(Mutex::new(Vec::new())));
    let (go, list) = (file.clone(), Arc::clone(&received));
    let listener: Listener = Arc::new(move |stream, text| {
        list.lock().expect("no panic").push((stream, text.to_owned()));
        std::fs::write(&go, "").expect("there is room for a file");
    });
    let command = format!("printf first; until [ -e {} ]; do sleep 0.01; done; printf second >&2", file.display());
    let limited = Shell { limit: Some(LONG), ..shell(&command) };
    let answer = runtime().block_on(limited.run(&CancellationToken::new(), &listener));
    assert!(
        matches!(answer, Answer::Process(ProcessResult { exit_code: Some(0), .. })),
        "it was delivered only at the end: {answer:?}"
    );
    let expected = [(Stream::Out, "first".to_owned()), (Stream::Err, "second".to_owned())];
    assert_eq!(*received.lock().expect("no panic"), expected);
}

/// The listener is blocked until long after the command has ended.
#[test]
fn no_output_is_lost_with_a_slow_listener() {
    let received = Arc::new(Mutex::new(String::new()));
    let list = Arc::clone(&received);
    let listener: Listener = Arc::new(move |_, text| {
        if list.lock().expect("no panic").is_empty() {
            thread::sleep(Duration::from_secs(1));
        }
        list.lock().expect("no panic").push_str(text);
    });
    let answer = runtime().block_on(
        shell("printf first; head -c 30000 /dev/zero | tr '\\0' x").run(&CancellationToken::new(), &listener),
    );
    let expected = format!("first{}", "x".repeat(30_000));
    assert!(
        matches!(&answer, Answer::Process(ProcessResult { stdout, .. }) if **stdout == *expected),
        "some output was not kept"
    );
    assert!(*received.lock().expect("no panic") == expected, "some output was not delivered");
}

/// The kept output does not depend on the listener, and the time limit holds.
#[test]
fn a_listener_that_never_returns_blocks_the_call_no_longer_than_the_limit() {
    for limit in LIMITS {
        let (release, held) = channel::<()>();
        let held = Mutex::new(held);
        let listener: Listener = Arc::new(move |_, _| drop(held.lock().map(|held| held.recv())));
        let limited = Shell { limit: Some(limit), ..shell("printf first; sleep 0.1; printf second") };
        let answer = runtime().block_on(limited.run(&CancellationToken::new(), &listener));
        drop(release);
        if !matches!(answer, Answer::Process(ProcessResult { exit_code: None, .. })) {
            assert!(
                matches!(&answer, Answer::Process(ProcessResult { stdout, .. }) if &**stdout == "firstsecond"),
                "{answer:?}"
            );
            return;
        }
    }
    panic!("the command never ended before its limit")
}

#[test]
fn output_above_the_limit_is_truncated_between_characters_and_its_stream_is_reported() {
    for (command, max_output, expect, stream) in [
        ("printf abcde", 5, "abcde", None),
        ("printf abcdef", 5, "abcde", Some(Stream::Out)),
        ("printf 'ab\\303\\251'", 3, "ab", Some(Stream::Out)),
        ("printf abc; printf abcdef >&2", 5, "abc", Some(Stream::Err)),
        ("head -c 300000 /dev/zero | tr '\\0' x; printf y", 1, "x", Some(Stream::Out)),
    ] {
        let answer =
            runtime().block_on(Shell { max_output, ..shell(command) }.run(&CancellationToken::new(), &no_listener()));
        let Answer::Process(ProcessResult { stdout, cut, .. }) = answer else { panic!("{command}: {answer:?}") };
        assert_eq!((&*stdout, cut), (expect, stream), "{command}");
    }
}

#[test]
fn a_command_that_exceeds_the_output_limit_is_stopped_with_its_group() {
    for command in ["yes", "yes >&2", "(trap '' TERM; yes) | cat; sleep 1000"] {
        let (listener, gone) = watched();
        let answer =
            runtime().block_on(Shell { max_output: 1000, ..shell(command) }.run(&CancellationToken::new(), &listener));
        assert!(
            matches!(answer, Answer::Process(ProcessResult { exit_code: Some(137), cut: Some(_), .. })),
            "{command}: {answer:?}"
        );
        drop(listener);
        assert_eq!(gone.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected), "a process of {command} still runs");
    }
}

#[test]
fn a_command_with_truncated_output_runs_to_its_end() {
    let command = "head -c 3000000 /dev/zero | tr '\\0' x; exit 3";
    let cut = Shell { max_output: 4, limited: Vec::new(), ..shell(command) };
    let answer = runtime().block_on(cut.run(&CancellationToken::new(), &no_listener()));
    let expect = Answer::Process(ProcessResult {
        exit_code: Some(3),
        stdout: "xxxx".into(),
        stderr: "".into(),
        cut: Some(Stream::Out),
    });
    assert_eq!(answer, expect);
}

#[test]
fn background_processes_are_not_awaited_whether_silent_or_not() {
    for left in ["sleep 1000", "yes"] {
        let (listener, gone) = watched();
        // The command ends at once; the test ends its background process.
        let command = format!("printf 'started\\n'; {left} & echo $! >&2");
        let Answer::Process(ProcessResult { exit_code: Some(exit), stdout, stderr, .. }) = runtime()
            .block_on(Shell { limited: Vec::new(), ..shell(&command) }.run(&CancellationToken::new(), &listener))
        else {
            panic!("it has ended")
        };
        assert_eq!((exit, stdout.lines().next()), (0, Some("started")), "{left}");
        drop(listener);
        assert_eq!(gone.try_recv(), Err(TryRecvError::Empty), "{left} was waited for");
        assert_eq!(run(&shell(&format!("kill {}", stderr.trim()))).0, 0);
        assert_eq!(gone.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected), "{left}");
    }
}

#[test]
fn an_invalid_working_directory_is_reported_instead_of_the_shell() {
    for dir in ["/nowhere/at/all", "/dev/null"] {
        let (kind, message) = failure(&Shell { dir: dir.into(), ..shell("true") });
        assert!(kind == "bad_working_dir" && message.contains(dir) && !message.contains("/bin/sh"), "{message}");
    }
    let long = format!("/{}", "d/".repeat(200_000));
    let (kind, message) = failure(&Shell { dir: long.into(), ..shell("true") });
    assert!(kind == "bad_working_dir" && message.len() < 500 && message.contains("400001 characters"), "{message}");
}

#[test]
fn a_program_that_cannot_be_started_is_reported() {
    let (kind, message) = failure(&Shell { shell: Some("/nowhere/shell".into()), ..shell("true") });
    assert!(kind == "start_failed" && message.contains("/nowhere/shell"), "{message}");
    let (kind, message) = failure(&shell(&"x".repeat(4_000_000)));
    assert!(kind == "start_failed" && message.len() < 500, "{message}");
}

#[test]
fn truncated_output_never_ends_in_the_middle_of_a_secret() {
    let secret = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0";
    let secrets = Secrets::from_values([secret.to_owned()]);
    for before in 0..60 {
        let command = format!("printf '%0{}d%s' 0 {secret}; printf '%0{}d%s' 0 {secret} >&2", before + 1, before + 1);
        let cut = Shell { max_output: 60, secrets: secrets.clone(), ..shell(&command) };
        let Answer::Process(ProcessResult { stdout, stderr, .. }) =
            runtime().block_on(cut.run(&CancellationToken::new(), &no_listener()))
        else {
            panic!("the command ends")
        };
        for text in [stdout, stderr] {
            let is_whole = text.contains(secret);
            assert!(is_whole || !text.contains(&secret[..3]), "{before}: {text}");
        }
    }
}

#[test]
fn output_of_a_command_that_timed_out_never_ends_in_the_middle_of_a_secret() {
    let secrets = Secrets::from_values(["eyJhbGciOiJIUzI1NiJ9".to_owned()]);
    let command = "printf 'x eyJhbGciOi'; sleep 100";
    let slow = Shell { limit: Some(Duration::from_millis(300)), secrets, ..shell(command) };
    let answer = runtime().block_on(slow.run(&CancellationToken::new(), &no_listener()));
    assert_eq!(
        answer,
        Answer::Process(ProcessResult { exit_code: None, stdout: "x ***".into(), stderr: "".into(), cut: None })
    );
}
