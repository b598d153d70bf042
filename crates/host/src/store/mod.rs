//! The store: one SQLite file with the journals of all runs, and the rows that must be found without folding a journal.
//!
//! | module | content |
//! |---|---|
//! | `workflows` | documents and programs, by content |
//! | `runs` | the row of each run |
//! | `journal` | events, snapshots, pending calls, timers, requests to people |
//! | `inbox` | events for runs that another process drives |
//! | `approvals` | the open approvals of runs |
//! | `attachments` | the files of runs |
//! | `batch` | the writes of a turn |
//! | `pack`, `seal` | placeholders for large and secret values, and the encryption of secrets |
//! | `owner` | which process drives which run |
//! | `notices`, `deliveries` | notices about approvals and runs, and the attempts to deliver them |
//! | `named_secrets` | named secrets, sealed |
//! | `status` | the status of a run with its child runs |
//! | `scripts` | the scripts of runs |
//! | `search` | the full-text index of runs |
//! | `queue` | runs with limits, and which of them is next |
//! | `tags`, `totals` | tags of runs, numbers of runs by status and by hour |
//! | `sessions` | the run of each session |
//! | `transfer` | export and import of runs as JSON lines |
//! | `upkeep`, `health`, `damage` | retention, backups, and checks of the file |
//! | `permissions` | permissions of the files |
//! | `schema` | the tables and their version |
//!
//! No code here interprets events: [`crate::host`] does.

mod approvals;
mod attachments;
mod batch;
mod damage;
mod deliveries;
mod health;
mod inbox;
mod journal;
mod lists;
mod named_secrets;
mod notices;
mod owner;
mod pack;
mod permissions;
mod queue;
mod runs;
mod schema;
mod scripts;
mod seal;
mod search;
mod sessions;
mod status;
mod tags;
mod totals;
mod transfer;
mod upkeep;
mod workflows;

use std::cell::{OnceCell, RefCell};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use branchpoint_core::FoldError;
use branchpoint_core::codec::CodecError;
use rusqlite::types::FromSql;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Params, Row};

use batch::Batch;
pub use branchpoint_backend::{
    ApprovalRecord, Document, Exported, Filter, Health, HourCount, Imported, KeyState, Notice, OpenApproval,
    OpenApprovals, Parent, Part, Priority, Prune, Pruned, Run, RunNo, SessionSummary, Tags, Workflow, WorkflowNo,
    WorkflowSummary,
};
pub use inbox::Sent;
pub(crate) use owner::Owner;
pub(crate) use pack::{Packed, Packing};
use permissions::{private_file, private_folder};
pub(crate) use queue::{Admitting, GroupLimit, SlotLimits, SlotState};
pub(crate) use scripts::{Taker, UsedEntry};
pub(crate) use seal::{Key, random};
pub use transfer::{FORMAT, ImportLimits, TransferError};
use workflows::Programs;

/// How long a process waits for the write lock of another process.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// The pause between two attempts to lock. It is short, because a process that drives runs releases the write lock only while it
/// computes.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The size of the write-ahead log, in pages, at which it is moved into the file: large enough that a page is moved once for many
/// changes, small enough that the move is short.
const CHECKPOINT_PAGES: i64 = 1_000;

/// The guarantee after a loss of power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Every acknowledged event survives.
    #[default]
    Full,
    /// The latest events may be lost. A crash of the process alone loses nothing.
    Normal,
}

impl Durability {
    fn pragma(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Normal => "normal",
        }
    }
}

/// The error of a store operation.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database reported an error.
    #[error("the store cannot be used: {0}")]
    Sql(#[from] rusqlite::Error),
    /// A file could not be opened, created or locked.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// The file is another database.
    #[error("this file is a database, but not a store of Branchpoint; name another file with --store")]
    NotAStore,
    /// The file is not a database.
    #[error("the file is not a database; name another file with --store")]
    NotADatabase,
    /// The store was written by a later build.
    #[error("the store has version {found}, and this build reads only version {known}. Use a newer build")]
    TooNew {
        /// The version of the store.
        found: usize,
        /// The newest known version.
        known: usize,
    },
    /// The store was written by an earlier build, before the tables were final.
    #[error(
        "the store has version {found}, and this build reads version {known} and the one before. Export its runs with the build that wrote it \
         (`branchpoint runs export`), and import them into a new store (`--store FILE`)"
    )]
    TooOld {
        /// The version of the store.
        found: usize,
        /// The version that this build reads.
        known: usize,
    },
    /// Stored bytes cannot be read.
    #[error("run `{run}`: {error}")]
    Bytes {
        /// The run or the workflow.
        run: String,
        /// The reason.
        error: CodecError,
    },
    /// The replay of a journal has another outcome than the run had.
    #[error("cannot replay the journal of run `{run}`: {error}")]
    ReplayMismatch {
        /// The run.
        run: String,
        /// The event and the reason.
        error: FoldError,
    },
    /// A row that other rows refer to is missing.
    #[error("the store has no {0}")]
    Missing(String),
    /// The script of a run cannot be used, so the run is not continued.
    #[error(
        "the script of run `{run}` cannot be used: {reason}; `branchpoint runs resume {run} --live` continues it without the script"
    )]
    Script {
        /// The run.
        run: String,
        /// The problem of the script.
        reason: String,
    },
    /// A size or a count of stored data exceeds its limit.
    #[error("{0}")]
    StorageLimit(String),
    /// Stored vectors come from another embedding model.
    #[error("{0}")]
    Embeddings(String),
    /// A read was cancelled while it waited for a connection.
    #[error("cancelled")]
    Cancelled,
    /// A secret that was sealed cannot be opened.
    #[error("the secrets of a run cannot be opened: {0}")]
    Sealed(String),
}

impl StoreError {
    /// Wraps the error of a fold of a run's journal, for [`Result::map_err`].
    pub(crate) fn in_journal_of(run: &str) -> impl Fn(FoldError) -> Self {
        move |error| Self::ReplayMismatch { run: run.to_owned(), error }
    }

    /// Whether the error affects the stored data of one run only.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert!(store.row(RunNo(99)).unwrap_err().is_of_one_run());
    /// ```
    pub fn is_of_one_run(&self) -> bool {
        matches!(
            self,
            Self::Bytes { .. } | Self::ReplayMismatch { .. } | Self::Missing(_) | Self::Sealed(_) | Self::Script { .. }
        )
    }

    /// Whether another process holds the write lock, so that a retry may succeed.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Sql(rusqlite::Error::SqliteFailure(error, _)) if error.code == rusqlite::ErrorCode::DatabaseBusy)
    }
}

/// Enables the write-ahead log. This fails while another process creates the store, and SQLite does not call the busy handler for it.
fn write_ahead(db: &Connection) -> Result<(), StoreError> {
    let since = Instant::now();
    loop {
        match db.pragma_update(None, "journal_mode", "wal").map_err(StoreError::from) {
            Err(error) if error.is_busy() && since.elapsed() < LOCK_TIMEOUT => thread::sleep(LOCK_POLL_INTERVAL),
            done => return done,
        }
    }
}

/// The busy handler: SQLite calls it while another process holds the lock, with the number of calls so far. SQLite's own handler
/// backs off to 100 ms, which seldom hits the gaps between the transactions of a busy process.
fn wait_for_writer(calls: i32) -> bool {
    let max_calls = LOCK_TIMEOUT.as_millis() / LOCK_POLL_INTERVAL.as_millis();
    thread::sleep(LOCK_POLL_INTERVAL);
    u128::try_from(calls).is_ok_and(|calls| calls < max_calls)
}

/// One connection to a store.
#[derive(Debug)]
pub struct Store {
    pub(crate) db: Connection,
    path: Option<PathBuf>,
    durability: Durability,
    batch: RefCell<Batch>,
    programs: RefCell<Programs>,
    /// The key of a store in memory.
    memory_key: OnceCell<[u8; 32]>,
}

impl Store {
    /// Opens a store, and creates it if it does not exist.
    ///
    /// ```
    /// use branchpoint_host::store::*;
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("store.db");
    /// assert!(Store::open(&path, Durability::Full).unwrap().runs(&Filter::default()).unwrap().is_empty());
    /// ```
    pub fn open(path: &Path, durability: Durability) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            private_folder(folder).map_err(|error| StoreError::File { path: folder.into(), error })?;
        }
        // SQLite gives its log and its index the permissions of the file.
        match private_file(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(StoreError::File { path: path.into(), error });
            }
            _ => {}
        }
        let mut db = Connection::open(path)?;
        db.busy_handler(Some(wait_for_writer))?;
        schema::create_or_verify(&mut db).map_err(|error| match &error {
            StoreError::Sql(sql) if sql.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
                StoreError::NotADatabase
            }
            _ => error,
        })?;
        write_ahead(&db)?;
        db.pragma_update(None, "synchronous", durability.pragma())?;
        db.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        // The most of the log that stays after it was moved into the file, so that a burst does not occupy disk space for ever.
        db.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
        db.pragma_update(None, "cache_size", -32_000)?;
        // The lock, key and log files belong to the real file, whatever link it was opened by.
        let path = path.canonicalize().map_err(|error| StoreError::File { path: path.into(), error })?;
        Ok(Self::over(db, Some(path), durability))
    }

    /// A store in memory, for dry runs.
    ///
    /// ```
    /// use branchpoint_host::store::*;
    ///
    /// assert!(Store::in_memory().unwrap().path().is_none());
    /// ```
    pub fn in_memory() -> Result<Self, StoreError> {
        let mut db = Connection::open_in_memory()?;
        schema::create_or_verify(&mut db)?;
        Ok(Self::over(db, None, Durability::Normal))
    }

    /// Opens an existing store for reading.
    ///
    /// ```
    /// use branchpoint_host::store::*;
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("store.db");
    /// assert!(Store::read_only(&path).is_err(), "there is no file");
    /// drop(Store::open(&path, Durability::Full).unwrap());
    /// assert!(Store::read_only(&path).is_ok());
    /// ```
    pub fn read_only(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let missing = |_| StoreError::Missing(format!("file {}", path.display()));
        let mut db = Connection::open_with_flags(path, flags).map_err(missing)?;
        db.busy_handler(Some(wait_for_writer))?;
        let real = path.canonicalize().map_err(|error| StoreError::File { path: path.into(), error })?;
        schema::upgrade_or_verify(&mut db)?;
        db.pragma_update(None, "query_only", true)?;
        Ok(Self::over(db, Some(real), Durability::Full))
    }

    /// Opens another connection to the same file, for another thread.
    ///
    /// ```
    /// use branchpoint_host::store::*;
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("store.db");
    /// let store = Store::open(&path, Durability::Full).unwrap();
    /// assert_eq!(store.reopen().unwrap().path(), Some(&*path));
    /// ```
    pub fn reopen(&self) -> Result<Self, StoreError> {
        let path =
            self.path().ok_or_else(|| StoreError::Missing("file: a store in memory has one connection".into()))?;
        let is_read_only: bool = self.db.pragma_query_value(None, "query_only", |row| row.get(0))?;
        if is_read_only { Self::read_only(path) } else { Self::open(path, self.durability) }
    }

    fn over(db: Connection, path: Option<PathBuf>, durability: Durability) -> Self {
        db.set_prepared_statement_cache_capacity(256);
        Self {
            db,
            path,
            durability,
            batch: RefCell::default(),
            programs: RefCell::default(),
            memory_key: OnceCell::new(),
        }
    }

    /// Executes a statement. Returns the number of changed rows.
    pub(crate) fn execute(&self, sql: &str, values: impl Params) -> Result<usize, StoreError> {
        Ok(self.db.prepare_cached(sql)?.execute(values)?)
    }

    /// The single value of a query.
    pub(crate) fn value<T: FromSql>(&self, sql: &str, values: impl Params) -> Result<T, StoreError> {
        Ok(self.db.prepare_cached(sql)?.query_row(values, |row| row.get(0))?)
    }

    /// The first row of a query; `None` if it has no rows.
    pub(crate) fn first<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.db.prepare_cached(sql)?.query_row(values, read).optional()?)
    }

    /// All rows of a query.
    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        Ok(self.db.prepare_cached(sql)?.query_map(values, read)?.collect::<Result<_, _>>()?)
    }

    /// The file; `None` for a store in memory.
    ///
    /// ```
    /// use branchpoint_host::store::*;
    ///
    /// assert_eq!(Store::in_memory().unwrap().path(), None);
    /// ```
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// A number that changes when another process has written.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert_eq!(store.version().unwrap(), store.version().unwrap(), "no other process has written");
    /// ```
    pub fn version(&self) -> Result<i64, StoreError> {
        self.value("PRAGMA data_version", [])
    }

    /// Makes a change that only matters to living processes, such as the owner of a run, without syncing it to disk: a loss of power
    /// ends all processes, and later commits reach the disk after it.
    pub(crate) fn unsynced<T>(&self, change: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.begin_unsynced()?;
        self.end_unsynced(change())
    }

    pub(crate) fn begin_unsynced(&self) -> Result<(), StoreError> {
        debug_assert!(!self.has_writes(), "the writes of a turn are committed by the turn");
        self.db.pragma_update(None, "synchronous", Durability::Normal.pragma())?;
        let begun = self.begin();
        if begun.is_err() {
            self.sync_again()?;
        }
        begun
    }

    /// Commits a successful change and rolls back a failed one.
    pub(crate) fn end_unsynced<T>(&self, changed: Result<T, StoreError>) -> Result<T, StoreError> {
        let changed = changed.and_then(|changed| self.commit().map(|()| changed));
        if changed.is_err() {
            self.roll_back();
        }
        self.sync_again()?;
        changed
    }

    fn sync_again(&self) -> Result<(), StoreError> {
        Ok(self.db.pragma_update(None, "synchronous", self.durability.pragma())?)
    }

    /// Makes a change within a transaction.
    pub(crate) fn change<T, E: From<StoreError>>(&self, change: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.begin()?;
        let changed = change().and_then(|changed| Ok(self.commit().map(|()| changed)?));
        if changed.is_err() {
            self.roll_back();
        }
        changed
    }

    /// Begins a transaction.
    pub(crate) fn begin(&self) -> Result<(), StoreError> {
        self.execute("BEGIN IMMEDIATE", []).map(drop)
    }

    /// Writes the batch and commits the transaction.
    pub(crate) fn commit(&self) -> Result<(), StoreError> {
        self.write_out()?;
        self.execute("COMMIT", []).map(drop)
    }

    /// Moves the write-ahead log into the file, as far as no other process reads or writes it.
    pub(crate) fn move_log(&self) -> Result<(), StoreError> {
        Ok(self.db.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?.query_row([], |_| Ok(()))?)
    }

    /// Discards the batch and rolls back the transaction, if one is open.
    pub(crate) fn roll_back(&self) {
        self.batch.take();
        let _ = self.db.execute_batch("ROLLBACK");
    }
}
