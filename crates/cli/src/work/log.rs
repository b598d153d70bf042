//! The log of a worker: a line for each run that goes on, waits or ends, and for each question.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_backend::{Backend, RunNo};
use branchpoint_core::ir::Status;
use branchpoint_core::{ApprovalKey, RequestNo};
use branchpoint_expr::{Object, Value};
use branchpoint_host::Embedded;
use branchpoint_host::host::{Act, People};
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

/// Something worth a line.
pub(super) enum Line {
    /// A call of a run is made; the first one tells that the run goes on.
    Works(RunNo, Arc<str>),
    Stands(RunNo, Arc<str>, Status, Option<String>),
    Question(RunNo, Arc<str>, RequestNo, &'static str),
    /// A message about a run.
    Noted(RunNo, String),
    /// A run cannot be opened.
    Broken(String),
}

impl Line {
    pub(super) fn of(act: &Act) -> Option<Self> {
        match act {
            Act::Perform { run, call, .. } => Some(Self::Works(*run, call.run.clone())),
            Act::Stands { run, id, status, result } => {
                // Messages may hold what is secret; kinds do not.
                let error = |result: &Value| {
                    let kind = result.get("error").and_then(|error| error.get("kind")).or_else(|| result.get("kind"));
                    kind.and_then(Value::as_str).map(ToOwned::to_owned)
                };
                Some(Self::Stands(*run, id.clone(), *status, result.as_ref().and_then(error)))
            }
            Act::Broken { why, .. } => Some(Self::Broken(why.clone())),
            Act::Noted { run, text } => Some(Self::Noted(*run, text.clone())),
            Act::People { run, id, request, what } => {
                let what = match what {
                    People::Asked(_) => "asked",
                    People::Reminded(_) => "reminded",
                    People::Closed(_) => "settled",
                };
                Some(Self::Question(*run, id.clone(), *request, what))
            }
            _ => None,
        }
    }
}

/// Writes to stderr.
pub(super) struct Log {
    format: Format,
    /// To look up what a run is a run of.
    store: Embedded,
    /// Runs that were told to be at work.
    working: BTreeSet<RunNo>,
}

impl Log {
    pub(super) fn new(format: Format, store: Embedded) -> Self {
        Self { format, store, working: BTreeSet::new() }
    }

    pub(super) fn write(&mut self, line: &Line) {
        match line {
            Line::Works(run, id) => {
                if self.working.insert(*run) {
                    self.tell(*run, id, "running", &[]);
                }
            }
            Line::Stands(run, id, status, error) => {
                if *status == Status::Running {
                    if !self.working.insert(*run) {
                        return;
                    }
                } else {
                    self.working.remove(run);
                }
                let error = error.as_ref().filter(|_| *status == Status::Failed);
                let beside: Vec<(&str, String)> = error.map(|kind| ("error", kind.clone())).into_iter().collect();
                self.tell(*run, id, status.as_str(), &beside);
            }
            Line::Question(run, id, request, what) => {
                let approval = reference(id, &ApprovalKey::Request(*request));
                self.tell(*run, id, what, &[("approval", approval)]);
            }
            Line::Noted(run, text) => {
                let id = self.store.row(*run).map(|row| row.id).unwrap_or_default();
                self.tell(*run, &id, "note", &[("message", text.clone())]);
            }
            Line::Broken(why) => self.plain("broken", why),
        }
    }

    /// A line that is about no run.
    pub(super) fn plain(&self, event: &str, message: &str) {
        self.put(event, &[("message", message.to_owned())]);
    }

    fn tell(&self, run: RunNo, id: &str, event: &str, beside: &[(&str, String)]) {
        let row = self.store.row(run);
        let document = row.and_then(|row| self.store.document(row.workflow));
        let name = document.map(|document| document.name).unwrap_or_default();
        let mut fields = vec![("run", id.to_owned()), ("workflow", name)];
        fields.extend(beside.iter().cloned());
        self.put(event, &fields);
    }

    fn put(&self, event: &str, fields: &[(&str, String)]) {
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
        terminal::tell(&(terminal::visible_line(&line) + "\n"));
    }
}
