//! The async runtime of all runners, and the files that the process may have open.

use std::sync::LazyLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
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
///
/// ```
/// assert_eq!(branchpoint_runners::runtime().block_on(async { 1 + 1 }), 2);
/// ```
pub fn runtime() -> &'static Runtime {
    &RUNTIME
}

/// Enough for thousands of calls at once, each of which has a connection. Not more: some child programs go through all files that
/// they might have open.
const OPEN_FILES: u64 = 16 * 1024;

/// Raises the number of files that this process may have open, up to the limit that only the operator can raise. Calls that lack a file
/// report it.
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
