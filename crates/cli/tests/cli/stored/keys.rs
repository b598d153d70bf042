//! The key of sealed secrets, and the rights of the store's files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;

use crate::running::{Place, err, exits, out, signal};

const ASK: &str = r#"
name: ask
steps:
  - {id: show, step_type: text, template: "{{metadata.api_key}}"}
  - {id: ask, step_type: human_in_the_loop, prompt_template: "Use {{metadata.api_key}}?"}
"#;

const NOTE: &str = r#"
name: note
states:
  initial: write
  write: {command: "echo noted >> noted", on_success: done, on_failure: bad}
  done: {type: terminal, message: "noted"}
  bad: {type: terminal, status: failure}
"#;

fn place() -> Place {
    let place = Place::new(&[("ask.yaml", ASK), ("note.yaml", NOTE)]);
    for id in ["sealed", "other"] {
        exits(&place.run(&["run", "ask.yaml", "-i", "metadata.api_key=canary-7f3a", "--id", id]), 5);
    }
    exits(&place.run(&["run", "ask.yaml", "-i", "metadata.x=open", "--id", "plain"]), 5);
    place
}

/// Everything that must go on when the key of sealed runs cannot be used.
#[track_caller]
fn only_sealed_runs_are_concerned(place: &Place, why: &str) {
    let reads: [&[&str]; 5] = [
        &["runs", "list"],
        &["runs", "list", "--json"],
        &["runs", "show", "sealed"],
        &["runs", "show", "sealed", "--json"],
        &["approvals", "list"],
    ];
    for command in reads {
        let read = place.run(command);
        exits(&read, 0);
        assert!(out(&read).contains("sealed") && !out(&read).contains("canary"), "{command:?}: {}", out(&read));
    }
    let shown = out(&place.run(&["runs", "show", "sealed"]));
    assert!(shown.contains(why) && shown.contains("***"), "{shown}");
    for command in [["store", "check"], ["doctor", "--json"]] {
        let checked = place.run(&command);
        exits(&checked, 4);
        assert!((out(&checked) + &err(&checked)).contains(why), "{}{}", out(&checked), err(&checked));
    }
    // A worker drives the others.
    exits(&place.run(&["run", "note.yaml", "--detach", "--id", "note"]), 0);
    let worker = place.spawn(&["work"]);
    place.await_text("noted", "noted");
    exits(&place.run(&["run", "note.yaml", "--id", "note"]), 0);
    exits(&place.run(&["approvals", "approve", "plain"]), 0);
    assert!(signal("TERM", &worker.id().to_string()));
    exits(&worker.wait_with_output().expect("it ends"), 0);
    // New secrets are not sealed with anything else, and a vote is not lost.
    let refused = place.run(&["run", "ask.yaml", "-i", "metadata.api_key=canary-9b1c", "--id", "new"]);
    assert!(!refused.status.success() && err(&refused).contains(why), "{}", err(&refused));
    let refused = place.run(&["approvals", "approve", "sealed"]);
    assert!(!refused.status.success() && err(&refused).contains(why), "{}", err(&refused));
    // Such a run can be ended and forgotten.
    let cancelled = place.run(&["runs", "cancel", "sealed", "--reason", "the key is gone"]);
    exits(&cancelled, 0);
    assert!(err(&cancelled).contains("is cancelled"), "{}", err(&cancelled));
    let listed = out(&place.run(&["runs", "list", "--status", "cancelled"]));
    assert!(listed.contains("sealed"), "{listed}");
    exits(&place.run(&["prune", "--older-than", "0s", "--status", "cancelled"]), 0);
    assert!(!out(&place.run(&["runs", "list", "--all"])).contains("sealed"));
}

#[test]
fn a_missing_key_affects_only_runs_with_encrypted_secrets() {
    let place = place();
    let key = place.path().join("store").join("store.db-key");
    let right = fs::read(&key).expect("there is a key");
    fs::remove_file(&key).expect("it is there");
    only_sealed_runs_are_concerned(&place, "is missing");
    // With the key the other run goes on as if nothing had been.
    fs::write(&key, right).expect("there is room");
    exits(&place.run(&["approvals", "approve", "other"]), 0);
    exits(&place.run(&["store", "check"]), 0);
}

#[test]
fn an_empty_key_affects_only_runs_with_encrypted_secrets() {
    let place = place();
    fs::write(place.path().join("store").join("store.db-key"), "").expect("there is room");
    only_sealed_runs_are_concerned(&place, "is damaged: it has 0 bytes");
}

#[test]
fn a_key_of_another_store_affects_only_runs_with_encrypted_secrets() {
    let place = place();
    fs::write(place.path().join("store").join("store.db-key"), [1; 32]).expect("there is room");
    only_sealed_runs_are_concerned(&place, "is not the key of this store");
}

#[test]
fn a_secret_that_cannot_be_encrypted_fails_its_step_and_is_not_stored() {
    let place = place();
    fs::remove_file(place.path().join("store").join("store.db-key")).expect("there is a key");
    let prints = NOTE.replace("echo noted >> noted", "echo $CANARY_API_KEY | base64; echo $CANARY_API_KEY");
    fs::write(place.path().join("print.yaml"), prints.replace("message: \"noted\"", "message: \"never\""))
        .expect("room");
    let mut command = place.command(&["run", "print.yaml", "--id", "p"]);
    let ran = command.env("CANARY_API_KEY", "canary-of-the-environment").output().expect("it runs");
    exits(&ran, 3);
    let trace = out(&place.run(&["runs", "trace", "p", "--json"]));
    assert!(trace.contains("key_unavailable") && trace.contains("is missing"), "{trace}");
    for entry in fs::read_dir(place.path().join("store")).expect("it is there").flatten() {
        let bytes = fs::read(entry.path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            !text.contains("canary-of-the") && !text.contains("Y2FuYXJ5LW9m"),
            "{} holds it",
            entry.path().display()
        );
    }
}

#[test]
fn damaged_events_and_programs_are_found_and_their_runs_can_be_cancelled() {
    let place = place();
    exits(&place.run(&["store", "check"]), 0);
    let db = Connection::open(place.store()).expect("it opens");
    let damage = "UPDATE events SET bytes = x'00' WHERE seq = 1 AND run = (SELECT run FROM runs WHERE id = 'plain')";
    assert_eq!(db.execute(damage, []).expect("it is written"), 1);
    drop(db);
    let checked = place.run(&["store", "check"]);
    exits(&checked, 4);
    assert!(err(&checked).contains("run `plain`: event 1 is damaged"), "{}", err(&checked));
    exits(&place.run(&["runs", "show", "plain"]), 0);
    exits(&place.run(&["runs", "cancel", "plain"]), 0);
    let db = Connection::open(place.store()).expect("it opens");
    db.execute("UPDATE programs SET bytes = x'4250'", []).expect("it is written");
    drop(db);
    let checked = place.run(&["store", "check"]);
    exits(&checked, 4);
    assert!(err(&checked).contains("workflow `ask`: a program is damaged"), "{}", err(&checked));
    exits(&place.run(&["runs", "cancel", "sealed"]), 0);
    exits(&place.run(&["prune", "--older-than", "0s"]), 0);
}

#[test]
fn a_run_that_cannot_be_read_does_not_hide_the_others() {
    let of = "WHERE run = (SELECT run FROM runs WHERE id = 'plain')";
    for damage in [format!("UPDATE snapshots SET bytes = x'00' {of}"), format!("UPDATE requests SET spec = x'00' {of}")]
    {
        let place = place();
        let db = Connection::open(place.store()).expect("it opens");
        assert!(db.execute(&damage, []).expect("it is written") > 0, "{damage}");
        drop(db);
        let listed = place.run(&["runs", "list"]);
        exits(&listed, 0);
        let line = |id: &str| out(&listed).lines().find(|line| line.starts_with(id)).map(ToOwned::to_owned);
        let plain = line("plain").expect("it is listed");
        assert!(plain.contains("cannot be opened"), "{damage}: {plain}");
        assert!(line("other").is_some_and(|line| line.contains("ask: ")), "{}", out(&listed));
        for command in
            [&["runs", "list", "--json"][..], &["runs", "show", "plain"], &["runs", "show", "plain", "--json"]]
        {
            let read = place.run(command);
            exits(&read, 0);
            assert!(out(&read).contains("cannot be opened"), "{damage}: {command:?}: {}", out(&read));
        }
        let approvals = place.run(&["approvals", "list"]);
        exits(&approvals, 0);
        assert!(out(&approvals).contains("other/"), "{}", out(&approvals));
        assert!(err(&approvals).contains("run `plain` cannot be opened"), "{}", err(&approvals));
    }
}

/// Every file of a folder and the folder itself, with their rights.
fn rights(folder: &Path) -> Vec<(String, u32)> {
    let mode = |path: &Path| fs::metadata(path).map_or(0, |shown| shown.mode() & 0o777);
    let mut rights = vec![(folder.display().to_string(), mode(folder))];
    for entry in fs::read_dir(folder).expect("it is there").flatten().map(|entry| entry.path()) {
        if entry.is_dir() {
            rights.extend(self::rights(&entry));
        } else {
            rights.push((entry.display().to_string(), mode(&entry)));
        }
    }
    rights
}

#[test]
fn other_users_cannot_read_the_files_of_a_store_with_any_umask() {
    for umask in ["000", "022", "277"] {
        let place = Place::new(&[("ask.yaml", ASK)]);
        let program = env!("CARGO_BIN_EXE_branchpoint");
        let run = |arguments: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("umask {umask}; {program} {arguments}")]).current_dir(place.path());
            command.env("BRANCHPOINT_STORE", place.store()).env("BRANCHPOINT_USER", "ada").output().expect("it runs")
        };
        exits(&run("run ask.yaml -i metadata.api_key=canary-7f3a --id k"), 5);
        exits(&run("store backup store/copy.db"), 0);
        let mut worker = place.spawn(&["work"]);
        let folder = place.path().join("store");
        for _ in 0..500 {
            if fs::read_dir(folder.join("store.db-owners")).is_ok_and(|mut locks| locks.next().is_some()) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let shown = rights(&folder);
        worker.kill().expect("it can be killed");
        worker.wait().expect("it ends");
        for name in ["store.db", "store.db-wal", "store.db-shm", "store.db-key", "store.db-owners", "copy.db"] {
            assert!(shown.iter().any(|(path, _)| path.ends_with(name)), "{name} is there: {shown:?}");
        }
        assert!(shown.iter().any(|(path, _)| path.contains("store.db-owners/")), "a lock is held: {shown:?}");
        for (path, mode) in shown {
            let expected = if Path::new(&path).is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode, expected, "umask {umask}: {path} has mode {mode:o}");
        }
    }
}

#[test]
fn files_that_others_can_use_are_reported() {
    let place = place();
    fs::set_permissions(place.store(), fs::Permissions::from_mode(0o644)).expect("it is ours");
    let seen = place.run(&["doctor"]);
    exits(&seen, 0);
    assert!(out(&seen).contains("store.db is accessible to other users (mode 644)"), "{}", out(&seen));
}
