//! Runs that continue on a changed program.

use std::fs;
use std::path::PathBuf;

use branchpoint_core::codec::{decode_event, decode_program, encode_state};
use branchpoint_core::ir::Program;
use branchpoint_core::{Continued, Difference, Fold, JournalRow, Revision, State, continue_on};
use branchpoint_expr::Value;
use branchpoint_sim::journal::Journal;

fn golden() -> Vec<(String, Program, Vec<JournalRow>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/semantics-1");
    let mut journals: Vec<_> = fs::read_dir(folder)
        .expect("the journals are there")
        .map(|entry| {
            let path = entry.expect("the folder can be read").path();
            let journal = Journal::parse(&fs::read_to_string(&path).expect("it can be read")).expect("it is a journal");
            let program = decode_program(&journal.program).expect("it is a program");
            let row = |(bytes, check): &(Vec<u8>, u32)| {
                let (stamp, event) = decode_event(bytes).expect("it is an event");
                (stamp, event, *check)
            };
            (path.display().to_string(), program, journal.rows.iter().map(row).collect())
        })
        .collect();
    journals.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    assert!(journals.len() >= 40, "there are {} journals", journals.len());
    journals
}

fn continued(old: &Program, new: &Program, rows: Vec<JournalRow>) -> Result<Continued, Difference> {
    let revision =
        Revision { old, new, offsets_s: &|_, _| Vec::new(), fact: &|_| Value::Null, has_same_child: &|_, _| true };
    continue_on(&revision, rows)
}

#[test]
fn continuing_on_the_same_program_changes_nothing_at_any_moment() {
    for (name, program, rows) in golden() {
        for count in 1..=rows.len() {
            let part = rows[..count].to_vec();
            let mut fold = Fold::new(&program, State::new(), part.clone());
            fold.by_ref().for_each(|folded| drop(folded.expect("it folds")));
            let (state, pending) = fold.into_parts();
            let continued =
                continued(&program, &program, part.clone()).unwrap_or_else(|error| panic!("{name}, {count}: {error}"));
            assert_eq!(continued.rows, part, "{name}, {count}");
            assert_eq!(encode_state(&continued.state), encode_state(&state), "{name}, {count}");
            assert_eq!(continued.pending, pending, "{name}, {count}");
            assert!(continued.new_calls.is_empty() && continued.void_votes.is_empty(), "{name}, {count}");
            assert_eq!(continued.waiting[0], continued.waiting[1], "{name}, {count}");
        }
    }
}
