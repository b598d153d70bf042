//! A pool of read connections, so that searches do not wait for each other or for writes.

use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use branchpoint_runners::CancellationToken;

use crate::store::{Durability, Store, StoreError};

/// The most connections; further reads wait for one.
pub(super) const MAX_READERS: usize = 4;

/// The number of SQLite instructions between two checks whether a read is cancelled.
const INSTRUCTIONS: i32 = 1_000;

/// The time between two checks whether a read that waits for a connection is cancelled.
const CHECK: Duration = Duration::from_millis(20);

/// Connections that are opened when they are needed and kept.
#[derive(Debug, Default)]
pub(super) struct Readers {
    state: Mutex<Connections>,
    returned: Condvar,
}

#[derive(Debug, Default)]
struct Connections {
    idle: Vec<Store>,
    in_use: usize,
}

impl Readers {
    /// Reads one state of the store, with a connection of its own, until the work is done or cancelled.
    pub(super) fn read<T>(
        &self,
        path: &Path,
        cancel: &CancellationToken,
        read: impl FnOnce(&Store) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut lease = self.lease(path, cancel)?;
        let store = lease.store();
        let cancel = cancel.clone();
        store.db.progress_handler(INSTRUCTIONS, Some(move || cancel.is_cancelled()))?;
        let result = store.db.execute_batch("BEGIN").map_err(StoreError::from).and_then(|()| read(store));
        // The next read has a handler of its own.
        store.db.progress_handler(0, None::<fn() -> bool>)?;
        store.roll_back();
        result
    }

    fn lease(&self, path: &Path, cancel: &CancellationToken) -> Result<Lease<'_>, StoreError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.in_use >= MAX_READERS {
            if cancel.is_cancelled() {
                return Err(StoreError::Cancelled);
            }
            state = self.returned.wait_timeout(state, CHECK).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.in_use += 1;
        let idle = state.idle.pop();
        drop(state);
        // From here on, dropping the lease frees its place, even if no connection can be opened.
        let mut lease = Lease { readers: self, store: idle };
        if lease.store.is_none() {
            let store = Store::open(path, Durability::Normal)?;
            store.db.pragma_update(None, "query_only", true)?;
            lease.store = Some(store);
        }
        Ok(lease)
    }
}

/// A connection in use.
struct Lease<'r> {
    readers: &'r Readers,
    store: Option<Store>,
}

impl Lease<'_> {
    fn store(&mut self) -> &mut Store {
        self.store.as_mut().expect("a lease has a connection from its beginning to its end")
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut state = self.readers.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.in_use -= 1;
        state.idle.extend(self.store.take());
        drop(state);
        self.readers.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn as_many_reads_as_there_are_connections_work_at_a_time_and_a_waiting_one_can_be_cancelled() {
        let folder = tempfile::tempdir().expect("there is room for a store");
        let (path, readers, cancel) = (folder.path().join("store.db"), Readers::default(), CancellationToken::new());
        let (working, done) = (Barrier::new(MAX_READERS + 1), Barrier::new(MAX_READERS + 1));
        thread::scope(|scope| {
            for _ in 0..MAX_READERS {
                scope.spawn(|| {
                    let read = |_: &Store| {
                        // No thread passes unless all of them read at the same time.
                        working.wait();
                        done.wait();
                        Ok(())
                    };
                    readers.read(&path, &CancellationToken::new(), read).expect("it reads");
                });
            }
            working.wait();
            let waiting = scope.spawn(|| readers.read(&path, &cancel, |_| Ok(())));
            cancel.cancel();
            assert!(matches!(waiting.join().expect("no panic"), Err(StoreError::Cancelled)));
            done.wait();
        });
        let state = readers.state.lock().expect("no panic");
        assert_eq!((state.idle.len(), state.in_use), (MAX_READERS, 0));
    }

    #[test]
    fn a_connection_that_cannot_be_opened_takes_no_place() {
        let (readers, cancel) = (Readers::default(), CancellationToken::new());
        for _ in 0..=MAX_READERS {
            let failed = readers.read(Path::new("/dev/null/store.db"), &cancel, |_| Ok(()));
            assert!(matches!(failed, Err(StoreError::File { .. })), "{failed:?}");
        }
    }

    #[test]
    fn reads_change_nothing() {
        let folder = tempfile::tempdir().expect("there is room for a store");
        let (path, readers) = (folder.path().join("store.db"), Readers::default());
        let delete = |store: &Store| store.execute("DELETE FROM memories", []).map(drop);
        let failed = readers.read(&path, &CancellationToken::new(), delete);
        assert!(matches!(failed, Err(StoreError::Sql(_))), "{failed:?}");
    }
}
