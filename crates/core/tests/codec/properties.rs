//! Properties of the codec: all encoded events can be decoded, and no bytes cause a panic.

use branchpoint_core::codec::{decode_event, decode_program, decode_state, encode_event, encode_program};
use branchpoint_core::ir::{BudgetLimits, validate};
use branchpoint_core::{AttemptError, EffectNo, Event, RetryHint, Stamp, TimerNo, Usage};
use branchpoint_expr::{Object, Value};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::tour::tour;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![vec(inner.clone(), 0..5).prop_map(Value::from), object(inner).prop_map(Value::from),]
    })
}

fn object(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Object> {
    vec((".{0,5}", value), 0..5).prop_map(|fields| fields.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

fn event() -> impl Strategy<Value = Event> {
    let retry = prop_oneof![any::<bool>().prop_map(RetryHint::from), any::<u64>().prop_map(RetryHint::After)];
    let failed = (".{0,9}", ".{0,9}", retry, any::<bool>()).prop_map(|(kind, message, retry, answered)| AttemptError {
        kind: kind.into(),
        message: message.into(),
        retry,
        answered,
    });
    let result = prop_oneof![value().prop_map(Ok), failed.prop_map(Err)];
    let usage = (any::<u64>(), any::<u64>()).prop_map(|(tokens, cost_micros)| Usage { tokens, cost_micros });
    prop_oneof![
        (value(), object(value()), 0..9_u32, any::<Option<u64>>()).prop_map(|(input, facts, depth, tokens)| {
            Event::Start { input, facts, depth, max_ops: 0, budget: BudgetLimits { tokens, ..BudgetLimits::default() } }
        }),
        (any::<u64>(), any::<u32>(), result, usage).prop_map(|(effect, attempt, result, usage)| Event::Settled {
            effect: EffectNo(effect),
            attempt,
            result,
            usage
        }),
        any::<u64>().prop_map(|timer| Event::TimerFired(TimerNo(timer))),
        (".{0,9}", value(), proptest::option::of(".{0,9}")).prop_map(|(name, payload, sender)| Event::Signal {
            name: name.into(),
            payload,
            key: sender.clone().map(Into::into),
            sender: sender.map(Into::into)
        }),
        proptest::option::of(".{0,9}").prop_map(|reason| Event::Cancel { reason: reason.map(Into::into) }),
        Just(Event::Continue),
    ]
}

proptest! {
    #[test]
    fn events_round_trip(event in event(), now_ms: i64, seed: u64) {
        let stamp = Stamp { now_ms, seed, offsets_s: vec![], fuel: 0, record: false };
        let bytes = encode_event(&stamp, &event).unwrap();
        let (stamp_back, back) = decode_event(&bytes).unwrap();
        prop_assert_eq!(&stamp_back, &stamp);
        prop_assert_eq!(&back, &event);
        prop_assert_eq!(encode_event(&stamp_back, &back).unwrap(), bytes);
    }

    #[test]
    fn random_bytes_cause_no_panic(kind in prop_oneof![Just(b'p'), Just(b'e'), Just(b's')], bytes in vec(any::<u8>(), 0..400)) {
        let bytes = [&[b'B', b'P', kind, 1][..], &bytes].concat();
        let _ = (decode_program(&bytes).map(|program| validate(&program)), decode_event(&bytes), decode_state(&bytes));
    }

    /// A damaged program is rejected by the decoder, or the validator can check it without a panic.
    #[test]
    fn a_damaged_program_causes_no_panic(damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = encode_program(&tour()).unwrap();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = decode_program(&bytes).map(|program| validate(&program));
    }
}
