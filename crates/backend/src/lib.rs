//! The interface between the command line or the server and a host of runs.
//!
//! [`Backend`] is that interface, over plain data. Every host implements it on its own storage, and commands and endpoints use
//! nothing else. The methods block: a server must call them on threads that may block. This page shows what its callers do.
//!
//! # Save a workflow and start a run
//!
//! A [`Workflow`] is a document with its program. Equal workflows have one number. A start is stored when [`Backend::start`] returns,
//! and a second start with the same id changes nothing.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use branchpoint_backend::{Backend, BackendError, Document, Start, Accepted, Workflow};
//! use branchpoint_core::ir::Program;
//!
//! fn start(backend: &dyn Backend, document: &Document, program: &Program) -> Result<Accepted, BackendError> {
//!     let workflow = backend.save(Workflow { document, program, children: &BTreeMap::new() }, 1_000)?;
//!     backend.start(Start::new(workflow, "d1".into(), "hello".into()))
//! }
//! ```
//!
//! # List and load runs
//!
//! A [`Filter`] selects runs. [`Backend::load`] gives a [`RunView`]: the row of a run, its program and its state.
//!
//! ```
//! use branchpoint_backend::{Backend, BackendError, Filter};
//!
//! fn newest_result(backend: &dyn Backend) -> Result<Option<branchpoint_expr::Value>, BackendError> {
//!     let newest = Filter { limit: Some(1), ..Filter::default() };
//!     let Some(row) = backend.runs(&newest)?.pop() else { return Ok(None) };
//!     Ok(backend.load(row.run)?.result())
//! }
//! ```
//!
//! # Answer approvals
//!
//! Every answer, signal and cancellation is an event that [`Backend::send`] stores. A rejection is a [`BackendError`] with a code.
//!
//! ```
//! use branchpoint_backend::{Backend, BackendError};
//!
//! fn approve_all(backend: &dyn Backend, user: &str) -> Result<(), BackendError> {
//!     for open in backend.open_approvals()?.open {
//!         let choice = open.approval.choice_meaning(true).unwrap_or_else(|| "approve".into());
//!         backend.send(open.run, &open.approval.key.answer(Some(user), &(&*choice).into(), None))?;
//!     }
//!     Ok(())
//! }
//! ```

mod approval;
mod delivery;
mod error;
mod event;
mod named_secret;
mod read;
mod run;
mod session;
mod start;
mod tags;
mod trace;
mod upkeep;
mod workflow;

use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Duration;

use branchpoint_core::ir::{Program, Status};
use branchpoint_core::{Event, Note, Stamp};
use branchpoint_expr::Value;
use branchpoint_runners::Secrets;

pub use approval::{ApprovalRecord, OpenApproval, OpenApprovals};
pub use delivery::{Attempted, Delivery, DeliveryStatus, NewDelivery};
pub use error::BackendError;
pub use event::{EventListener, RequestChange, RunEvent, RunEventKind};
pub use named_secret::{MAX_SECRET_BYTES, MAX_SECRET_NAME, MAX_SECRETS, NamedSecret, NewSecret, is_secret_name};
pub use read::{Bytes, JournalPart, OpenRuns, READ_VERSION, ReadRequest, RunState};
pub use run::{
    Cursor, DriverProcess, Filter, HourCount, InvalidCursor, Parent, Queued, RESERVED_RUN_IDS, Replayed, Run,
    RunFailure, RunNo, RunScript, RunView,
};
pub use session::{
    SESSION_TTL_S, Session, SessionAction, SessionOptions, SessionRejection, SessionRequest, SessionResponse,
    SessionSummary,
};
pub use start::{Accepted, CallSource, HandledBy, Migration, NotMovable, OnStart, Rejection, Start};
pub use tags::{InvalidPriority, InvalidTags, MAX_TAG_CHARS, MAX_TAGS, Priority, Tags};
pub use trace::{OmittedParts, RunTrace};
pub use upkeep::{Exported, Health, Imported, KeyState, Notice, Prune, Pruned};
pub use workflow::{Document, Part, Workflow, WorkflowNo, WorkflowSummary};

/// A host of runs.
///
/// ```
/// use branchpoint_backend::{Backend, BackendError, Filter};
/// use branchpoint_core::ir::Status;
///
/// fn failed_runs(backend: &dyn Backend) -> Result<Vec<String>, BackendError> {
///     let filter = Filter { status: Some(Status::Failed), ..Filter::default() };
///     Ok(backend.runs(&filter)?.into_iter().map(|run| run.id).collect())
/// }
/// ```
pub trait Backend: Send {
    /// Opens another handle on the same storage and driver, for another thread. Requests that arrive through several handles at the
    /// same time share a commit. Only one handle should be [stopped](Backend::stop).
    fn handle(&self) -> Result<Box<dyn Backend>, BackendError>;

    /// Finds a run by its id.
    fn run(&self, id: &str) -> Result<Option<Run>, BackendError>;

    /// Finds the run with this id, or the runs whose ids begin or end with this text.
    fn find_runs(&self, part: &str) -> Result<Vec<Run>, BackendError>;

    /// Lists runs, the newest start first. [`Run::cursor`] of the last one is [`Filter::before`] of the next page.
    fn runs(&self, filter: &Filter) -> Result<Vec<Run>, BackendError>;

    /// Adds missing runs to the search index, newest first and a limited number at a time. Returns how many are still missing, which a
    /// search does not find.
    fn index_runs(&self) -> Result<u64, BackendError>;

    /// The row of a run.
    fn row(&self, run: RunNo) -> Result<Run, BackendError>;

    /// The child runs of a run, in order.
    fn children(&self, run: RunNo) -> Result<Vec<Run>, BackendError>;

    /// The top-level run of a chain of calls.
    fn root_of(&self, run: RunNo) -> Result<RunNo, BackendError>;

    /// The status of a run together with its child runs.
    fn status(&self, run: RunNo) -> Result<Status, BackendError>;

    /// When the first timer of a run and its child runs is due.
    fn next_due_ms(&self, run: RunNo) -> Result<Option<i64>, BackendError>;

    /// Loads a run with its program and its state. Listeners of this process have received all its events.
    fn load(&self, run: RunNo) -> Result<RunView, BackendError>;

    /// Loads a run as it is stored. Listeners may receive its latest events later.
    fn load_stored(&self, run: RunNo) -> Result<RunView, BackendError>;

    /// The event that started a run.
    fn first_event(&self, run: RunNo) -> Result<Option<Event>, BackendError>;

    /// The processes that currently drive runs.
    fn drivers(&self) -> Result<Vec<DriverProcess>, BackendError>;

    /// A number that changes whenever another process may have changed the storage.
    fn version(&self) -> Result<i64, BackendError>;

    /// The number of runs of each status, child runs included, without sessions.
    fn counts(&self) -> Result<Vec<(String, u64)>, BackendError>;

    /// The number of runs of each status without child runs and sessions, of one workflow or of all.
    fn totals(&self, workflow: Option<&str>) -> Result<Vec<(Status, u64)>, BackendError>;

    /// What happened in each hour since a time, oldest first, in one workflow or in all. Hours without runs and decisions are absent.
    /// Removed runs still count, sessions do not.
    fn hourly(&self, since_ms: i64, workflow: Option<&str>) -> Result<Vec<HourCount>, BackendError>;

    /// Why a run is queued; `None` if it is not. The position is at this time.
    fn queued(&self, run: RunNo, now_ms: i64) -> Result<Option<Queued>, BackendError>;

    /// Adds tags to a run and removes others. Returns its tags.
    fn tag(&self, run: RunNo, add: &Tags, remove: &Tags) -> Result<Tags, BackendError>;

    /// Sets the priority of a run in queues. A run that waits in a queue moves to its new place.
    fn prioritize(&self, run: RunNo, priority: Priority) -> Result<(), BackendError>;

    /// The events of a run, in order.
    fn journal(&self, run: RunNo) -> Result<Vec<(Stamp, Event, u32)>, BackendError>;

    /// The number of events of a run and their size in bytes.
    fn journal_size(&self, run: RunNo) -> Result<(u64, u64), BackendError>;

    /// Replays the events after `from`, or the latest part of a run, within a limit of ops, and passes the notes to a callback. Together
    /// with [`Backend::version`] it can follow a run that another process drives.
    fn replay_part(
        &self,
        run: RunNo,
        from: Option<u64>,
        max_ops: u64,
        notes: &mut dyn FnMut(Note),
    ) -> Result<Replayed, BackendError>;

    /// The secrets of a run, which must be redacted in all output.
    fn secrets(&self, run: RunNo) -> Result<Secrets, BackendError>;

    /// Why the secrets of a run are not available; `None` if they are.
    fn unavailable_secrets(&self, run: RunNo) -> Result<Option<String>, BackendError>;

    /// The script that answers the calls of a run; `None` if they are executed.
    fn script(&self, run: RunNo) -> Result<Option<RunScript>, BackendError>;

    /// Whether a script currently answers the calls of a run.
    fn is_scripted(&self, run: RunNo) -> Result<bool, BackendError>;

    /// The recorded responses of a run and its child runs, as a script.
    fn recording(&self, run: RunNo, mask: &Secrets) -> Result<Value, BackendError>;

    /// The open approvals of all runs.
    fn open_approvals(&self) -> Result<OpenApprovals, BackendError>;

    /// The open approvals of a run and its child runs.
    fn approvals(&self, run: RunNo) -> Result<OpenApprovals, BackendError>;

    /// The open approvals of a loaded run, including lines of a conversation.
    fn approvals_in(&self, view: &RunView) -> Result<Vec<OpenApproval>, BackendError>;

    /// All requests of a run to people, including settled ones, in order.
    fn approval_records(&self, run: RunNo) -> Result<Vec<ApprovalRecord>, BackendError>;

    /// All versions of all workflows.
    fn workflows(&self) -> Result<Vec<WorkflowSummary>, BackendError>;

    /// The latest version of a workflow.
    fn workflow(&self, name: &str) -> Result<Option<WorkflowNo>, BackendError>;

    /// The document of a workflow.
    fn document(&self, workflow: WorkflowNo) -> Result<Document, BackendError>;

    /// A program of a workflow. The main program has the empty name.
    fn program(&self, workflow: WorkflowNo, part: &str) -> Result<Option<Program>, BackendError>;

    /// The number of a workflow, if it is saved.
    fn find_saved(&self, workflow: Workflow<'_>) -> Result<Option<WorkflowNo>, BackendError>;

    /// Saves a workflow. Equal workflows are saved once and have the same number.
    fn save(&self, workflow: Workflow<'_>, now_ms: i64) -> Result<WorkflowNo, BackendError>;

    /// All sessions, by document and name.
    fn sessions(&self) -> Result<Vec<SessionSummary>, BackendError>;

    /// Opens a session if it is not open, and returns its run.
    fn open_session(&self, session: &Session) -> Result<RunNo, BackendError>;

    /// Sends a request to a session, which is opened if necessary.
    fn request_session(&self, session: &Session, request: SessionRequest) -> Result<SessionResponse, BackendError>;

    /// Starts a run, which is stored when this returns.
    fn start(&self, start: Start) -> Result<Accepted, BackendError>;

    /// Starts a run without waiting for it. `done` receives the outcome when the run is stored, on a thread of the backend, and must
    /// return quickly. It is dropped if the backend stops before.
    fn start_then(&self, start: Start, done: OnStart) -> Result<(), BackendError>;

    /// Sends an event to a run: an answer, a signal or a cancellation. The event is stored when this returns.
    fn send(&self, run: RunNo, event: &Event) -> Result<HandledBy, BackendError>;

    /// Resumes an abandoned run.
    fn resume(&self, run: RunNo, calls: CallSource) -> Result<(), BackendError>;

    /// Starts a run with the first events of another.
    fn fork(&self, from: RunNo, events: u64, id: &str, calls: CallSource) -> Result<Accepted, BackendError>;

    /// Starts a run that replays the first events of another on a changed workflow and continues from there. Rejected with the first
    /// difference.
    fn fork_on(
        &self,
        from: RunNo,
        events: u64,
        workflow: WorkflowNo,
        id: &str,
        calls: CallSource,
    ) -> Result<Accepted, BackendError>;

    /// What moving a waiting run to a changed workflow would do. Nothing changes. Rejected with the reason if the run cannot move.
    fn plan_migration(&self, run: RunNo, workflow: WorkflowNo) -> Result<Migration, BackendError>;

    /// Moves a waiting run to a changed workflow, all or nothing. The run keeps its id; the accepted run is its new row.
    fn migrate(&self, run: RunNo, workflow: WorkflowNo) -> Result<Accepted, BackendError>;

    /// Exports runs with their child runs as JSON lines.
    fn export(&self, runs: &[RunNo], file: &mut dyn Write) -> Result<Exported, BackendError>;

    /// Imports exported runs, all or none. `max_ops` limits the ops of a run that has not ended; 0 means no limit.
    fn import(&self, file: &mut dyn BufRead, max_ops: u64, now_ms: i64) -> Result<Imported, BackendError>;

    /// Removes ended runs with their child runs.
    fn prune(&self, which: &Prune) -> Result<Pruned, BackendError>;

    /// Subscribes a listener to the events of the runs that this process drives.
    fn subscribe(&self, listener: EventListener) -> Result<(), BackendError>;

    /// Drives all runs that no other process drives.
    fn drive_all(&self) -> Result<(), BackendError>;

    /// Whether this process still drives runs. It stops when the storage fails.
    fn is_driving(&self) -> bool;

    /// Stops driving and releases the runs. Calls in flight get this grace period to end.
    fn stop(&mut self, grace: Duration) -> Result<(), BackendError>;

    /// Checks the whole storage. A timer that is late by less than `tolerance_ms` is not reported.
    fn check(&self, now_ms: i64, tolerance_ms: i64) -> Result<Health, BackendError>;

    /// Copies the storage into a new file, during writes. Returns whether sealed secrets need a key that is not part of the copy.
    fn backup(&self, file: &Path) -> Result<bool, BackendError>;

    /// Frees the space of removed runs. `rewrite` minimizes the storage and blocks all writes meanwhile. Returns false if a part of the
    /// log remains because another process reads it.
    fn compact(&self, rewrite: bool) -> Result<bool, BackendError>;

    /// The pending notices of a process and those of processes that no longer exist.
    fn notices(&self, owner: i64) -> Result<Vec<Notice>, BackendError>;

    /// Replaces a notice with deliveries of a process, all or none.
    fn dispatch(
        &self,
        notice: &Notice,
        deliveries: &[NewDelivery],
        owner: i64,
        now_ms: i64,
    ) -> Result<(), BackendError>;

    /// Stores a delivery, which the first process with its target attempts. Returns its id.
    fn add_delivery(&self, delivery: &NewDelivery, now_ms: i64) -> Result<String, BackendError>;

    /// Takes over the pending deliveries to a target from processes that no longer exist.
    fn claim_deliveries(&self, owner: i64, target: &str, now_ms: i64) -> Result<(), BackendError>;

    /// The deliveries of a process to a target that are due, the oldest first.
    fn due_deliveries(&self, owner: i64, target: &str, now_ms: i64, limit: u32) -> Result<Vec<Delivery>, BackendError>;

    /// When the next delivery of a process to a target is due.
    fn next_delivery_ms(&self, owner: i64, target: &str) -> Result<Option<i64>, BackendError>;

    /// Records an attempt of a delivery.
    fn record_attempt(&self, delivery: &Delivery, attempted: &Attempted, now_ms: i64) -> Result<(), BackendError>;

    /// The latest deliveries to a target, newest first. Only a limited number of settled ones is kept.
    fn deliveries(&self, target: &str, limit: u32) -> Result<Vec<Delivery>, BackendError>;

    /// When a person last got a delivery about this event.
    fn last_delivered_ms(&self, target: &str, user: &str, event: &str) -> Result<Option<i64>, BackendError>;

    /// Stores a named secret, or replaces it. It is sealed at rest.
    fn set_secret(&self, secret: &NewSecret, now_ms: i64) -> Result<(), BackendError>;

    /// Removes a named secret. Returns false if there is none.
    fn remove_secret(&self, name: &str) -> Result<bool, BackendError>;

    /// The named secrets without their values, by name.
    fn named_secrets(&self) -> Result<Vec<NamedSecret>, BackendError>;

    /// The value of a named secret, for calls. It must never be shown.
    fn named_secret(&self, name: &str) -> Result<Option<String>, BackendError>;
}
