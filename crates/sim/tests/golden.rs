//! Golden journals of every semantics number: this build folds them event by event to the recorded states.
//!
//! Journals of a released number are never rewritten. For an unreleased number, after an intended change of the bytes:
//! `UPDATE_GOLDEN=1 cargo test -p branchpoint-sim --test golden`.

use std::fs;
use std::path::PathBuf;

use branchpoint_core::ir::SEMANTICS;
use branchpoint_sim::generate::trees;
use branchpoint_sim::journal::Journal;
use branchpoint_sim::world::record;

/// Seeds of simulations with short runs that use every op, with crashes, votes, retries, cancellations and time limits.
const SEEDS: std::ops::Range<u64> = 900..940;

/// The longest journal that is stored; longer ones would test nothing new.
const LONGEST: usize = 60;

fn folder(semantics: u16) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("golden/semantics-{semantics}"))
}

fn update() {
    fs::create_dir_all(folder(SEMANTICS)).expect("the folder can be created");
    for seed in SEEDS {
        let journals = record(seed, &trees(seed)).expect("the simulation passes");
        for (run, journal) in journals.iter().enumerate().filter(|(_, journal)| journal.rows.len() <= LONGEST) {
            let path = folder(SEMANTICS).join(format!("seed-{seed}-run-{run}.journal"));
            fs::write(path, journal.to_text()).expect("a journal can be written");
        }
    }
}

fn journals(semantics: u16) -> Vec<(String, Journal)> {
    let mut journals: Vec<_> = fs::read_dir(folder(semantics))
        .expect("every semantics number has its journals")
        .map(|entry| {
            let path = entry.expect("the folder can be read").path();
            let text = fs::read_to_string(&path).expect("a journal can be read");
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let journal = Journal::parse(&text).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
            (name, journal)
        })
        .collect();
    journals.sort_by(|(one, _), (other, _)| one.cmp(other));
    journals
}

#[test]
fn golden_journals_fold_to_their_recorded_state() {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        update();
    }
    for semantics in SEMANTICS.saturating_sub(1).max(1)..=SEMANTICS {
        let journals = journals(semantics);
        assert!(journals.len() >= 40, "semantics {semantics} has {} journals", journals.len());
        for (name, journal) in journals {
            journal.fold().unwrap_or_else(|error| panic!("semantics {semantics}, {name}: {error}"));
        }
    }
}

#[test]
fn a_changed_journal_is_rejected() {
    let (_, journal) =
        journals(SEMANTICS).into_iter().max_by_key(|(_, journal)| journal.rows.len()).expect("there is one");
    let mut other = journal.clone();
    other.rows[3].1 ^= 1;
    let error = other.fold().expect_err("the check word is another");
    assert!(error.starts_with("the replay of event 4 has another outcome"), "{error}");
    let mut other = journal;
    other.rows.pop();
    assert_eq!(other.fold(), Err("the events fold to another state".into()));
}
