//! Sessions that a store keeps: each request is kept before it is answered, and a session outlives its process.
//!
//! A session is a run under the name that the host gives it. It ends by its own timer when nobody touches it, and the next
//! request opens a new one. A changed document opens a new run too, which goes on from what the old one remembered.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use branchpoint_core::ir::{Program, ViewId};
use branchpoint_core::{Event, Note, Rejected, view};
use branchpoint_expr::{Object, Value};

use super::{Answer, Gate, Refused, Request, answer, event};
use crate::host::{self, Act, Host, Look, Start, Taken, Ticket, new_id};
use crate::store::{RunNo, Sent, Trouble, WorkflowNo};

/// The parts of a session's view that a new run goes on from.
const REMEMBERED: [&str; 3] = ["activeStep", "recentlyUsedTools", "sequenceIndex"];

/// How long to wait before looking again for what another process has answered.
const NAP: Duration = Duration::from_millis(5);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum KeptTrouble {
    /// The session refused.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The host refused.
    #[error("the session could not be opened: {0}")]
    Host(host::Refused),
    /// Another process drives the session, and it does not answer.
    #[error("another process drives the session and does not answer; stop that process, then try again")]
    Unheard,
    /// Another process has claimed the request and has not applied it yet.
    #[error("another process has claimed the request and has not applied it yet; it may still take effect")]
    Pending,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Trouble),
}

/// The sessions of a document in a store.
pub struct KeptSessions<'p> {
    host: Host,
    gate: Gate<'p>,
    workflow: WorkflowNo,
    /// The name of the document: sessions belong to it through all its versions.
    document: String,
}

impl std::fmt::Debug for KeptSessions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptSessions").field("document", &self.document).finish_non_exhaustive()
    }
}

impl<'p> KeptSessions<'p> {
    /// The sessions of a workflow that the store has, under the name of its document.
    pub fn new(host: Host, gate: Gate<'p>, workflow: WorkflowNo, document: String) -> Self {
        Self { host, gate, workflow, document }
    }

    /// Hands a request to a session; see [`Gate::request`].
    pub fn request(
        &mut self,
        name: &str,
        request: Request,
        key: Option<&str>,
        now_ms: i64,
        explain: bool,
    ) -> Result<Answer, KeptTrouble> {
        if name.is_empty() {
            return Err(Refused::NoId.into());
        }
        let forgets = request == Request::Reset;
        let event = event(request, key);
        loop {
            let run = self.open(name, now_ms, explain)?;
            self.host.hand(run, event.clone(), Ticket(0));
            let (outcome, notes) = self.turn(run, now_ms)?;
            match outcome {
                Ok(Taken { new, .. }) => {
                    if forgets && new {
                        self.host.store().forget_keys(run, key)?;
                    }
                    let answer = told(&self.host.look_at(run)?, &notes)?;
                    return Ok(if new { answer } else { answer.unchanged() });
                }
                Err(host::Refused::Driven) => match self.send(run, &event, now_ms)? {
                    Sent::Taken => {
                        if forgets {
                            self.host.store().forget_keys(run, key)?;
                        }
                        return told(&self.host.look_at(run)?, &[]);
                    }
                    Sent::Refused(refused) => is_expired(refused)?,
                    Sent::Unheard => return Err(KeptTrouble::Unheard),
                    Sent::Pending => return Err(KeptTrouble::Pending),
                    Sent::Undriven => {}
                },
                Err(refused) => is_expired(refused)?,
            }
        }
    }

    /// Sends an event to the process that drives a session. Meanwhile this one takes what is sent to it: that process may be
    /// waiting for this one.
    fn send(&mut self, run: RunNo, event: &Event, now_ms: i64) -> Result<Sent, Trouble> {
        let item = self.host.store().post(run, event)?;
        let since = Instant::now();
        loop {
            if let Some(sent) = self.host.store().outcome(item, run, since)? {
                return Ok(sent);
            }
            self.tend(now_ms)?;
            thread::sleep(NAP);
        }
    }

    /// Opens a session anew, going on from what a host has kept elsewhere: `{activeStep, recentlyUsedTools, sequenceIndex}`.
    pub fn restore(&mut self, name: &str, kept: Value, now_ms: i64) -> Result<(), KeptTrouble> {
        let known = self.host.store().session(&self.document, name)?;
        self.begin(name, known, kept, now_ms, false).map(drop)
    }

    /// Takes what other processes have sent and what is due. Whoever waits for the next request calls it meanwhile.
    pub fn tend(&mut self, now_ms: i64) -> Result<(), Trouble> {
        self.host.notice()?;
        self.host.turn(now_ms).map(drop)
    }

    /// Lets go of all sessions, so that another process can go on with them.
    pub fn close(self) -> Result<(), Trouble> {
        self.host.close()
    }

    /// The run of a session that lives: the one that is kept, or a new one. It may be told what happens in it.
    pub fn open(&mut self, name: &str, now_ms: i64, explain: bool) -> Result<RunNo, KeptTrouble> {
        let known = self.host.store().session(&self.document, name)?;
        let Some(run) = known else { return self.begin(name, None, Value::Null, now_ms, explain) };
        let Some(look) = self.living(run, now_ms, explain)? else {
            return self.begin(name, Some(run), Value::Null, now_ms, explain);
        };
        if look.row.workflow == self.workflow {
            return Ok(run);
        }
        // The document has changed since: what the session remembers goes on under the new one.
        let remembered = look.view("session").map(|view| remembered(&view)).unwrap_or_default();
        let begun = self.begin(name, Some(run), remembered, now_ms, explain)?;
        let reason = Some("the document has changed".into());
        self.host.hand(run, Event::Cancel { reason }, Ticket(0));
        let _ = self.turn(run, now_ms)?;
        Ok(begun)
    }

    /// A session that has not ended by now. Its timer is fired if it is due.
    fn living(&mut self, run: RunNo, now_ms: i64, explain: bool) -> Result<Option<Look>, KeptTrouble> {
        if self.host.store().row(run).is_ok_and(|row| !row.status.is_final()) {
            // Another process may drive it; then it is sent to that one.
            self.host.wake(run, explain, Ticket(0));
            let _ = self.turn(run, now_ms)?;
            let look = self.host.look_at(run)?;
            return Ok((!look.status().is_final()).then_some(look));
        }
        Ok(None)
    }

    fn begin(
        &mut self,
        name: &str,
        instead_of: Option<RunNo>,
        state: Value,
        now_ms: i64,
        explain: bool,
    ) -> Result<RunNo, KeptTrouble> {
        let input = self.gate.input(state);
        let id = format!("session-{}", new_id(now_ms)?);
        self.host.start(Start { watched: explain, ..Start::new(self.workflow, id, input) }, Ticket(0));
        let (outcome, _) = self.turn(RunNo(0), now_ms)?;
        let run = outcome.map_err(KeptTrouble::Host)?.run;
        if self.host.store().keep_session(&self.document, name, run, instead_of)? {
            return Ok(run);
        }
        // Another process was faster, and its session is the one.
        self.host.hand(run, Event::Cancel { reason: None }, Ticket(0));
        let _ = self.turn(run, now_ms)?;
        let known = self.host.store().session(&self.document, name)?;
        known.ok_or_else(|| Trouble::Missing(format!("session `{name}`")).into())
    }

    /// Takes what is queued, until the order that was just given is answered, and tells what happened in a run.
    fn turn(&mut self, run: RunNo, now_ms: i64) -> Result<(Result<Taken, host::Refused>, Vec<Note>), Trouble> {
        let (mut answered, mut told) = (None, Vec::new());
        // A run that was not finished with its last event takes this one some turns later.
        while answered.is_none() || self.host.next_ms().is_some_and(|at_ms| at_ms <= now_ms) {
            for act in self.host.turn(now_ms)? {
                match act {
                    Act::Answered { outcome, .. } => answered = Some(outcome),
                    Act::Told { run: of, notes } if of == run => told.extend(notes),
                    _ => {}
                }
            }
        }
        Ok((answered.unwrap_or(Err(host::Refused::NoRun)), told))
    }
}

/// A session that expired in this very turn is not an error: the next one is new.
fn is_expired(refused: host::Refused) -> Result<(), KeptTrouble> {
    match refused {
        host::Refused::Rejected(Rejected::Ended) => Ok(()),
        host::Refused::Rejected(rejected) => Err(Refused::Event(rejected).into()),
        refused => Err(KeptTrouble::Host(refused)),
    }
}

/// How a session stands. What cannot be told is an error.
fn told(look: &Look, notes: &[Note]) -> Result<Answer, KeptTrouble> {
    let read = |name: &str| {
        let id = named(&look.program, name).ok_or(Refused::NoSession)?;
        view(&look.program, &look.state, id).map_err(Refused::View)
    };
    Ok(Answer { view: read("session")?, problems: read("problems")?, reasons: answer::reasons(notes) })
}

fn named(program: &Program, name: &str) -> Option<ViewId> {
    let found = program.views.iter().position(|view| &*view.name == name)?;
    u32::try_from(found).ok().map(ViewId)
}

fn remembered(view: &Value) -> Value {
    let part = |key: &str| Some((Arc::from(key), view.get(key)?.clone()));
    Value::from(REMEMBERED.iter().filter_map(|key| part(key)).collect::<Object>())
}
