//! Where tools work: a few threads for all calls, whoever makes them, and a limit for each.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, timeout};

use crate::cancel::Stop;
use crate::runner::{Answer, Call};

/// How soon a call hears that it should stop.
const NAP: Duration = Duration::from_millis(50);

/// The threads of all tools. They end with the last of its clones.
#[derive(Clone, Debug)]
pub(super) struct Tasks(Arc<Threads>);

#[derive(Debug)]
struct Threads(Option<Runtime>);

impl Tasks {
    pub(super) fn new() -> std::io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().thread_name("tools").build()?;
        Ok(Self(Arc::new(Threads(Some(runtime)))))
    }

    /// Does the work of a call on the thread of the caller, until it is done, takes too long, or is stopped.
    pub(super) fn answer(
        &self,
        call: &Call,
        stop: &Stop,
        default_ms: u64,
        work: impl Future<Output = Result<Answer, Answer>>,
    ) -> Answer {
        let limit_ms = call.attempt_limit_ms().unwrap_or(default_ms);
        match self.within(stop, Duration::from_millis(limit_ms), work) {
            Some(Ok(answer) | Err(answer)) => answer,
            None if stop.is_set() || call.attempt_limit_ms().is_some() => Answer::Never,
            None => Answer::failed("timeout", format!("nothing came back within {limit_ms} ms")),
        }
    }

    /// What the work gives; none if it takes too long or is stopped.
    pub(super) fn within<T>(&self, stop: &Stop, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        self.runtime().block_on(async {
            let until = Instant::now() + limit;
            let mut work = pin!(work);
            while !stop.is_set() {
                let left = until.saturating_duration_since(Instant::now());
                if let Ok(done) = timeout(NAP.min(left), work.as_mut()).await {
                    return Some(done);
                }
                if left <= NAP {
                    break;
                }
            }
            None
        })
    }

    fn runtime(&self) -> &Runtime {
        self.0.0.as_ref().expect("it is there until the last clone goes")
    }
}

impl Drop for Threads {
    /// Whoever lets go of the last clone must not wait for what is still under way, and may itself be such a thread.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
