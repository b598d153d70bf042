//! What is known of a call while it goes on. It is kept where the call does not take it along, because its time may be over at any
//! moment, and what was paid for and what was said must be told even then.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use branchpoint_core::Failed;

use super::frames::Frames;
use super::price::Tokens;

#[derive(Default)]
pub(super) struct Known {
    /// What tries have used up that have ended.
    spent: Cell<Tokens>,
    /// What has come of the try that goes on.
    frames: RefCell<Arc<Frames>>,
    /// Why the last try is not the last, in words.
    trouble: RefCell<Option<String>>,
    /// The answer of the call, if nothing can make it another.
    refusal: RefCell<Option<Failed>>,
}

impl Known {
    /// What all tries together have used up, the one that goes on included.
    pub(super) fn tokens(&self) -> Tokens {
        self.spent.get().plus(self.frames.borrow().facts().tokens)
    }

    /// Where a try that begins listens to its frames.
    pub(super) fn frames(&self) -> Arc<Frames> {
        Arc::clone(&self.frames.borrow())
    }

    /// A try has ended, and has used up so much.
    pub(super) fn spent(&self, tokens: Tokens) {
        self.frames.take();
        self.spent.set(self.spent.get().plus(tokens));
    }

    /// There will be another try, because of this.
    pub(super) fn failed_with(&self, trouble: String) {
        self.trouble.replace(Some(trouble));
    }

    /// Whether nothing at all came back, as far as anybody knows.
    pub(super) fn is_nothing(&self) -> bool {
        self.tokens() == Tokens::default() && self.trouble.borrow().is_none()
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble.borrow().clone()
    }

    /// There is no more to it than what can be said better.
    pub(super) fn refused_with(&self, refusal: Failed) {
        self.refusal.replace(Some(refusal));
    }

    pub(super) fn refusal(&self) -> Option<Failed> {
        self.refusal.borrow().clone()
    }
}
