//! Golden files: stored bytes that must stay readable. Each file in `tests/golden` has the bytes of one program, event or state as hex.
//!
//! After an intended change of the bytes, with a new version number: `UPDATE_GOLDEN=1 cargo test -p branchpoint-core`.
#![expect(clippy::disallowed_methods, reason = "golden files are files, and the environment says when to write them")]

use std::fmt::Write;
use std::path::PathBuf;

use branchpoint_core::codec::{
    CodecError, decode_event, decode_program, decode_state, encode_event, encode_program, encode_state,
};
use branchpoint_core::{AttemptError, EffectNo, Event, RetryHint, Stamp, State, TimerNo, Usage, advance};
use branchpoint_expr::{Object, Value};

use crate::tour::tour;

const BYTES_PER_LINE: usize = 48;

/// The bytes of a golden file. `now` has the bytes that this build writes for the same content.
#[track_caller]
fn golden(name: &str, now: &[u8]) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, hex(now)).expect("the golden file can be written");
    }
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    bytes(&text)
}

fn hex(bytes: &[u8]) -> String {
    let mut hex = String::new();
    for line in bytes.chunks(BYTES_PER_LINE) {
        for byte in line {
            write!(hex, "{byte:02x}").expect("writing to a text does not fail");
        }
        hex.push('\n');
    }
    hex
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("these are hex digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// Checks that a golden file can be read, and that this build writes the same bytes.
#[track_caller]
fn check<T>(
    name: &str,
    now: &Result<Vec<u8>, CodecError>,
    decode: impl Fn(&[u8]) -> Result<T, CodecError>,
    encode: impl Fn(&T) -> Result<Vec<u8>, CodecError>,
) {
    let now = now.as_ref().expect("it can be stored");
    let golden = golden(name, now);
    let back = decode(&golden).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(encode(&back).map(|bytes| hex(&bytes)), Ok(hex(&golden)), "{name} comes out otherwise");
    assert_eq!(hex(now), hex(&golden), "this build writes other bytes for {name}");
}

#[test]
fn the_tour_is_lowered_to_the_same_bytes() {
    check("program-v1.hex", &encode_program(&tour()), decode_program, encode_program);
}

#[test]
fn events_have_the_same_bytes() {
    let stamp = Stamp { now_ms: 1_770_000_000_123, seed: 0xfeed, offsets_s: vec![], fuel: 0, record: false };
    for (name, event) in events() {
        let decode = |bytes: &[u8]| decode_event(bytes);
        let encode = |(stamp, event): &(Stamp, Event)| encode_event(stamp, event);
        check(&format!("event-{name}-v1.hex"), &encode_event(&stamp, &event), decode, encode);
    }
}

#[test]
fn a_run_in_the_middle_of_the_tour_has_the_same_bytes() {
    check("state-v1.hex", &encode_state(&half_way()), decode_state, encode_state);
}

/// One event of each kind, with every kind of value among them.
fn events() -> Vec<(&'static str, Event)> {
    let value: Value = serde_json::from_str(
        r#"{"null": null, "yes": true, "int": -9223372036854775808, "float": 1.5e300, "text": "ü\n", "list": [[], {}]}"#,
    )
    .expect("this is JSON");
    let facts: Object = [("account".into(), Value::from("a-1"))].into_iter().collect();
    let failed =
        AttemptError { kind: "http".into(), message: "no answer".into(), retry: RetryHint::Soon, answered: false };
    let later = AttemptError { retry: RetryHint::After(7_000), answered: true, ..failed.clone() };
    let usage = Usage { tokens: 12, cost_micros: 3_400 };
    let effect = EffectNo(3);
    vec![
        (
            "start",
            Event::Start {
                input: value.clone(),
                facts,
                depth: 0,
                max_ops: 0,
                budget: branchpoint_core::ir::BudgetLimits::default(),
            },
        ),
        ("settled", Event::Settled { effect, attempt: 1, result: Ok(value.clone()), usage }),
        ("failed", Event::Settled { effect, attempt: 2, result: Err(failed), usage: Usage::default() }),
        ("later", Event::Settled { effect, attempt: 1, result: Err(later), usage: Usage::default() }),
        ("timer", Event::TimerFired(TimerNo(300))),
        ("signal", Event::Signal { name: "resume".into(), payload: value, sender: Some("ann".into()), key: None }),
        ("cancel", Event::Cancel { reason: Some("enough".into()) }),
        ("continue", Event::Continue),
        ("adopt", Event::Adopt(Box::new(half_way()))),
    ]
}

/// A run of the tour that has two of its three items in flight.
fn half_way() -> State {
    let (program, mut state) = (tour(), State::new());
    let facts: Object = [("account".into(), Value::from("a-1"))].into_iter().collect();
    let input = serde_json::from_str(r#"{"question": "what to do?"}"#).expect("this is JSON");
    let plan = serde_json::from_str(r#"[{"url": "a"}, {"url": "b"}, {}]"#).expect("this is JSON");
    let settled =
        |effect| Event::Settled { effect, attempt: 1, result: Ok(plan), usage: Usage { tokens: 9, cost_micros: 1 } };
    let outcome = advance(
        &program,
        &mut state,
        &Stamp::default(),
        Event::Start { input, facts, depth: 0, max_ops: 0, budget: branchpoint_core::ir::BudgetLimits::default() },
    );
    let call = outcome.expect("a run can start").commands.into_iter().find_map(|command| match command {
        branchpoint_core::Command::Perform { effect, .. } => Some(effect),
        _ => None,
    });
    let stamp = Stamp { now_ms: 20, ..Stamp::default() };
    advance(&program, &mut state, &stamp, settled(call.expect("the model is called"))).expect("its result is accepted");
    state
}
