//! Sign-ins that have begun and that the provider has not confirmed yet.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use openidconnect::{Nonce, PkceCodeVerifier};

/// How long a person may take to sign in at the provider.
const LIFETIME: Duration = Duration::from_mins(10);

/// The maximum number of sign-ins at the same time.
const MAX_PENDING: usize = 1_000;

/// What must be remembered until the browser returns.
pub(super) struct SignIn {
    pub(super) verifier: PkceCodeVerifier,
    pub(super) nonce: Nonce,
    /// The address to which the provider sends the browser back.
    pub(super) callback: String,
    /// The page to show afterwards.
    pub(super) to: String,
}

/// The begun sign-ins by their state. They are in memory only, so a restart of the server ends them.
#[derive(Default)]
pub(super) struct Pending(Mutex<HashMap<String, (Instant, SignIn)>>);

impl Pending {
    /// Adds a sign-in. The oldest one ends if there are too many, so that requests without an owner cannot keep people out.
    pub(super) fn add(&self, state: String, sign_in: SignIn) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, (begun, _)| begun.elapsed() < LIFETIME);
        let oldest = all.iter().min_by_key(|(_, (begun, _))| *begun).map(|(state, _)| state.clone());
        if let Some(oldest) = oldest.filter(|_| all.len() >= MAX_PENDING) {
            all.remove(&oldest);
        }
        all.insert(state, (Instant::now(), sign_in));
    }

    /// Removes a sign-in, so that its state works once.
    pub(super) fn take(&self, state: &str) -> Option<SignIn> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(state).filter(|(begun, _)| begun.elapsed() < LIFETIME).map(|(_, sign_in)| sign_in)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign_in() -> SignIn {
        let verifier = PkceCodeVerifier::new("v".repeat(43));
        SignIn { verifier, nonce: Nonce::new("n".into()), callback: String::new(), to: "/".into() }
    }

    #[test]
    fn a_state_works_once() {
        let pending = Pending::default();
        pending.add("a".into(), sign_in());
        assert!(pending.take("b").is_none());
        assert!(pending.take("a").is_some());
        assert!(pending.take("a").is_none());
    }

    #[test]
    fn the_oldest_of_too_many_sign_ins_ends() {
        let pending = Pending::default();
        for number in 0..MAX_PENDING {
            pending.add(number.to_string(), sign_in());
        }
        pending.add("more".into(), sign_in());
        assert!(pending.take("0").is_none() && pending.take("1").is_some() && pending.take("more").is_some());
    }
}
