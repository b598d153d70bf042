//! The trace of a run in pages, one step with its values, and decisions with other values.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use branchpoint_backend::RunTrace;
use branchpoint_core::{WhatIfError, what_if};
use branchpoint_expr::Value;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::step::{StepDetail, StepJson, StepWriter, status_of};
use super::{find, readable};
use crate::app::App;
use crate::body::{Body, Path, Query};
use crate::caller::{Action, Caller};
use crate::list::PageRequest;
use crate::problem::Problem;

/// Which steps of a trace.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct TraceRequest {
    /// The key of the enclosing step; the outermost steps if absent.
    parent: Option<String>,
    /// Only steps with one of these statuses, separated by commas.
    state: Option<String>,
    /// Only steps whose id contains this text.
    q: Option<String>,
    /// Only executions of the step with this id.
    step: Option<String>,
    /// Only steps with decisions.
    #[serde(default)]
    decisions: bool,
    /// Only steps of this iteration of `parent`, counted from 0.
    iteration: Option<u32>,
    /// Only steps after the one with this key.
    after: Option<String>,
    /// All steps at any depth instead of those directly below `parent`.
    #[serde(default)]
    deep: bool,
    /// The most items, from 1 to 200.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The cursor of the page before, from its `next`.
    #[param(pattern = "^[0-9]{1,15}$")]
    cursor: Option<String>,
}

/// The parts of a long run that its trace does not contain.
#[derive(Serialize, ToSchema)]
struct OmittedRecord {
    /// The number of events before the trace.
    before: u64,
    /// The number of ended steps in between.
    steps: usize,
    /// The number of events after the trace.
    after: u64,
}

/// A page of a trace.
#[derive(Serialize, ToSchema)]
pub(super) struct StepPage {
    items: Vec<StepJson>,
    /// The cursor of the next page; null at the end.
    next: Option<String>,
    /// The number of steps by status, before the filter by status.
    counts: BTreeMap<&'static str, u64>,
    omitted: Option<OmittedRecord>,
    /// The number of steps that match.
    total: usize,
}

/// Lists the steps of a run below a step, in the order in which they began.
#[utoipa::path(get, path = "/runs/{run}/trace", tag = "runs", operation_id = "list_steps",
    params(("run" = String, Path, description = "The id of the run"), TraceRequest),
    responses((status = 200, description = "The steps", body = StepPage)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Path(run): Path<String>,
    Query(request): Query<TraceRequest>,
) -> Result<Json<StepPage>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let (row, _) = readable(&shared, backend, &caller, &run)?;
        let trace = shared.trace(backend, &row)?;
        let writer = StepWriter::new(backend, &trace)?;
        let mut below = select(&trace, &request)?;
        let counts = writer.counts(&below);
        if let Some(states) = &request.state {
            let states: Vec<&str> = states.split(',').map(str::trim).collect();
            below.retain(|index| states.contains(&status_of(&trace.records[*index])));
        }
        let total = below.len();
        let page = PageRequest::new(request.limit, request.cursor).page(below)?;
        let omitted = trace.omitted;
        let is_whole = omitted == branchpoint_backend::OmittedParts::default();
        Ok(Json(StepPage {
            items: page.items.into_iter().map(|index| writer.step(index)).collect(),
            next: page.next,
            counts,
            omitted: (!is_whole).then_some(OmittedRecord {
                before: omitted.before,
                steps: omitted.steps,
                after: omitted.after,
            }),
            total,
        }))
    })
    .await
}

/// The records that a request means.
fn select(trace: &RunTrace, request: &TraceRequest) -> Result<Vec<usize>, Problem> {
    let parent = request.parent.as_deref().filter(|parent| !parent.is_empty());
    let parent = parent.map(|key| index_of(trace, key)).transpose()?;
    let mut selected: Vec<usize> = match (parent, request.deep) {
        (None, true) => (0..trace.records.len()).collect(),
        (None, false) => trace.tops().collect(),
        (Some(parent), false) => trace.children[parent].clone(),
        (Some(parent), true) => {
            let mut below = trace.children[parent].clone();
            let mut next = 0;
            while let Some(index) = below.get(next).copied() {
                below.extend(&trace.children[index]);
                next += 1;
            }
            below.sort_unstable();
            below
        }
    };
    if let (Some(iteration), Some(parent)) = (request.iteration, parent) {
        let looped = trace.records[parent].step;
        selected.retain(|index| {
            let round = trace.records[*index].iterations.iter().rev().find(|round| round.step == looped);
            round.is_some_and(|round| round.index == iteration)
        });
    }
    if let Some(step) = &request.step {
        selected.retain(|index| trace.step_id(*index) == step);
    }
    if request.decisions {
        selected.retain(|index| !trace.records[*index].decisions.is_empty());
    }
    if let Some(after) = request.after.as_deref().filter(|after| !after.is_empty()) {
        let after = index_of(trace, after)?;
        selected.retain(|index| *index > after);
    }
    if let Some(words) = &request.q {
        let words = words.to_lowercase();
        selected.retain(|index| trace.step_id(*index).to_lowercase().contains(&words));
    }
    Ok(selected)
}

/// The record with a key.
pub(super) fn index_of(trace: &RunTrace, key: &str) -> Result<usize, Problem> {
    let missing = || Problem::not_found(format!("Run `{}` has no step `{key}`.", trace.view.row.id));
    trace.index_of(key).ok_or_else(missing)
}

/// How much of a step.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct StepRequest {
    /// Whole values instead of the beginning of values above 4 KB.
    #[serde(default)]
    full: bool,
}

/// Shows a step with its values, its attempts, and its decisions with the evaluation of every condition.
#[utoipa::path(get, path = "/runs/{run}/trace/{step}", tag = "runs", operation_id = "get_step",
    params(("run" = String, Path, description = "The id of the run"),
        ("step" = String, Path, description = "The key of the step"), StepRequest),
    responses((status = 200, description = "The step", body = StepDetail)))]
pub(super) async fn step(
    State(app): State<App>,
    caller: Caller,
    Path((run, step)): Path<(String, String)>,
    Query(request): Query<StepRequest>,
) -> Result<Json<StepDetail>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let (row, _) = readable(&shared, backend, &caller, &run)?;
        let trace = shared.trace(backend, &row)?;
        let index = index_of(&trace, &step)?;
        let writer = StepWriter::new(backend, &trace)?;
        Ok(Json(writer.detail(&shared, backend, index, request.full)?))
    })
    .await
}

/// Other values for a decision.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WhatIfRequest {
    /// The changed values by path, such as `{"step.score.output.score": 0.9}`.
    #[schema(value_type = Object)]
    with: BTreeMap<String, Value>,
    /// The number of the decision, counted from 1; all decisions of the step if absent.
    decision: Option<usize>,
}

/// A decision of a run, and the decision with other values.
#[derive(Serialize, ToSchema)]
pub(super) struct WhatIf {
    /// The number of the decision among those of the step, counted from 1.
    number: usize,
    /// Whether the same branch is chosen.
    same: bool,
    #[schema(value_type = crate::schemas::Decision)]
    was: Value,
    #[schema(value_type = crate::schemas::Decision)]
    would_be: Value,
}

/// Decides again with other values. The run is not changed.
#[utoipa::path(post, path = "/runs/{run}/trace/{step}/what-if", tag = "runs", operation_id = "decide_again",
    params(("run" = String, Path, description = "The id of the run"),
        ("step" = String, Path, description = "The key of the step")),
    request_body = WhatIfRequest,
    responses((status = 200, description = "The decisions", body = Vec<WhatIf>)))]
pub(super) async fn decide_again(
    State(app): State<App>,
    caller: Caller,
    Path((run, step)): Path<(String, String)>,
    Body(request): Body<WhatIfRequest>,
) -> Result<Json<Vec<WhatIf>>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let (row, _) = find(&shared, backend, &caller, &run, Action::Read)?;
        let trace = shared.trace(backend, &row)?;
        let index = index_of(&trace, &step)?;
        let writer = StepWriter::new(backend, &trace)?;
        let changes: Vec<(String, Value)> = request.with.into_iter().collect();
        let (mut decisions, mut rejected) = (Vec::new(), None);
        for (number, was) in (1..).zip(&trace.records[index].decisions) {
            if request.decision.is_some_and(|only| only != number) {
                continue;
            }
            match what_if(&trace.view.program, was, &changes) {
                Ok(would_be) => {
                    let name = |decided: &branchpoint_core::DecisionRecord| decided.chosen().map(|b| b.name.clone());
                    decisions.push(WhatIf {
                        number,
                        same: name(was) == name(&would_be),
                        was: writer.decision(was, writer.secrets()),
                        would_be: writer.decision(&would_be, writer.secrets()),
                    });
                }
                // A decision that reads other paths explains more than one that reads none.
                Err(reason @ WhatIfError::NotRead { .. }) => rejected = Some(reason),
                Err(reason) => rejected = rejected.or(Some(reason)),
            }
        }
        match rejected {
            Some(reason) if decisions.is_empty() => Err(not_changeable(&reason)),
            None if decisions.is_empty() => Err(Problem::not_found(format!("Step `{step}` has no such decision."))),
            _ => Ok(Json(decisions)),
        }
    })
    .await
}

fn not_changeable(reason: &WhatIfError) -> Problem {
    match reason {
        WhatIfError::NotRead { reads, .. } => {
            Problem::invalid_input(format!("Rejected: {reason}.")).with("reads", reads)
        }
        WhatIfError::NoConditions(_) => Problem::invalid_input(format!("Rejected: {reason}.")),
    }
}
