//! How many files this process may have open at once.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Enough for thousands of calls at once, each of which has a connection. Not more: some child programs go through all files that
/// they might have open.
const ENOUGH: u64 = 16 * 1024;

/// Systems let a process open few files unless it asks for more, up to a limit that only the operator can raise. What is not
/// granted is told by the calls that lack it.
pub fn allow_many_open_files() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(ENOUGH, |most| most.min(ENOUGH));
    if current.is_some_and(|few| few < wanted) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}
