//! The output of a command on one stream: kept up to a limit, and delivered to a listener while the command runs.
//!
//! Output is stored before it is delivered, because a listener may be slow. One task follows the stream until it is closed. When the
//! command has ended, the task of the command reads the rest, even if a listener still blocks the other task.

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

/// The largest capacity of a pipe, unless an administrator has raised it.
const PIPE_BYTES: usize = 1024 * 1024;

/// One stream of a command. Clones share it.
#[derive(Clone)]
pub(super) struct Output(Arc<Inner>);

struct Inner {
    stream: Receiver,
    which: Stream,
    listener: Listener,
    buffer: Mutex<Buffer>,
    /// Wakes tasks that wait for output to be read or delivered.
    changed: Notify,
    /// Held during a delivery, so that pieces stay in order.
    delivery: Mutex<()>,
}

/// The output that was read.
struct Buffer {
    kept: Vec<u8>,
    /// The most bytes that are kept.
    most: usize,
    is_cut: bool,
    /// Bytes that are not delivered yet. The last ones may be an incomplete character.
    pending: Vec<u8>,
    /// The numbers of bytes that were read and delivered.
    read: u64,
    delivered: u64,
    /// When bytes were last read.
    last: Instant,
    /// Whether the stream is closed.
    has_ended: bool,
}

/// The outcome of reading.
enum Read {
    Bytes(usize),
    /// The stream has no bytes at present.
    Nothing,
    End,
}

impl Output {
    /// Reads a stream in a separate task, until all its writers have closed it.
    pub(super) fn follow(stream: OwnedFd, which: Stream, most: usize, listener: &Listener) -> io::Result<Self> {
        let stream = Receiver::from_owned_fd(stream)?;
        let buffer = Buffer {
            kept: Vec::new(),
            most,
            is_cut: false,
            pending: Vec::new(),
            read: 0,
            delivered: 0,
            last: Instant::now(),
            has_ended: false,
        };
        let (listener, buffer, delivery) = (Arc::clone(listener), Mutex::new(buffer), Mutex::default());
        let output = Self(Arc::new(Inner { stream, which, listener, buffer, changed: Notify::new(), delivery }));
        let followed = output.clone();
        tokio::spawn(async move {
            while followed.0.read_more().await {
                followed.0.deliver();
            }
            followed.0.deliver();
        });
        Ok(output)
    }

    /// Reads everything that was written so far, but not endlessly if more is written meanwhile.
    pub(super) fn drain(&self) {
        let mut drained = 0;
        while drained < PIPE_BYTES {
            match self.0.read_available() {
                Read::Bytes(bytes) => drained += bytes,
                Read::Nothing | Read::End => break,
            }
        }
        // The task that follows the stream may sleep until more is written, and the caller must not wait for the listener.
        if !self.is_delivered(self.deliverable_bytes()) {
            let inner = Arc::clone(&self.0);
            tokio::spawn(async move { inner.deliver() });
        }
    }

    /// Waits until the stream is closed, or has been silent for a while since an instant.
    pub(super) async fn quiet(&self, since: Instant, silence: Duration) {
        loop {
            let changed = self.0.changed.notified();
            let until = {
                let buffer = self.0.buffer();
                if buffer.has_ended {
                    return;
                }
                buffer.last.max(since) + silence
            };
            if timeout_at(until, changed).await.is_err() {
                return;
            }
        }
    }

    /// The number of bytes read so far that can be delivered.
    pub(super) fn deliverable_bytes(&self) -> u64 {
        let buffer = self.0.buffer();
        buffer.read - (buffer.pending.len() - buffer.deliverable()) as u64
    }

    /// Waits until this number of bytes has been delivered. A listener that has panicked gets nothing more.
    pub(super) async fn delivered(&self, bytes: u64) {
        self.until(|| self.is_delivered(bytes)).await;
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

    fn is_delivered(&self, bytes: u64) -> bool {
        self.0.delivery.is_poisoned() || self.0.buffer().delivered >= bytes
    }

    pub(super) fn stream(&self) -> Stream {
        self.0.which
    }

    /// Waits until the output exceeds the limit.
    pub(super) async fn exceeds(&self) {
        self.until(|| self.cut().is_some()).await;
    }

    /// The kept text. Truncated text does not end with a part of a character.
    pub(super) fn text(&self) -> String {
        let buffer = self.0.buffer();
        let whole = buffer.kept.len() - if buffer.is_cut { unfinished(&buffer.kept) } else { 0 };
        String::from_utf8_lossy(&buffer.kept[..whole]).into_owned()
    }

    /// This stream, if its output exceeds the limit.
    pub(super) fn cut(&self) -> Option<Stream> {
        self.0.buffer().is_cut.then_some(self.0.which)
    }
}

impl Inner {
    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for output and reads it; false at the end of the stream.
    async fn read_more(&self) -> bool {
        self.stream.readable().await.is_ok() && !matches!(self.read_available(), Read::End)
    }

    /// Reads and stores available bytes without waiting. Every byte that was read is stored when this returns.
    fn read_available(&self) -> Read {
        let mut buffer = self.buffer();
        let mut bytes = [0; 8192];
        let read = match self.stream.try_read(&mut bytes) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Read::Nothing;
            }
            Ok(0) | Err(_) => {
                buffer.has_ended = true;
                Read::End
            }
            Ok(count) => {
                buffer.keep(&bytes[..count]);
                Read::Bytes(count)
            }
        };
        drop(buffer);
        self.changed.notify_waiters();
        read
    }

    /// Delivers pending output to the listener. A listener may block, which slows the command down.
    fn deliver(&self) {
        block_in_place(|| {
            // Also when the listener panics: waiting tasks must not wait for ever.
            let _wake = Wake(&self.changed);
            let _delivery = self.delivery.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                let whole = self.buffer().next_piece();
                if whole.is_empty() {
                    return;
                }
                (self.listener)(self.which, &String::from_utf8_lossy(&whole));
                self.buffer().delivered += whole.len() as u64;
                self.changed.notify_waiters();
            }
        });
    }
}

/// Wakes waiting tasks when it is dropped.
struct Wake<'n>(&'n Notify);

impl Drop for Wake<'_> {
    fn drop(&mut self) {
        self.0.notify_waiters();
    }
}

impl Buffer {
    fn keep(&mut self, read: &[u8]) {
        let room = self.most.saturating_sub(self.kept.len()).min(read.len());
        self.kept.extend_from_slice(&read[..room]);
        self.is_cut |= room < read.len();
        self.pending.extend_from_slice(read);
        self.read += read.len() as u64;
        self.last = Instant::now();
    }

    /// The number of pending bytes without an incomplete character at their end.
    fn deliverable(&self) -> usize {
        self.pending.len() - if self.has_ended { 0 } else { unfinished(&self.pending) }
    }

    fn next_piece(&mut self) -> Vec<u8> {
        let rest = self.pending.split_off(self.deliverable());
        mem::replace(&mut self.pending, rest)
    }
}

/// The number of bytes at the end that are an incomplete character.
fn unfinished(bytes: &[u8]) -> usize {
    const LONGEST: usize = 4;
    let tail = &bytes[bytes.len().saturating_sub(LONGEST - 1)..];
    let begins = |length: &usize| {
        let last = &tail[tail.len() - length..];
        std::str::from_utf8(last).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=tail.len()).find(begins).unwrap_or(0)
}
