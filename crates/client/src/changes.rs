//! Changes of runs: each with the endpoint that every client uses.

use branchpoint_backend::{Accepted, BackendError, CallSource, ReadRequest, Rejection, Run, RunNo};
use branchpoint_core::{DELEGATE, Event, RESUME, VOTE, is_approval_signal};
use branchpoint_expr::{Object, Value};
use jiff::Timestamp;
use reqwest::Method;
use serde_json::json;

use crate::Shared;
use crate::connection::{Body, Change, Changed, new_key};

impl Shared {
    /// Sends a change. What was read before may be outdated then.
    pub(crate) fn change(&self, change: &Change<'_>) -> Result<Changed, BackendError> {
        let changed = self.connection.change(change);
        self.note_change();
        changed
    }

    fn post(&self, path: &[&str], body: serde_json::Value, key: Option<String>) -> Result<Changed, BackendError> {
        self.change(&Change { method: Method::POST, path, body: Body::Json(body), key })
    }

    /// Sends an event to a run.
    pub(crate) fn send(&self, run: RunNo, event: &Event) -> Result<(), BackendError> {
        let row: Run = self.read(&ReadRequest::Row { run })?;
        match event {
            // A second cancellation ends the run without its cleanup, so this is never repeated.
            Event::Cancel { reason } => {
                self.post(&["runs", &row.id, "cancel"], json!({"reason": reason}), None).map(drop)
            }
            Event::Signal { name, payload, .. } => self.signal(&row.id, name, payload),
            _ => Err(BackendError::Unsupported("this event")),
        }
    }

    fn signal(&self, run: &str, name: &str, payload: &Value) -> Result<(), BackendError> {
        let field = |name: &str| payload.get(name).cloned().unwrap_or_default();
        let number = field("request").to_string();
        match name {
            VOTE => {
                let fields = ["choice", "comment", "form", "shown_hash"];
                let body: Object =
                    fields.iter().filter_map(|name| Some(((*name).into(), payload.get(name)?.clone()))).collect();
                self.vote(run, &number, &Value::from(body), Some(new_key()?))
            }
            RESUME => {
                let input = field("input");
                let (choice, comment) = match input.get("decision") {
                    Some(decision) => (decision.clone(), input.get("note").cloned()),
                    None => (input, None),
                };
                let choice = choice.as_str().map_or_else(|| choice.to_string(), str::to_owned);
                let mut body: Object = [("choice".into(), Value::from(choice))].into_iter().collect();
                body.extend(comment.map(|comment| ("comment".into(), comment)));
                // The step may ask again, so a repeated answer could answer another question.
                self.vote(run, &field("id").to_string(), &Value::from(body), None)
            }
            DELEGATE => {
                let path = ["approvals", run, &number, "delegate"];
                // A second delegation replaces the first, and a second revocation changes nothing.
                let key = Some(new_key()?);
                let until_ms = payload.get("until_ms").and_then(|until_ms| match until_ms {
                    Value::Int(until_ms) => Some(*until_ms),
                    _ => None,
                });
                if let (Some(to), Some(until_ms)) = (field("to").as_str(), until_ms) {
                    let until = Timestamp::from_millisecond(until_ms);
                    let until = until.map_err(|error| BackendError::Refused(error.to_string()))?;
                    return self.post(&path, json!({"to": to, "until": until.to_string()}), key).map(drop);
                }
                self.change(&Change { method: Method::DELETE, path: &path, body: Body::None, key }).map(drop)
            }
            // The only other signal of approvals cancels one.
            name if is_approval_signal(name) => {
                let path = ["approvals", run, &number, "cancel"];
                self.post(&path, json!({"reason": field("reason").as_str()}), None).map(drop)
            }
            name => {
                let body = json!({"name": name, "payload": payload});
                self.post(&["runs", run, "signals"], body, Some(new_key()?)).map(drop)
            }
        }
    }

    /// Votes, once: a repeated request with its key changes nothing.
    fn vote(&self, run: &str, number: &str, body: &Value, key: Option<String>) -> Result<(), BackendError> {
        let body = serde_json::to_value(body).map_err(|error| BackendError::Refused(error.to_string()))?;
        self.post(&["approvals", run, number, "vote"], body, key).map(drop)
    }

    pub(crate) fn resume(&self, run: RunNo, calls: &CallSource) -> Result<(), BackendError> {
        let row: Run = self.read(&ReadRequest::Row { run })?;
        // The server resumes a child run together with the run that called it.
        if row.parent.is_some() {
            return Ok(());
        }
        let body = json!({"live": is_live(calls)?});
        self.post(&["runs", &row.id, "resume"], body, Some(new_key()?)).map(drop)
    }

    pub(crate) fn fork(
        &self,
        from: RunNo,
        events: u64,
        id: &str,
        calls: &CallSource,
    ) -> Result<Accepted, BackendError> {
        let row: Run = self.read(&ReadRequest::Row { run: from })?;
        if self.run(id)?.is_some() {
            return Ok(Accepted { run: from, new: false });
        }
        let body = json!({"events": events, "id": id, "live": is_live(calls)?});
        self.post(&["runs", &row.id, "fork"], body, None)?;
        let new = self.run(id)?.ok_or(Rejection::NoRun)?;
        self.set_focus(new.run, &new.id);
        Ok(Accepted { run: new.run, new: true })
    }

    /// The run of an id, read anew.
    pub(crate) fn run(&self, id: &str) -> Result<Option<Run>, BackendError> {
        self.read(&ReadRequest::Run { id: id.to_owned() })
    }
}

/// Whether runners perform the calls.
fn is_live(calls: &CallSource) -> Result<bool, BackendError> {
    match calls {
        CallSource::Script => Ok(false),
        CallSource::Runners => Ok(true),
        CallSource::NewScript(_) | CallSource::ScriptOf(_) => Err(BackendError::Unsupported("another script")),
    }
}
