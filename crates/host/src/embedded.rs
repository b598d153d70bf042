//! The embedded host as a backend: a store to read, and a driver for the runs of this process.

use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use branchpoint_backend::{
    Accepted, ApprovalRecord, Attempted, Backend, BackendError, CallSource, Delivery, Document, DriverProcess,
    EventListener, Exported, Filter, HandledBy, Health, HourCount, Imported, Migration, NamedSecret, NewDelivery,
    NewSecret, Notice, OnStart, OpenApproval, OpenApprovals, Priority, Prune, Pruned, Queued, Rejection, Replayed, Run,
    RunNo, RunScript, RunView, Session, SessionRequest, SessionResponse, SessionSummary, Start, Tags, Workflow,
    WorkflowNo, WorkflowSummary,
};
use branchpoint_core::ir::{Program, Status};
use branchpoint_core::{Event, Note, Stamp};
use branchpoint_expr::Value;
use branchpoint_runners::Secrets;

use crate::driver::{Driver, OrderResult, now_ms};
use crate::gate::SessionHost;
use crate::store::{ImportLimits, Sent, Store, StoreError, TransferError};

/// The most attempts to send an event to a run that another process is opening or releasing.
const SEND_ATTEMPTS: u32 = 100;

/// The pause between two attempts.
const SEND_PAUSE: Duration = Duration::from_millis(30);

/// A store, and the driver of this process if it drives runs.
#[derive(Debug)]
pub struct Embedded {
    store: Store,
    driver: Option<Arc<Driver>>,
}

impl Embedded {
    /// Creates a backend that reads a store and drives no runs.
    ///
    /// ```
    /// use branchpoint_backend::Backend;
    /// use branchpoint_host::{Embedded, store::{Filter, Store}};
    ///
    /// let backend = Embedded::read_only(Store::in_memory().unwrap());
    /// assert!(backend.runs(&Filter::default()).unwrap().is_empty());
    /// ```
    pub fn read_only(store: Store) -> Self {
        Self { store, driver: None }
    }

    /// Creates a backend that reads a store and drives runs. The driver has its own connection.
    pub fn with_driver(store: Store, driver: Driver) -> Self {
        Self { store, driver: Some(Arc::new(driver)) }
    }

    fn driver(&self) -> Result<&Driver, BackendError> {
        self.driver.as_deref().ok_or(BackendError::ReadOnly)
    }

    fn driven(&self) -> Result<Driven<'_>, BackendError> {
        Ok(Driven { store: &self.store, driver: self.driver()? })
    }
}

/// The store and the driver of a backend that drives runs.
struct Driven<'e> {
    store: &'e Store,
    driver: &'e Driver,
}

impl Driven<'_> {
    /// Sends an event to a run, whichever process drives it.
    fn deliver(&self, run: RunNo, event: &Event) -> Result<(HandledBy, bool), BackendError> {
        for _ in 0..SEND_ATTEMPTS {
            match self.driver.send(run, event.clone())? {
                Err(Rejection::Driven) => match self.store.send(run, event)? {
                    // The other process has just released the run, or is about to open it.
                    Sent::Undriven => thread::sleep(SEND_PAUSE),
                    sent => return sent.into_result().map(|is_new| (HandledBy::AnotherProcess, is_new)),
                },
                outcome => return Ok((HandledBy::ThisProcess, outcome?.new)),
            }
        }
        Err(BackendError::NoResponse)
    }
}

impl SessionHost for Driven<'_> {
    fn store(&self) -> &Store {
        self.store
    }

    fn now_ms(&self) -> i64 {
        now_ms()
    }

    fn start(&mut self, start: Start) -> Result<OrderResult, StoreError> {
        self.driver.start(start)
    }

    fn send(&mut self, run: RunNo, event: &Event) -> Result<bool, BackendError> {
        self.deliver(run, event).map(|(_, is_new)| is_new)
    }

    fn resume(&mut self, run: RunNo) -> Result<OrderResult, StoreError> {
        self.driver.resume(run)
    }

    fn load(&mut self, run: RunNo) -> Result<RunView, StoreError> {
        self.driver.load(run)
    }
}

/// Implements methods that call the method of the store with the same name.
macro_rules! delegate_to_store {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self, $($argument: $type),*) -> Result<$result, BackendError> {
            Ok(self.store.$name($($argument),*)?)
        })*
    };
}

impl Backend for Embedded {
    delegate_to_store! {
        run(id: &str) -> Option<Run>;
        find_runs(part: &str) -> Vec<Run>;
        runs(filter: &Filter) -> Vec<Run>;
        index_runs() -> u64;
        row(run: RunNo) -> Run;
        children(run: RunNo) -> Vec<Run>;
        root_of(run: RunNo) -> RunNo;
        status(run: RunNo) -> Status;
        next_due_ms(run: RunNo) -> Option<i64>;
        version() -> i64;
        counts() -> Vec<(String, u64)>;
        totals(workflow: Option<&str>) -> Vec<(Status, u64)>;
        hourly(since_ms: i64, workflow: Option<&str>) -> Vec<HourCount>;
        queued(run: RunNo, now_ms: i64) -> Option<Queued>;
        tag(run: RunNo, add: &Tags, remove: &Tags) -> Tags;
        prioritize(run: RunNo, priority: Priority) -> ();
        journal(run: RunNo) -> Vec<(Stamp, Event, u32)>;
        journal_size(run: RunNo) -> (u64, u64);
        replay_part(run: RunNo, from: Option<u64>, max_ops: u64, notes: &mut dyn FnMut(Note)) -> Replayed;
        secrets(run: RunNo) -> Secrets;
        unavailable_secrets(run: RunNo) -> Option<String>;
        script(run: RunNo) -> Option<RunScript>;
        is_scripted(run: RunNo) -> bool;
        open_approvals() -> OpenApprovals;
        approvals(run: RunNo) -> OpenApprovals;
        approvals_in(view: &RunView) -> Vec<OpenApproval>;
        approval_records(run: RunNo) -> Vec<ApprovalRecord>;
        workflows() -> Vec<WorkflowSummary>;
        workflow(name: &str) -> Option<WorkflowNo>;
        document(workflow: WorkflowNo) -> Document;
        program(workflow: WorkflowNo, part: &str) -> Option<Program>;
        find_saved(workflow: Workflow<'_>) -> Option<WorkflowNo>;
        save(workflow: Workflow<'_>, now_ms: i64) -> WorkflowNo;
        sessions() -> Vec<SessionSummary>;
        export(runs: &[RunNo], file: &mut dyn Write) -> Exported;
        prune(which: &Prune) -> Pruned;
        check(now_ms: i64, tolerance_ms: i64) -> Health;
        backup(file: &Path) -> bool;
        compact(rewrite: bool) -> bool;
        notices(owner: i64) -> Vec<Notice>;
        dispatch(notice: &Notice, deliveries: &[NewDelivery], owner: i64, now_ms: i64) -> ();
        add_delivery(delivery: &NewDelivery, now_ms: i64) -> String;
        claim_deliveries(owner: i64, target: &str, now_ms: i64) -> ();
        due_deliveries(owner: i64, target: &str, now_ms: i64, limit: u32) -> Vec<Delivery>;
        next_delivery_ms(owner: i64, target: &str) -> Option<i64>;
        record_attempt(delivery: &Delivery, attempted: &Attempted, now_ms: i64) -> ();
        deliveries(target: &str, limit: u32) -> Vec<Delivery>;
        last_delivered_ms(target: &str, user: &str, event: &str) -> Option<i64>;
        set_secret(secret: &NewSecret, now_ms: i64) -> ();
        remove_secret(name: &str) -> bool;
        named_secrets() -> Vec<NamedSecret>;
        named_secret(name: &str) -> Option<String>;
        drivers() -> Vec<DriverProcess>;
        first_event(run: RunNo) -> Option<Event>;
    }

    fn handle(&self) -> Result<Box<dyn Backend>, BackendError> {
        Ok(Box::new(Self { store: self.store.reopen()?, driver: self.driver.clone() }))
    }

    fn load(&self, run: RunNo) -> Result<RunView, BackendError> {
        let view = self.store.load(run)?;
        // A driver that has stopped reports nothing more.
        let _ = self.driver.as_deref().map(Driver::sync);
        Ok(view)
    }

    fn load_stored(&self, run: RunNo) -> Result<RunView, BackendError> {
        Ok(self.store.load(run)?)
    }

    fn import(&self, file: &mut dyn BufRead, max_ops: u64, now_ms: i64) -> Result<Imported, BackendError> {
        Ok(self.store.import(file, ImportLimits { run_ops: max_ops, ..ImportLimits::default() }, now_ms)?)
    }

    fn recording(&self, run: RunNo, mask: &Secrets) -> Result<Value, BackendError> {
        Ok(self.store.history(run)?.script(mask))
    }

    fn start(&self, start: Start) -> Result<Accepted, BackendError> {
        Ok(self.driver()?.start(start)??)
    }

    fn start_then(&self, start: Start, done: OnStart) -> Result<(), BackendError> {
        Ok(self.driver()?.start_then(start, Box::new(move |outcome| done(outcome.map_err(BackendError::from))))?)
    }

    fn send(&self, run: RunNo, event: &Event) -> Result<HandledBy, BackendError> {
        self.driven()?.deliver(run, event).map(|(handled_by, _)| handled_by)
    }

    fn resume(&self, run: RunNo, calls: CallSource) -> Result<(), BackendError> {
        Ok(self.driver()?.resume_with(run, calls)?.map(drop)?)
    }

    fn fork(&self, from: RunNo, events: u64, id: &str, calls: CallSource) -> Result<Accepted, BackendError> {
        Ok(self.driver()?.fork(from, events, id.to_owned(), calls)??)
    }

    fn fork_on(
        &self,
        from: RunNo,
        events: u64,
        workflow: WorkflowNo,
        id: &str,
        calls: CallSource,
    ) -> Result<Accepted, BackendError> {
        Ok(self.driver()?.fork_on(from, events, workflow, id.to_owned(), calls)??)
    }

    fn plan_migration(&self, run: RunNo, workflow: WorkflowNo) -> Result<Migration, BackendError> {
        Ok(self.store.plan_migration(run, workflow)??)
    }

    fn migrate(&self, run: RunNo, workflow: WorkflowNo) -> Result<Accepted, BackendError> {
        Ok(self.driver()?.migrate(run, workflow)??)
    }

    fn open_session(&self, session: &Session) -> Result<RunNo, BackendError> {
        let host: &mut dyn SessionHost = &mut self.driven()?;
        host.open(session)
    }

    fn request_session(&self, session: &Session, request: SessionRequest) -> Result<SessionResponse, BackendError> {
        let host: &mut dyn SessionHost = &mut self.driven()?;
        host.request(session, request)
    }

    fn subscribe(&self, listener: EventListener) -> Result<(), BackendError> {
        Ok(self.driver()?.subscribe(listener)?)
    }

    fn drive_all(&self) -> Result<(), BackendError> {
        Ok(self.driver()?.drive_all()?)
    }

    fn is_driving(&self) -> bool {
        self.driver.as_deref().is_some_and(Driver::is_alive)
    }

    fn stop(&mut self, grace: Duration) -> Result<(), BackendError> {
        self.driver.take().map_or(Ok(()), |driver| Ok(driver.stop(grace)?))
    }
}

impl From<TransferError> for BackendError {
    fn from(error: TransferError) -> Self {
        match error {
            TransferError::Store(error) => error.into(),
            error => Self::BadFile(error.to_string()),
        }
    }
}

impl From<StoreError> for BackendError {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::StorageLimit(_) => Self::Limit(message),
            StoreError::NotAStore
            | StoreError::NotADatabase
            | StoreError::TooNew { .. }
            | StoreError::TooOld { .. } => Self::Incompatible(message),
            error if error.is_of_one_run() => Self::Damaged(message),
            _ => Self::Unavailable(message),
        }
    }
}
