//! The log of a worker: a line for each run that continues, waits or ends, and for each request to people.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_backend::{Backend, RequestChange, RunEvent, RunEventKind, RunNo};
use branchpoint_core::ApprovalKey;
use branchpoint_core::ir::Status;
use branchpoint_expr::{Object, Value};
use jiff::Timestamp;

use crate::approvals::reference;
use crate::terminal;

/// How log lines look.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// One JSON object for each line
    Json,
}

/// An event that is logged.
pub(super) struct Line {
    run: RunNo,
    id: Arc<str>,
    event: &'static str,
    status: Option<Status>,
    /// A field beside the run and its workflow.
    detail: Option<(&'static str, String)>,
}

impl Line {
    pub(super) fn of(event: &RunEvent) -> Option<Self> {
        let (status, word, detail) = match &event.kind {
            // The first call shows that the run continues.
            RunEventKind::Call => (Some(Status::Running), Status::Running.as_str(), None),
            RunEventKind::Status(status, result) => {
                let error = result.as_ref().filter(|_| *status == Status::Failed).and_then(error_kind);
                (Some(*status), status.as_str(), error.map(|kind| ("error", kind)))
            }
            RunEventKind::Request(request, change) => {
                let word = match change {
                    RequestChange::Opened(_) => "asked",
                    RequestChange::Reminded(_) => "reminded",
                    RequestChange::Escalated(_) => "escalated",
                    RequestChange::Closed(_) => "settled",
                };
                (None, word, Some(("approval", reference(&event.id, &ApprovalKey::Request(*request)))))
            }
            RunEventKind::Message(text) => (None, "note", Some(("message", text.clone()))),
            RunEventKind::Broken(why) => (None, "broken", Some(("message", why.clone()))),
            RunEventKind::CallWithdrawn | RunEventKind::Notes(_) => return None,
        };
        Some(Self { run: event.run, id: event.id.clone(), event: word, status, detail })
    }
}

/// The kind of the error in a result. Messages may contain secrets; kinds do not.
fn error_kind(result: &Value) -> Option<String> {
    let kind = result.get("error").and_then(|error| error.get("kind")).or_else(|| result.get("kind"));
    kind.and_then(Value::as_str).map(ToOwned::to_owned)
}

/// Writes to stderr.
pub(super) struct Log {
    format: Format,
    /// To look up the workflow of a run.
    store: Box<dyn Backend>,
    /// Runs that were reported as running.
    working: BTreeSet<RunNo>,
}

impl Log {
    pub(super) fn new(format: Format, store: Box<dyn Backend>) -> Self {
        Self { format, store, working: BTreeSet::new() }
    }

    pub(super) fn write(&mut self, line: &Line) {
        match line.status {
            Some(Status::Running) if !self.working.insert(line.run) => return,
            Some(status) if status != Status::Running => drop(self.working.remove(&line.run)),
            _ => {}
        }
        let mut fields = Vec::new();
        // The message says which run is broken.
        if line.event != "broken" {
            let document = self.store.row(line.run).and_then(|row| self.store.document(row.workflow));
            let name = document.map(|document| document.name).unwrap_or_default();
            fields.extend([("run", line.id.to_string()), ("workflow", name)]);
        }
        fields.extend(line.detail.clone());
        self.print(line.event, &fields);
    }

    /// Writes a line that is not about a run.
    pub(super) fn plain(&self, event: &str, message: &str) {
        self.print(event, &[("message", message.to_owned())]);
    }

    fn print(&self, event: &str, fields: &[(&str, String)]) {
        let time = Timestamp::now();
        let line = match self.format {
            Format::Text => {
                let fields =
                    fields.iter().map(
                        |(key, value)| if *key == "message" { format!(" {value}") } else { format!(" {key}={value}") },
                    );
                format!("{} {event}{}", time.strftime("%Y-%m-%dT%H:%M:%SZ"), fields.collect::<String>())
            }
            Format::Json => {
                let head = [("time", time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()), ("event", event.to_owned())];
                let all = head.into_iter().chain(fields.iter().cloned());
                let object: Object = all.map(|(key, value)| (Arc::from(key), Value::from(value))).collect();
                format!("{:?}", Value::from(object))
            }
        };
        // One event is one line, whatever its fields contain.
        terminal::message(&(terminal::visible_line(&line) + "\n"));
    }
}
