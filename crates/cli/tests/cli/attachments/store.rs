//! Files in the store: kept with their run, repeated, carried, pruned, and never half there after a crash.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::Duration;

use rusqlite::Connection;

use super::super::running::{Place, err, exits, out};
use super::{ok, parts, place, run};

const SHOW: &str = "  - {id: show, step_type: load_content, content_version_id: \"{{attachments[0].storage_key}}\"}";

fn count(place: &Place, table: &str) -> i64 {
    let db = Connection::open(place.store()).expect("there is a store");
    db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).expect("it counts")
}

#[track_caller]
fn done(place: &Place, arguments: &[&str]) -> String {
    let output = place.run(arguments);
    exits(&output, 0);
    out(&output)
}

#[test]
fn a_repeated_start_may_leave_the_files_out_but_not_change_them() {
    let provider = ok();
    let place = place(&provider, "", SHOW);
    let first = run(&place, &["--id", "k", "-i", "input=x", "--attach", "invoice.pdf"]);
    exits(&first, 0);
    for again in [&["--attach", "invoice.pdf"][..], &[]] {
        let second = run(&place, &[&["--id", "k", "-i", "input=x"], again].concat());
        exits(&second, 0);
        assert_eq!(out(&second), out(&first));
    }
    for (other, differs) in [
        (&["-i", "input=x", "--attach", "offer.docx"][..], "attachments"),
        (&["-i", "input=y"][..], "input"),
        (&["-i", "input=y", "--attach", "invoice.pdf"][..], "text"),
    ] {
        let output = run(&place, &[&["--id", "k"], other].concat());
        exits(&output, 1);
        assert!(err(&output).contains(differs), "{}", err(&output));
    }
}

#[test]
fn equal_files_are_stored_once_and_pruned_with_the_last_run_that_has_them() {
    let provider = ok();
    let place = place(&provider, "", SHOW);
    exits(&run(&place, &["--id", "one", "--attach", "invoice.pdf"]), 0);
    exits(&run(&place, &["--id", "two", "--attach", "invoice.pdf"]), 0);
    exits(&run(&place, &["--id", "three", "--attach", "offer.docx"]), 0);
    assert_eq!((count(&place, "attachments"), count(&place, "blobs")), (3, 2));
    let waiting = "name: t\nsteps:\n  - {id: ask, step_type: human_in_the_loop, prompt_template: Ok?}\n";
    fs::write(place.path().join("w.yaml"), waiting).expect("files can be written");
    exits(&place.run(&["run", "w.yaml", "--id", "w", "--attach", "invoice.pdf", "--quiet"]), 5);
    done(&place, &["prune", "--older-than", "0s"]);
    assert_eq!((count(&place, "attachments"), count(&place, "blobs")), (1, 1), "the run that waits keeps its file");
    done(&place, &["store", "check"]);
}

#[test]
fn exports_imports_and_backups_carry_the_files() {
    let provider = ok();
    let steps = format!(
        "{SHOW}\n  - {{id: ask, step_type: human_in_the_loop, prompt_template: Ok?}}\n{}",
        SHOW.replace("show", "again")
    );
    let place = place(&provider, "", &steps);
    exits(&run(&place, &["--id", "k", "--attach", "invoice.pdf"]), 5);
    let lines = done(&place, &["runs", "export", "k"]);
    assert!(lines.contains("{\"attachment\":{\"name\":\"invoice.pdf\""), "{}", &lines[..lines.len().min(300)]);
    fs::write(place.path().join("k.jsonl"), &lines).expect("files can be written");
    done(&place, &["runs", "import", "k.jsonl", "--store", "new.db"]);
    done(&place, &["store", "backup", "copy.db"]);
    for store in ["new.db", "copy.db"] {
        let answered = place.run(&["approvals", "vote", "k", "approve", "--store", store]);
        exits(&answered, 0);
        let shown = done(&place, &["runs", "show", "k", "--store", store, "--json"]);
        assert!(shown.contains("Invoice 2026-117"), "{store}: {shown}");
    }
    let damaged = lines.replace("\"name\":\"invoice.pdf\"", "\"name\":\"../invoice.pdf\"");
    fs::write(place.path().join("bad.jsonl"), damaged).expect("files can be written");
    let output = place.run(&["runs", "import", "bad.jsonl", "--store", "bad.db"]);
    exits(&output, 1);
    assert!(err(&output).contains("is not a name for an attachment"), "{}", err(&output));
}

#[test]
fn a_missing_content_is_reported_by_the_check_and_by_the_step() {
    let provider = ok();
    let place =
        place(&provider, "", &format!("  - {{id: ask, step_type: human_in_the_loop, prompt_template: Ok?}}\n{SHOW}"));
    exits(&run(&place, &["--id", "k", "--attach", "invoice.pdf"]), 5);
    Connection::open(place.store()).expect("there is a store").execute("DELETE FROM blobs", []).expect("it is deleted");
    let output = place.run(&["store", "check"]);
    assert!(!output.status.success(), "{}", out(&output));
    let printed = out(&output) + &err(&output);
    assert!(printed.contains("the content of its file `invoice.pdf` is missing"), "{printed}");
    let output = place.run(&["approvals", "vote", "k", "approve"]);
    assert!(err(&output).contains("the run has no attachment"), "{}", err(&output));
}

#[test]
fn a_fork_can_read_the_files_of_its_run() {
    let provider = ok();
    let steps = "  - {id: read, step_type: prompt_call, prompt_template: Read, attachments: \"*\"}";
    let place = place(&provider, "", steps);
    exits(&run(&place, &["--id", "k", "--attach", "invoice.pdf"]), 0);
    let mut fork = place.command(&["runs", "fork", "k", "--at", "read", "--id", "again"]);
    let forked = fork.env("OPENAI_API_KEY", "sk-test").output().expect("the program starts");
    exits(&forked, 0);
    let sent = parts(&provider);
    assert_eq!((sent.len(), &sent[0]), (2, &sent[1]), "the fork sent the same file");
}

#[test]
fn a_killed_start_stores_the_run_and_its_files_or_neither() {
    let provider = ok();
    let place = place(&provider, "", SHOW);
    let mut acknowledged = BTreeSet::new();
    for round in 0..16_u64 {
        let id = format!("r{round}");
        let file = format!("{id}.txt");
        fs::write(place.path().join(&file), id.repeat(200_000)).expect("files can be written");
        let mut start = place.spawn(&["run", "t.yaml", "--detach", "--id", &id, "--attach", &file]);
        if round % 4 == 3 {
            assert!(start.wait().expect("it ends").success());
            acknowledged.insert(id);
        } else {
            thread::sleep(Duration::from_millis(10 + 12 * round));
            start.kill().expect("it can be killed");
            start.wait().expect("it ends");
        }
    }
    let db = Connection::open(place.store()).expect("there is a store");
    let ids = |sql: &str| -> BTreeSet<String> {
        let mut rows = db.prepare(sql).expect("it is SQL");
        let rows = rows.query_map([], |row| row.get(0)).expect("it reads");
        rows.map(|row| row.expect("it is text")).collect()
    };
    let runs = ids("SELECT id FROM runs");
    let with_files =
        "SELECT id FROM runs JOIN attachments USING (run) JOIN blobs ON hash = content WHERE blobs.bytes IS NOT NULL";
    assert_eq!(runs, ids(with_files), "every run has its file");
    assert!(runs.is_superset(&acknowledged), "{runs:?}");
    let orphans =
        "SELECT hex(hash) FROM blobs WHERE hash NOT IN (SELECT content FROM attachments) AND length(bytes) > 100000";
    assert_eq!(ids(orphans), BTreeSet::new(), "a file without a run");
    let unread = "SELECT name FROM attachments WHERE run NOT IN (SELECT run FROM runs)";
    assert_eq!(ids(unread), BTreeSet::new());
    for id in runs {
        let resumed = place.run(&["runs", "resume", &id]);
        assert!(out(&resumed).contains(&id), "{id}: {} {}", out(&resumed), err(&resumed));
    }
}
