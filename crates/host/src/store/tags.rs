//! The tags of runs: all of a run in its row, and one row for each in the index of filters. Also their priority.

use rusqlite::params;

use super::{Priority, RunNo, Store, StoreError, Tags};

impl Store {
    /// Adds tags to a run and removes others. Returns its tags.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// let tags = store.tag(run, &Tags::new(["urgent"]).unwrap(), &Tags::default()).unwrap();
    /// assert_eq!(tags.as_slice(), ["urgent"]);
    /// ```
    pub fn tag(&self, run: RunNo, add: &Tags, remove: &Tags) -> Result<Tags, StoreError> {
        self.change(|| {
            let tags = self.row(run)?.tags.changed(add, remove);
            let tags = tags.map_err(|error| StoreError::StorageLimit(error.to_string()))?;
            self.execute("UPDATE runs SET tags = ?2 WHERE run = ?1", params![run.0, to_json(&tags)])?;
            self.execute("DELETE FROM run_tags WHERE run = ?1", [run.0])?;
            self.insert_tags(run, &tags)?;
            Ok(tags)
        })
    }

    /// Sets the priority of a run, also in its queue.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// store.prioritize(run, Priority::new(5).unwrap()).unwrap();
    /// assert_eq!(store.row(run).unwrap().priority.get(), 5);
    /// ```
    pub fn prioritize(&self, run: RunNo, priority: Priority) -> Result<(), StoreError> {
        self.change(|| {
            self.execute("UPDATE runs SET priority = ?2 WHERE run = ?1", params![run.0, priority.get()])?;
            self.execute("UPDATE queue SET rank = ?2 WHERE run = ?1", params![run.0, -priority.get()]).map(drop)
        })
    }

    pub(super) fn insert_tags(&self, run: RunNo, tags: &Tags) -> Result<(), StoreError> {
        let sql = "INSERT INTO run_tags (tag, started_ms, run) SELECT ?2, started_ms, run FROM runs WHERE run = ?1";
        tags.as_slice().iter().try_for_each(|tag| self.execute(sql, params![run.0, tag]).map(drop))
    }
}

pub(super) fn to_json(tags: &Tags) -> String {
    serde_json::to_string(tags.as_slice()).expect("texts are JSON")
}

/// The tags of a row. Another build may have written more of them than are valid now; they are still texts.
pub(super) fn from_json(text: &str) -> Tags {
    let tags: Vec<String> = serde_json::from_str(text).unwrap_or_default();
    Tags::new(tags).unwrap_or_default()
}
