//! Request and response lines.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use branchpoint_backend::{SessionAction, SessionResponse};
use branchpoint_expr::Value;

use crate::json;

/// The session of a line that names none.
pub(crate) const MAIN: &str = "main";

/// A request and its session.
pub(super) struct Line {
    /// No name is set: the caller that reads lines has one.
    pub(super) session: Option<Arc<str>>,
    pub(super) action: SessionAction,
    pub(super) key: Option<Arc<str>>,
}

impl Line {
    /// Reads a line such as `{"tool": "search", "session": "s1"}`. What has no meaning is refused: a host that misspells a
    /// key must not get a response without an error.
    pub(super) fn read(line: &str) -> Result<Self> {
        let line: Value = serde_json::from_str(line).context("the line is not JSON")?;
        let fields = line.as_object().context("a line must be an object such as {\"ask\": true}")?;
        let (mut session, mut key, mut requests) = (None, None, Vec::new());
        for (name, value) in fields {
            let text = || value.as_str().map(Arc::<str>::from).with_context(|| format!("`{name}` must be text"));
            let flag = |request| match value {
                Value::Bool(true) => Ok(request),
                _ => Err(anyhow!("`{name}` must be true or absent")),
            };
            match &**name {
                "session" => session = Some(text()?),
                "key" => key = Some(text()?),
                "message" => requests.push(SessionAction::Message(text()?)),
                "tool" => requests.push(SessionAction::Tool(text()?)),
                "ask" => requests.push(flag(SessionAction::Query)?),
                "reset" => requests.push(flag(SessionAction::Reset)?),
                other => bail!("unknown key `{other}`; the keys are message, tool, ask, reset, session and key"),
            }
        }
        let [action] =
            requests.try_into().ok().context("a line must have exactly one of message, tool, ask and reset")?;
        Ok(Self { session, action, key })
    }
}

/// The view of a session, and the whole reason if that was asked for.
pub(super) fn response_json(answer: &SessionResponse, session: &str, explain: bool) -> Value {
    let mut view = answer.view(session);
    if explain {
        json::insert(&mut view, "reasons", Value::from(answer.reasons.clone()));
    }
    view
}

/// A line that could not be answered.
pub(super) fn error(message: &str) -> Value {
    json::object([("error", Value::from(message))])
}
