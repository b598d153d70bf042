//! What commands print, on its way to whoever watches: a command that prints faster than the screen takes it has to wait.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// How much may be on its way before whoever prints more has to wait.
const BYTES: usize = 1024 * 1024;

/// Backpressure for what is on its way. Its clones are the same room.
#[derive(Clone, Default)]
pub(super) struct Backpressure(Arc<Inner>);

#[derive(Default)]
struct Inner {
    taken: Mutex<usize>,
    less: Condvar,
}

/// A text that waits to be printed. Dropping it frees its share of the bound.
pub(crate) struct Printed {
    text: String,
    room: Option<Backpressure>,
}

impl Backpressure {
    /// Waits until there is room, and takes it.
    pub(super) fn print(&self, text: &str) -> Printed {
        let is_full = |taken: &mut usize| *taken >= BYTES;
        let mut taken = self.0.less.wait_while(self.taken(), is_full).unwrap_or_else(PoisonError::into_inner);
        *taken += text.len();
        Printed { text: text.to_owned(), room: Some(self.clone()) }
    }

    fn taken(&self) -> MutexGuard<'_, usize> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Printed {
    /// A text for which nobody waits, whether there is room or not.
    pub(super) fn at_once(text: &str) -> Self {
        Self { text: text.to_owned(), room: None }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl Drop for Printed {
    fn drop(&mut self) {
        if let Some(room) = &self.room {
            *room.taken() -= self.text.len();
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
    fn whoever_prints_more_than_there_is_room_for_waits_and_nobody_else() {
        let (room, (sender, printed)) = (Backpressure::default(), channel());
        let (printing, text) = (room.clone(), "x".repeat(BYTES / 2));
        let printer = thread::spawn(move || {
            for _ in 0..10 {
                sender.send(printing.print(&text)).expect("somebody watches");
            }
        });
        let mut seen = 0;
        while let Ok(piece) = printed.recv() {
            assert!(*room.taken() <= BYTES, "{} bytes are on their way", room.taken());
            assert_eq!(Printed::at_once("this does not wait").text(), "this does not wait");
            seen += piece.text().len();
        }
        printer.join().expect("it has not broken down");
        assert_eq!((seen, *room.taken()), (BYTES * 5, 0), "all was seen, and nothing is left");
    }

    #[test]
    fn whoever_waits_goes_on_when_nobody_watches_any_more() {
        let (room, (sender, printed)) = (Backpressure::default(), channel());
        sender.send(room.print(&"x".repeat(BYTES))).expect("somebody watches");
        let waiting = thread::spawn(move || drop(sender.send(room.print("more"))));
        assert!(!waiting.is_finished());
        drop(printed);
        waiting.join().expect("it goes on");
    }
}
