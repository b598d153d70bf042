//! Indexing that is killed: no document is half in the knowledge base, and the next call completes it.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;

use branchpoint_host::SqliteStorage;
use branchpoint_host::store::{Durability, Store};
use branchpoint_runners::storage::Retrieval;

use super::{Place, kill, pause};

const FILES: usize = 300;
const ROUNDS: u32 = 12;

#[test]
fn a_killed_indexing_leaves_whole_documents_and_is_completed_by_the_next() {
    let place = Place::new("empty.txt", "");
    let folder = place.0.path().join("docs");
    fs::create_dir(&folder).expect("folders can be made");
    for number in 0..FILES {
        let text = format!("Document {number}.\n\n{}", format!("refund number {number}\n\n").repeat(400));
        fs::write(folder.join(format!("{number:03}.md")), text).expect("there is room");
    }
    let mut least = 0;
    for round in 0..ROUNDS {
        let mut indexing = place.program(&["knowledge", "add", "docs"]);
        pause(round, 120);
        kill(&mut indexing);
        if place.store().exists() {
            let documents = documents(&place);
            assert!(documents.len() >= least, "what was added stays");
            least = documents.len();
            check_whole(&place, &documents);
        }
    }
    let mut command = place.command(&["knowledge", "add", "docs", "--json"]);
    let output = command.stdout(Stdio::piped()).output().expect("the program starts");
    assert!(output.status.success());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert_eq!(report["added"].as_array().map(Vec::len), Some(FILES - least), "only what was missing is added");
    let documents = documents(&place);
    assert_eq!(documents.len(), FILES);
    check_whole(&place, &documents);
    let store = Store::open(&place.store(), Durability::Normal).expect("it opens");
    assert_eq!(store.check(0, 0).expect("it reads").damage, [""; 0]);
}

/// The documents with the number of their passages.
fn documents(place: &Place) -> BTreeMap<String, u32> {
    let documents = SqliteStorage::new(place.store(), Durability::Normal).documents("default").expect("it reads");
    documents.into_iter().map(|of| (of.name, of.passages)).collect()
}

/// Every document has all passages that it was added with, once, and each is in the index.
fn check_whole(place: &Place, documents: &BTreeMap<String, u32>) {
    let db = rusqlite::Connection::open(place.store()).expect("it opens");
    let count = |sql: &str| -> u32 { db.query_row(sql, [], |row| row.get(0)).expect("it reads") };
    let expected: u32 = documents.values().sum();
    assert_eq!(count("SELECT count(*) FROM passages"), expected);
    assert_eq!(count("SELECT count(*) FROM passage_index WHERE passage_index MATCH 'refund'"), expected);
    let sizes: Vec<&u32> = documents.values().collect();
    assert!(sizes.windows(2).all(|pair| pair[0].abs_diff(*pair[1]) <= 1), "equal files have equally many passages");
}
