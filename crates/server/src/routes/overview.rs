//! The numbers of the overview.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use branchpoint_backend::Backend;
use branchpoint_core::ir::Status;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::approvals::readable_open;
use crate::app::App;
use crate::caller::{Action, Caller};
use crate::problem::Problem;
use crate::time::{now_ms, rfc3339};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get))
}

const HOUR_MS: i64 = 3_600_000;

/// The number of runs by status. Ended runs are those of the last 24 hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
struct Counts {
    running: u64,
    waiting_people: u64,
    waiting_timer: u64,
    failed_today: u64,
    completed_today: u64,
}

/// What happened in an hour.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
struct Hour {
    /// The beginning of the hour.
    hour: String,
    started: u64,
    completed: u64,
    failed: u64,
    cancelled: u64,
    decisions: u64,
}

/// The number of open approvals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
struct ApprovalCounts {
    /// Those that await the caller.
    mine: usize,
    all: usize,
}

/// The numbers of the overview.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Overview {
    counts: Counts,
    /// The last 24 hours, the oldest first.
    hours: Vec<Hour>,
    /// Absent in live events, because it differs between clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    approvals: Option<ApprovalCounts>,
}

/// Shows how many runs work, wait and have ended, and how many approvals are open.
#[utoipa::path(get, path = "/overview", tag = "general", operation_id = "get_overview",
    responses((status = 200, description = "The numbers", body = Overview)))]
async fn get(State(app): State<App>, caller: Caller) -> Result<Json<Overview>, Problem> {
    caller.may_on_some(Action::Read)?;
    let shared = app.clone();
    app.call(move |backend| Ok(Json(overview(&shared, backend, Some(&caller))?))).await
}

/// The numbers for a caller, or without one.
pub(crate) fn overview(app: &App, backend: &dyn Backend, caller: Option<&Caller>) -> Result<Overview, Problem> {
    let this_hour = now_ms().div_euclid(HOUR_MS);
    let since_ms = (this_hour - 23) * HOUR_MS;
    let (mut counts, mut hours) = (Counts::default(), BTreeMap::<i64, Hour>::new());
    for hour in this_hour - 23..=this_hour {
        hours.insert(hour * HOUR_MS, Hour { hour: rfc3339(hour * HOUR_MS), ..Hour::default() });
    }
    // A caller who may not read all workflows gets the sum of those that they may read.
    let workflows: Vec<Option<Arc<str>>> = match caller {
        Some(caller) if caller.may_on_server(Action::Read).is_err() => {
            let names = app.all_versions(backend)?.into_keys();
            names.filter(|name| caller.may(Action::Read, name).is_ok()).map(Some).collect()
        }
        _ => vec![None],
    };
    for workflow in &workflows {
        for (status, count) in backend.totals(workflow.as_deref())? {
            match status {
                Status::Running => counts.running += count,
                Status::WaitingPeople => counts.waiting_people += count,
                Status::WaitingTimer => counts.waiting_timer += count,
                Status::Completed | Status::Failed | Status::Cancelled => {}
            }
        }
        for counted in backend.hourly(since_ms, workflow.as_deref())? {
            counts.completed_today += counted.completed;
            counts.failed_today += counted.failed;
            let Some(hour) = hours.get_mut(&counted.hour_ms) else { continue };
            hour.started += counted.started;
            hour.completed += counted.completed;
            hour.failed += counted.failed;
            hour.cancelled += counted.cancelled;
            hour.decisions += counted.decisions;
        }
    }
    let approvals = caller.map(|caller| approval_counts(app, backend, caller)).transpose()?;
    Ok(Overview { counts, hours: hours.into_values().collect(), approvals })
}

fn approval_counts(app: &App, backend: &dyn Backend, caller: &Caller) -> Result<ApprovalCounts, Problem> {
    let open = readable_open(app, backend, caller)?;
    let is_mine = |workflow: &str| caller.may(Action::Approve, workflow).is_ok();
    let mine = open
        .iter()
        .filter(|(open, workflow)| open.approval.awaits(&caller.user, now_ms()) && is_mine(workflow))
        .count();
    Ok(ApprovalCounts { mine, all: open.len() })
}
