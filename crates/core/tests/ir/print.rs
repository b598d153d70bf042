//! The text form of programs.

use branchpoint_core::ir::{Op, PlaceId, print};

use crate::tour::tour;

#[test]
fn a_program_prints_as_one_line_for_each_place() {
    insta::assert_snapshot!("tour", print(&tour()));
}

#[test]
fn the_same_program_prints_the_same() {
    assert_eq!(print(&tour()), print(&tour()));
}

/// Invalid programs are printed, too, for debugging a front-end.
#[test]
fn unknown_ids_are_printed_as_numbers() {
    let mut program = tour();
    program.exprs.clear();
    program.slots.clear();
    program.effects.clear();
    program.places[0].op = Op::Fork { to: vec![PlaceId(999)] };
    let text = print(&program);
    assert!(text.contains("fork    p999"), "{text}");
}
