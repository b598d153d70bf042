//! The async runtime of all runners, and the limit of open files.

use std::sync::LazyLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::{Builder, Runtime};

/// One runtime for the process: connections and tool servers outlive single calls, and a runtime must not be dropped on a thread of
/// another runtime.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let built = Builder::new_multi_thread().worker_threads(WORKERS).thread_name("runners").enable_all().build();
    built.unwrap_or_else(|error| panic!("the runners need threads, and the system has none left: {error}"))
});

/// Runners mostly wait for I/O. Work that computes or blocks moves to other threads.
const WORKERS: usize = 2;

/// The runtime on which calls are performed.
///
/// ```
/// assert_eq!(branchpoint_runners::runtime().block_on(async { 1 + 1 }), 2);
/// ```
pub fn runtime() -> &'static Runtime {
    &RUNTIME
}

/// Enough for thousands of simultaneous connections. Not more, because some child programs iterate over all file descriptors that they
/// could have.
const OPEN_FILES: u64 = 16 * 1024;

/// Raises the number of files that this process may have open, up to the hard limit. A call that exceeds it reports the error.
///
/// ```
/// branchpoint_runners::allow_many_open_files();
/// ```
pub fn allow_many_open_files() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(OPEN_FILES, |most| most.min(OPEN_FILES));
    if current.is_some_and(|few| few < wanted) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}
