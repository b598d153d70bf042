//! The async runtime of all runners.

use std::sync::LazyLock;

use tokio::runtime::{Builder, Runtime};

/// One for the process: connections and servers of tools outlive single calls, and a runtime must not be dropped on a thread of
/// another.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let built = Builder::new_multi_thread().worker_threads(WORKERS).thread_name("runners").enable_all().build();
    built.unwrap_or_else(|error| panic!("the runners need threads, and the system has none left: {error}"))
});

/// Runners wait for others most of the time. What computes or blocks moves to further threads.
const WORKERS: usize = 2;

/// The runtime on which calls are performed.
pub fn runtime() -> &'static Runtime {
    &RUNTIME
}
