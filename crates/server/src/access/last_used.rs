//! When credentials were last used: a small file beside the credentials, which is written seldom, because requests must not wait for it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::file::private;

/// How much later than the use the file may be written, in milliseconds.
const INTERVAL_MS: i64 = 10_000;

/// The maximum size of the file in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The latest use of each credential, by its id.
type Times = BTreeMap<String, i64>;

#[derive(Debug)]
pub(super) struct LastUsed {
    path: PathBuf,
    unwritten: Mutex<Unwritten>,
}

#[derive(Debug, Default)]
struct Unwritten {
    times: Times,
    written_ms: Option<i64>,
}

impl LastUsed {
    pub(super) fn of_store(store: &Path) -> Self {
        let mut path = store.as_os_str().to_owned();
        path.push(".access-used.json");
        Self { path: path.into(), unwritten: Mutex::default() }
    }

    /// Records a use. `exists` says which credentials still exist; others are removed. A file that cannot be written does not fail a
    /// request: the use stays in memory, and the next one tries again.
    pub(super) fn record(&self, id: &str, now_ms: i64, exists: impl Fn(&str) -> bool) {
        let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        unwritten.times.insert(id.to_owned(), now_ms);
        if unwritten.written_ms.is_some_and(|written_ms| now_ms - written_ms < INTERVAL_MS) {
            return;
        }
        unwritten.written_ms = Some(now_ms);
        if self.write(&unwritten.times, exists).is_ok() {
            unwritten.times.clear();
        }
    }

    /// The latest uses, also those that are not written yet.
    pub(super) fn times(&self) -> Times {
        let mut times = self.read();
        let unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        merge(&mut times, &unwritten.times);
        times
    }

    /// The content of the file. One that is damaged counts as empty: it only informs people.
    fn read(&self) -> Times {
        let mut text = String::new();
        let read = fs::File::open(&self.path).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text));
        read.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// Adds uses to the file. Another process may do so at the same time.
    fn write(&self, used: &Times, exists: impl Fn(&str) -> bool) -> io::Result<()> {
        let lock = private(&self.path.with_extension("lock"))?;
        lock.lock()?;
        let mut times = self.read();
        merge(&mut times, used);
        times.retain(|id, _| exists(id));
        let written = self.path.with_extension("new");
        let mut file = private(&written)?;
        file.set_len(0)?;
        file.write_all(&serde_json::to_vec(&times)?)?;
        fs::rename(&written, &self.path)
    }
}

fn merge(times: &mut Times, used: &Times) {
    for (id, used_ms) in used {
        let known = times.entry(id.clone()).or_insert(*used_ms);
        *known = (*known).max(*used_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_kept_for_other_processes_and_removed_with_their_credentials() {
        let folder = tempfile::tempdir().expect("there is room for a file");
        let store = folder.path().join("store.db");
        let (here, other) = (LastUsed::of_store(&store), LastUsed::of_store(&store));
        here.record("a", 1_000, |_| true);
        assert_eq!(other.times(), Times::from([("a".into(), 1_000)]), "the first use is written at once");
        here.record("b", 2_000, |_| true);
        assert_eq!(here.times()["b"], 2_000);
        assert!(!other.times().contains_key("b"), "uses soon after are written later");
        other.record("a", 500, |_| true);
        assert_eq!(other.times()["a"], 1_000, "an earlier time does not replace a later one");
        here.record("a", 20_000, |id| id == "a");
        assert_eq!(other.times(), Times::from([("a".into(), 20_000)]));
    }
}
