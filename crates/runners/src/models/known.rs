//! What is known of a call while it goes on. It is kept where the call does not take it along, because its time may be over at any
//! moment, and what was paid for and what was said must be reported even then.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use branchpoint_core::Failed;

use super::frames::Frames;
use super::price::Tokens;

#[derive(Default)]
pub(super) struct Known(Mutex<Facts>);

#[derive(Default)]
struct Facts {
    /// What tries have used up that have ended.
    spent: Tokens,
    /// What has come of the try that goes on.
    frames: Arc<Frames>,
    /// Why the last try is not the last, in words.
    trouble: Option<String>,
    /// The answer of the call, if nothing can make it another.
    refusal: Option<Failed>,
}

impl Known {
    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What all tries together have used up, the one that goes on included.
    pub(super) fn tokens(&self) -> Tokens {
        let facts = self.facts();
        facts.spent.plus(facts.frames.facts().tokens)
    }

    /// Where a try that begins listens to its frames.
    pub(super) fn frames(&self) -> Arc<Frames> {
        Arc::clone(&self.facts().frames)
    }

    /// A try has ended, and has used up so much.
    pub(super) fn spent(&self, tokens: Tokens) {
        let mut facts = self.facts();
        facts.frames = Arc::default();
        facts.spent = facts.spent.plus(tokens);
    }

    /// There will be another try, because of this.
    pub(super) fn failed_with(&self, trouble: String) {
        self.facts().trouble = Some(trouble);
    }

    /// Whether nothing at all came back, as far as anybody knows.
    pub(super) fn is_nothing(&self) -> bool {
        self.tokens() == Tokens::default() && self.facts().trouble.is_none()
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.facts().trouble.clone()
    }

    /// There is no more to it than what can be said better.
    pub(super) fn refused_with(&self, refusal: Failed) {
        self.facts().refusal = Some(refusal);
    }

    pub(super) fn refusal(&self) -> Option<Failed> {
        self.facts().refusal.clone()
    }
}
