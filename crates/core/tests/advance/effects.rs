//! Effects: results, retries, delays between attempts, late and duplicate results.

use branchpoint_core::ir::{Backoff, Effect, Failure, Retry};
use branchpoint_core::{AttemptError, Command, Event, Rejected, RetryHint, Usage};
use branchpoint_expr::Value;

use crate::host::{Host, Make, effect, retry};

fn one(policy: Option<Retry>) -> Host {
    let mut make = Make::new();
    let keep = make.b.reserve();
    let value = make.b.read(make.v);
    make.b.at(keep).set([branchpoint_core::ir::Write::Put(make.r, value)], make.end, None);
    let fail = Failure { to: make.end, error: Some(make.r) };
    let work = make.effect_with(Effect { retry: policy, ..effect("work") }, keep, Some(fail));
    make.run(work)
}

/// The delays before each further attempt.
fn waits(policy: Retry, seed: u64) -> Vec<i64> {
    let mut host = one(Some(policy));
    host.seed = seed;
    let mut waits = Vec::new();
    for _ in 1..policy.max_attempts {
        host.fail("work", true);
        let at = *host.timers.values().next().expect("an attempt is to come");
        waits.push(at - host.now_ms);
        host.pass(at - host.now_ms);
    }
    waits
}

#[test]
fn a_result_is_stored_in_the_slot_of_the_op() {
    let mut host = one(None);
    host.answer("work", "hello");
    host.completed_with("\"hello\"");
}

#[test]
fn delays_between_attempts_follow_the_backoff() {
    let policy = |backoff| Retry { backoff, ..retry(4, 100) };
    assert_eq!(waits(policy(Backoff::Constant), 1), [100, 100, 100]);
    assert_eq!(waits(policy(Backoff::Linear), 1), [100, 200, 300]);
    assert_eq!(waits(policy(Backoff::Exponential(3.0)), 1), [100, 300, 900]);
    assert_eq!(waits(Retry { max_delay_ms: 250, ..policy(Backoff::Exponential(3.0)) }, 1), [100, 250, 250]);
}

#[test]
fn retry_after_can_lengthen_a_delay_but_not_shorten_it() {
    for (requested_ms, waited_ms) in [(40, 100), (7_000, 7_000)] {
        let mut host = one(Some(retry(2, 100)));
        host.fail("work", RetryHint::After(requested_ms));
        assert_eq!(host.timers.values().copied().collect::<Vec<_>>(), [host.now_ms + waited_ms]);
        host.pass(waited_ms);
        host.answer("work", 1);
        host.completed_with("1");
    }
    let mut host = one(Some(retry(2, 0)));
    host.fail("work", RetryHint::After(0));
    assert_eq!(host.inputs.len(), 2, "without a delay the next attempt follows immediately");
}

#[test]
fn jitter_depends_on_the_seed_and_stays_within_its_share() {
    let policy = Retry { jitter: 0.5, ..retry(6, 1_000) };
    let once = waits(policy, 42);
    assert_eq!(once, waits(policy, 42), "the same seed gives the same delays");
    assert_ne!(once, waits(policy, 43));
    assert!(once.iter().all(|wait| (500..=1_500).contains(wait)), "{once:?}");
    assert!(once.windows(2).any(|pair| pair[0] != pair[1]), "attempts differ: {once:?}");
}

#[test]
fn an_error_that_allows_no_retry_is_not_retried() {
    let mut host = one(Some(retry(5, 0)));
    host.fail("work", false);
    host.completed_with(r#"{"kind":"boom","message":"it broke","step":null}"#);
}

#[test]
fn attempts_end_with_the_policy() {
    let mut host = one(Some(retry(3, 0)));
    for _ in 0..3 {
        host.fail("work", true);
    }
    assert_eq!(host.inputs.len(), 3);
    assert!(host.end.is_some());
}

#[test]
fn the_idempotency_key_changes_only_after_a_reply() {
    let mut host = one(Some(retry(3, 0)));
    let mut keys = Vec::new();
    for answered in [false, true] {
        let (effect, (_, attempt)) = host.flights.iter().next().map(|(no, flight)| (*no, flight.clone())).unwrap();
        let failed = AttemptError { kind: "cut".into(), message: "cut off".into(), retry: RetryHint::Soon, answered };
        let settled = Event::Settled { effect, attempt, result: Err(failed), usage: Usage::default() };
        let outcome = host.hand(settled).unwrap();
        keys.extend(outcome.commands.iter().filter_map(|command| match command {
            Command::Perform { answers, .. } => Some(*answers),
            _ => None,
        }));
    }
    assert_eq!(keys, [0, 1]);
}

#[test]
fn late_duplicate_and_unknown_results_are_rejected() {
    let mut host = one(Some(retry(3, 10)));
    let effect = *host.flights.keys().next().unwrap();
    let settled = |attempt| Event::Settled { effect, attempt, result: Ok(Value::Null), usage: Usage::default() };
    assert_eq!(host.hand(settled(2)), Err(Rejected::UnknownEffect), "an attempt that was not made");
    host.fail("work", true);
    assert_eq!(host.hand(settled(1)), Err(Rejected::UnknownEffect), "an attempt that has settled");
    assert_eq!(host.hand(settled(2)), Err(Rejected::UnknownEffect), "an attempt that is still to come");
    host.pass(10);
    assert_eq!(host.hand(settled(1)), Err(Rejected::UnknownEffect), "an attempt before this one");
    host.answer("work", 1);
    assert_eq!(host.hand(settled(2)), Err(Rejected::Ended));
}

#[test]
fn a_withdrawn_effect_between_attempts_only_clears_its_timer() {
    let mut host = one(Some(retry(3, 10)));
    host.fail("work", true);
    host.hand(Event::Cancel { reason: None }).unwrap();
    assert_eq!(host.withdrawn, Vec::<String>::new());
    assert!(host.timers.is_empty());
}
