//! Full-text search over runs: their ids, workflows, inputs and results.
//!
//! The index is derived data. The process that drives a run indexes it after it has ended, when it has nothing else to do;
//! [`Store::index_runs`] adds the other runs before a search.

use branchpoint_core::Event;

use super::{RunNo, Store, StoreError};

/// The number of runs that one transaction adds, so that processes that drive runs do not wait long for the store.
const RUNS_PER_TRANSACTION: usize = 100;

/// The most runs that are added before one search.
const MAX_RUNS_PER_SEARCH: usize = 500;

/// The most bytes of an input or a result that are indexed.
const TEXT_BYTES: usize = 64 * 1024;

impl Store {
    /// Adds the newest missing runs to the index, at most [`MAX_RUNS_PER_SEARCH`]. Returns the number of runs that are still missing.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// store.index_runs().unwrap();
    /// let found = Filter { search: Some("hello".into()), ..Filter::default() };
    /// assert_eq!(store.runs(&found).unwrap().len(), 1);
    /// ```
    pub fn index_runs(&self) -> Result<u64, StoreError> {
        let newest = || {
            let sql = format!("SELECT run FROM unindexed_runs ORDER BY run DESC LIMIT {RUNS_PER_TRANSACTION}");
            self.rows(&sql, [], |row| row.get(0).map(RunNo))
        };
        for _ in 0..MAX_RUNS_PER_SEARCH / RUNS_PER_TRANSACTION {
            if newest()?.is_empty() {
                return Ok(0);
            }
            // Another process may have removed or added some of them meanwhile.
            self.unsynced(|| newest()?.into_iter().try_for_each(|run| self.index_run(run)))?;
        }
        self.value("SELECT count(*) FROM unindexed_runs", [])
    }

    /// Adds ended runs that still exist to the index. A loss of power may undo this.
    pub(crate) fn index_ended(&self, runs: &[RunNo]) -> Result<(), StoreError> {
        let exists = |run: &RunNo| self.value("SELECT EXISTS (SELECT 1 FROM runs WHERE run = ?1)", [run.0]);
        let add = |run: &RunNo| if exists(run)? { self.index_run(*run) } else { Ok(()) };
        self.unsynced(|| runs.iter().try_for_each(add))
    }

    fn index_run(&self, run: RunNo) -> Result<(), StoreError> {
        let row = self.row(run)?;
        let name = readable(self.document(row.workflow).map(|document| document.name))?;
        let values = readable(self.values_text(run, row.status.is_final()))?;
        let text = [row.id, name, row.part, values].join(" ");
        self.execute("INSERT OR REPLACE INTO run_index (rowid, text) VALUES (?1, ?2)", (run.0, text))?;
        self.execute("DELETE FROM unindexed_runs WHERE run = ?1", [run.0]).map(drop)
    }

    /// The input and the result of a run. Sealed secrets are redacted.
    fn values_text(&self, run: RunNo, has_ended: bool) -> Result<String, StoreError> {
        let (secrets, packing) = (self.secrets(run)?, self.packing(run)?);
        let input = match self.first_event_packed(run, &packing)? {
            Some(Event::Start { input, .. }) => Some(input),
            _ => None,
        };
        let result = if has_ended { self.load(run)?.result() } else { None };
        let values = input.iter().chain(&result).map(|value| format!(" {}", secrets.beginning(value, TEXT_BYTES)));
        Ok(values.collect())
    }
}

/// The readable text of a run; empty if it is damaged. A damaged run is found by its other texts, such as its id.
fn readable(read: Result<String, StoreError>) -> Result<String, StoreError> {
    match read {
        Err(error) if error.is_of_one_run() => Ok(String::new()),
        read => read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing;
    use crate::store::Filter;

    fn count_matches(store: &Store, words: &str) -> usize {
        let filter = Filter { search: Some(words.to_owned()), sessions: true, ..Filter::default() };
        store.runs(&filter).expect("it is searched").len()
    }

    #[test]
    fn a_search_writes_nothing_and_its_preparation_is_bounded() {
        let (place, host, _) = testing::started(&testing::calling());
        host.close().expect("it closes");
        let store = testing::open(&place.file());
        let many = "WITH RECURSIVE n (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n WHERE n < 600)
            INSERT INTO runs (id, workflow, part, semantics, status, seq, folder, started_ms, touched_ms)
            SELECT 'copy-' || n, workflow, part, semantics, 'completed', seq, folder, started_ms, touched_ms FROM runs, n";
        store.db.execute_batch(many).expect("it is written");
        assert_eq!(count_matches(&store, "copy"), 0);
        assert_eq!(store.value::<u32>("SELECT count(*) FROM unindexed_runs", []).expect("it reads"), 601);
        assert_eq!(store.index_runs().expect("it is indexed"), 101);
        assert_eq!(
            (count_matches(&store, "copy 600"), count_matches(&store, "copy 1"), count_matches(&store, "copy")),
            (1, 0, 500)
        );
        assert_eq!(store.index_runs().expect("it is indexed"), 0);
        assert_eq!((count_matches(&store, "copy"), count_matches(&store, "run")), (600, 1));
        assert_eq!(store.index_runs().expect("it is indexed"), 0);
    }

    #[test]
    fn an_idle_host_indexes_runs_that_have_ended() {
        let (_place, mut host, _) = testing::started(&testing::waiting());
        host.do_idle_work().expect("it rests");
        assert_eq!(count_matches(host.store(), "run"), 0, "the run has not ended");
        testing::turns(&mut host, 2, 10);
        host.do_idle_work().expect("it rests");
        assert_eq!(count_matches(host.store(), "run"), 1);
        // A run that was removed meanwhile is skipped.
        host.store().index_ended(&[RunNo(99)]).expect("it is skipped");
    }
}
