//! The iterations of a loop in pages, each with the status of its steps.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use branchpoint_backend::RunTrace;
use branchpoint_core::{Redact as _, StepRecord, StepStatus, Usage};
use branchpoint_expr::Value;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::readable;
use super::record::UsageRecord;
use super::step::status_of;
use super::trace::index_of;
use crate::app::App;
use crate::body::{Path, Query};
use crate::caller::Caller;
use crate::list::PageRequest;
use crate::problem::Problem;
use crate::time::rfc3339;

/// Which iterations.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct IterationsRequest {
    /// Only iterations with one of these statuses, separated by commas.
    state: Option<String>,
    /// The most items, from 1 to 200.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The cursor of the page before, from its `next`.
    #[param(pattern = "^[0-9]{1,15}$")]
    cursor: Option<String>,
}

/// One iteration of a loop.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = LoopIteration)]
struct IterationRecord {
    /// The number of the iteration, counted from 0.
    index: u32,
    /// The item; a value above 4 KB is `{truncated, bytes}`.
    #[schema(value_type = Option<Value>)]
    item: Value,
    /// `failed` if a step failed, else `waiting_people`, `waiting_timer`, `running` or `cancelled` if a step is so, `skipped` if a gate
    /// blocked it, else `completed`.
    #[schema(example = "completed")]
    status: &'static str,
    began: String,
    ended: Option<String>,
    took_ms: Option<i64>,
    usage: UsageRecord,
    /// The number of steps directly inside.
    steps: usize,
    /// The number of attempts after the first of each call.
    retries: usize,
}

/// A page of iterations.
#[derive(Serialize, ToSchema)]
pub(super) struct IterationPage {
    items: Vec<IterationRecord>,
    /// The cursor of the next page; null at the end.
    next: Option<String>,
    /// The number of iterations that match.
    total: usize,
    /// The number of iterations by status, before the filter; `pending` are items that have not begun.
    counts: BTreeMap<&'static str, usize>,
    /// The first ranges of iterations by status: the first and the last index of each.
    ranges: BTreeMap<&'static str, Vec<[u32; 2]>>,
}

/// The most ranges of each status.
const MAX_RANGES: usize = 3;

/// Lists the iterations of a loop in order.
#[utoipa::path(get, path = "/runs/{run}/trace/{step}/iterations", tag = "runs", operation_id = "list_iterations",
    params(("run" = String, Path, description = "The id of the run"),
        ("step" = String, Path, description = "The key of the loop"), IterationsRequest),
    responses((status = 200, description = "The iterations", body = IterationPage)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Path((run, step)): Path<(String, String)>,
    Query(request): Query<IterationsRequest>,
) -> Result<Json<IterationPage>, Problem> {
    let page = PageRequest::new(request.limit, request.cursor);
    page.limit()?;
    let shared = app.clone();
    app.call(move |backend| {
        let (row, _) = readable(&shared, backend, &caller, &run)?;
        let (trace, secrets) = (shared.trace(backend, &row)?, backend.secrets(row.run)?);
        let looped = index_of(&trace, &step)?;
        let mut all = iterations(&trace, looped);
        let mut counts = BTreeMap::<&'static str, usize>::new();
        let mut ranges = BTreeMap::<&'static str, Vec<[u32; 2]>>::new();
        for iteration in &all {
            *counts.entry(iteration.status()).or_default() += 1;
            add_to_ranges(ranges.entry(iteration.status()).or_default(), iteration.index);
        }
        let items = trace.records[looped].items.map_or(all.len(), |items| items as usize);
        if items > all.len() {
            counts.insert("pending", items - all.len());
        }
        if let Some(states) = &request.state {
            let states: Vec<&str> = states.split(',').map(str::trim).collect();
            all.retain(|iteration| states.contains(&iteration.status()));
        }
        let total = all.len();
        let page = page.page(all)?;
        let items = page.items.into_iter().map(|iteration| {
            let item = iteration.item.as_ref().map(|item| secrets.data(item)).unwrap_or_default();
            iteration.record(item)
        });
        Ok(Json(IterationPage { items: items.collect(), next: page.next, total, counts, ranges }))
    })
    .await
}

/// Adds an index, which is greater than those before, to ranges.
fn add_to_ranges(ranges: &mut Vec<[u32; 2]>, index: u32) {
    let has_room = ranges.len() < MAX_RANGES;
    match ranges.last_mut() {
        Some([_, last]) if *last + 1 == index => *last = index,
        _ if has_room => ranges.push([index, index]),
        _ => {}
    }
}

/// The steps of one iteration, added up.
struct Iteration {
    index: u32,
    item: Option<Value>,
    rank: u8,
    is_blocked: bool,
    began_ms: i64,
    /// None while a step has not ended.
    ended_ms: Option<i64>,
    usage: Usage,
    steps: usize,
    retries: usize,
}

/// The iterations of a loop that have begun, in order.
fn iterations(trace: &RunTrace, looped: usize) -> Vec<Iteration> {
    let step = trace.records[looped].step;
    let mut iterations = BTreeMap::<u32, Iteration>::new();
    for child in &trace.children[looped] {
        let record = &trace.records[*child];
        let Some(round) = record.iterations.iter().rev().find(|round| round.step == step) else { continue };
        let iteration = iterations.entry(round.index).or_insert_with(|| Iteration {
            index: round.index,
            item: round.item.clone(),
            rank: 0,
            is_blocked: false,
            began_ms: record.began_ms,
            ended_ms: Some(record.began_ms),
            usage: Usage::default(),
            steps: 0,
            retries: 0,
        });
        iteration.add(record);
    }
    iterations.into_values().collect()
}

/// The statuses of iterations, the strongest last.
const STATUSES: [&str; 6] = ["completed", "cancelled", "running", "waiting_timer", "waiting_people", "failed"];

impl Iteration {
    fn add(&mut self, record: &StepRecord) {
        if let StepStatus::Skipped(reason) = &record.status {
            self.is_blocked |= &**reason == "gate_blocked";
            return;
        }
        let rank = STATUSES.iter().position(|status| *status == status_of(record)).unwrap_or(0);
        self.rank = self.rank.max(u8::try_from(rank).unwrap_or(0));
        self.began_ms = self.began_ms.min(record.began_ms);
        self.ended_ms = self.ended_ms.and_then(|ended_ms| Some(ended_ms.max(record.ended_ms?)));
        self.usage.add(record.usage);
        self.steps += 1;
        self.retries += record.attempts.len().saturating_sub(1);
    }

    fn status(&self) -> &'static str {
        if self.rank == 0 && self.is_blocked { "skipped" } else { STATUSES[usize::from(self.rank)] }
    }

    fn record(&self, item: Value) -> IterationRecord {
        IterationRecord {
            index: self.index,
            item,
            status: self.status(),
            began: rfc3339(self.began_ms),
            ended: self.ended_ms.map(rfc3339),
            took_ms: self.ended_ms.map(|ended_ms| ended_ms - self.began_ms),
            usage: self.usage.into(),
            steps: self.steps,
            retries: self.retries,
        }
    }
}
