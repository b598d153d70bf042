//! Sessions in a store: each request is stored before it is answered, and a session outlives its process.
//!
//! A session is a run. It ends by its own timer when it gets no requests, and the next request opens a new one. A changed document
//! opens a new run too, which continues with what the old one remembers.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use branchpoint_backend::{BackendError, Session, SessionAction, SessionRejection, SessionRequest, SessionResponse};
use branchpoint_core::{Event, Rejected};
use branchpoint_expr::{Object, Value};

use super::{Gate, answer, event, input};
use crate::driver::OrderResult;
use crate::host::{Accepted, Host, Rejection, RunView, Start, Ticket, TurnOutput, new_id};
use crate::store::{RunNo, Sent, Store, StoreError, WorkflowNo};

/// The parts of a session's view that a new run continues with.
const REMEMBERED: [&str; 3] = ["activeStep", "recentlyUsedTools", "sequenceIndex"];

/// The pause between two looks for the response of another process.
const NAP: Duration = Duration::from_millis(5);

/// How many ops are replayed to explain an answer.
const EXPLAINED_OPS: u64 = 100_000;

/// Drives the runs of sessions.
pub(crate) trait SessionHost {
    fn store(&self) -> &Store;

    fn now_ms(&self) -> i64;

    fn start(&mut self, start: Start) -> Result<OrderResult, StoreError>;

    /// Sends an event to a run, whichever process drives it. False: the run has a signal of its key already.
    fn send(&mut self, run: RunNo, event: &Event) -> Result<bool, BackendError>;

    /// Opens a run, so that its due timers fire.
    fn resume(&mut self, run: RunNo) -> Result<OrderResult, StoreError>;

    fn load(&mut self, run: RunNo) -> Result<RunView, StoreError>;
}

impl dyn SessionHost + '_ {
    /// Sends a request to a session, which is opened if it does not live.
    pub(crate) fn request(
        &mut self,
        session: &Session,
        request: SessionRequest,
    ) -> Result<SessionResponse, BackendError> {
        let SessionRequest { action, key, explain } = request;
        let forgets = action == SessionAction::Reset;
        let event = event(action, key.clone());
        loop {
            let run = self.open(session)?;
            let before = if explain { self.load(run)?.state.seq() } else { 0 };
            let is_new = match self.send(run, &event) {
                // It expired in this very turn, and the next one is new.
                Err(BackendError::Rejection(Rejection::Rejected(Rejected::Ended))) => continue,
                Err(BackendError::Rejection(Rejection::Rejected(rejected))) => {
                    return Err(SessionRejection::Event(rejected).into());
                }
                sent => sent?,
            };
            if forgets && is_new {
                self.store().forget_keys(run, key.as_deref())?;
            }
            let mut notes = Vec::new();
            if explain && is_new {
                self.store().replay_part(run, Some(before), EXPLAINED_OPS, &mut |note| notes.push(note))?;
            }
            let look = self.load(run)?;
            let answer = answer::answer(&look.program, &look.state, &notes)?;
            return Ok(if is_new { answer } else { answer.unchanged() });
        }
    }

    /// The run of a session that lives: the stored one, or a new one.
    pub(crate) fn open(&mut self, session: &Session) -> Result<RunNo, BackendError> {
        if session.name.is_empty() {
            return Err(SessionRejection::NoId.into());
        }
        let Some(run) = self.store().session(&session.document, &session.name)? else {
            return self.begin(session, None, Value::Null);
        };
        let Some(look) = self.living(run)? else { return self.begin(session, Some(run), Value::Null) };
        if look.row.workflow == session.workflow {
            return Ok(run);
        }
        let remembered = look.view("session").map(|view| remembered(&view)).unwrap_or_default();
        let begun = self.begin(session, Some(run), remembered)?;
        self.end(run, Some("the document has changed"));
        Ok(begun)
    }

    /// A session that has not ended by now.
    fn living(&mut self, run: RunNo) -> Result<Option<RunView>, BackendError> {
        if !self.store().row(run).is_ok_and(|row| !row.status.is_final()) {
            return Ok(None);
        }
        let mut look = self.load(run)?;
        if look.state.timers().any(|(_, due_ms)| due_ms <= self.now_ms()) {
            // If another process drives it, the event that follows ends it there.
            let _ = self.resume(run)?;
            look = self.load(run)?;
        }
        Ok((!look.status().is_final()).then_some(look))
    }

    /// Opens a new session that continues with a remembered state.
    pub(crate) fn begin(
        &mut self,
        session: &Session,
        instead_of: Option<RunNo>,
        state: Value,
    ) -> Result<RunNo, BackendError> {
        let id = format!("session-{}", new_id(self.now_ms())?);
        let Accepted { run, .. } = self.start(Start::new(session.workflow, id, input(&session.options, state)?))??;
        if self.store().keep_session(&session.document, &session.name, run, instead_of)? {
            return Ok(run);
        }
        // Another process was faster, and its session counts.
        self.end(run, None);
        let known = self.store().session(&session.document, &session.name)?;
        known.ok_or_else(|| StoreError::Missing(format!("session `{}`", session.name)).into())
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
    /// The sessions of a workflow that the store has, under the name of its document.
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

    /// Opens a session anew, which continues with a remembered state: `{activeStep, recentlyUsedTools, sequenceIndex}`.
    pub fn restore(&mut self, name: &str, state: Value, now_ms: i64) -> Result<(), BackendError> {
        let session = self.session(name);
        let known = self.clocked.host.store().session(&self.document, name)?;
        self.at(now_ms).begin(&session, known, state).map(drop)
    }

    /// Takes the requests of other processes and fires due timers.
    pub fn poll(&mut self, now_ms: i64) -> Result<(), StoreError> {
        self.clocked.now_ms = now_ms;
        self.clocked.poll()
    }

    /// Releases all sessions, so that another process can continue them.
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
    /// Takes turns until the order that was just given is answered and nothing more is due.
    fn answered(&mut self) -> Result<OrderResult, StoreError> {
        let mut answered = None;
        // A run that was not finished with its last event takes this one some turns later.
        while answered.is_none() || self.host.next_ms().is_some_and(|at_ms| at_ms <= self.now_ms) {
            for output in self.host.turn(self.now_ms)? {
                if let TurnOutput::OrderDone { outcome, .. } = output {
                    answered = Some(outcome);
                }
            }
        }
        Ok(answered.unwrap_or(Err(Rejection::NoRun)))
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
        self.answered()
    }

    fn send(&mut self, run: RunNo, event: &Event) -> Result<bool, BackendError> {
        loop {
            self.host.send(run, event.clone(), Ticket(0));
            match self.answered()? {
                Err(Rejection::Driven) => {}
                handed => return Ok(handed?.new),
            }
            let (item, since) = (self.host.store().post(run, event)?, Instant::now());
            // Meanwhile this process takes what is sent to it: the other one may be waiting for it.
            let sent = loop {
                if let Some(sent) = self.host.store().outcome(item, run, since)? {
                    break sent;
                }
                self.poll()?;
                thread::sleep(NAP);
            };
            if sent != Sent::Undriven {
                return sent.into_result();
            }
        }
    }

    fn resume(&mut self, run: RunNo) -> Result<OrderResult, StoreError> {
        self.host.resume(run, false, Ticket(0));
        self.answered()
    }

    fn load(&mut self, run: RunNo) -> Result<RunView, StoreError> {
        self.host.load(run)
    }
}
