//! A word to whoever works for a run that nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Told to stop, or out of time. Whoever works for part of a run also hears what the whole is told.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    flag: Arc<AtomicBool>,
    until: Option<Instant>,
    around: Option<Arc<Stop>>,
}

impl Stop {
    /// A word for a part of what this is the word for, with a limit of its own.
    #[must_use]
    pub fn inside(&self, until: Option<Instant>) -> Self {
        Self { flag: Arc::default(), until, around: Some(Arc::new(self.clone())) }
    }

    /// Says it.
    pub fn set(&self) {
        self.flag.store(true, Ordering::Release);
    }

    /// Whether it was said, here or around.
    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::Acquire)
            || self.until.is_some_and(|until| Instant::now() >= until)
            || self.around.as_ref().is_some_and(|around| around.is_set())
    }
}
