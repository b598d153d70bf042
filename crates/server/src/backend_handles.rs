//! Calls the backend, whose methods block, on threads that may block.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use branchpoint_backend::{Backend, BackendError};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::app::App;
use crate::problem::{Problem, ProblemKind};

/// A limited number of handles on one backend. They are opened when they are first needed.
pub(crate) struct BackendHandles {
    /// The handle that opens the others and stops the backend.
    first: Mutex<Box<dyn Backend>>,
    idle: Mutex<Vec<Box<dyn Backend>>>,
    free: Arc<Semaphore>,
}

impl BackendHandles {
    pub(crate) fn new(first: Box<dyn Backend>, limit: usize) -> Self {
        Self { first: Mutex::new(first), idle: Mutex::default(), free: Arc::new(Semaphore::new(limit.max(1))) }
    }

    /// Calls the first handle, which drives the backend, before and after requests are handled. Blocks.
    pub(crate) fn with_first<T>(&self, call: impl FnOnce(&mut dyn Backend) -> T) -> T {
        call(&mut **self.first.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Stops driving runs. Blocks.
    pub(crate) fn stop(&self, grace: Duration) -> Result<(), BackendError> {
        self.with_first(|backend| backend.stop(grace))
    }

    fn take(&self) -> Result<Box<dyn Backend>, BackendError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| self.with_first(|backend| backend.handle()), Ok)
    }

    fn put_back(&self, handle: Box<dyn Backend>) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
    }
}

impl App {
    /// Calls the backend on a thread that may block. Waits while all handles are in use.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Backend) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let app = self.clone();
        let permit = Arc::clone(&self.handles.free).acquire_owned().await.map_err(|_| stopped())?;
        let called = spawn_blocking(move || {
            // The work continues when its request ends early, and counts until then.
            let _permit = permit;
            let handle = app.handles.take()?;
            let result = work(&*handle);
            app.handles.put_back(handle);
            result
        });
        called.await.unwrap_or_else(|panic| defect(&panic))
    }

    /// Computes something that takes time, on a thread that may block.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = Arc::clone(&self.handles.free).acquire_owned().await.map_err(|_| stopped())?;
        let computed = spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        computed.await.unwrap_or_else(|panic| defect(&panic))
    }
}

/// The thread's panic message is on stderr; a client learns nothing about it.
fn defect<T>(panic: &tokio::task::JoinError) -> Result<T, Problem> {
    debug_assert!(panic.is_panic(), "blocking calls are not cancelled");
    let detail = "The request could not be handled because of a defect of the server.";
    Err(Problem::new(ProblemKind::Internal, detail))
}

/// The answer to requests that the server cannot finish any more.
pub(crate) fn stopped() -> Problem {
    Problem::new(ProblemKind::Unavailable, "The server is shutting down.").retry_after(1)
}
