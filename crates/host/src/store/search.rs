//! Full-text search over runs: their ids, workflows, inputs and results.
//!
//! The index is derived data. A search adds the runs that are missing before it reads the index, so that driving runs costs nothing.

use branchpoint_core::Event;

use super::{RunNo, Store, Trouble};

/// How many runs are added in one change, so that processes that drive runs do not wait long for the store.
const RUNS_A_CHANGE: usize = 100;

/// How much of an input or a result is indexed, in bytes.
const TEXT_BYTES: usize = 64 * 1024;

impl Store {
    /// Adds the runs to the index that are new, or have ended since they were added.
    pub(super) fn index_runs(&self) -> Result<(), Trouble> {
        let sql = format!(
            "SELECT runs.run FROM runs LEFT JOIN indexed_runs ON indexed_runs.run = runs.run
            WHERE has_ended IS NULL OR NOT has_ended AND status IN ('completed', 'failed', 'cancelled')
            LIMIT {RUNS_A_CHANGE}"
        );
        let missing = || self.rows(&sql, [], |row| row.get(0).map(RunNo));
        while !missing()?.is_empty() {
            // Another process may have removed or added some of them meanwhile.
            self.change(|| missing()?.into_iter().try_for_each(|run| self.index_run(run)))?;
        }
        Ok(())
    }

    fn index_run(&self, run: RunNo) -> Result<(), Trouble> {
        let row = self.row(run)?;
        let name = readable(self.document(row.workflow).map(|document| document.name))?;
        let values = readable(self.values_text(run, row.status.is_final()))?;
        let text = [row.id, name, row.part, values].join(" ");
        self.execute("INSERT OR REPLACE INTO run_index (rowid, text) VALUES (?1, ?2)", (run.0, text))?;
        let sql = "INSERT OR REPLACE INTO indexed_runs (run, has_ended) VALUES (?1, ?2)";
        self.execute(sql, (run.0, row.status.is_final())).map(drop)
    }

    /// The input and the result of a run. Sealed secrets are redacted.
    fn values_text(&self, run: RunNo, has_ended: bool) -> Result<String, Trouble> {
        let (secrets, packing) = (self.secrets(run)?, self.packing(run)?);
        let input = match self.first_event(run, &packing)? {
            Some(Event::Start { input, .. }) => Some(input),
            _ => None,
        };
        let result = if has_ended { self.look(run)?.result() } else { None };
        let values = input.iter().chain(&result).map(|value| format!(" {}", secrets.beginning(value, TEXT_BYTES)));
        Ok(values.collect())
    }
}

/// What can be read of a run. One that is damaged is found by the rest, such as its id.
fn readable(read: Result<String, Trouble>) -> Result<String, Trouble> {
    match read {
        Err(trouble) if trouble.is_of_one_run() => Ok(String::new()),
        read => read,
    }
}
