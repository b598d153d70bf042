//! The gate: which tools an agent may use now, for a host that runs its own model and tools.
//!
//! A session is a run that rests between events. The host reports messages and tool uses, and gets the view of the session
//! back. Nothing is written down by [`Sessions`]; [`StoredSessions`] keeps the same events in a store.

mod answer;
mod sessions;
mod stored;

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_core::{Command, Event, Note, Rejected, Stamp, State, TimerNo, advance, carry};
use branchpoint_expr::{Object, Value};

use crate::host::MAX_OPS;

pub use branchpoint_backend::{
    SESSION_TTL_S, SessionAction, SessionOptions, SessionRejection, SessionRequest, SessionResponse,
};
pub use sessions::Sessions;
pub(crate) use stored::SessionHost;
pub use stored::StoredSessions;

/// A document's gate. It is the same for all sessions.
#[derive(Clone, Debug)]
pub struct Gate<'p> {
    program: &'p Program,
    options: SessionOptions,
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
    pub fn new(program: &'p Program, tools: Option<&[&str]>, ttl_s: i64) -> Result<Self, SessionRejection> {
        let tools = tools.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect());
        Self::with_options(program, SessionOptions { tools, ttl_s, ..SessionOptions::default() })
    }

    /// A gate whose sessions are opened with these options. A session keeps those that it was opened with.
    pub fn with_options(program: &'p Program, options: SessionOptions) -> Result<Self, SessionRejection> {
        answer::view_named(program, "session")?;
        answer::view_named(program, "problems")?;
        input(&options, Value::Null)?;
        Ok(Self { program, options })
    }

    /// What sessions are opened with.
    pub fn options(&self) -> &SessionOptions {
        &self.options
    }

    /// A new session, or one that goes on from what a host has kept: `{activeStep, recentlyUsedTools, sequenceIndex}`.
    pub fn open(&self, kept: Option<Value>, now_ms: i64) -> Result<Session, SessionRejection> {
        let mut session = Session { state: State::new(), timer: None, keys: BTreeSet::new(), now_ms };
        let input = input(&self.options, kept.unwrap_or_default())?;
        let stamp = Stamp { now_ms, ..Stamp::default() };
        session.take(
            self.program,
            &stamp,
            Event::Start { input, facts: Object::default(), depth: 0, max_ops: MAX_OPS },
        )?;
        Ok(session)
    }

    /// Hands a request to a session. A report with a key that was seen before changes nothing.
    pub fn request(
        &self,
        session: &mut Session,
        request: impl Into<SessionRequest>,
        now_ms: i64,
    ) -> Result<SessionResponse, SessionRejection> {
        let SessionRequest { action, key, explain } = request.into();
        if session.is_expired(now_ms) {
            *session = self.open(None, now_ms)?;
        }
        if key.as_ref().is_some_and(|key| session.keys.contains(key)) {
            return Ok(self.answer(session, &[])?.unchanged());
        }
        let stamp = Stamp { now_ms: now_ms.max(session.now_ms), record: explain, ..Stamp::default() };
        let forgets = action == SessionAction::Reset;
        let notes = session.take(self.program, &stamp, event(action, key.clone()))?;
        if forgets {
            session.keys.clear();
        }
        session.keys.extend(key);
        self.answer(session, &notes)
    }

    /// A living session takes a changed document, and keeps what it remembers.
    pub fn adopt(&self, session: &mut Session, changed: &Gate<'_>) -> Result<(), SessionRejection> {
        let carried = carry(self.program, changed.program, &session.state)?;
        let stamp = Stamp { now_ms: session.now_ms, ..Stamp::default() };
        session.take(changed.program, &stamp, Event::Adopt(Box::new(carried)))?;
        Ok(())
    }

    fn answer(&self, session: &Session, notes: &[Note]) -> Result<SessionResponse, SessionRejection> {
        answer::answer(self.program, &session.state, notes)
    }
}

impl Session {
    /// What the session remembers, as its run has it: a host that keeps sessions keeps this.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether nobody has touched it for too long. It is gone then: the next request opens a new one.
    pub fn is_expired(&self, now_ms: i64) -> bool {
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

fn event(action: SessionAction, key: Option<Arc<str>>) -> Event {
    let said =
        |key: &str, text: Arc<str>| Value::from([(Arc::from(key), Value::Str(text))].into_iter().collect::<Object>());
    let (name, payload) = match action {
        SessionAction::Message(text) => ("message", said("text", text)),
        SessionAction::Tool(tool) => ("tool", said("tool", tool)),
        SessionAction::Query => ("ask", Value::Null),
        SessionAction::Reset => ("reset", Value::Null),
    };
    Event::Signal { name: name.into(), payload, sender: None, key }
}

/// The input of the run of a session.
fn input(options: &SessionOptions, state: Value) -> Result<Value, SessionRejection> {
    let SessionOptions { tools, ttl_s, limits } = options;
    if *ttl_s < 0 {
        return Err(SessionRejection::BadTtl(*ttl_s));
    }
    let texts =
        |texts: &Vec<String>| Value::from(texts.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>());
    let limits = [("turns", limits.turns), ("tokens", limits.tokens), ("cost_micros", limits.cost_micros)];
    let limits = limits.into_iter().filter_map(|(name, limit)| Some((name.into(), Value::Int(limit?))));
    let input = [
        ("tools", tools.as_ref().map_or(Value::Null, texts)),
        ("ttl_ms", Value::Int(ttl_s.saturating_mul(1_000))),
        ("state", state),
        ("limits", Value::from(limits.collect::<Object>())),
    ];
    Ok(Value::from(input.into_iter().map(|(key, value)| (key.into(), value)).collect::<Object>()))
}
