//! The codec: encoding round-trips, old bytes stay readable, and damaged bytes are rejected.

mod golden;
mod properties;
#[path = "../ir/tour.rs"]
mod tour;

use branchpoint_core::codec::{
    CodecError, Kind, decode_event, decode_program, decode_state, encode_event, encode_program, encode_state,
};
use branchpoint_core::ir::{BudgetLimits, print, validate};
use branchpoint_core::{Event, Stamp, State};
use branchpoint_expr::Value;

fn event_bytes() -> Vec<u8> {
    encode_event(&Stamp::default(), &Event::Continue).expect("it can be stored")
}

#[test]
fn a_program_round_trips() {
    let program = tour::tour();
    let bytes = encode_program(&program).expect("it can be stored");
    let back = decode_program(&bytes).expect("it can be read");
    assert_eq!(print(&back), print(&program));
    assert_eq!(encode_program(&back), Ok(bytes));
    assert_eq!(validate(&back), Ok(vec![]));
}

#[test]
fn the_flag_of_recording_is_not_stored() {
    let stamp = Stamp { now_ms: 5, seed: 7, offsets_s: vec![], fuel: 0, record: true };
    let bytes = encode_event(&stamp, &Event::Continue).expect("it can be stored");
    assert_eq!(decode_event(&bytes), Ok((Stamp { record: false, ..stamp }, Event::Continue)));
}

#[track_caller]
fn rejected(bytes: &[u8], error: &CodecError, message: &str) {
    let actual = decode_event(bytes).expect_err("the bytes are rejected");
    assert_eq!(&actual, error);
    assert_eq!(actual.to_string(), message);
}

#[test]
fn bytes_without_the_magic_are_rejected() {
    let message = "not data of Branchpoint: the bytes begin with [7b, 7d], expected `BP`";
    rejected(b"{}", &CodecError::Magic { found: b"{}".to_vec() }, message);
    let message = "not data of Branchpoint: the bytes begin with [7b, 22, 61, 22], expected `BP`";
    rejected(b"{\"a\":1}", &CodecError::Magic { found: b"{\"a\"".to_vec() }, message);
    assert!(matches!(decode_state(&[]), Err(CodecError::Magic { .. })));
}

#[test]
fn another_kind_is_rejected() {
    let state = encode_state(&State::new()).expect("it can be stored");
    let message = "expected an event, but the data is a snapshot";
    rejected(&state, &CodecError::Kind { expected: Kind::Event, found: b's' }, message);
    let mut bytes = event_bytes();
    bytes[2] = 9;
    let message = "expected an event, but the data is of the unknown kind 9";
    rejected(&bytes, &CodecError::Kind { expected: Kind::Event, found: 9 }, message);
    assert!(matches!(decode_program(&state), Err(CodecError::Kind { .. })));
}

#[test]
fn another_version_is_rejected_with_a_remedy() {
    let mut bytes = event_bytes();
    bytes[3] = 3;
    let message = "the data is an event of format version 3, but this build of Branchpoint reads up to version 2; use the build that wrote it";
    rejected(&bytes, &CodecError::Version { kind: Kind::Event, found: 3 }, message);
}

/// Content without the fields that version 2 added has the bytes of version 1.
#[test]
fn a_budget_makes_the_bytes_of_version_2() {
    let budget = BudgetLimits { tokens: Some(5), ..BudgetLimits::default() };
    let begin = |budget| Event::Start {
        input: Value::Null,
        facts: branchpoint_expr::Object::default(),
        depth: 1,
        max_ops: 0,
        budget,
    };
    let bytes = |budget| encode_event(&Stamp::default(), &begin(budget)).expect("it can be stored");
    let (without, with) = (bytes(BudgetLimits::default()), bytes(budget));
    assert_eq!((without[3], with[3], with.len() - without.len()), (1, 2, 4));
    assert_eq!(decode_event(&without).map(|(_, event)| event), Ok(begin(BudgetLimits::default())));
    assert_eq!(decode_event(&with).map(|(_, event)| event), Ok(begin(budget)));
    for length in 4..with.len() {
        assert!(decode_event(&with[..length]).is_err(), "at {length}");
    }
    for length in 4..without.len() {
        assert!(decode_event(&without[..length]).is_err(), "at {length}");
    }
}

#[test]
fn trailing_bytes_are_rejected() {
    let mut bytes = event_bytes();
    bytes.extend([0, 0]);
    let message = "the data of an event is followed by 2 unexpected bytes";
    rejected(&bytes, &CodecError::Trailing { kind: Kind::Event, count: 2 }, message);
}

#[test]
fn truncated_bytes_are_rejected() {
    let bytes = encode_program(&tour::tour()).expect("it can be stored");
    for length in 4..bytes.len() {
        let result = decode_program(&bytes[..length]);
        assert!(matches!(result, Err(CodecError::Damaged { kind: Kind::Program, .. })), "at {length}");
    }
}

/// A list of one list of one list …
fn nested(depth: usize) -> Value {
    (0..depth).fold(Value::Null, |inner, _| Value::from(vec![inner]))
}

fn start(input: Value) -> Event {
    Event::Start {
        input,
        facts: branchpoint_expr::Object::default(),
        depth: 0,
        max_ops: 0,
        budget: branchpoint_core::ir::BudgetLimits::default(),
    }
}

#[test]
fn depth_is_limited_when_encoding_and_decoding() {
    let stored = |depth| encode_event(&Stamp::default(), &start(nested(depth)));
    let deepest = stored(299).expect("the depth is within the limit");
    assert!(decode_event(&deepest).is_ok());
    assert!(matches!(stored(300), Err(CodecError::Unstorable { kind: Kind::Event, .. })));
    // A rejected value changes no state of the encoder.
    assert_eq!(stored(299), Ok(deepest));

    // The bytes of a nested list that is deeper than the encoder allows.
    let shallow = encode_event(&Stamp::default(), &start(nested(1))).expect("it can be stored");
    let at = shallow.windows(3).position(|bytes| bytes == [5, 1, 0]).expect("a list of one null");
    let level = shallow[at..at + 2].repeat(1_000_000);
    let deep = [&shallow[..at], &level, &shallow[at + 2..]].concat();
    assert!(matches!(decode_event(&deep), Err(CodecError::Damaged { .. })));
}
