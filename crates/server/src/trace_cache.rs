//! Traces of runs in memory: pages of one trace are requested one after the other.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use branchpoint_backend::{Backend, Run, RunTrace};

use crate::app::App;
use crate::problem::Problem;

/// The maximum number of traces in memory.
const KEPT: usize = 8;

/// The latest traces, by run and number of events.
#[derive(Debug, Default)]
pub(crate) struct TraceCache(Mutex<VecDeque<Arc<RunTrace>>>);

impl App {
    /// The trace of a run as of its latest event.
    pub(crate) fn trace(&self, backend: &dyn Backend, run: &Run) -> Result<Arc<RunTrace>, Problem> {
        let is_current = |trace: &Arc<RunTrace>| {
            trace.view.row.run == run.run && trace.view.row.seq >= run.seq && trace.view.row.status == run.status
        };
        let known =
            self.traces.0.lock().unwrap_or_else(PoisonError::into_inner).iter().find(|t| is_current(t)).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let trace = Arc::new(RunTrace::load(backend, run.run, None)?);
        let mut traces = self.traces.0.lock().unwrap_or_else(PoisonError::into_inner);
        traces.retain(|other| other.view.row.run != run.run);
        traces.push_front(Arc::clone(&trace));
        traces.truncate(KEPT);
        Ok(trace)
    }
}
