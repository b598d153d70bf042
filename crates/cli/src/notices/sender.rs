//! Attempts the deliveries of one target until they are settled.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::Result;
use branchpoint_backend::{Attempted, Backend, Delivery, DeliveryStatus};

use super::IDLE;
use super::target::Target;
use crate::{terminal, time};

/// The most deliveries that are read at once.
const BATCH: u32 = 64;

/// The longest result of an attempt in the log, in characters.
const LONGEST_RESPONSE: usize = 300;

/// The pauses after failed attempts, in seconds. After the last, a delivery fails: about 16 hours after its first attempt.
const PAUSES_S: [i64; 10] = [2, 10, 60, 300, 1_800, 3_600, 7_200, 14_400, 14_400, 14_400];

/// What came of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The receiver has accepted the delivery.
    Delivered(String),
    /// The delivery is not necessary any more.
    Skipped(String),
    /// Another attempt would fail, too.
    Rejected(String),
    /// Another attempt may succeed, not before this number of milliseconds.
    Failed(String, u64),
}

/// Attempts deliveries when they are due or when the thread is woken, until the other end closes. Then it attempts what is due.
pub(super) fn send_until_closed(target: &Target, store: &dyn Backend, owner: i64, woken: &Receiver<()>) {
    let (mut is_open, mut reported) = (true, String::new());
    loop {
        let wait = send_due(target, store, owner).unwrap_or_else(|error| {
            let error = format!("{error:#}");
            // A store that cannot be used is reported once, and not in every round.
            if error != reported {
                terminal::message(&format!("warning: notices cannot be sent: {error}\n"));
                reported = error;
            }
            IDLE
        });
        if !is_open {
            return;
        }
        match woken.recv_timeout(wait) {
            Ok(()) => while woken.try_recv().is_ok() {},
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => is_open = false,
        }
    }
}

/// Attempts what is due, once each. Returns how long to wait for the next attempt.
fn send_due(target: &Target, store: &dyn Backend, owner: i64) -> Result<Duration> {
    let name = target.name();
    store.claim_deliveries(owner, &name, time::now_ms())?;
    // Deliveries that become due meanwhile belong to the next round.
    let until_ms = time::now_ms();
    loop {
        let due = store.due_deliveries(owner, &name, until_ms, BATCH)?;
        if due.is_empty() {
            break;
        }
        for delivery in &due {
            attempt(target, store, delivery)?;
        }
    }
    let next_ms = store.next_delivery_ms(owner, &name)?.unwrap_or(i64::MAX);
    let wait_ms = u64::try_from(next_ms.saturating_sub(time::now_ms())).unwrap_or_default();
    Ok(Duration::from_millis(wait_ms.max(1)).min(IDLE))
}

fn attempt(target: &Target, store: &dyn Backend, delivery: &Delivery) -> Result<()> {
    let outcome = target.attempt(store, delivery);
    let now_ms = time::now_ms();
    if let Outcome::Failed(why, _) | Outcome::Rejected(why) = &outcome {
        let about = delivery.notice.run.as_ref().map(|run| format!(" about run `{run}`")).unwrap_or_default();
        terminal::message(&format!("warning: a notice{about} failed ({}): {why}\n", target.name()));
    }
    let attempted = settle(outcome, delivery.attempts, target.is_retried(), now_ms);
    Ok(store.record_attempt(delivery, &attempted, now_ms)?)
}

/// The state of a delivery after an attempt, with the time of the next one.
fn settle(outcome: Outcome, attempts: u32, is_retried: bool, now_ms: i64) -> Attempted {
    let (status, due_ms, response) = match outcome {
        Outcome::Delivered(response) => (DeliveryStatus::Delivered, None, response),
        Outcome::Skipped(why) => (DeliveryStatus::Skipped, None, why),
        Outcome::Rejected(why) => (DeliveryStatus::Failed, None, why),
        Outcome::Failed(why, after_ms) => {
            let pause_s = PAUSES_S.get(attempts as usize).filter(|_| is_retried);
            let longest_ms = PAUSES_S.iter().max().map_or(0, |pause_s| pause_s * 1_000);
            let pause_ms = pause_s
                .map(|pause_s| (pause_s * 1_000).max(i64::try_from(after_ms).unwrap_or(i64::MAX)).min(longest_ms));
            match pause_ms {
                Some(pause_ms) => (DeliveryStatus::Pending, Some(now_ms.saturating_add(pause_ms)), why),
                None => (DeliveryStatus::Failed, None, why),
            }
        }
    };
    let response = match response.char_indices().nth(LONGEST_RESPONSE) {
        Some((at, _)) => format!("{}…", &response[..at]),
        None => response,
    };
    Attempted { status, due_ms, response }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_repeated_with_growing_pauses_and_end() {
        let mut at_ms = 0;
        for attempts in 0..PAUSES_S.len() {
            let attempts = u32::try_from(attempts).unwrap();
            let after = settle(Outcome::Failed("503".into(), 0), attempts, true, at_ms);
            let due_ms = after.due_ms.expect("there is another attempt");
            assert!(after.status == DeliveryStatus::Pending && due_ms > at_ms);
            at_ms = due_ms;
        }
        assert!((12..24).contains(&(at_ms / 3_600_000)), "{at_ms}");
        let last = settle(Outcome::Failed("503".into(), 0), u32::try_from(PAUSES_S.len()).unwrap(), true, at_ms);
        assert_eq!((last.status, last.due_ms), (DeliveryStatus::Failed, None));
    }

    #[test]
    fn receivers_can_ask_for_a_longer_pause_within_a_limit() {
        let due_ms = |after_ms| settle(Outcome::Failed(String::new(), after_ms), 0, true, 0).due_ms;
        assert_eq!((due_ms(0), due_ms(60_000)), (Some(2_000), Some(60_000)));
        assert_eq!(due_ms(u64::MAX), Some(14_400_000));
        assert_eq!(settle(Outcome::Failed(String::new(), 0), 0, false, 0).due_ms, None, "a command is run once");
    }

    #[test]
    fn long_responses_are_cut() {
        let long = settle(Outcome::Delivered("é".repeat(1_000)), 0, true, 0).response;
        assert_eq!(long.chars().count(), LONGEST_RESPONSE + 1);
    }
}
