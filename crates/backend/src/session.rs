//! Sessions, which decide what tools an agent may use, for programs that run their own model and tools.

use std::sync::Arc;

use branchpoint_core::Rejected;
use branchpoint_expr::{EvalError, Object, Value};
use branchpoint_runners::agent::AgentLimits;
use serde::{Deserialize, Serialize};

use crate::{RunNo, WorkflowNo};

/// The default lifetime of a session without requests, in seconds.
pub const SESSION_TTL_S: i64 = 86_400;

/// A stored session. It belongs to all versions of its document.
#[derive(Clone, Debug)]
pub struct Session {
    /// The name of the session.
    pub name: String,
    /// The name of the document.
    pub document: String,
    /// The version of the document that new requests use. A session of another version keeps its history.
    pub workflow: WorkflowNo,
    /// The options of a new session.
    pub options: SessionOptions,
}

/// The options of a new session.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// All tools of the agent, in order; `None` means those of the document.
    pub tools: Option<Vec<String>>,
    /// The lifetime without requests, in seconds; 0 means that it never expires.
    pub ttl_s: i64,
    /// Limits for each turn of a chat.
    pub limits: AgentLimits,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self { tools: None, ttl_s: SESSION_TTL_S, limits: AgentLimits::default() }
    }
}

/// A request to a session.
#[derive(Clone, Debug)]
pub struct SessionRequest {
    /// The action.
    pub action: SessionAction,
    /// The idempotency key: a repeated key changes nothing.
    pub key: Option<Arc<str>>,
    /// Whether the answer includes reasons.
    pub explain: bool,
}

impl From<SessionAction> for SessionRequest {
    fn from(action: SessionAction) -> Self {
        Self { action, key: None, explain: false }
    }
}

/// An action on a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionAction {
    /// The user sent a message.
    Message(Arc<str>),
    /// A tool was used. It is a fact, so it is never rejected.
    Tool(Arc<str>),
    /// Query the offered tools.
    Query,
    /// Clear the history.
    Reset,
}

/// A session after a request.
#[derive(Clone, Debug)]
pub struct SessionResponse {
    /// `{activeStep, allowedTools, recentlyUsedTools, sequenceIndex, changed, why}`
    pub state: Value,
    /// Conditions that failed and so did not hold: `[{step, kind, message}]`.
    pub problems: Vec<Value>,
    /// The evaluated steps in order: `[{step, holds, explanation}]`. Empty unless an explanation was requested.
    pub reasons: Vec<Value>,
}

impl SessionResponse {
    /// The answer as a JSON object with the session's id. `problems` is omitted if it is empty.
    ///
    /// ```
    /// use branchpoint_backend::SessionResponse;
    ///
    /// let answer = SessionResponse { state: branchpoint_expr::Value::Null, problems: vec![], reasons: vec![] };
    /// assert_eq!(answer.view("ada").get("sessionId"), Some(&"ada".into()));
    /// ```
    pub fn view(&self, session_id: &str) -> Value {
        let mut view: Object = [(Arc::from("sessionId"), Value::from(session_id))].into_iter().collect();
        view.extend(self.state.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
        if !self.problems.is_empty() {
            view.insert("problems".into(), Value::from(self.problems.clone()));
        }
        Value::from(view)
    }

    /// Marks the answer as one to a request that changed nothing.
    ///
    /// ```
    /// use branchpoint_backend::SessionResponse;
    ///
    /// let state = [("changed".into(), true.into())].into_iter().collect::<branchpoint_expr::Object>().into();
    /// let answer = SessionResponse { state, problems: vec![], reasons: vec![] }.unchanged();
    /// assert_eq!(answer.state.get("changed"), Some(&false.into()));
    /// ```
    #[must_use]
    pub fn unchanged(mut self) -> Self {
        if let Value::Object(state) = &mut self.state {
            state.edit(|fields| fields.insert("changed".into(), Value::Bool(false)));
        }
        self
    }
}

/// Why a request to a session was rejected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SessionRejection {
    /// The workflow does not define a session.
    #[error("the workflow does not define a session: it has no view of the offered tools")]
    NoSession,
    /// A time to live is negative.
    #[error("the lifetime of a session must not be negative, but is {0} seconds; 0 means that it never expires")]
    BadTtl(i64),
    /// A session id is empty.
    #[error("the session id must not be empty")]
    NoId,
    /// The session rejects the request.
    #[error("the session rejects the request: {0}")]
    Event(#[from] Rejected),
    /// The offered tools cannot be evaluated, so none are offered.
    #[error("the offered tools cannot be evaluated: {}", .0.message)]
    View(EvalError),
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// Its name.
    pub name: String,
    /// The name of its document.
    pub document: String,
    /// Its run.
    pub run: RunNo,
}
