//! A store that an earlier build has written is opened by this one, and what waits in it goes on. Renew the file with
//! `UPDATE_GOLDEN=1` only while no build with its version was released.

use std::path::Path;

use super::*;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/store-16.db")
}

/// A run that has ended, one that is in the middle of a call, one that waits for a person, one that waits for its time.
fn written(folder: &Folder) {
    let mut host = folder.host(DrivenRuns::Requested);
    let [two, ask, later] = [TWO_STEPS, APPROVAL, LATER].map(|text| saved(host.store(), text, &[]));
    let mut heard = Heard::default();
    start(&mut host, two, "ended");
    heard.answer_all(&mut host, 1);
    start(&mut host, two, "calling");
    start(&mut host, ask, "asking");
    start(&mut host, later, "waiting");
    heard.listen(&mut host, 2);
    host.close().expect("it closes");
}

#[test]
fn a_store_of_an_earlier_build_is_opened_and_its_runs_finish() {
    let folder = Folder::new();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        written(&folder);
        std::fs::copy(folder.file(), golden()).expect("the golden store can be written");
    } else {
        std::fs::copy(golden(), folder.file()).expect("the golden store is there");
    }
    let mut host = folder.host(DrivenRuns::All);
    let ended = host.store().run("ended").expect("it reads").expect("it is there");
    let result = host.store().load(ended.run).expect("it opens").result().expect("it has one");
    assert_eq!(result.get("output"), Some(&Value::from("answer 2")));
    let asking = host.store().run("asking").expect("it reads").expect("it is there").run;
    host.send(asking, vote(asked(host.store(), asking), "approve", "anna"), Ticket::default());
    let mut heard = Heard::default();
    heard.answer_all(&mut host, 60_000);
    let ids: Vec<&str> = heard.ended.keys().map(String::as_str).collect();
    assert_eq!(ids, ["asking", "calling", "waiting"]);
    for id in ids {
        heard.output(id);
    }
    let worked = host.store().run("asking").expect("it reads").expect("it is there");
    assert_eq!(worked.updated_ms - worked.started_ms - worked.waited_ms, 0, "only people took time: {worked:?}");
    assert!(worked.waited_ms > 50_000, "{worked:?}");
    let mine = host.store().run("waiting").expect("it reads").expect("it is there");
    assert_eq!(mine.waited_ms, 0, "a timer is not a person");
    {}
}
