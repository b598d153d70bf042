//! Counters of a server in the text format of Prometheus.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::StatusCode;
use branchpoint_backend::Backend;

use crate::problem::Problem;

/// What happened since the server started.
#[derive(Default)]
pub(crate) struct Metrics {
    pub(crate) requests: AtomicU64,
    /// Responses by the first digit of their status.
    responses: [AtomicU64; 6],
    pub(crate) streams: AtomicU64,
    pub(crate) dropped_streams: AtomicU64,
    pub(crate) connections: AtomicU64,
    /// Changes that the audit log could not record.
    pub(crate) lost_audit_entries: AtomicU64,
}

impl Metrics {
    /// Counts a response.
    pub(crate) fn count(&self, status: StatusCode) {
        if let Some(counter) = self.responses.get(usize::from(status.as_u16() / 100)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The counters as text, with the number of runs of each status.
    pub(crate) fn render(&self, backend: &dyn Backend) -> Result<String, Problem> {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let runs = backend.counts()?.into_iter().map(|(status, count)| (format!("{{status=\"{status}\"}}"), count));
        let responses = (1..)
            .zip(&self.responses[1..])
            .map(|(class, counter)| (format!("{{status=\"{class}xx\"}}"), value(counter)));
        let one = |counter: &AtomicU64| vec![(String::new(), value(counter))];
        let families = [
            ("runs", "gauge", "Runs in the store", runs.collect()),
            ("http_requests_total", "counter", "Requests", one(&self.requests)),
            ("http_responses_total", "counter", "Responses by class of status", responses.collect::<Vec<_>>()),
            ("http_connections", "gauge", "Open connections", one(&self.connections)),
            (
                "audit_entries_lost_total",
                "counter",
                "Changes that the audit log could not record",
                one(&self.lost_audit_entries),
            ),
            ("event_streams", "gauge", "Open event streams", one(&self.streams)),
            ("event_streams_dropped_total", "counter", "Event streams of slow clients", one(&self.dropped_streams)),
        ];
        let mut text = String::new();
        for (name, kind, help, values) in families {
            // Writing into a text cannot fail.
            let _ = write!(text, "# HELP branchpoint_{name} {help}.\n# TYPE branchpoint_{name} {kind}\n");
            for (labels, value) in values {
                let _ = writeln!(text, "branchpoint_{name}{labels} {value}");
            }
        }
        Ok(text)
    }
}
