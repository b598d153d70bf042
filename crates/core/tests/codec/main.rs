//! The stored bytes: they come back as what they were, old ones stay readable, and damaged ones are refused.

mod golden;
mod properties;
#[path = "../ir/tour.rs"]
mod tour;

use branchpoint_core::codec::{
    CodecError, Kind, decode_event, decode_program, decode_state, encode_event, encode_program, encode_state,
};
use branchpoint_core::ir::{print, validate};
use branchpoint_core::{Event, Stamp, State};
use branchpoint_expr::Value;

fn event_bytes() -> Vec<u8> {
    encode_event(&Stamp::default(), &Event::Continue).expect("it can be stored")
}

#[test]
fn a_program_comes_back_as_it_was() {
    let program = tour::tour();
    let bytes = encode_program(&program).expect("it can be stored");
    let back = decode_program(&bytes).expect("it can be read");
    assert_eq!(print(&back), print(&program));
    assert_eq!(encode_program(&back), Ok(bytes));
    assert_eq!(validate(&back), Ok(vec![]));
}

#[test]
fn what_was_not_kept_is_whether_a_trace_was_wanted() {
    let stamp = Stamp { now_ms: 5, seed: 7, offsets_s: vec![], fuel: 0, record: true };
    let bytes = encode_event(&stamp, &Event::Continue).expect("it can be stored");
    assert_eq!(decode_event(&bytes), Ok((Stamp { record: false, ..stamp }, Event::Continue)));
}

#[track_caller]
fn refused(bytes: &[u8], error: &CodecError, said: &str) {
    let found = decode_event(bytes).expect_err("the bytes are refused");
    assert_eq!(&found, error);
    assert_eq!(found.to_string(), said);
}

#[test]
fn bytes_of_others_are_refused() {
    let said = "these bytes are not Branchpoint's: they begin with [7b, 7d], not with `BP`";
    refused(b"{}", &CodecError::Magic { found: b"{}".to_vec() }, said);
    let said = "these bytes are not Branchpoint's: they begin with [7b, 22, 61, 22], not with `BP`";
    refused(b"{\"a\":1}", &CodecError::Magic { found: b"{\"a\"".to_vec() }, said);
    assert!(matches!(decode_state(&[]), Err(CodecError::Magic { .. })));
}

#[test]
fn another_kind_is_refused() {
    let state = encode_state(&State::new()).expect("it can be stored");
    let said = "these bytes should be an event, and the mark in them says a snapshot";
    refused(&state, &CodecError::Kind { expected: Kind::Event, found: b's' }, said);
    let mut bytes = event_bytes();
    bytes[2] = 9;
    let said = "these bytes should be an event, and the mark in them says 9, which this build does not know";
    refused(&bytes, &CodecError::Kind { expected: Kind::Event, found: 9 }, said);
    assert!(matches!(decode_program(&state), Err(CodecError::Kind { .. })));
}

#[test]
fn another_version_is_refused_and_the_remedy_is_told() {
    let mut bytes = event_bytes();
    bytes[3] = 2;
    let said = "these bytes are an event of version 2, and this build reads version 1; use the build that wrote them";
    refused(&bytes, &CodecError::Version { kind: Kind::Event, found: 2 }, said);
}

#[test]
fn what_follows_the_end_is_refused() {
    let mut bytes = event_bytes();
    bytes.extend([0, 0]);
    let said = "these bytes are an event, and 2 more follow where it ends";
    refused(&bytes, &CodecError::Trailing { kind: Kind::Event, count: 2 }, said);
}

#[test]
fn bytes_that_break_off_are_refused() {
    let bytes = encode_program(&tour::tour()).expect("it can be stored");
    for length in 4..bytes.len() {
        let found = decode_program(&bytes[..length]);
        assert!(matches!(found, Err(CodecError::Damaged { kind: Kind::Program, .. })), "at {length}");
    }
}

/// A list of one list of one list …
fn nested(depth: usize) -> Value {
    (0..depth).fold(Value::Null, |inner, _| Value::from(vec![inner]))
}

fn start(input: Value) -> Event {
    Event::Start { input, facts: branchpoint_expr::Object::default(), depth: 0, max_ops: 0 }
}

#[test]
fn depth_is_bounded_when_writing_and_when_reading() {
    let stored = |depth| encode_event(&Stamp::default(), &start(nested(depth)));
    let deepest = stored(299).expect("this deep is fine");
    assert!(decode_event(&deepest).is_ok());
    assert!(matches!(stored(300), Err(CodecError::Unstorable { kind: Kind::Event, .. })));
    // A refusal leaves nothing behind.
    assert_eq!(stored(299), Ok(deepest));

    // The same bytes as of a list of lists, as deep as nobody could write them.
    let shallow = encode_event(&Stamp::default(), &start(nested(1))).expect("it can be stored");
    let at = shallow.windows(3).position(|bytes| bytes == [5, 1, 0]).expect("a list of one null");
    let level = shallow[at..at + 2].repeat(1_000_000);
    let deep = [&shallow[..at], &level, &shallow[at + 2..]].concat();
    assert!(matches!(decode_event(&deep), Err(CodecError::Damaged { .. })));
}
