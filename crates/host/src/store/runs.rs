//! The row of each run, from which lists and drivers select runs without folding a journal.

use std::ops::Range;

use branchpoint_core::ir::Status;
use rusqlite::{Row, params};

use super::{Parent, Priority, Run, RunNo, Store, StoreError, WorkflowNo, tags};

pub(super) const COLUMNS: &str =
    "run, id, workflow, part, status, seq, owner, parent, effect, attempt, started_ms, touched_ms, folder, waited_ms,
    tags, priority, decision";

impl Store {
    /// The run with this id.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert_eq!(store.run("r-1").unwrap().unwrap().status, Status::Completed);
    /// assert!(store.run("other").unwrap().is_none());
    /// ```
    pub fn run(&self, id: &str) -> Result<Option<Run>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM runs WHERE id = ?1");
        self.first(&sql, [id], read)
    }

    /// The run with this id, or the runs whose ids begin or end with this text.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert_eq!(store.find_runs("r-").unwrap().len(), 1);
    /// ```
    pub fn find_runs(&self, id: &str) -> Result<Vec<Run>, StoreError> {
        if let Some(run) = self.run(id)? {
            return Ok(vec![run]);
        }
        let sql = format!(
            "SELECT {COLUMNS} FROM runs WHERE parent IS NULL AND (id GLOB ?1 || '*' OR id GLOB '*' || ?1) LIMIT 10"
        );
        // Wildcards in the text are removed.
        let literal: String = id.chars().filter(|letter| !"*?[]".contains(*letter)).collect();
        self.rows(&sql, [literal], read)
    }

    /// The row of a run.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert_eq!(store.row(run).unwrap().id, "r-1");
    /// ```
    pub fn row(&self, run: RunNo) -> Result<Run, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM runs WHERE run = ?1");
        let row = self.first(&sql, [run.0], read)?;
        row.ok_or_else(|| StoreError::Missing(format!("run {}", run.0)))
    }

    /// The child runs of a run, in the order of their starts.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert!(store.children(run).unwrap().is_empty());
    /// ```
    pub fn children(&self, parent: RunNo) -> Result<Vec<Run>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM runs WHERE parent = ?1 ORDER BY run");
        self.rows(&sql, [parent.0], read)
    }

    /// The child runs of a call that have not ended.
    pub(crate) fn called_by(
        &self,
        parent: RunNo,
        effect: branchpoint_core::EffectNo,
    ) -> Result<Vec<RunNo>, StoreError> {
        let sql = "SELECT run FROM runs WHERE parent = ?1 AND effect = ?2
            AND status NOT IN ('completed', 'failed', 'cancelled')";
        self.rows(sql, params![parent.0, effect.0], |row| row.get(0).map(RunNo))
    }

    /// Abandoned runs that could continue. `skipped` is a JSON list of run numbers.
    pub(crate) fn abandoned(&self, skipped: &str, limit: usize) -> Result<Vec<RunNo>, StoreError> {
        let sql = "SELECT run FROM runs WHERE status = 'running' AND owner IS NULL AND queued = 0
            AND run NOT IN (SELECT value FROM json_each(?1)) ORDER BY run LIMIT ?2";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.rows(sql, params![skipped, limit], |row| row.get(0).map(RunNo))
    }

    /// Reserves numbers for runs that this process will start, within a transaction. No other process uses them, even if they stay
    /// unused.
    pub(crate) fn reserve_runs(&self, count: usize) -> Result<Range<i64>, StoreError> {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let sql = "INSERT INTO sqlite_sequence (name, seq)
            SELECT 'runs', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'runs')";
        self.execute(sql, [])?;
        let sql = "UPDATE sqlite_sequence SET seq = seq + ?1 WHERE name = 'runs' RETURNING seq";
        let last: i64 = self.value(sql, [count])?;
        Ok(last - count + 1..last + 1)
    }

    /// Inserts a run, under its own number if it has one. Returns `None` if a run with this id exists.
    pub(crate) fn insert_run(&self, new: &Run, semantics: u16) -> Result<Option<RunNo>, StoreError> {
        let sql = "INSERT INTO runs
            (id, workflow, part, semantics, status, seq, owner, parent, effect, attempt, started_ms, touched_ms, folder, run, waited_ms,
            tags, priority, decision, workflow_name)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, (
                SELECT documents.name FROM workflows JOIN documents ON documents.hash = document WHERE workflow = ?2
            )) ON CONFLICT (id) DO NOTHING";
        let (parent, number) = (new.parent, Some(new.run.0).filter(|number| *number > 0));
        let inserted = self.execute(
            sql,
            params![
                new.id,
                new.workflow.0,
                new.part,
                semantics,
                new.status.as_str(),
                new.seq,
                new.owner,
                parent.map(|parent| parent.run.0),
                parent.map(|parent| parent.effect),
                parent.map(|parent| parent.attempt),
                new.started_ms,
                new.updated_ms,
                new.folder,
                number,
                new.waited_ms,
                tags::to_json(&new.tags),
                new.priority.get(),
                new.decision,
            ],
        )?;
        if inserted == 0 {
            return Ok(None);
        }
        let run = RunNo(self.db.last_insert_rowid());
        self.insert_tags(run, &new.tags)?;
        Ok(Some(run))
    }

    /// Sets the process that drives a run.
    pub(crate) fn set_owner(&self, run: RunNo, owner: Option<i64>) -> Result<(), StoreError> {
        self.execute("UPDATE runs SET owner = ?2 WHERE run = ?1", params![run.0, owner]).map(drop)
    }

    /// Releases a process's claim on a run when the turn commits.
    pub(crate) fn release_run_later(&self, run: RunNo, owner: i64) {
        self.defer(run, move |store| store.release_run(run, owner));
    }

    /// Releases a process's claim on a run.
    pub(crate) fn release_run(&self, run: RunNo, owner: i64) -> Result<(), StoreError> {
        self.execute("UPDATE runs SET owner = NULL WHERE run = ?1 AND owner = ?2", params![run.0, owner]).map(drop)
    }

    /// Marks a run that cannot be opened as cancelled when the turn commits. Its journal is unchanged.
    pub(crate) fn end_rows(&self, run: RunNo, now_ms: i64) {
        self.defer(run, move |store| {
            for table in ["timers", "outbox", "notices", "queue"] {
                store.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [run.0])?;
            }
            let sql = "UPDATE requests SET closed_ms = ?2 WHERE run = ?1 AND closed_ms IS NULL";
            store.execute(sql, params![run.0, now_ms])?;
            let sql = "UPDATE runs SET status = ?3, touched_ms = max(touched_ms, ?2), owner = NULL,
                waited_ms = waited_ms + iif(status = 'waiting_people', max(?2 - touched_ms, 0), 0) WHERE run = ?1";
            let values = params![run.0, now_ms, Status::Cancelled.as_str()];
            store.execute(sql, values).map(drop)
        });
    }

    pub(super) fn update_run(
        &self,
        run: RunNo,
        seq: u64,
        updated_ms: i64,
        status: Status,
        owner: Option<i64>,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE runs SET seq = ?2, touched_ms = ?3, status = ?4, owner = ?5,
            waited_ms = waited_ms + iif(status = 'waiting_people', max(?3 - touched_ms, 0), 0) WHERE run = ?1";
        let values = params![run.0, seq, updated_ms, status.as_str(), owner];
        self.execute(sql, values).map(drop)
    }
}

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Run> {
    let parent: Option<i64> = row.get(7)?;
    let parent = match parent {
        Some(run) => Some(Parent { run: RunNo(run), effect: row.get(8)?, attempt: row.get(9)? }),
        None => None,
    };
    Ok(Run {
        run: RunNo(row.get(0)?),
        id: row.get(1)?,
        workflow: WorkflowNo(row.get(2)?),
        part: row.get(3)?,
        status: status(row.get_ref(4)?.as_str()?),
        seq: row.get(5)?,
        owner: row.get(6)?,
        parent,
        started_ms: row.get(10)?,
        updated_ms: row.get(11)?,
        folder: row.get(12)?,
        waited_ms: row.get(13)?,
        tags: tags::from_json(row.get_ref(14)?.as_str()?),
        priority: Priority::new(row.get(15)?).unwrap_or_default(),
        decision: row.get(16)?,
    })
}

/// Reads a status. An unknown word is a defect of the store; the run counts as running, so that it is opened and the defect reported.
fn status(word: &str) -> Status {
    Status::ALL.into_iter().find(|status| status.as_str() == word).unwrap_or(Status::Running)
}
