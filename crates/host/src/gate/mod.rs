//! The gate: which tools an agent may use now, for a host that runs its own model and tools.
//!
//! A session is a run that rests between events. The host reports messages and tool uses, and gets the view of the session
//! back. Nothing is written down by [`Sessions`]; [`KeptSessions`] keeps the same events in a store.

mod answer;
mod kept;
mod sessions;

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_core::ir::{Program, ViewId};
use branchpoint_core::{Command, Event, Note, Rejected, Stamp, State, TimerNo, advance, carry, view};
use branchpoint_expr::{EvalError, Object, Value};
use branchpoint_runners::agent::Bounds;

use crate::host::MAX_OPS;

pub use answer::Answer;
pub use kept::{KeptSessions, KeptTrouble};
pub use sessions::Sessions;

/// How long a session lives that nobody touches, unless the host says otherwise.
pub const TTL_S: i64 = 86_400;

/// What a host says to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The user said something.
    Message(Arc<str>),
    /// A tool was used. A report is a fact, so it is never refused.
    Tool(Arc<str>),
    /// Which tools are offered?
    Ask,
    /// Forget everything.
    Reset,
}

/// Why there is no gate, or no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// The program is not that of an agent's session.
    #[error("this workflow has no session: it does not say which tools are offered")]
    NoSession,
    /// A time to live is not negative.
    #[error("a session cannot live for {0} seconds; 0 means that it never expires")]
    BadTtl(i64),
    /// A session id is not empty.
    #[error("a session id is text that is not empty")]
    NoId,
    /// The run did not take the event.
    #[error("the session did not take this: {0}")]
    Event(#[from] Rejected),
    /// What is offered could not be told. A gate must not open by accident.
    #[error("what is offered now cannot be told: {}", .0.message)]
    View(EvalError),
}

/// A document's gate. It is the same for all sessions.
#[derive(Clone, Debug)]
pub struct Gate<'p> {
    program: &'p Program,
    session: ViewId,
    problems: ViewId,
    tools: Value,
    ttl_ms: Value,
    limits: Value,
}

/// One session.
#[derive(Clone, Debug)]
pub struct Session {
    state: State,
    /// When it expires.
    timer: Option<(TimerNo, i64)>,
    /// What reports were called that it has taken.
    keys: BTreeSet<Arc<str>>,
    /// When it was touched last.
    now_ms: i64,
}

impl<'p> Gate<'p> {
    /// A gate with the tools that the host has; none leaves it to the document. Sessions expire after so many seconds
    /// without a request; 0 means never.
    pub fn new(program: &'p Program, tools: Option<&[&str]>, ttl_s: i64) -> Result<Self, Refused> {
        let named = |name: &str| {
            let found = program.views.iter().position(|view| &*view.name == name);
            found.and_then(|at| u32::try_from(at).ok()).map(ViewId).ok_or(Refused::NoSession)
        };
        if ttl_s < 0 {
            return Err(Refused::BadTtl(ttl_s));
        }
        let tools = tools
            .map_or(Value::Null, |tools| Value::from(tools.iter().map(|tool| Value::from(*tool)).collect::<Vec<_>>()));
        let ttl_ms = Value::Int(ttl_s.saturating_mul(1_000));
        Ok(Self {
            program,
            session: named("session")?,
            problems: named("problems")?,
            tools,
            ttl_ms,
            limits: Value::Null,
        })
    }

    /// The same with limits for each turn of a chat. A session keeps those that it was opened with.
    #[must_use]
    pub fn with_limits(mut self, limits: Bounds) -> Self {
        let limits = [("turns", limits.turns), ("tokens", limits.tokens), ("cost_micros", limits.cost_micros)];
        let limits = limits.into_iter().filter_map(|(name, limit)| Some((name.into(), Value::Int(limit?))));
        self.limits = Value::from(limits.collect::<Object>());
        self
    }

    /// A new session, or one that goes on from what a host has kept: `{activeStep, recentlyUsedTools, sequenceIndex}`.
    pub fn open(&self, kept: Option<Value>, now_ms: i64) -> Result<Session, Refused> {
        let mut session = Session { state: State::new(), timer: None, keys: BTreeSet::new(), now_ms };
        let input = self.input(kept.unwrap_or_default());
        let stamp = Stamp { now_ms, ..Stamp::default() };
        session.take(
            self.program,
            &stamp,
            Event::Start { input, facts: Object::default(), depth: 0, max_ops: MAX_OPS },
        )?;
        Ok(session)
    }

    /// What a session is opened with.
    fn input(&self, kept: Value) -> Value {
        let input = [("tools", self.tools.clone()), ("ttl_ms", self.ttl_ms.clone()), ("state", kept)];
        let limits = (self.limits != Value::Null).then(|| ("limits", self.limits.clone()));
        let input = input.into_iter().chain(limits);
        Value::from(input.map(|(key, value)| (key.into(), value)).collect::<Object>())
    }

    /// Hands a request to a session. A report with a key that was seen before changes nothing.
    pub fn request(
        &self,
        session: &mut Session,
        request: Request,
        key: Option<&str>,
        now_ms: i64,
        explain: bool,
    ) -> Result<Answer, Refused> {
        if session.expired(now_ms) {
            *session = self.open(None, now_ms)?;
        }
        if key.is_some_and(|key| session.keys.contains(key)) {
            return Ok(self.answer(session, &[])?.unchanged());
        }
        let stamp = Stamp { now_ms: now_ms.max(session.now_ms), record: explain, ..Stamp::default() };
        let forgets = request == Request::Reset;
        let notes = session.take(self.program, &stamp, event(request, key))?;
        if forgets {
            session.keys.clear();
        }
        session.keys.extend(key.map(Arc::from));
        self.answer(session, &notes)
    }

    /// The tools of the document that a host does not have. They are offered all the same, so whoever starts the agent
    /// should say so.
    pub fn missing_tools(&self, available: &[&str]) -> Vec<Arc<str>> {
        let agent = self.program.views.iter().find(|view| &*view.name == "agent");
        let agent = agent.and_then(|view| self.program.exprs[view.value.0 as usize].literal());
        let tools = agent.and_then(|agent| agent.get("tools")).and_then(Value::as_list).unwrap_or_default();
        tools.iter().filter_map(Value::as_str).filter(|tool| !available.contains(tool)).map(Arc::from).collect()
    }

    /// A living session takes a changed document, and keeps what it remembers.
    pub fn adopt(&self, session: &mut Session, changed: &Gate<'_>) -> Result<(), Refused> {
        let carried = carry(self.program, changed.program, &session.state)?;
        let stamp = Stamp { now_ms: session.now_ms, ..Stamp::default() };
        session.take(changed.program, &stamp, Event::Adopt(Box::new(carried)))?;
        Ok(())
    }

    fn answer(&self, session: &Session, notes: &[Note]) -> Result<Answer, Refused> {
        let read = |id| view(self.program, &session.state, id).map_err(Refused::View);
        let reasons = answer::reasons(notes);
        Ok(Answer { view: read(self.session)?, problems: read(self.problems)?, reasons })
    }
}

impl Session {
    /// What the session remembers, as its run has it: a host that keeps sessions keeps this.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether nobody has touched it for too long. It is gone then: the next request opens a new one.
    pub fn expired(&self, now_ms: i64) -> bool {
        self.timer.is_some_and(|(_, at_ms)| at_ms <= now_ms)
    }

    fn take(&mut self, program: &Program, stamp: &Stamp, event: Event) -> Result<Vec<Note>, Rejected> {
        let mut notes = Vec::new();
        let mut next = Some(event);
        while let Some(event) = next.take() {
            let outcome = advance(program, &mut self.state, stamp, event)?;
            self.now_ms = stamp.now_ms;
            for command in outcome.commands {
                match command {
                    Command::SetTimer { timer, at_ms } => self.timer = Some((timer, at_ms)),
                    Command::ClearTimer { timer } if self.timer.is_some_and(|(set, _)| set == timer) => {
                        self.timer = None;
                    }
                    _ => {}
                }
            }
            notes.extend(outcome.trace);
            next = outcome.more.then_some(Event::Continue);
        }
        Ok(notes)
    }
}

fn event(request: Request, key: Option<&str>) -> Event {
    let said =
        |key: &str, text: Arc<str>| Value::from([(Arc::from(key), Value::Str(text))].into_iter().collect::<Object>());
    let (name, payload) = match request {
        Request::Message(text) => ("message", said("text", text)),
        Request::Tool(tool) => ("tool", said("tool", tool)),
        Request::Ask => ("ask", Value::Null),
        Request::Reset => ("reset", Value::Null),
    };
    Event::Signal { name: name.into(), payload, sender: None, key: key.map(Into::into) }
}
