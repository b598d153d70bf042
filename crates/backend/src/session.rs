//! Sessions: which tools an agent may use now, for programs that run their own model and tools.

use std::sync::Arc;

use branchpoint_core::Rejected;
use branchpoint_expr::{EvalError, Object, Value};
use branchpoint_runners::agent::Bounds;

use crate::{RunNo, WorkflowNo};

/// How many seconds a session lives without a request, unless its options say otherwise.
pub const SESSION_TTL_S: i64 = 86_400;

/// A stored session. It belongs to the document of a name through all versions of the document.
#[derive(Clone, Debug)]
pub struct Session {
    /// The name of the session.
    pub name: String,
    /// The name of the document.
    pub document: String,
    /// The version of the document that new requests use. A session of another version continues with what it remembers.
    pub workflow: WorkflowNo,
    /// What a new session is opened with.
    pub options: SessionOptions,
}

/// What a session is opened with.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// All tools of the agent, in order; none for those of the document.
    pub tools: Option<Vec<String>>,
    /// How many seconds the session lives without a request; 0 is for ever.
    pub ttl_s: i64,
    /// Limits for each turn of a chat.
    pub limits: Bounds,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self { tools: None, ttl_s: SESSION_TTL_S, limits: Bounds::default() }
    }
}

/// A request to a session.
#[derive(Clone, Debug)]
pub struct SessionRequest {
    /// What is requested.
    pub action: SessionAction,
    /// Identifies the request: one whose key the session knows changes nothing.
    pub key: Option<Arc<str>>,
    /// Whether the answer has reasons.
    pub explain: bool,
}

impl From<SessionAction> for SessionRequest {
    fn from(action: SessionAction) -> Self {
        Self { action, key: None, explain: false }
    }
}

/// What is requested of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionAction {
    /// The user said something.
    Message(Arc<str>),
    /// A tool was used. A report is a fact, so it is never rejected.
    Tool(Arc<str>),
    /// Which tools are offered?
    Ask,
    /// Forget everything.
    Reset,
}

/// A session after a request.
#[derive(Clone, Debug)]
pub struct SessionAnswer {
    /// `{activeStep, allowedTools, recentlyUsedTools, sequenceIndex, changed, why}`
    pub state: Value,
    /// Conditions that could not be evaluated, and so did not hold: `[{step, kind, message}]`.
    pub problems: Vec<Value>,
    /// The evaluated steps in order: `[{step, holds, explanation}]`. Empty unless an explanation was requested.
    pub reasons: Vec<Value>,
}

impl SessionAnswer {
    /// The view of a session by its id. It lists problems only if there are some.
    pub fn view(&self, session_id: &str) -> Value {
        let mut view: Object = [(Arc::from("sessionId"), Value::from(session_id))].into_iter().collect();
        view.extend(self.state.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
        if !self.problems.is_empty() {
            view.insert("problems".into(), Value::from(self.problems.clone()));
        }
        Value::from(view)
    }

    /// The same after a request that changed nothing.
    #[must_use]
    pub fn unchanged(mut self) -> Self {
        if let Value::Object(state) = &mut self.state {
            state.edit(|fields| fields.insert("changed".into(), Value::Bool(false)));
        }
        self
    }
}

/// Why there is no session, or no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SessionRefused {
    /// The program is not that of an agent's session.
    #[error("this workflow has no session: it does not say which tools are offered")]
    NoSession,
    /// A time to live is negative.
    #[error("a session cannot live for {0} seconds; 0 means that it never expires")]
    BadTtl(i64),
    /// A session id is empty.
    #[error("a session id is text that is not empty")]
    NoId,
    /// The session rejects the request.
    #[error("the session rejects the request: {0}")]
    Event(#[from] Rejected),
    /// The offered tools cannot be evaluated. A gate must not open by accident.
    #[error("the offered tools cannot be evaluated: {}", .0.message)]
    View(EvalError),
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptSession {
    /// What it is called.
    pub name: String,
    /// The document whose session it is, by name.
    pub document: String,
    /// Its run.
    pub run: RunNo,
}
