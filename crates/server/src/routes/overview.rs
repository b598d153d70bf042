//! The numbers of the overview.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use branchpoint_backend::{Backend, Filter};
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

/// The number of runs that were started in an hour, by how they ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
struct Hour {
    /// The beginning of the hour.
    hour: String,
    completed: u64,
    failed: u64,
    cancelled: u64,
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

/// The numbers for a caller, or for nobody in particular.
pub(crate) fn overview(app: &App, backend: &dyn Backend, caller: Option<&Caller>) -> Result<Overview, Problem> {
    let (mut counts, mut hours) = (Counts::default(), BTreeMap::<i64, Hour>::new());
    let this_hour = now_ms().div_euclid(HOUR_MS);
    for hour in this_hour - 23..=this_hour {
        hours.insert(hour, Hour { hour: rfc3339(hour * HOUR_MS), ..Hour::default() });
    }
    let may_read = |workflow| -> Result<bool, Problem> {
        let Some(caller) = caller else { return Ok(true) };
        Ok(caller.may(Action::Read, &app.version(backend, workflow)?.name).is_ok())
    };
    for status in [Status::Running, Status::WaitingPeople, Status::WaitingTimer] {
        for run in backend.runs(&Filter { status: Some(status), ..Filter::default() })? {
            if !may_read(run.workflow)? {
                continue;
            }
            match backend.status(run.run)? {
                Status::WaitingPeople => counts.waiting_people += 1,
                Status::WaitingTimer => counts.waiting_timer += 1,
                _ => counts.running += 1,
            }
        }
    }
    let since_ms = (this_hour - 23) * HOUR_MS;
    for run in backend.runs(&Filter { since_ms: Some(since_ms), ..Filter::default() })? {
        let Some(hour) = hours.get_mut(&run.started_ms.div_euclid(HOUR_MS)) else { continue };
        if !may_read(run.workflow)? {
            continue;
        }
        match run.status {
            Status::Completed => (counts.completed_today += 1, hour.completed += 1),
            Status::Failed => (counts.failed_today += 1, hour.failed += 1),
            Status::Cancelled => ((), hour.cancelled += 1),
            _ => ((), ()),
        };
    }
    let approvals = caller.map(|caller| approval_counts(app, backend, caller)).transpose()?;
    Ok(Overview { counts, hours: hours.into_values().collect(), approvals })
}

fn approval_counts(app: &App, backend: &dyn Backend, caller: &Caller) -> Result<ApprovalCounts, Problem> {
    let open = readable_open(app, backend, caller)?;
    let is_mine = |workflow: &str| caller.may(Action::Approve, workflow).is_ok();
    let mine = open.iter().filter(|(open, workflow)| open.approval.awaits(&caller.user) && is_mine(workflow)).count();
    Ok(ApprovalCounts { mine, all: open.len() })
}
