//! Sessions in a store: each request is stored before it is answered, and a session outlives its process.
//!
//! A session is a run. Its timer ends it when it gets no requests, and the next request opens a new run. A changed document opens a new
//! run, too, which continues with the state of the old one.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use branchpoint_backend::{BackendError, Session, SessionAction, SessionRejection, SessionRequest, SessionResponse};
use branchpoint_core::{Event, Rejected};
use branchpoint_expr::{Object, Value};

use super::{Gate, response, session_event, session_input};
use crate::driver::OrderResult;
use crate::host::{Accepted, Host, Rejection, RunView, Start, Ticket, TurnOutput, new_id};
use crate::store::{RunNo, Sent, Store, StoreError, WorkflowNo};

/// The parts of a session's view that a new run continues with.
const REMEMBERED: [&str; 3] = ["activeStep", "recentlyUsedTools", "sequenceIndex"];

/// The pause between two checks for the response of another process.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The most ops that are replayed to explain a response.
const EXPLAINED_OPS: u64 = 100_000;

/// Drives the runs of sessions.
pub(crate) trait SessionHost {
    fn store(&self) -> &Store;

    fn now_ms(&self) -> i64;

    fn start(&mut self, start: Start) -> Result<OrderResult, StoreError>;

    /// Sends an event to a run, whichever process drives it. Returns false if the run already has a signal with its key.
    fn send(&mut self, run: RunNo, event: &Event) -> Result<bool, BackendError>;

    /// Opens a run, so that its due timers fire.
    fn resume(&mut self, run: RunNo) -> Result<OrderResult, StoreError>;

    fn load(&mut self, run: RunNo) -> Result<RunView, StoreError>;
}

impl dyn SessionHost + '_ {
    /// Sends a request to a session, which is opened if necessary.
    pub(crate) fn request(
        &mut self,
        session: &Session,
        request: SessionRequest,
    ) -> Result<SessionResponse, BackendError> {
        let SessionRequest { action, key, explain } = request;
        let resets = action == SessionAction::Reset;
        let event = session_event(action, key.clone());
        loop {
            let run = self.open(session)?;
            let before = if explain { self.load(run)?.state.seq() } else { 0 };
            let is_new = match self.send(run, &event) {
                // It expired in this turn, so the next attempt opens a new session.
                Err(BackendError::Rejection(Rejection::Rejected(Rejected::Ended))) => continue,
                Err(BackendError::Rejection(Rejection::Rejected(rejected))) => {
                    return Err(SessionRejection::Event(rejected).into());
                }
                sent => sent?,
            };
            if resets && is_new {
                self.store().remove_keys(run, key.as_deref())?;
            }
            let mut notes = Vec::new();
            if explain && is_new {
                self.store().replay_part(run, Some(before), EXPLAINED_OPS, &mut |note| notes.push(note))?;
            }
            let view = self.load(run)?;
            let response = response::response(&view.program, &view.state, &notes)?;
            return Ok(if is_new { response } else { response.unchanged() });
        }
    }

    /// The run of an open session: the stored one, or a new one.
    pub(crate) fn open(&mut self, session: &Session) -> Result<RunNo, BackendError> {
        if session.name.is_empty() {
            return Err(SessionRejection::NoId.into());
        }
        let Some(run) = self.store().session(&session.document, &session.name)? else {
            return self.begin(session, None, Value::Null);
        };
        let Some(view) = self.open_run(run)? else { return self.begin(session, Some(run), Value::Null) };
        if view.row.workflow == session.workflow {
            return Ok(run);
        }
        let remembered = view.view("session").map(|view| remembered(&view)).unwrap_or_default();
        let begun = self.begin(session, Some(run), remembered)?;
        self.end(run, Some("the document has changed"));
        Ok(begun)
    }

    /// The run of a session; `None` if it has ended by now.
    fn open_run(&mut self, run: RunNo) -> Result<Option<RunView>, BackendError> {
        if !self.store().row(run).is_ok_and(|row| !row.status.is_final()) {
            return Ok(None);
        }
        let mut view = self.load(run)?;
        if view.state.timers().any(|(_, due_ms)| due_ms <= self.now_ms()) {
            // If another process drives it, the next event ends it there.
            let _ = self.resume(run)?;
            view = self.load(run)?;
        }
        Ok((!view.status().is_final()).then_some(view))
    }

    /// Opens a new session that continues with a state.
    pub(crate) fn begin(
        &mut self,
        session: &Session,
        instead_of: Option<RunNo>,
        state: Value,
    ) -> Result<RunNo, BackendError> {
        let id = format!("session-{}", new_id(self.now_ms())?);
        let Accepted { run, .. } =
            self.start(Start::new(session.workflow, id, session_input(&session.options, state)?))??;
        if self.store().bind_session(&session.document, &session.name, run, instead_of)? {
            return Ok(run);
        }
        // Another process was faster, so its session is used.
        self.end(run, None);
        let other = self.store().session(&session.document, &session.name)?;
        other.ok_or_else(|| StoreError::Missing(format!("session `{}`", session.name)).into())
    }

    /// Ends a session that another one replaces. It may have ended already.
    fn end(&mut self, run: RunNo, reason: Option<&str>) {
        let _ = self.send(run, &Event::Cancel { reason: reason.map(Into::into) });
    }
}

fn remembered(view: &Value) -> Value {
    let part = |key: &str| Some((Arc::from(key), view.get(key)?.clone()));
    Value::from(REMEMBERED.iter().filter_map(|key| part(key)).collect::<Object>())
}

/// The sessions of a document in a store, under a virtual clock: every request carries its time.
pub struct StoredSessions<'p> {
    clocked: ClockedHost,
    gate: Gate<'p>,
    workflow: WorkflowNo,
    /// The name of the document: sessions belong to it through all its versions.
    document: String,
}

impl std::fmt::Debug for StoredSessions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredSessions").field("document", &self.document).finish_non_exhaustive()
    }
}

impl<'p> StoredSessions<'p> {
    /// The sessions of a saved workflow, under the name of its document.
    ///
    /// ```
    /// use branchpoint_host::{gate::*, host::Host, store::{StoreError, WorkflowNo}};
    ///
    /// fn sessions<'p>(host: Host, gate: Gate<'p>, workflow: WorkflowNo) -> StoredSessions<'p> {
    ///     StoredSessions::new(host, gate, workflow, "support".into())
    /// }
    /// ```
    pub fn new(host: Host, gate: Gate<'p>, workflow: WorkflowNo, document: String) -> Self {
        Self { clocked: ClockedHost { host, now_ms: 0 }, gate, workflow, document }
    }

    /// Sends a request to a session; see [`Gate::request`].
    pub fn request(
        &mut self,
        name: &str,
        request: impl Into<SessionRequest>,
        now_ms: i64,
    ) -> Result<SessionResponse, BackendError> {
        let session = self.session(name);
        self.at(now_ms).request(&session, request.into())
    }

    /// Opens a new session that continues with a state: `{activeStep, recentlyUsedTools, sequenceIndex}`.
    pub fn restore(&mut self, name: &str, state: Value, now_ms: i64) -> Result<(), BackendError> {
        let session = self.session(name);
        let present = self.clocked.host.store().session(&self.document, name)?;
        self.at(now_ms).begin(&session, present, state).map(drop)
    }

    /// Applies the requests of other processes and fires due timers.
    ///
    /// ```
    /// use branchpoint_host::{gate::*, host::Host, store::{StoreError, WorkflowNo}};
    ///
    /// fn poll(sessions: &mut StoredSessions<'_>, now_ms: i64) -> Result<(), StoreError> {
    ///     sessions.poll(now_ms)
    /// }
    /// ```
    pub fn poll(&mut self, now_ms: i64) -> Result<(), StoreError> {
        self.clocked.now_ms = now_ms;
        self.clocked.poll()
    }

    /// Releases all sessions, so that another process can continue them.
    ///
    /// ```
    /// use branchpoint_host::{gate::*, host::Host, store::{StoreError, WorkflowNo}};
    ///
    /// fn close(sessions: StoredSessions<'_>) -> Result<(), StoreError> {
    ///     sessions.close()
    /// }
    /// ```
    pub fn close(self) -> Result<(), StoreError> {
        self.clocked.host.close()
    }

    fn session(&self, name: &str) -> Session {
        let (document, options) = (self.document.clone(), self.gate.options().clone());
        Session { name: name.to_owned(), document, workflow: self.workflow, options }
    }

    fn at(&mut self, now_ms: i64) -> &mut dyn SessionHost {
        self.clocked.now_ms = now_ms;
        &mut self.clocked
    }
}

/// A host whose turns are all taken at one time.
struct ClockedHost {
    host: Host,
    now_ms: i64,
}

impl ClockedHost {
    /// Takes turns until the last order has an outcome and nothing more is due.
    fn turns_until_done(&mut self) -> Result<OrderResult, StoreError> {
        let mut done = None;
        // An unfinished run accepts the event some turns later.
        while done.is_none() || self.host.next_ms().is_some_and(|at_ms| at_ms <= self.now_ms) {
            for output in self.host.turn(self.now_ms)? {
                if let TurnOutput::OrderDone { outcome, .. } = output {
                    done = Some(outcome);
                }
            }
        }
        Ok(done.unwrap_or(Err(Rejection::NoRun)))
    }

    fn poll(&mut self) -> Result<(), StoreError> {
        self.host.poll_store()?;
        self.host.turn(self.now_ms).map(drop)
    }
}

impl SessionHost for ClockedHost {
    fn store(&self) -> &Store {
        self.host.store()
    }

    fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn start(&mut self, start: Start) -> Result<OrderResult, StoreError> {
        self.host.start(start, Ticket(0));
        self.turns_until_done()
    }

    fn send(&mut self, run: RunNo, event: &Event) -> Result<bool, BackendError> {
        loop {
            self.host.send(run, event.clone(), Ticket(0));
            match self.turns_until_done()? {
                Err(Rejection::Driven) => {}
                outcome => return Ok(outcome?.new),
            }
            let (item, since) = (self.host.store().post(run, event)?, Instant::now());
            // Meanwhile this process applies the events that are sent to it, because the other one may wait for them.
            let sent = loop {
                if let Some(sent) = self.host.store().outcome(item, run, since)? {
                    break sent;
                }
                self.poll()?;
                thread::sleep(POLL_INTERVAL);
            };
            if sent != Sent::Undriven {
                return sent.into_result();
            }
        }
    }

    fn resume(&mut self, run: RunNo) -> Result<OrderResult, StoreError> {
        self.host.resume(run, false, Ticket(0));
        self.turns_until_done()
    }

    fn load(&mut self, run: RunNo) -> Result<RunView, StoreError> {
        self.host.load(run)
    }
}
