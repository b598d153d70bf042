//! The metrics of a worker in the Prometheus text format: over HTTP, in a file, or as JSON lines.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use branchpoint_backend::{Backend, RequestChange, RunEvent, RunEventKind};
use branchpoint_core::effect::ProcessResult;
use branchpoint_core::ir::Status;
use branchpoint_expr::{Object, Value};
use branchpoint_runners::{Answer, AnswerFuture, Call, CancellationToken, Runner};

use crate::local_runner::LocalRunner;
use crate::{backend, json, terminal};

/// How often counters are written to a file or to stderr.
pub(super) const PERIOD: Duration = Duration::from_secs(10);

/// How long a client may take to send its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Where counters go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum To {
    Stderr,
    Http(SocketAddr),
    File(PathBuf),
}

impl FromStr for To {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "-" {
            return Ok(Self::Stderr);
        }
        let address = text.strip_prefix(':').map(|port| format!("127.0.0.1:{port}"));
        let address = address.unwrap_or_else(|| text.replacen("localhost:", "127.0.0.1:", 1));
        Ok(address.parse().map_or_else(|_| Self::File(text.into()), Self::Http))
    }
}

/// Counters since the start of the worker.
#[derive(Default)]
pub(super) struct Counters {
    events: Arc<AtomicU64>,
    calls: AtomicU64,
    failures: AtomicU64,
    in_flight: AtomicU64,
    withdrawn: AtomicU64,
    ended_calls: AtomicU64,
    requests: AtomicU64,
    completed: AtomicU64,
    failed: AtomicU64,
    cancelled: AtomicU64,
}

impl Counters {
    /// The counter of the events that runs take.
    pub(super) fn events(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.events)
    }

    pub(super) fn count(&self, event: &RunEvent) {
        let counter = match &event.kind {
            RunEventKind::Call => &self.calls,
            RunEventKind::CallWithdrawn => &self.withdrawn,
            RunEventKind::Request(_, RequestChange::Opened(_)) => &self.requests,
            RunEventKind::Status(Status::Completed, _) => &self.completed,
            RunEventKind::Status(Status::Failed, _) => &self.failed,
            RunEventKind::Status(Status::Cancelled, _) => &self.cancelled,
            _ => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Name, help, and values by label.
    fn all(&self, store: &dyn Backend) -> Result<Vec<Family>> {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let waiting = of(&self.calls).saturating_sub(of(&self.ended_calls) + of(&self.withdrawn) + of(&self.in_flight));
        let one = |name, kind, help, value| Family { name, kind, help, values: vec![(String::new(), value)] };
        let runs = store.counts()?.into_iter().map(|(status, count)| (format!("status=\"{status}\""), count));
        let ended = [("completed", &self.completed), ("failed", &self.failed), ("cancelled", &self.cancelled)];
        let ended = ended.map(|(status, counter)| (format!("status=\"{status}\""), of(counter)));
        Ok(vec![
            Family { name: "runs", kind: "gauge", help: "Runs in the store", values: runs.collect() },
            Family { name: "runs_ended_total", kind: "counter", help: "Runs that ended here", values: ended.to_vec() },
            one("events_total", "counter", "Events that runs have accepted here", of(&self.events)),
            one("calls_total", "counter", "Calls that runs have requested here", of(&self.calls)),
            one("calls_failed_total", "counter", "Calls that failed", of(&self.failures)),
            one("calls_in_flight", "gauge", "Calls in flight", of(&self.in_flight)),
            one("calls_queued", "gauge", "Calls that wait for their turn", waiting),
            one("questions_total", "counter", "Requests to people", of(&self.requests)),
        ])
    }
}

/// A counter with its labels.
struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    values: Vec<(String, u64)>,
}

fn prometheus(families: &[Family]) -> String {
    let mut text = String::new();
    for Family { name, kind, help, values } in families {
        // Writing into a text cannot fail.
        let _ = write!(text, "# HELP branchpoint_{name} {help}.\n# TYPE branchpoint_{name} {kind}\n");
        for (label, value) in values {
            let label = if label.is_empty() { String::new() } else { format!("{{{label}}}") };
            let _ = writeln!(text, "branchpoint_{name}{label} {value}");
        }
    }
    text
}

fn json(families: &[Family]) -> String {
    let value = |family: &Family| match family.values.as_slice() {
        [(label, value)] if label.is_empty() => json::count(*value),
        values => {
            let name = |label: &str| Arc::from(label.trim_start_matches("status=").trim_matches('"'));
            Value::from(values.iter().map(|(label, value)| (name(label), json::count(*value))).collect::<Object>())
        }
    };
    let counters: Object = families.iter().map(|family| (Arc::from(family.name), value(family))).collect();
    format!("{:?}\n", json::object([("metrics", Value::from(counters))]))
}

/// Writes the metrics to their destination.
pub(super) struct Metrics {
    to: Option<(To, Box<dyn Backend>)>,
    counters: Arc<Counters>,
}

impl Metrics {
    pub(super) fn open(to: Option<&To>, counters: &Arc<Counters>, store: &Path) -> Result<Self> {
        let counters = Arc::clone(counters);
        let Some(to) = to else { return Ok(Self { to: None, counters }) };
        if let To::Http(address) = to {
            let listener = TcpListener::bind(address).with_context(|| format!("cannot serve metrics at {address}"))?;
            let (counted, store) = (Arc::clone(&counters), backend::open_read_only(store)?);
            thread::spawn(move || {
                for client in listener.incoming().flatten() {
                    // A disconnected client is not an error.
                    let _ = answer(&client, &counted, &*store);
                }
            });
        }
        Ok(Self { to: Some((to.clone(), backend::open_read_only(store)?)), counters })
    }

    /// Writes the metrics to stderr or to the file.
    pub(super) fn write(&mut self) -> Result<()> {
        match &self.to {
            Some((To::Stderr, store)) => terminal::message(&json(&self.counters.all(&**store)?)),
            Some((To::File(path), store)) => {
                let text = prometheus(&self.counters.all(&**store)?);
                // A reader gets the old file or the new one, never half of it.
                let beside = path.with_extension("new");
                let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
                if let Err(error) = written {
                    terminal::message(&format!("warning: metrics cannot be written to {}: {error}\n", path.display()));
                }
            }
            Some((To::Http(_), _)) | None => {}
        }
        Ok(())
    }
}

/// How much of a request is read, in bytes.
const REQUEST_BYTES: u64 = 64 * 1024;

/// Responds to any request with the metrics.
fn answer(client: &TcpStream, counters: &Counters, store: &dyn Backend) -> Result<()> {
    client.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    client.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    let mut lines = BufReader::new(client.take(REQUEST_BYTES)).lines();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let text = prometheus(&counters.all(store)?);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nConnection: close";
    let mut client = client;
    write!(client, "{head}\r\nContent-Length: {}\r\n\r\n{text}", text.len())?;
    Ok(())
}

/// A runner whose calls are counted.
pub(super) struct CountingRunner {
    here: Arc<LocalRunner>,
    counters: Arc<Counters>,
}

impl CountingRunner {
    pub(super) fn new(here: Arc<LocalRunner>, counters: Arc<Counters>) -> Self {
        Self { here, counters }
    }
}

impl Runner for CountingRunner {
    fn perform<'c>(&'c self, call: &'c Call, cancel: &'c CancellationToken) -> AnswerFuture<'c> {
        Box::pin(async move {
            self.counters.in_flight.fetch_add(1, Ordering::Relaxed);
            let answer = self.here.perform(call, cancel).await;
            self.counters.in_flight.fetch_sub(1, Ordering::Relaxed);
            self.counters.ended_calls.fetch_add(1, Ordering::Relaxed);
            let is_failure = matches!(
                answer,
                Answer::Failed(_)
                    | Answer::Spent { .. }
                    | Answer::Process(ProcessResult { exit_code: None, .. })
                    | Answer::Missing
            );
            if is_failure {
                self.counters.failures.fetch_add(1, Ordering::Relaxed);
            }
            answer
        })
    }

    fn fact(&self, name: &str) -> Value {
        self.here.fact(name)
    }
}
