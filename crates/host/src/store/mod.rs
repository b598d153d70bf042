//! The store: one SQLite file with the journals of all runs, and beside them only what must be found without folding one.
//!
//! | file | what it keeps |
//! |---|---|
//! | `workflows` | documents and programs, by content |
//! | `runs` | the small row of each run |
//! | `journal` | events, snapshots, what was asked for, timers, questions |
//! | `approvals` | the open approvals of runs |
//! | `attachments` | the files of runs |
//! | `batch` | rows that are written several at a time |
//! | `pack`, `seal` | values that are kept apart from the rows: large ones and secret ones |
//! | `owner` | which process drives which run |
//! | `notices` | what people outside are to be told |
//! | `rest` | whether a run with its children waits |
//! | `scripts` | the scripts of runs |
//! | `search` | the full-text index of runs |
//! | `sessions` | which run is which session |
//! | `exchange` | runs as JSON lines |
//! | `upkeep`, `health`, `damage` | retention, copies, and how the file is |
//! | `permissions` | who may use the files |
//!
//! Nothing here knows what an event means: that is the business of [`crate::host`].

mod approvals;
mod attachments;
mod batch;
mod damage;
mod health;
mod inbox;
mod journal;
mod notices;
mod owner;
mod pack;
mod permissions;
mod runs;
mod schema;
mod scripts;
mod seal;
mod search;
mod sessions;
mod status;
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
use rusqlite::{Connection, OpenFlags, OptionalExtension, Params, Row};

use batch::Batch;
pub use branchpoint_backend::{
    ApprovalRecord, Document, Exported, Filter, Health, Imported, KeyState, Notice, OpenApproval, OpenApprovals,
    Parent, Part, Prune, Pruned, Run, RunNo, SessionSummary, Workflow, WorkflowNo, WorkflowSummary,
};
pub use inbox::Sent;
pub(crate) use owner::Owner;
pub(crate) use pack::{Packed, Packing};
use permissions::{private_file, private_folder};
pub(crate) use scripts::{Taker, UsedEntry};
pub(crate) use seal::{Key, random};
pub use transfer::{FORMAT, ImportLimits, TransferError};

/// How long a process waits for another that is writing.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long it waits between two looks. Short, because a process that drives runs leaves the write lock only while it computes.
const NAP: Duration = Duration::from_millis(5);

/// How much of the log is written before it is moved into the file, in pages: large enough that a busy store moves each page
/// once for many changes of it, small enough that nobody waits long for the move.
const CHECKPOINT_PAGES: i64 = 1_000;

/// What survives a loss of power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Everything that was acknowledged.
    #[default]
    Full,
    /// Everything up to some moments before; a crash of the process alone loses nothing.
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

/// Why the store cannot do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database refused.
    #[error("the store cannot be used: {0}")]
    Sql(#[from] rusqlite::Error),
    /// A file could not be opened, made or locked.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file is some other database.
    #[error("this file is a database, but not a store of Branchpoint; name another file with --store")]
    NotAStore,
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
        "the store has version {found}, and this build reads only version {known}. Export its runs with the build that wrote it \
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
        /// Whose bytes.
        run: String,
        /// Why.
        error: CodecError,
    },
    /// The journal of a run does not lead to where it led.
    #[error("cannot replay the journal of run `{run}`: {error}")]
    Strayed {
        /// Which run.
        run: String,
        /// Where and why.
        error: FoldError,
    },
    /// A row that others refer to is gone.
    #[error("the store has no {0}")]
    Missing(String),
    /// The script of a run cannot be used, so the run is not continued.
    #[error(
        "the script of run `{run}` cannot be used: {reason}; `branchpoint runs resume {run} --live` continues it without the script"
    )]
    Script {
        /// Which run.
        run: String,
        /// What is wrong with the script.
        reason: String,
    },
    /// A size or a count of stored data exceeds its limit.
    #[error("{0}")]
    StorageLimit(String),
    /// Stored vectors are not those of the embedding model.
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
    /// For [`Result::map_err`]: the journal of a run cannot be folded.
    pub(crate) fn in_journal_of(run: &str) -> impl Fn(FoldError) -> Self {
        move |error| Self::Strayed { run: run.to_owned(), error }
    }

    /// Whether it concerns what is stored of one run only.
    pub fn is_of_one_run(&self) -> bool {
        matches!(
            self,
            Self::Bytes { .. } | Self::Strayed { .. } | Self::Missing(_) | Self::Sealed(_) | Self::Script { .. }
        )
    }

    /// Whether another process is writing, so that it is worth trying again.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Sql(rusqlite::Error::SqliteFailure(error, _)) if error.code == rusqlite::ErrorCode::DatabaseBusy)
    }
}

/// Has changes written to a log first. While others make the store, this cannot be done, and the database does not wait for it by
/// itself as it does elsewhere.
fn write_ahead(db: &Connection) -> Result<(), StoreError> {
    let since = Instant::now();
    loop {
        match db.pragma_update(None, "journal_mode", "wal").map_err(StoreError::from) {
            Err(error) if error.is_busy() && since.elapsed() < PATIENCE => thread::sleep(NAP),
            done => return done,
        }
    }
}

/// Called by the database while another process holds the lock, with how often it was called. The database's own waiting backs off to
/// 100 ms, which seldom meets the gaps that a busy process leaves.
fn wait_for_writer(calls: i32) -> bool {
    let patience = PATIENCE.as_millis() / NAP.as_millis();
    thread::sleep(NAP);
    u128::try_from(calls).is_ok_and(|calls| calls < patience)
}

/// One connection to a store.
#[derive(Debug)]
pub struct Store {
    pub(crate) db: Connection,
    path: Option<PathBuf>,
    durability: Durability,
    batch: RefCell<Batch>,
    /// The key of a store in memory.
    memory_key: OnceCell<[u8; 32]>,
}

impl Store {
    /// Opens a store, and makes it if there is none.
    pub fn open(path: &Path, durability: Durability) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            private_folder(folder).map_err(|error| StoreError::File { path: folder.into(), error })?;
        }
        // SQLite gives its log and its index the rights of the file.
        match private_file(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(StoreError::File { path: path.into(), error });
            }
            _ => {}
        }
        let mut db = Connection::open(path)?;
        db.busy_handler(Some(wait_for_writer))?;
        schema::create_or_verify(&mut db)?;
        write_ahead(&db)?;
        db.pragma_update(None, "synchronous", durability.pragma())?;
        db.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        // So much is left of the log after it was moved; a burst does not keep its disk space for ever.
        db.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
        db.pragma_update(None, "cache_size", -32_000)?;
        // The files beside it are those of the real file, by whatever name it was opened.
        let path = path.canonicalize().map_err(|error| StoreError::File { path: path.into(), error })?;
        Ok(Self::over(db, Some(path), durability))
    }

    /// A store that is gone with the process: for runs that are only tried.
    pub fn in_memory() -> Result<Self, StoreError> {
        let mut db = Connection::open_in_memory()?;
        schema::create_or_verify(&mut db)?;
        Ok(Self::over(db, None, Durability::Normal))
    }

    /// Opens a store that is there, to look at it.
    pub fn read_only(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let missing = |_| StoreError::Missing(format!("file {}", path.display()));
        let mut db = Connection::open_with_flags(path, flags).map_err(missing)?;
        db.busy_handler(Some(wait_for_writer))?;
        let real = path.canonicalize().map_err(|error| StoreError::File { path: path.into(), error })?;
        schema::verify(&db)?;
        db.pragma_update(None, "query_only", true)?;
        Ok(Self::over(db, Some(real), Durability::Full))
    }

    /// Opens another connection to the same file, for another thread.
    pub fn reopen(&self) -> Result<Self, StoreError> {
        let path =
            self.path().ok_or_else(|| StoreError::Missing("file: a store in memory has one connection".into()))?;
        let is_read_only: bool = self.db.pragma_query_value(None, "query_only", |row| row.get(0))?;
        if is_read_only { Self::read_only(path) } else { Self::open(path, self.durability) }
    }

    fn over(db: Connection, path: Option<PathBuf>, durability: Durability) -> Self {
        db.set_prepared_statement_cache_capacity(64);
        Self { db, path, durability, batch: RefCell::default(), memory_key: OnceCell::new() }
    }

    /// Executes a statement. Returns how many rows it changed.
    pub(crate) fn execute(&self, sql: &str, values: impl Params) -> Result<usize, StoreError> {
        Ok(self.db.prepare_cached(sql)?.execute(values)?)
    }

    /// The value of a query that has one.
    pub(crate) fn value<T: FromSql>(&self, sql: &str, values: impl Params) -> Result<T, StoreError> {
        Ok(self.db.prepare_cached(sql)?.query_row(values, |row| row.get(0))?)
    }

    /// The first row of a query, if it has one.
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

    /// The file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// A number that changes when another process has written.
    pub fn version(&self) -> Result<i64, StoreError> {
        self.value("PRAGMA data_version", [])
    }

    /// Makes a change that concerns processes that live, such as which of them drives a run. It is not synced, because a loss of
    /// power ends all of them; what is committed later reaches the disk after it.
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

    /// Commits what came out well, and takes the rest back.
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

    /// Makes a change of many rows whole or not at all.
    pub(crate) fn change<T, E: From<StoreError>>(&self, change: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.begin()?;
        let changed = change().and_then(|changed| Ok(self.commit().map(|()| changed)?));
        if changed.is_err() {
            self.roll_back();
        }
        changed
    }

    /// Begins a change of many rows. It is all or nothing.
    pub(crate) fn begin(&self) -> Result<(), StoreError> {
        self.execute("BEGIN IMMEDIATE", []).map(drop)
    }

    /// After this, what was written survives.
    pub(crate) fn commit(&self) -> Result<(), StoreError> {
        self.write_out()?;
        self.execute("COMMIT", []).map(drop)
    }

    /// Moves the log into the file, as far as nobody is in the way.
    pub(crate) fn move_log(&self) -> Result<(), StoreError> {
        Ok(self.db.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?.query_row([], |_| Ok(()))?)
    }

    /// Takes back what was written since the beginning. There may be nothing to take back.
    pub(crate) fn roll_back(&self) {
        self.batch.take();
        let _ = self.db.execute_batch("ROLLBACK");
    }
}
