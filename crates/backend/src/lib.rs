//! What the command line and the server need of a host of runs.
//!
//! [`Backend`] is that interface, over plain data. A host implements it on its own storage; commands and endpoints use nothing else,
//! so they work with every host. The methods block: the embedded host reads a file, and a server calls them on threads that may block.

mod approval;
mod error;
mod event;
mod run;
mod session;
mod start;
mod upkeep;
mod workflow;

use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Duration;

use branchpoint_core::ir::{Program, Status};
use branchpoint_core::{Event, Note, Stamp};
use branchpoint_expr::Value;
use branchpoint_runners::Secrets;

pub use approval::{OpenApproval, OpenApprovals, Question};
pub use error::BackendError;
pub use event::{EventListener, RequestChange, RunEvent, RunEventKind};
pub use run::{DriverProcess, Filter, Look, Parent, Replayed, Run, RunNo, RunScript};
pub use session::{
    KeptSession, SESSION_TTL_S, Session, SessionAction, SessionAnswer, SessionOptions, SessionRefused, SessionRequest,
};
pub use start::{ContinueWith, HandledBy, Refused, Start, Taken};
pub use upkeep::{Exported, Health, Imported, KeyState, Notice, Prune, Pruned};
pub use workflow::{Document, Listed, Part, Workflow, WorkflowNo};

/// A host of runs.
pub trait Backend: Send {
    /// The run of an id.
    fn run(&self, id: &str) -> Result<Option<Run>, BackendError>;

    /// The run of an id, or the runs whose ids begin or end so.
    fn find_runs(&self, part: &str) -> Result<Vec<Run>, BackendError>;

    /// Runs, the newest first.
    fn runs(&self, filter: &Filter) -> Result<Vec<Run>, BackendError>;

    /// Prepares a search of runs by words: adds runs to the index that are missing, the newest first and not all of them at once. The
    /// number of runs that are still missing, which a search does not find.
    fn index_runs(&self) -> Result<u64, BackendError>;

    /// The row of a run.
    fn row(&self, run: RunNo) -> Result<Run, BackendError>;

    /// The runs that a run has called, in order.
    fn children(&self, run: RunNo) -> Result<Vec<Run>, BackendError>;

    /// The run at the top of a chain of calls.
    fn root_of(&self, run: RunNo) -> Result<RunNo, BackendError>;

    /// The status of a run together with the runs that it has called.
    fn status(&self, run: RunNo) -> Result<Status, BackendError>;

    /// When the first timer of a run and of the runs that it has called is due.
    fn next_due_ms(&self, run: RunNo) -> Result<Option<i64>, BackendError>;

    /// A run with its program and its state. Listeners of this process have got the events that led to it.
    fn load(&self, run: RunNo) -> Result<Look, BackendError>;

    /// The processes that drive runs now.
    fn drivers(&self) -> Result<Vec<DriverProcess>, BackendError>;

    /// A number that changes whenever another process may have changed something.
    fn version(&self) -> Result<i64, BackendError>;

    /// How many runs there are of each status.
    fn counts(&self) -> Result<Vec<(String, u64)>, BackendError>;

    /// The events of a run, in order.
    fn journal(&self, run: RunNo) -> Result<Vec<(Stamp, Event, u32)>, BackendError>;

    /// How many events a run has, and how many bytes they take.
    fn journal_size(&self, run: RunNo) -> Result<(u64, u64), BackendError>;

    /// Replays a part of a run within a limit of ops, and hands over its notes: those of the events after `from`, or the newest part.
    /// Together with [`Backend::version`] it follows a run that another process drives.
    fn replay_part(
        &self,
        run: RunNo,
        from: Option<u64>,
        max_ops: u64,
        notes: &mut dyn FnMut(Note),
    ) -> Result<Replayed, BackendError>;

    /// The secrets of a run, which must be redacted in everything that is shown.
    fn secrets(&self, run: RunNo) -> Result<Secrets, BackendError>;

    /// Why the secrets of a run are withheld; none if they are not.
    fn withheld(&self, run: RunNo) -> Result<Option<String>, BackendError>;

    /// The script that answers the calls of a run; none if they are executed.
    fn script(&self, run: RunNo) -> Result<Option<RunScript>, BackendError>;

    /// Whether a script answers the calls of a run now.
    fn is_scripted(&self, run: RunNo) -> Result<bool, BackendError>;

    /// The responses that a run and the runs that it has called got, as a script.
    fn recording(&self, run: RunNo, mask: &Secrets) -> Result<Value, BackendError>;

    /// The open approvals of all runs.
    fn open_approvals(&self) -> Result<OpenApprovals, BackendError>;

    /// The open approvals of a run and of the runs that it has called.
    fn approvals(&self, run: RunNo) -> Result<OpenApprovals, BackendError>;

    /// What a loaded run asks people now, lines of a conversation among it.
    fn approvals_in(&self, look: &Look) -> Result<Vec<OpenApproval>, BackendError>;

    /// All requests of a run to people, settled ones among them, in order.
    fn questions(&self, run: RunNo) -> Result<Vec<Question>, BackendError>;

    /// All versions of all workflows.
    fn workflows(&self) -> Result<Vec<Listed>, BackendError>;

    /// The newest version of the workflow of a name.
    fn workflow(&self, name: &str) -> Result<Option<WorkflowNo>, BackendError>;

    /// The document of a workflow.
    fn document(&self, workflow: WorkflowNo) -> Result<Document, BackendError>;

    /// A program of a workflow; its own has the empty name.
    fn program(&self, workflow: WorkflowNo, part: &str) -> Result<Option<Program>, BackendError>;

    /// The number of a workflow that was saved before.
    fn saved(&self, workflow: Workflow<'_>) -> Result<Option<WorkflowNo>, BackendError>;

    /// Saves a workflow once; equal workflows have one number.
    fn save(&self, workflow: Workflow<'_>, now_ms: i64) -> Result<WorkflowNo, BackendError>;

    /// All sessions, by document and name.
    fn sessions(&self) -> Result<Vec<KeptSession>, BackendError>;

    /// Opens a session, unless it lives already. Its run.
    fn open_session(&self, session: &Session) -> Result<RunNo, BackendError>;

    /// Sends a request to a session, which is opened if it does not live.
    fn request_session(&self, session: &Session, request: SessionRequest) -> Result<SessionAnswer, BackendError>;

    /// Starts a run. It is stored when this returns.
    fn start(&self, start: Start) -> Result<Taken, BackendError>;

    /// Sends an event to a run: an answer, a signal or a cancellation. It is stored when this returns.
    fn send(&self, run: RunNo, event: &Event) -> Result<HandledBy, BackendError>;

    /// Continues a run that no process drives.
    fn resume(&self, run: RunNo, with: ContinueWith) -> Result<(), BackendError>;

    /// Starts a run with the first events of another.
    fn fork(&self, from: RunNo, events: u64, id: &str, with: ContinueWith) -> Result<Taken, BackendError>;

    /// Writes runs with the runs that they called, one JSON line for each part.
    fn export(&self, runs: &[RunNo], file: &mut dyn Write) -> Result<Exported, BackendError>;

    /// Reads exported runs, all of them or none. A run that has not ended may execute so many ops; 0 is no limit.
    fn import(&self, file: &mut dyn BufRead, max_ops: u64, now_ms: i64) -> Result<Imported, BackendError>;

    /// Removes runs that have ended, with the runs that they called.
    fn prune(&self, which: &Prune) -> Result<Pruned, BackendError>;

    /// Reports the events of the runs that this process drives to a listener, from now on.
    fn subscribe(&self, listener: EventListener) -> Result<(), BackendError>;

    /// Drives all runs that no other process drives, from now on.
    fn drive_all(&self) -> Result<(), BackendError>;

    /// Whether this process still drives runs: it stops when the storage fails.
    fn is_driving(&self) -> bool;

    /// Stops driving. Calls in flight have so much time to end; then the runs belong to no process.
    fn leave(&mut self, grace: Duration) -> Result<(), BackendError>;

    /// Checks the storage, which reads all of it. What is late by less than the patience is not late.
    fn check(&self, now_ms: i64, patience_ms: i64) -> Result<Health, BackendError>;

    /// Copies the storage into a new file while others write. Whether sealed secrets need a key that is not part of the copy.
    fn backup(&self, file: &Path) -> Result<bool, BackendError>;

    /// Frees the space of removed runs. `rewrite` makes the storage as small as it can be, and blocks all writes meanwhile. False:
    /// another process reads the log, so a part of it stays.
    fn compact(&self, rewrite: bool) -> Result<bool, BackendError>;

    /// The notices that a process has to send, by its number, and those of processes that are gone.
    fn notices(&self, owner: i64) -> Result<Vec<Notice>, BackendError>;

    /// Removes a notice that was sent.
    fn drop_notice(&self, notice: &Notice) -> Result<(), BackendError>;
}
