//! Ctrl-C. A process can have only one handler, and the listener changes while a command executes.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use branchpoint_runners::CancellationToken;

use crate::exit;

type Listener = Box<dyn Fn() + Send>;

static LISTENER: Mutex<Option<Listener>> = Mutex::new(None);

/// Sets the only handler of Ctrl-C, instead of an earlier one.
pub(crate) fn on_interrupt(listener: impl Fn() + Send + 'static) -> Result<()> {
    let is_first = current().replace(Box::new(listener)).is_none();
    if is_first {
        ctrlc::set_handler(|| current().iter().for_each(|listener| listener()))
            .context("Ctrl-C cannot be listened for")?;
    }
    Ok(())
}

/// A token that is cancelled by Ctrl-C.
pub(crate) fn cancellation_token() -> Result<CancellationToken> {
    let token = CancellationToken::new();
    let cancelled = token.clone();
    on_interrupt(move || cancelled.cancel())?;
    Ok(token)
}

/// Calls the listener for the first Ctrl-C. The second one, or one that the listener does not accept, ends the process at once.
pub(crate) fn on_first(listener: impl Fn() -> bool + Send + 'static) -> Result<()> {
    let before = AtomicBool::new(false);
    on_interrupt(move || {
        if before.swap(true, Ordering::Relaxed) || !listener() {
            process::exit(exit::INTERRUPTED.into());
        }
    })
}

fn current() -> MutexGuard<'static, Option<Listener>> {
    LISTENER.lock().unwrap_or_else(PoisonError::into_inner)
}
