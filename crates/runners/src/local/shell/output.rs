//! What a command says on one stream: kept up to a bound, and told while it comes.
//!
//! What is read is kept first and told afterwards, because whoever listens may be slow. Two threads read: one follows the stream as
//! long as somebody can write to it; whoever attends to the command takes what is left when the command has ended, even if the other
//! is still held up by a listener.

use std::mem;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};

use super::{Listener, Stream};

/// As much as a pipe holds at most, unless somebody who may do anything has changed the system.
const PIPE_BYTES: usize = 1024 * 1024;

/// One stream of a command. Its clones are the same stream.
#[derive(Clone)]
pub(super) struct Output(Arc<Inner>);

struct Inner {
    stream: OwnedFd,
    which: Stream,
    listener: Listener,
    heard: Mutex<Heard>,
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
    /// Reads a stream on a thread of its own, until everybody who could write to it has closed it.
    pub(super) fn follow(stream: OwnedFd, which: Stream, most: usize, listener: &Listener) -> Self {
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
        let output = Self(Arc::new(Inner { stream, which, listener, heard, telling }));
        let followed = output.clone();
        thread::spawn(move || {
            while followed.0.awaits_more() {
                followed.0.tell();
            }
            followed.0.tell();
        });
        output
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
            thread::spawn(move || inner.tell());
        }
    }

    /// Whether nothing more can come.
    pub(super) fn has_ended(&self) -> bool {
        self.0.heard().has_ended
    }

    /// For how long nothing has come.
    pub(super) fn silence(&self) -> Duration {
        self.0.heard().last.elapsed()
    }

    /// How many bytes were read up to now, as far as they can be told.
    pub(super) fn said(&self) -> u64 {
        let heard = self.0.heard();
        heard.read - (heard.untold.len() - heard.tellable()) as u64
    }

    /// Whether so many bytes have been told. A listener that broke down hears nothing more.
    pub(super) fn is_told(&self, bytes: u64) -> bool {
        self.0.telling.is_poisoned() || self.0.heard().told >= bytes
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
    fn awaits_more(&self) -> bool {
        match self.is_ready(None) {
            Ok(_) => !matches!(self.take(), Read::End),
            Err(_) => false,
        }
    }

    /// Whether reading would not wait.
    fn is_ready(&self, patience: Option<&Timespec>) -> Result<bool, Errno> {
        loop {
            match poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], patience) {
                Ok(ready) => return Ok(ready > 0),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads what is there, without waiting, and keeps it: nothing is ever read and not kept when this lets go.
    fn take(&self) -> Read {
        let mut heard = self.heard();
        let mut buffer = [0; 8192];
        let bytes = match self.is_ready(Some(&Timespec::default())) {
            Ok(false) => return Read::Nothing,
            Ok(true) => read(&self.stream, &mut buffer),
            Err(error) => Err(error),
        };
        match bytes {
            Err(Errno::INTR | Errno::AGAIN) => Read::Nothing,
            Ok(0) | Err(_) => {
                heard.has_ended = true;
                Read::End
            }
            Ok(bytes) => {
                heard.keep(&buffer[..bytes]);
                Read::Bytes(bytes)
            }
        }
    }

    /// Tells what was not told yet.
    fn tell(&self) {
        let _telling = self.telling.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let whole = self.heard().next_piece();
            if whole.is_empty() {
                return;
            }
            (self.listener)(self.which, &String::from_utf8_lossy(&whole));
            self.heard().told += whole.len() as u64;
        }
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
