//! The output of a command on one stream: kept up to a bound, and reported while it comes.
//!
//! What is read is kept first and reported afterwards, because a listener may be slow. One task follows the stream as long as
//! somebody can write to it; the task of the command reads what is left when the command has ended, even if the other is still
//! held up by a listener.

use std::io::{self, ErrorKind};
use std::mem;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use branchpoint_core::effect::Stream;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::Notify;
use tokio::task::block_in_place;
use tokio::time::{Instant, timeout_at};

use super::Listener;

/// As much as a pipe holds at most, unless somebody who may do anything has changed the system.
const PIPE_BYTES: usize = 1024 * 1024;

/// One stream of a command. Its clones are the same stream.
#[derive(Clone)]
pub(super) struct Output(Arc<Inner>);

struct Inner {
    stream: Receiver,
    which: Stream,
    listener: Listener,
    heard: Mutex<Heard>,
    /// Wakes those who wait for something to be read or reported.
    changed: Notify,
    /// Held while somebody is told, so that two pieces cannot change places.
    telling: Mutex<()>,
}

/// What was read.
struct Heard {
    kept: Vec<u8>,
    /// How many bytes are kept.
    most: usize,
    is_cut: bool,
    /// What is read and not told. It may begin with a part of a character, whose end has not come yet.
    untold: Vec<u8>,
    /// How many bytes were read, and how many of them have been told.
    read: u64,
    told: u64,
    /// When something was read, at last.
    last: Instant,
    /// Nobody can write to the stream any more.
    has_ended: bool,
}

/// What came of reading.
enum Read {
    Bytes(usize),
    /// Nothing for now.
    Nothing,
    End,
}

impl Output {
    /// Reads a stream in a task of its own, until everybody who could write to it has closed it.
    pub(super) fn follow(stream: OwnedFd, which: Stream, most: usize, listener: &Listener) -> io::Result<Self> {
        let stream = Receiver::from_owned_fd(stream)?;
        let heard = Heard {
            kept: Vec::new(),
            most,
            is_cut: false,
            untold: Vec::new(),
            read: 0,
            told: 0,
            last: Instant::now(),
            has_ended: false,
        };
        let (listener, heard, telling) = (Arc::clone(listener), Mutex::new(heard), Mutex::default());
        let output = Self(Arc::new(Inner { stream, which, listener, heard, changed: Notify::new(), telling }));
        let followed = output.clone();
        tokio::spawn(async move {
            while followed.0.awaits_more().await {
                followed.0.tell();
            }
            followed.0.tell();
        });
        Ok(output)
    }

    /// Takes everything that was written before now, whether or not somebody writes more and more.
    pub(super) fn drain(&self) {
        let mut taken = 0;
        while taken < PIPE_BYTES {
            match self.0.take() {
                Read::Bytes(bytes) => taken += bytes,
                Read::Nothing | Read::End => break,
            }
        }
        // Whoever follows the stream may sleep until more comes, and whoever attends to the command must not be held up.
        if !self.is_told(self.said()) {
            let inner = Arc::clone(&self.0);
            tokio::spawn(async move { inner.tell() });
        }
    }

    /// Waits until nothing more can come, or nothing has come for a while since a moment.
    pub(super) async fn quiet(&self, since: Instant, silence: Duration) {
        loop {
            let changed = self.0.changed.notified();
            let until = {
                let heard = self.0.heard();
                if heard.has_ended {
                    return;
                }
                heard.last.max(since) + silence
            };
            if timeout_at(until, changed).await.is_err() {
                return;
            }
        }
    }

    /// How many bytes were read up to now, as far as they can be told.
    pub(super) fn said(&self) -> u64 {
        let heard = self.0.heard();
        heard.read - (heard.untold.len() - heard.tellable()) as u64
    }

    /// Waits until so many bytes have been reported. A listener that broke down gets nothing more.
    pub(super) async fn told(&self, bytes: u64) {
        self.until(|| self.is_told(bytes)).await;
    }

    async fn until(&self, is_so: impl Fn() -> bool) {
        loop {
            let changed = self.0.changed.notified();
            if is_so() {
                return;
            }
            changed.await;
        }
    }

    fn is_told(&self, bytes: u64) -> bool {
        self.0.telling.is_poisoned() || self.0.heard().told >= bytes
    }

    pub(super) fn stream(&self) -> Stream {
        self.0.which
    }

    /// Waits until more was written than is kept.
    pub(super) async fn exceeds(&self) {
        self.until(|| self.cut().is_some()).await;
    }

    /// The text that is kept. A cut never leaves a part of a character.
    pub(super) fn text(&self) -> String {
        let heard = self.0.heard();
        let whole = heard.kept.len() - if heard.is_cut { unfinished(&heard.kept) } else { 0 };
        String::from_utf8_lossy(&heard.kept[..whole]).into_owned()
    }

    /// This stream, if more was written to it than is kept.
    pub(super) fn cut(&self) -> Option<Stream> {
        self.0.heard().is_cut.then_some(self.0.which)
    }
}

impl Inner {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something comes, and takes it. False: nothing comes any more.
    async fn awaits_more(&self) -> bool {
        self.stream.readable().await.is_ok() && !matches!(self.take(), Read::End)
    }

    /// Reads what is there, without waiting, and keeps it: nothing is ever read and not kept when this lets go.
    fn take(&self) -> Read {
        let mut heard = self.heard();
        let mut buffer = [0; 8192];
        let read = match self.stream.try_read(&mut buffer) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Read::Nothing;
            }
            Ok(0) | Err(_) => {
                heard.has_ended = true;
                Read::End
            }
            Ok(bytes) => {
                heard.keep(&buffer[..bytes]);
                Read::Bytes(bytes)
            }
        };
        drop(heard);
        self.changed.notify_waiters();
        read
    }

    /// Reports what was not reported yet. A listener may block, so that a command prints no faster than it is shown.
    fn tell(&self) {
        block_in_place(|| {
            // Also when the listener panics: whoever waits must not wait for ever.
            let _wake = Wake(&self.changed);
            let _telling = self.telling.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                let whole = self.heard().next_piece();
                if whole.is_empty() {
                    return;
                }
                (self.listener)(self.which, &String::from_utf8_lossy(&whole));
                self.heard().told += whole.len() as u64;
                self.changed.notify_waiters();
            }
        });
    }
}

/// Wakes everybody who waits when it goes.
struct Wake<'n>(&'n Notify);

impl Drop for Wake<'_> {
    fn drop(&mut self) {
        self.0.notify_waiters();
    }
}

impl Heard {
    fn keep(&mut self, read: &[u8]) {
        let room = self.most.saturating_sub(self.kept.len()).min(read.len());
        self.kept.extend_from_slice(&read[..room]);
        self.is_cut |= room < read.len();
        self.untold.extend_from_slice(read);
        self.read += read.len() as u64;
        self.last = Instant::now();
    }

    /// How much can be told before more is known.
    fn tellable(&self) -> usize {
        self.untold.len() - if self.has_ended { 0 } else { unfinished(&self.untold) }
    }

    fn next_piece(&mut self) -> Vec<u8> {
        let rest = self.untold.split_off(self.tellable());
        mem::replace(&mut self.untold, rest)
    }
}

/// How many bytes at the end are the beginning of a character.
fn unfinished(bytes: &[u8]) -> usize {
    const LONGEST: usize = 4;
    let tail = &bytes[bytes.len().saturating_sub(LONGEST - 1)..];
    let begins = |length: &usize| {
        let last = &tail[tail.len() - length..];
        std::str::from_utf8(last).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=tail.len()).find(begins).unwrap_or(0)
}
