//! Follows a server through its stream of events, so that nothing is read again before something has changed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use branchpoint_backend::BackendError;
use branchpoint_runners::runtime;

use crate::Shared;
use crate::connection::{MAX_DOWNTIME, event_id};

/// How long a stream may be silent. The server shows every 15 seconds that it is alive.
const SILENCE: Duration = Duration::from_secs(45);

/// The pause before the stream is opened again: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// The longest line of which the beginning is read. Lines of data are longer, and are not needed.
const LINE_BYTES: usize = 256;

/// A stream of events.
pub(crate) struct Live {
    /// Why the server is not followed any more.
    failure: Arc<Mutex<Option<String>>>,
    /// Whether the stream is open.
    is_open: Arc<AtomicBool>,
    topics: String,
}

impl Shared {
    /// Whether responses can be used again until something changes.
    pub(crate) fn is_followed(&self) -> bool {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.as_ref().is_some_and(|live| live.is_open.load(Ordering::Acquire))
    }

    /// Notes that something may have changed.
    pub(crate) fn note_change(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// A number that changes whenever something may have changed on the server, which is followed from the first call on.
    pub(crate) fn live_version(this: &Arc<Self>) -> Result<i64, BackendError> {
        let topics = match this.focus() {
            Some((_, id)) => format!("runs,run:{id}"),
            None => "runs".to_owned(),
        };
        let mut live = this.live.lock().unwrap_or_else(PoisonError::into_inner);
        if live.as_ref().is_none_or(|live| live.topics != topics) {
            this.connection.wait_for_restarts();
            *live = Some(Live::start(Arc::downgrade(this), topics));
        }
        let failure =
            live.as_ref().and_then(|live| live.failure.lock().unwrap_or_else(PoisonError::into_inner).clone());
        match failure {
            Some(message) => Err(BackendError::Unavailable(message)),
            None => Ok(this.version.load(Ordering::Acquire)),
        }
    }
}

impl Live {
    fn start(shared: Weak<Shared>, topics: String) -> Self {
        let (failure, is_open) = (Arc::<Mutex<Option<String>>>::default(), Arc::<AtomicBool>::default());
        let follower = Follower { shared, topics: topics.clone(), is_open: Arc::clone(&is_open), last_event: None };
        let failed = Arc::clone(&failure);
        thread::spawn(move || {
            let message = follower.run();
            *failed.lock().unwrap_or_else(PoisonError::into_inner) = message;
        });
        Self { failure, is_open, topics }
    }
}

/// The thread that reads the stream.
struct Follower {
    shared: Weak<Shared>,
    topics: String,
    is_open: Arc<AtomicBool>,
    /// The id of the last event, with which the stream continues after a lost connection.
    last_event: Option<String>,
}

impl Follower {
    /// Follows the server until no command uses it, or it is unreachable for too long. Returns why.
    fn run(mut self) -> Option<String> {
        let (mut lost_since, mut pause): (Option<Instant>, Duration) = (None, FIRST_PAUSE);
        loop {
            let shared = self.shared.upgrade()?;
            if !self.is_current(&shared) {
                return None;
            }
            let ended = runtime().block_on(self.read(&shared));
            self.is_open.store(false, Ordering::Release);
            // Events may have been missed: everything is read again.
            shared.note_change();
            drop(shared);
            match ended {
                Ended::Stream => (lost_since, pause) = (None, FIRST_PAUSE),
                Ended::Unused => return None,
                Ended::Failed(message) if lost_since.get_or_insert_with(Instant::now).elapsed() > MAX_DOWNTIME => {
                    return Some(message);
                }
                Ended::Failed(_) => pause = (pause * 2).min(LONGEST_PAUSE),
            }
            thread::sleep(pause);
        }
    }

    /// Whether the server is still followed by this thread.
    fn is_current(&self, shared: &Shared) -> bool {
        let live = shared.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.as_ref().is_none_or(|live| Arc::ptr_eq(&live.is_open, &self.is_open))
    }

    async fn read(&mut self, shared: &Shared) -> Ended {
        let address = shared.connection.address();
        let lost = |reason: &str| Ended::Failed(format!("the server at {address} {reason}"));
        let request = shared.connection.events(&self.topics);
        let request = match self.last_event.as_deref().and_then(event_id) {
            Some(id) => request.header("last-event-id", id),
            None => request,
        };
        let response = match tokio::time::timeout(SILENCE, request.send()).await {
            Ok(Ok(response)) if response.status().is_success() => response,
            Ok(Ok(response)) => return lost(&format!("does not stream events ({})", response.status())),
            Ok(Err(_)) | Err(_) => return lost("cannot be reached, or the connection was lost"),
        };
        let mut response = response;
        self.is_open.store(true, Ordering::Release);
        shared.note_change();
        let mut lines = Lines::default();
        loop {
            match tokio::time::timeout(SILENCE, response.chunk()).await {
                Ok(Ok(Some(chunk))) => {
                    if let Some(id) = lines.add(&chunk) {
                        self.last_event = Some(id);
                        shared.note_change();
                    }
                }
                Ok(_) | Err(_) => return Ended::Stream,
            }
            if !self.is_current(shared) {
                return Ended::Unused;
            }
        }
    }
}

/// Why a stream is not read any more.
enum Ended {
    /// It ended after it had begun.
    Stream,
    /// Another stream has replaced it.
    Unused,
    Failed(String),
}

/// The lines of a stream, as far as they name events.
#[derive(Default)]
struct Lines {
    line: Vec<u8>,
}

impl Lines {
    /// Adds bytes. Returns the id of the last event that they complete.
    fn add(&mut self, chunk: &[u8]) -> Option<String> {
        let mut last = None;
        for byte in chunk {
            match byte {
                b'\n' => {
                    last = self.id().or(last);
                    self.line.clear();
                }
                byte if self.line.len() < LINE_BYTES => self.line.push(*byte),
                _ => {}
            }
        }
        last
    }

    fn id(&self) -> Option<String> {
        let line = std::str::from_utf8(&self.line).ok()?;
        line.strip_prefix("id:").map(|id| id.trim().to_owned()).filter(|id| !id.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_is_found_in_any_pieces_of_the_stream() {
        let text = format!("id: a-1\nevent: run\ndata: {}\n\n: ping\n\nid: a-2\r\nevent: step\n", "x".repeat(10_000));
        for size in [1, 7, 4_096, 100_000] {
            let mut lines = Lines::default();
            let ids: Vec<String> = text.as_bytes().chunks(size).filter_map(|chunk| lines.add(chunk)).collect();
            assert_eq!(ids.last().map(String::as_str), Some("a-2"), "{size}");
            assert!(lines.line.len() <= LINE_BYTES);
        }
    }
}
