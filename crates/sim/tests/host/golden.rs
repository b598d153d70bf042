//! A store that an earlier build has written opens in this build, and its pending runs continue. Renew the newest file with
//! `UPDATE_GOLDEN=1` only while no build with its version was released.

use std::path::Path;

use super::*;

/// The version that this build writes. A store of the version before is upgraded.
const VERSION: u32 = 19;

fn golden(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/store-{version}.db"))
}

/// Writes a run that has ended, one with a call in flight, one that waits for a person, and one that waits for a timer.
fn written(folder: &Folder) {
    let mut host = folder.host(DrivenRuns::Requested);
    let [two, ask, later] = [TWO_STEPS, APPROVAL, LATER].map(|text| saved(host.store(), text, &[]));
    let mut outputs = TurnOutputs::default();
    start(&mut host, two, "ended");
    outputs.answer_all(&mut host, 1);
    start(&mut host, two, "calling");
    start(&mut host, ask, "asking");
    start(&mut host, later, "waiting");
    outputs.collect(&mut host, 2);
    host.close().expect("the host closes");
}

#[test]
fn a_store_of_an_earlier_build_is_opened_and_its_runs_finish() {
    let folder = Folder::new();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        written(&folder);
        std::fs::copy(folder.file(), golden(VERSION)).expect("the golden store can be written");
    } else {
        std::fs::copy(golden(VERSION), folder.file()).expect("the golden store is there");
    }
    runs_finish(&folder);
}

#[test]
fn a_store_of_the_version_before_is_upgraded_and_its_runs_finish() {
    let folder = Folder::new();
    std::fs::copy(golden(VERSION - 1), folder.file()).expect("the golden store is there");
    runs_finish(&folder);
}

fn runs_finish(folder: &Folder) {
    let mut host = folder.host(DrivenRuns::All);
    let ended = host.store().run("ended").expect("the store is readable").expect("the run exists");
    let result = host.store().load(ended.run).expect("the run can be read").result().expect("the run has a result");
    assert_eq!(result.get("output"), Some(&Value::from("answer 2")));
    let asking = host.store().run("asking").expect("the store is readable").expect("the run exists").run;
    host.send(asking, vote(open_request(host.store(), asking), "approve", "anna"), Ticket::default());
    let mut outputs = TurnOutputs::default();
    outputs.answer_all(&mut host, 60_000);
    let ids: Vec<&str> = outputs.ended.keys().map(String::as_str).collect();
    assert_eq!(ids, ["asking", "calling", "waiting"]);
    for id in ids {
        outputs.output(id);
    }
    let worked = host.store().run("asking").expect("the store is readable").expect("the run exists");
    assert_eq!(worked.updated_ms - worked.started_ms - worked.waited_ms, 0, "only people took time: {worked:?}");
    assert!(worked.waited_ms > 50_000, "{worked:?}");
    let mine = host.store().run("waiting").expect("the store is readable").expect("the run exists");
    assert_eq!(mine.waited_ms, 0, "a timer is not a person");
    {}
}
