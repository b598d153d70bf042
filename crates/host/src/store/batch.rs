//! The writes of a turn. They are collected while the turn is computed, outside of any transaction, and written when the turn
//! commits, so the write lock of the store is held only while rows are written. Frequent rows are written several per statement,
//! because executing a statement costs as much as writing a row.
//!
//! Reads see committed rows only, except for [`Store::has_key`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use branchpoint_core::EffectNo;
use branchpoint_core::ir::Status;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Params, params, params_from_iter};

use super::{Packed, Run, RunNo, Store, StoreError};

/// The number of rows that one statement writes.
const ROWS_PER_STATEMENT: usize = 16;

/// Writes that are not committed yet.
#[derive(Debug, Default)]
pub(super) struct Batch {
    new_runs: Vec<(Run, u16)>,
    /// New ids of runs whose ids new runs get.
    renamed: Vec<(RunNo, String)>,
    events: Vec<Event>,
    /// Pending calls by run and effect; `None` removes a call. The last change of a call counts.
    calls: BTreeMap<(i64, i64), Option<Packed>>,
    rows: BTreeMap<i64, RowChange>,
    decisions: BTreeMap<i64, Decisions>,
    /// The keys of signals that runs have accepted.
    keys: BTreeSet<(i64, Arc<str>)>,
    deferred: Vec<Deferred>,
    posts: Vec<(RunNo, Packed)>,
}

/// A change of the row of a run.
#[derive(Clone, Copy, Debug)]
struct RowChange {
    seq: u64,
    updated_ms: i64,
    /// The status and the owner, if one of them changes: these columns are indexed.
    status: Option<(Status, Option<i64>)>,
}

/// The decisions of a run in a turn.
#[derive(Debug)]
struct Decisions {
    at_ms: i64,
    count: u64,
    last: String,
}

/// A rare write, which has its own statement.
struct Deferred {
    run: RunNo,
    write: DeferredWrite,
}

type DeferredWrite = Box<dyn FnOnce(&Store) -> Result<(), StoreError> + Send>;

impl fmt::Debug for Deferred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deferred").field("run", &self.run).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Event {
    run: RunNo,
    seq: u64,
    mark: u32,
    packed: Packed,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        let Self { new_runs, renamed, events, calls, rows, decisions, keys, deferred, posts } = self;
        new_runs.is_empty()
            && renamed.is_empty()
            && events.is_empty()
            && calls.is_empty()
            && rows.is_empty()
            && decisions.is_empty()
            && keys.is_empty()
            && deferred.is_empty()
            && posts.is_empty()
    }

    fn forget(&mut self, run: RunNo) {
        self.new_runs.retain(|(new, _)| new.run != run);
        self.events.retain(|event| event.run != run);
        self.calls.retain(|(of, _), _| *of != run.0);
        self.rows.remove(&run.0);
        self.decisions.remove(&run.0);
        self.keys.retain(|(of, _)| *of != run.0);
        self.deferred.retain(|deferred| deferred.run != run);
    }
}

/// The statements for rows of one kind: one for a single row, and the text around the values of many rows.
struct Sql {
    one: &'static str,
    many: [&'static str; 2],
}

const INSERT_EVENTS: Sql = Sql {
    one: "INSERT INTO events (run, seq, mark, packed, bytes) VALUES (?, ?, ?, ?, ?)",
    many: ["INSERT INTO events (run, seq, mark, packed, bytes) VALUES ", ""],
};
const DELETE_CALLS: Sql = Sql {
    one: "DELETE FROM outbox WHERE run = ? AND effect = ?",
    many: ["DELETE FROM outbox WHERE (run, effect) IN (VALUES ", ")"],
};
const INSERT_CALLS: Sql = Sql {
    one: "INSERT OR REPLACE INTO outbox (run, effect, packed, bytes) VALUES (?, ?, ?, ?)",
    many: ["INSERT OR REPLACE INTO outbox (run, effect, packed, bytes) VALUES ", ""],
};
const UPDATE_RUNS: Sql = Sql {
    one: "UPDATE runs SET seq = ?2, touched_ms = ?3,
        waited_ms = waited_ms + iif(status = 'waiting_people', max(?3 - touched_ms, 0), 0) WHERE run = ?1",
    many: [
        "UPDATE runs SET seq = column2, touched_ms = column3,
            waited_ms = waited_ms + iif(status = 'waiting_people', max(column3 - touched_ms, 0), 0) FROM (VALUES ",
        ") WHERE run = column1",
    ],
};

impl Store {
    pub(crate) fn append(&self, run: RunNo, seq: u64, mark: u32, packed: Packed) {
        self.batch.borrow_mut().events.push(Event { run, seq, mark, packed });
    }

    pub(crate) fn put_call(&self, run: RunNo, effect: EffectNo, command: Packed) {
        self.batch.borrow_mut().calls.insert((run.0, signed(effect.0)), Some(command));
    }

    pub(crate) fn remove_call(&self, run: RunNo, effect: EffectNo) {
        self.batch.borrow_mut().calls.insert((run.0, signed(effect.0)), None);
    }

    /// Adds a run under its reserved number when the turn commits: see [`Store::write_new_runs`].
    pub(crate) fn insert_run_later(&self, new: Run, semantics: u16) {
        self.batch.borrow_mut().new_runs.push((new, semantics));
    }

    /// Gives a run another id, before new runs are inserted.
    pub(crate) fn rename_run_later(&self, run: RunNo, id: String) {
        self.batch.borrow_mut().renamed.push((run, id));
    }

    /// Records the last event of a run whose status and owner are unchanged.
    pub(crate) fn touch(&self, run: RunNo, seq: u64, updated_ms: i64) {
        let rows = &mut self.batch.borrow_mut().rows;
        let status = rows.get(&run.0).and_then(|change| change.status);
        rows.insert(run.0, RowChange { seq, updated_ms, status });
    }

    /// Records the last event, the status and the owner of a run.
    pub(crate) fn update_status(&self, run: RunNo, seq: u64, updated_ms: i64, status: Status, owner: Option<i64>) {
        let change = RowChange { seq, updated_ms, status: Some((status, owner)) };
        self.batch.borrow_mut().rows.insert(run.0, change);
    }

    /// A run has made decisions, of which this is the text of the last.
    pub(crate) fn add_decisions(&self, run: RunNo, at_ms: i64, count: u64, last: String) {
        let decisions = &mut self.batch.borrow_mut().decisions;
        let before = decisions.get(&run.0).map_or(0, |decisions| decisions.count);
        decisions.insert(run.0, Decisions { at_ms, count: before + count, last });
    }

    /// Records that the run has accepted a signal with this key.
    pub(crate) fn take_key(&self, run: RunNo, key: Arc<str>) {
        self.batch.borrow_mut().keys.insert((run.0, key));
    }

    /// Whether a run has accepted a signal with this key, in this turn or before.
    pub(crate) fn has_key(&self, run: RunNo, key: &str) -> Result<bool, StoreError> {
        if self.batch.borrow().keys.contains(&(run.0, Arc::from(key))) {
            return Ok(true);
        }
        self.value("SELECT EXISTS (SELECT 1 FROM signals WHERE run = ?1 AND key = ?2)", params![run.0, key])
    }

    /// Adds an event for another run: see [`Store::write_posts`].
    pub(crate) fn post_packed(&self, run: RunNo, event: Packed) {
        self.batch.borrow_mut().posts.push((run, event));
    }

    /// Executes a statement about a run when the turn commits.
    pub(super) fn execute_later(&self, run: RunNo, sql: &'static str, values: impl Params + Send + 'static) {
        self.defer(run, move |store| store.execute(sql, values).map(drop));
    }

    /// Performs a write of a run when the turn commits.
    pub(super) fn defer(&self, run: RunNo, write: impl FnOnce(&Self) -> Result<(), StoreError> + Send + 'static) {
        self.batch.borrow_mut().deferred.push(Deferred { run, write: Box::new(write) });
    }

    /// Whether there are writes to commit.
    pub(crate) fn has_writes(&self) -> bool {
        !self.batch.borrow().is_empty()
    }

    /// Discards the writes of a run that was rejected, or whose id another process has used first.
    pub(crate) fn discard_unwritten(&self, run: RunNo) {
        self.batch.borrow_mut().forget(run);
    }

    /// Writes the rows of new runs, first in the transaction. Returns the runs whose id is in use by now; the caller discards them.
    pub(crate) fn write_new_runs(&self) -> Result<Vec<RunNo>, StoreError> {
        let renamed = std::mem::take(&mut self.batch.borrow_mut().renamed);
        for (run, id) in renamed {
            self.execute("UPDATE runs SET id = ?2 WHERE run = ?1", params![run.0, id])?;
        }
        let new_runs = std::mem::take(&mut self.batch.borrow_mut().new_runs);
        let mut lost = Vec::new();
        for (run, semantics) in new_runs {
            if self.insert_run(&run, semantics)?.is_none() {
                lost.push(run.run);
            }
        }
        Ok(lost)
    }

    /// Writes events for other runs into the inbox. Returns the item of each event whose run no other process drives.
    pub(crate) fn write_posts(&self, owner: i64) -> Result<Vec<Option<i64>>, StoreError> {
        let posts = std::mem::take(&mut self.batch.borrow_mut().posts);
        let written = posts.into_iter().map(|(run, packed)| {
            let driver = match self.row(run) {
                // The run was new and has been discarded.
                Err(StoreError::Missing(_)) => return Ok(None),
                row => row?.owner,
            };
            let item = self.insert_item(run, &packed)?;
            Ok(Some(item).filter(|_| driver.is_none_or(|driver| driver == owner)))
        });
        written.collect()
    }

    /// Writes everything that was collected, within the transaction.
    pub(crate) fn write_out(&self) -> Result<(), StoreError> {
        let Batch { new_runs, renamed, events, calls, rows, decisions, keys, deferred, posts } = self.batch.take();
        debug_assert!(
            new_runs.is_empty() && renamed.is_empty() && posts.is_empty(),
            "new runs and posts are written first"
        );
        for event in &events {
            self.put_large_values(event.run, &event.packed)?;
        }
        self.write_rows(&INSERT_EVENTS, &events, |event| {
            let Event { run, seq, mark, packed } = event;
            [run.0, signed(*seq), i64::from(*mark), i64::from(packed.packed)].map(int).into_iter().chain([blob(packed)])
        })?;
        let removed: Vec<_> =
            calls.iter().filter(|(_, call)| call.is_none()).map(|((run, effect), _)| [*run, *effect]).collect();
        self.write_rows(&DELETE_CALLS, &removed, |call| call.map(int))?;
        let pending: Vec<_> = calls.iter().filter_map(|(key, call)| Some((key, call.as_ref()?))).collect();
        for ((run, _), packed) in &pending {
            self.put_large_values(RunNo(*run), packed)?;
        }
        self.write_rows(&INSERT_CALLS, &pending, |((run, effect), packed)| {
            [*run, *effect, i64::from(packed.packed)].map(int).into_iter().chain([blob(packed)])
        })?;
        self.write_run_rows(&rows)?;
        for (run, Decisions { at_ms, count, last }) in &decisions {
            self.write_decisions(*run, *at_ms, *count, last)?;
        }
        for (run, key) in &keys {
            self.execute("INSERT OR IGNORE INTO signals (run, key) VALUES (?1, ?2)", params![run, key])?;
        }
        deferred.into_iter().try_for_each(|deferred| (deferred.write)(self))
    }

    /// Writes the rows of runs. Indexed columns are written only where they change.
    fn write_run_rows(&self, rows: &BTreeMap<i64, RowChange>) -> Result<(), StoreError> {
        let touched = rows.iter().filter(|(_, change)| change.status.is_none());
        let touched: Vec<_> = touched.map(|(run, change)| [*run, signed(change.seq), change.updated_ms]).collect();
        self.write_rows(&UPDATE_RUNS, &touched, |row| row.map(int))?;
        for (run, change) in rows {
            if let Some((status, owner)) = change.status {
                self.update_run(RunNo(*run), change.seq, change.updated_ms, status, owner)?;
            }
        }
        Ok(())
    }

    /// Writes rows with statements for many rows, and the remainder one by one: for few rows, a statement for many costs more than it
    /// saves.
    fn write_rows<'r, R, V: IntoIterator<Item = ToSqlOutput<'r>>>(
        &self,
        sql: &Sql,
        rows: &'r [R],
        values: impl Fn(&'r R) -> V,
    ) -> Result<(), StoreError> {
        let chunks = rows.chunks_exact(ROWS_PER_STATEMENT);
        let rest = chunks.remainder();
        if let Some(first) = rows.first().filter(|_| rows.len() >= ROWS_PER_STATEMENT) {
            let row = format!("({})", vec!["?"; values(first).into_iter().count()].join(", "));
            let many = [sql.many[0], &vec![row.as_str(); ROWS_PER_STATEMENT].join(", "), sql.many[1]].concat();
            for chunk in chunks {
                self.execute(&many, params_from_iter(chunk.iter().flat_map(&values)))?;
            }
        }
        // In order, because a later event must have a higher position.
        for row in rest {
            self.execute(sql.one, params_from_iter(values(row)))?;
        }
        Ok(())
    }
}

fn int(number: i64) -> ToSqlOutput<'static> {
    ToSqlOutput::Borrowed(ValueRef::Integer(number))
}

fn blob(packed: &Packed) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(ValueRef::Blob(&packed.bytes))
}

/// Numbers of events and effects are counts, so they never reach the limit.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
