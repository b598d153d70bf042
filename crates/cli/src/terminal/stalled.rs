//! Writes messages to a terminal or a pipe that may not accept them, such as a paused pager. Waiting for it would delay runs and signals.
//! What stderr does not accept in time is dropped and counted; whatever commands print is in the store as well.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::{AsFd, BorrowedFd};

/// How long stderr may accept nothing, in milliseconds, until messages are dropped.
const STALL_TIMEOUT_MS: u16 = 1_000;

/// How many bytes a pipe accepts without blocking when it accepts any.
const PIECE_BYTES: usize = 4096;

/// How many bytes were dropped since stderr stopped accepting messages; none while it accepts them.
static DROPPED: Mutex<Option<usize>> = Mutex::new(None);

/// Writes to stderr as much as it accepts.
pub(super) fn write(message: &str) {
    let (dropped, stderr) = (&mut *dropped(), io::stderr());
    let write = |piece: &str| drop(anstream::stderr().lock().write_all(piece.as_bytes()));
    write_to(message, dropped, |tolerance_ms| accepts(stderr.as_fd(), tolerance_ms), write);
}

/// Whether stderr accepts nothing now. What only moves, such as a spinner, is not drawn then.
pub(crate) fn is_stalled() -> bool {
    !accepts(io::stderr().as_fd(), 0)
}

fn dropped() -> MutexGuard<'static, Option<usize>> {
    DROPPED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write_to(message: &str, dropped: &mut Option<usize>, accepts: impl Fn(u16) -> bool, mut write: impl FnMut(&str)) {
    let mut rest = message;
    while !rest.is_empty() {
        // After it has stalled once, no message waits for it.
        if !accepts(if dropped.is_some() { 0 } else { STALL_TIMEOUT_MS }) {
            *dropped = Some(dropped.unwrap_or_default() + rest.len());
            return;
        }
        if let Some(bytes) = dropped.take() {
            write(&format!("\n[{bytes} bytes of messages were dropped because nothing read them]\n"));
            continue;
        }
        let (piece, more) = rest.split_at(piece_length(rest));
        write(piece);
        rest = more;
    }
}

/// The length of the next piece. A sequence that sets a style is not cut.
fn piece_length(rest: &str) -> usize {
    let end = rest.floor_char_boundary(PIECE_BYTES);
    let style = rest[..end].rfind('\u{1b}').filter(|style| *style > 0 && !rest[*style..end].contains('m'));
    style.filter(|_| end < rest.len()).unwrap_or(end)
}

/// Whether a file accepts a piece within so many milliseconds. One that is closed accepts it, and reports the error.
fn accepts(file: BorrowedFd<'_>, tolerance_ms: u16) -> bool {
    let mut files = [PollFd::new(file, PollFlags::POLLOUT)];
    loop {
        match poll(&mut files, PollTimeout::from(tolerance_ms)) {
            // A signal has interrupted the wait, which says nothing about the file.
            Err(Errno::EINTR) => {}
            answer => return answer != Ok(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_is_not_cut_between_two_pieces() {
        for before in PIECE_BYTES - 6..=PIECE_BYTES + 1 {
            let message = format!("{}\u{1b}[1;31mred\u{1b}[0m", "x".repeat(before));
            let mut pieces = Vec::new();
            write_to(&message, &mut None, |_| true, |piece| pieces.push(piece.to_owned()));
            assert_eq!(pieces.concat(), message);
            let is_whole = |piece: &String| piece.split('\u{1b}').skip(1).all(|style| style.contains('m'));
            assert!(pieces.len() == 2 && pieces.iter().all(is_whole), "{pieces:?}");
        }
    }

    #[test]
    fn messages_without_a_reader_are_dropped_and_counted() {
        let (mut dropped, mut written) = (None, String::new());
        let mut send = |message: &str, is_read: bool| {
            let waits = std::cell::Cell::new(0);
            let accepts = |tolerance_ms| {
                waits.set(waits.get() + tolerance_ms);
                is_read
            };
            write_to(message, &mut dropped, accepts, |piece| written.push_str(piece));
            waits.get()
        };
        assert_eq!(send("one ", true), STALL_TIMEOUT_MS);
        assert_eq!(send("lost ", false), STALL_TIMEOUT_MS);
        assert_eq!(send("lost too ", false), 0, "only the first one waits");
        send(&"two ".repeat(3_000), true);
        let note = "\n[14 bytes of messages were dropped because nothing read them]\n";
        assert_eq!(written, format!("one {note}{}", "two ".repeat(3_000)));
    }
}
