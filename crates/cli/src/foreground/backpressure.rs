//! Limits the output of commands that is not yet on the screen: a command that prints faster has to wait.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes that may be pending before a command that prints more has to wait.
const BYTES: usize = 1024 * 1024;

/// Backpressure for pending output. Clones share the limit.
#[derive(Clone, Default)]
pub(super) struct Backpressure(Arc<Inner>);

#[derive(Default)]
struct Inner {
    pending: Mutex<usize>,
    less: Condvar,
}

/// A text that waits to be printed. Dropping it frees its share of the limit.
pub(crate) struct QueuedOutput {
    text: String,
    room: Option<Backpressure>,
}

impl Backpressure {
    /// Waits until the pending output is below the limit, and adds a text.
    pub(super) fn print(&self, text: &str) -> QueuedOutput {
        let is_full = |pending: &mut usize| *pending >= BYTES;
        let mut pending = self.0.less.wait_while(self.pending(), is_full).unwrap_or_else(PoisonError::into_inner);
        *pending += text.len();
        QueuedOutput { text: text.to_owned(), room: Some(self.clone()) }
    }

    fn pending(&self) -> MutexGuard<'_, usize> {
        self.0.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueuedOutput {
    /// A text that is accepted without waiting, even if the limit is exceeded.
    pub(super) fn at_once(text: &str) -> Self {
        Self { text: text.to_owned(), room: None }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl Drop for QueuedOutput {
    fn drop(&mut self) {
        if let Some(room) = &self.room {
            *room.pending() -= self.text.len();
            room.0.less.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    #[test]
    fn a_command_that_prints_more_than_the_limit_waits_alone() {
        let (room, (sender, printed)) = (Backpressure::default(), channel());
        let (printing, text) = (room.clone(), "x".repeat(BYTES / 2));
        let printer = thread::spawn(move || {
            for _ in 0..10 {
                sender.send(printing.print(&text)).expect("the receiver exists");
            }
        });
        let mut shown_run = 0;
        while let Ok(piece) = printed.recv() {
            assert!(*room.pending() <= BYTES, "{} bytes are pending", room.pending());
            assert_eq!(QueuedOutput::at_once("this does not wait").text(), "this does not wait");
            shown_run += piece.text().len();
        }
        printer.join().expect("it has not panicked");
        assert_eq!((shown_run, *room.pending()), (BYTES * 5, 0), "all was received, and nothing is pending");
    }

    #[test]
    fn a_waiting_command_continues_when_the_view_is_closed() {
        let (room, (sender, printed)) = (Backpressure::default(), channel());
        sender.send(room.print(&"x".repeat(BYTES))).expect("the receiver exists");
        let waiting = thread::spawn(move || drop(sender.send(room.print("more"))));
        assert!(!waiting.is_finished());
        drop(printed);
        waiting.join().expect("it continues");
    }
}
