//! The gate: which tools an agent may use now, for a host that runs its own model and tools.
//!
//! A session is a run that waits between events. The host reports messages and tool uses, and gets the view of the session. [`Sessions`]
//! are in memory; [`StoredSessions`] store the same events.

mod response;
mod sessions;
mod stored;

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_core::ir::{BudgetLimits, Program};
use branchpoint_core::{Command, Event, Note, Rejected, Stamp, State, TimerNo, advance, carry};
use branchpoint_expr::{Object, Value};

use crate::host::MAX_OPS;

pub use branchpoint_backend::{
    SESSION_TTL_S, SessionAction, SessionOptions, SessionRejection, SessionRequest, SessionResponse,
};
pub use response::response as session_response;
pub use sessions::Sessions;
pub(crate) use stored::SessionHost;
pub use stored::StoredSessions;

/// The gate of a document. All its sessions share it.
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
    /// The keys of the requests that it has accepted.
    keys: BTreeSet<Arc<str>>,
    /// The time of its last request.
    now_ms: i64,
}

impl<'p> Gate<'p> {
    /// Creates a gate with the tools of the host; `None` means those of the document. Sessions expire after `ttl_s` seconds without a
    /// request; 0 means never.
    ///
    /// ```
    /// use branchpoint_core::ir::builder::Builder;
    /// use branchpoint_host::gate::Gate;
    ///
    /// assert!(Gate::new(&Builder::sample(), None, 0).is_err(), "the program has no session");
    /// ```
    pub fn new(program: &'p Program, tools: Option<&[&str]>, ttl_s: i64) -> Result<Self, SessionRejection> {
        let tools = tools.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect());
        Self::with_options(program, SessionOptions { tools, ttl_s, ..SessionOptions::default() })
    }

    /// Creates a gate whose sessions are opened with these options. An open session keeps its options.
    ///
    /// ```
    /// use branchpoint_core::ir::builder::Builder;
    /// use branchpoint_host::gate::{Gate, SessionOptions};
    ///
    /// let program = Builder::sample();
    /// assert!(Gate::with_options(&program, SessionOptions::default()).is_err(), "the program has no session");
    /// ```
    pub fn with_options(program: &'p Program, options: SessionOptions) -> Result<Self, SessionRejection> {
        response::view_named(program, "session")?;
        response::view_named(program, "problems")?;
        session_input(&options, Value::Null)?;
        Ok(Self { program, options })
    }

    /// The options of new sessions.
    ///
    /// ```
    /// use branchpoint_core::ir::Program;
    /// use branchpoint_host::gate::*;
    ///
    /// fn expires(gate: &Gate<'_>) -> bool {
    ///     gate.options().ttl_s > 0
    /// }
    /// ```
    pub fn options(&self) -> &SessionOptions {
        &self.options
    }

    /// Opens a session, which may continue from a state that a host has stored: `{activeStep, recentlyUsedTools, sequenceIndex}`.
    ///
    /// ```
    /// use branchpoint_core::ir::Program;
    /// use branchpoint_host::gate::*;
    ///
    /// fn open(program: &Program) -> Result<Session, SessionRejection> {
    ///     Gate::new(program, Some(&["search"]), 3_600)?.open(None, 1_000)
    /// }
    /// ```
    pub fn open(&self, state: Option<Value>, now_ms: i64) -> Result<Session, SessionRejection> {
        let mut session = Session { state: State::new(), timer: None, keys: BTreeSet::new(), now_ms };
        let input = session_input(&self.options, state.unwrap_or_default())?;
        let stamp = Stamp { now_ms, ..Stamp::default() };
        session.apply(
            self.program,
            &stamp,
            Event::Start {
                input,
                facts: Object::default(),
                depth: 0,
                max_ops: MAX_OPS,
                budget: BudgetLimits::default(),
            },
        )?;
        Ok(session)
    }

    /// Sends a request to a session. A request with a known key changes nothing.
    ///
    /// ```
    /// use branchpoint_core::ir::Program;
    /// use branchpoint_host::gate::*;
    ///
    /// fn request(gate: &Gate<'_>, request: SessionRequest) -> Result<SessionResponse, SessionRejection> {
    ///     let mut session = gate.open(None, 1_000)?;
    ///     gate.request(&mut session, request, 2_000)
    /// }
    /// ```
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
            return Ok(self.response(session, &[])?.unchanged());
        }
        let stamp = Stamp { now_ms: now_ms.max(session.now_ms), record: explain, ..Stamp::default() };
        let resets = action == SessionAction::Reset;
        let notes = session.apply(self.program, &stamp, session_event(action, key.clone()))?;
        if resets {
            session.keys.clear();
        }
        session.keys.extend(key);
        self.response(session, &notes)
    }

    /// Updates an open session to a changed document. The session keeps its state.
    ///
    /// ```
    /// use branchpoint_core::ir::Program;
    /// use branchpoint_host::gate::*;
    ///
    /// fn adopt(old: &Gate<'_>, session: &mut Session, changed: &Gate<'_>) -> Result<(), SessionRejection> {
    ///     old.adopt(session, changed)
    /// }
    /// ```
    pub fn adopt(&self, session: &mut Session, changed: &Gate<'_>) -> Result<(), SessionRejection> {
        let carried = carry(self.program, changed.program, &session.state)?;
        let stamp = Stamp { now_ms: session.now_ms, ..Stamp::default() };
        session.apply(changed.program, &stamp, Event::Adopt(Box::new(carried)))?;
        Ok(())
    }

    fn response(&self, session: &Session, notes: &[Note]) -> Result<SessionResponse, SessionRejection> {
        response::response(self.program, &session.state, notes)
    }
}

impl Session {
    /// The state of the session's run, from which the session can be restored.
    ///
    /// ```
    /// use branchpoint_core::ir::Program;
    /// use branchpoint_host::gate::*;
    ///
    /// fn events(session: &Session) -> u64 {
    ///     session.state().seq()
    /// }
    /// ```
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether the session had no request for too long. The next request opens a new session.
    ///
    /// ```
    /// use branchpoint_core::ir::Program;
    /// use branchpoint_host::gate::*;
    ///
    /// fn remains(session: &Session, now_ms: i64) -> bool {
    ///     !session.is_expired(now_ms)
    /// }
    /// ```
    pub fn is_expired(&self, now_ms: i64) -> bool {
        self.timer.is_some_and(|(_, at_ms)| at_ms <= now_ms)
    }

    fn apply(&mut self, program: &Program, stamp: &Stamp, event: Event) -> Result<Vec<Note>, Rejected> {
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

/// The signal of a request to a session's run.
///
/// ```
/// use branchpoint_host::gate::{SessionAction, session_event};
///
/// assert!(matches!(session_event(SessionAction::Query, None), branchpoint_core::Event::Signal { .. }));
/// ```
pub fn session_event(action: SessionAction, key: Option<Arc<str>>) -> Event {
    let payload =
        |key: &str, text: Arc<str>| Value::from([(Arc::from(key), Value::Str(text))].into_iter().collect::<Object>());
    let (name, payload) = match action {
        SessionAction::Message(text) => ("message", payload("text", text)),
        SessionAction::Tool(tool) => ("tool", payload("tool", tool)),
        SessionAction::Query => ("ask", Value::Null),
        SessionAction::Reset => ("reset", Value::Null),
    };
    Event::Signal { name: name.into(), payload, sender: None, key }
}

/// The input of the run of a session.
/// The input of a session's run, with the state of an earlier run or null.
///
/// ```
/// use branchpoint_host::gate::session_input;
///
/// assert!(session_input(&Default::default(), branchpoint_expr::Value::Null).is_ok());
/// ```
pub fn session_input(options: &SessionOptions, state: Value) -> Result<Value, SessionRejection> {
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
