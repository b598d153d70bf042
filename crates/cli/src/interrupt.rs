//! Ctrl-C. A process can listen for it only once, and who is to hear of it changes while a command goes on.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};

type Listener = Box<dyn Fn() + Send>;

static LISTENER: Mutex<Option<Listener>> = Mutex::new(None);

/// From now on, this is who hears of it, and nobody who was there before.
pub(crate) fn hear(listener: impl Fn() + Send + 'static) -> Result<()> {
    let is_first = current().replace(Box::new(listener)).is_none();
    if is_first {
        ctrlc::set_handler(|| current().iter().for_each(|listener| listener()))
            .context("Ctrl-C cannot be listened for")?;
    }
    Ok(())
}

fn current() -> MutexGuard<'static, Option<Listener>> {
    LISTENER.lock().unwrap_or_else(PoisonError::into_inner)
}
