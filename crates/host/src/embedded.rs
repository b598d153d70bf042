//! The embedded host as a backend: a store to read, and a driver for the runs of this process.

use std::thread;
use std::time::Duration;

use branchpoint_backend::{
    Backend, BackendError, ContinueWith, Document, DriverProcess, Filter, HandledBy, KeptSession, Listed, Look,
    OpenApproval, OpenApprovals, Question, Refused, Replayed, Run, RunNo, RunScript, Start, Taken, Workflow,
    WorkflowNo,
};
use branchpoint_core::ir::{Program, Status};
use branchpoint_core::{Event, Note, Stamp};
use branchpoint_expr::Value;
use branchpoint_runners::Secrets;

use crate::driver::Driver;
use crate::store::{Sent, Store, Trouble};

/// How often an event is sent to a run that another process opens or leaves at the moment.
const SEND_ATTEMPTS: u32 = 100;

/// The pause between two attempts.
const SEND_PAUSE: Duration = Duration::from_millis(30);

/// A store, and the driver of this process if it drives runs.
#[derive(Debug)]
pub struct Embedded {
    store: Store,
    driver: Option<Driver>,
}

impl Embedded {
    /// Reads a store, and drives nothing.
    pub fn reading(store: Store) -> Self {
        Self { store, driver: None }
    }

    /// Reads a store, and drives runs. The driver has a connection of its own.
    pub fn driving(store: Store, driver: Driver) -> Self {
        Self { store, driver: Some(driver) }
    }

    /// The store, for the upkeep of its file.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Gives the store back, without the driver.
    pub fn into_store(self) -> Store {
        self.store
    }

    /// Whether the driver works: it stops when its store fails.
    pub fn is_driving(&self) -> bool {
        self.driver.as_ref().is_some_and(Driver::is_alive)
    }

    /// Stops driving. Calls in flight have so much time to end; then the runs belong to no process.
    pub fn leave(&mut self, grace: Duration) -> Result<(), BackendError> {
        self.driver.take().map_or(Ok(()), |driver| Ok(driver.leave(grace)?))
    }

    fn driver(&self) -> Result<&Driver, BackendError> {
        self.driver.as_ref().ok_or(BackendError::ReadOnly)
    }
}

impl Backend for Embedded {
    fn run(&self, id: &str) -> Result<Option<Run>, BackendError> {
        Ok(self.store.run(id)?)
    }

    fn find_runs(&self, part: &str) -> Result<Vec<Run>, BackendError> {
        Ok(self.store.find(part)?)
    }

    fn runs(&self, filter: &Filter) -> Result<Vec<Run>, BackendError> {
        Ok(self.store.runs(filter)?)
    }

    fn row(&self, run: RunNo) -> Result<Run, BackendError> {
        Ok(self.store.row(run)?)
    }

    fn children(&self, run: RunNo) -> Result<Vec<Run>, BackendError> {
        Ok(self.store.children(run)?)
    }

    fn root_of(&self, run: RunNo) -> Result<RunNo, BackendError> {
        Ok(self.store.root_of(run)?)
    }

    fn status(&self, run: RunNo) -> Result<Status, BackendError> {
        Ok(self.store.stands(run)?)
    }

    fn next_due_ms(&self, run: RunNo) -> Result<Option<i64>, BackendError> {
        Ok(self.store.next_due_ms(run)?)
    }

    fn load(&self, run: RunNo) -> Result<Look, BackendError> {
        Ok(self.store.look(run)?)
    }

    fn drivers(&self) -> Result<Vec<DriverProcess>, BackendError> {
        let owners = self.store.owners()?.into_iter();
        Ok(owners.map(|(owner, pid, command, since_ms)| DriverProcess { owner, pid, command, since_ms }).collect())
    }

    fn version(&self) -> Result<i64, BackendError> {
        Ok(self.store.version()?)
    }

    fn counts(&self) -> Result<Vec<(String, u64)>, BackendError> {
        Ok(self.store.counts()?)
    }

    fn journal(&self, run: RunNo) -> Result<Vec<(Stamp, Event, u32)>, BackendError> {
        Ok(self.store.journal(run)?)
    }

    fn journal_size(&self, run: RunNo) -> Result<(u64, u64), BackendError> {
        Ok(self.store.journal_size(run)?)
    }

    fn replay_part(
        &self,
        run: RunNo,
        from: Option<u64>,
        max_ops: u64,
        notes: &mut dyn FnMut(Note),
    ) -> Result<Replayed, BackendError> {
        Ok(self.store.replay_part(run, from, max_ops, notes)?)
    }

    fn secrets(&self, run: RunNo) -> Result<Secrets, BackendError> {
        Ok(self.store.secrets(run)?)
    }

    fn withheld(&self, run: RunNo) -> Result<Option<String>, BackendError> {
        Ok(self.store.withheld(run)?)
    }

    fn script(&self, run: RunNo) -> Result<Option<RunScript>, BackendError> {
        Ok(self.store.script(run)?)
    }

    fn is_scripted(&self, run: RunNo) -> Result<bool, BackendError> {
        Ok(self.store.is_scripted(run)?)
    }

    fn recording(&self, run: RunNo, mask: &Secrets) -> Result<Value, BackendError> {
        Ok(self.store.past(run)?.script(mask))
    }

    fn open_approvals(&self) -> Result<OpenApprovals, BackendError> {
        Ok(self.store.open_approvals()?)
    }

    fn approvals(&self, run: RunNo) -> Result<OpenApprovals, BackendError> {
        Ok(self.store.approvals(run)?)
    }

    fn approvals_in(&self, look: &Look) -> Result<Vec<OpenApproval>, BackendError> {
        Ok(self.store.approvals_in(look)?)
    }

    fn questions(&self, run: RunNo) -> Result<Vec<Question>, BackendError> {
        Ok(self.store.questions(run)?)
    }

    fn workflows(&self) -> Result<Vec<Listed>, BackendError> {
        Ok(self.store.workflows()?)
    }

    fn workflow(&self, name: &str) -> Result<Option<WorkflowNo>, BackendError> {
        Ok(self.store.workflow(name)?)
    }

    fn document(&self, workflow: WorkflowNo) -> Result<Document, BackendError> {
        Ok(self.store.document(workflow)?)
    }

    fn program(&self, workflow: WorkflowNo, part: &str) -> Result<Option<Program>, BackendError> {
        Ok(self.store.program(workflow, part)?)
    }

    fn saved(&self, workflow: Workflow<'_>) -> Result<Option<WorkflowNo>, BackendError> {
        Ok(self.store.saved(workflow)?)
    }

    fn save(&self, workflow: Workflow<'_>, now_ms: i64) -> Result<WorkflowNo, BackendError> {
        Ok(self.store.save(workflow, now_ms)?)
    }

    fn sessions(&self) -> Result<Vec<KeptSession>, BackendError> {
        Ok(self.store.sessions()?)
    }

    fn start(&self, start: Start) -> Result<Taken, BackendError> {
        Ok(self.driver()?.start(start)??)
    }

    fn send(&self, run: RunNo, event: &Event) -> Result<HandledBy, BackendError> {
        for _ in 0..SEND_ATTEMPTS {
            match self.driver()?.hand(run, event.clone())? {
                Ok(_) => return Ok(HandledBy::Us),
                Err(Refused::Driven) => match self.store.send(run, event)? {
                    Sent::Taken => return Ok(HandledBy::Another),
                    Sent::Refused(refused) => return Err(refused.into()),
                    Sent::Unheard => return Err(BackendError::NoResponse),
                    Sent::Pending => return Err(BackendError::Pending),
                    // The other process has just left the run, or is about to open it.
                    Sent::Undriven => thread::sleep(SEND_PAUSE),
                },
                Err(refused) => return Err(refused.into()),
            }
        }
        Err(BackendError::NoResponse)
    }

    fn resume(&self, run: RunNo, with: ContinueWith) -> Result<(), BackendError> {
        Ok(self.driver()?.wake_with(run, with)?.map(drop)?)
    }

    fn fork(&self, from: RunNo, events: u64, id: &str, with: ContinueWith) -> Result<Taken, BackendError> {
        Ok(self.driver()?.fork(from, events, id.to_owned(), with)??)
    }
}

impl From<Trouble> for BackendError {
    fn from(trouble: Trouble) -> Self {
        let message = trouble.to_string();
        match trouble {
            Trouble::NotAStore | Trouble::TooNew { .. } | Trouble::TooOld { .. } => Self::Incompatible(message),
            trouble if trouble.is_of_one_run() => Self::Damaged(message),
            _ => Self::Unavailable(message),
        }
    }
}
