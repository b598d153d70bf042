//! Where each choice of an approval, and its timeout, would lead.

use axum::Json;
use axum::extract::State;
use branchpoint_host::{ApprovalOutcome, Settlement, approval_outcomes};
use branchpoint_runners::Secrets;
use serde::Serialize;
use utoipa::ToSchema;

use super::record::LeadingDecision;
use super::{find_open, find_record, missing};
use crate::app::App;
use crate::body::Path;
use crate::caller::{Action, Caller};
use crate::problem::Problem;
use crate::routes::runs::find;
use crate::time::{now_ms, rfc3339};

/// Where the run would continue after one answer.
#[derive(Serialize, ToSchema)]
#[schema(as = ApprovalOutcome)]
struct OutcomeRecord {
    /// The choice, or `timeout`.
    choice: String,
    /// Whether it is the timeout, because a choice may have the same name.
    is_timeout: bool,
    /// The steps that begin next, in order.
    leads_to: Vec<String>,
    /// The time of the timeout.
    at: Option<String>,
    /// The decisions on the way.
    decisions: Vec<LeadingDecision>,
    /// The status of the run, if it would end.
    #[schema(example = "completed")]
    ends: Option<&'static str>,
}

/// Where the answers of an approval lead.
#[derive(Serialize, ToSchema)]
pub(super) struct ApprovalOutcomes {
    /// The choices in order, then the timeout. Outcomes that cannot be determined are absent, and a settled approval has none.
    items: Vec<OutcomeRecord>,
}

/// Shows where each choice of an open approval, and its timeout, would lead. Nothing is performed and nothing changes.
#[utoipa::path(get, path = "/approvals/{run}/{number}/outcomes", tag = "approvals", operation_id = "get_approval_outcomes",
    params(("run" = String, Path, description = "The id of the run"),
        ("number" = String, Path, description = "The number of the request, or the id of the step")),
    responses((status = 200, description = "The outcomes", body = ApprovalOutcomes)))]
pub(super) async fn outcomes(
    State(app): State<App>,
    caller: Caller,
    Path((run, number)): Path<(String, String)>,
) -> Result<Json<ApprovalOutcomes>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let (row, _) = find(&shared, backend, &caller, &run, Action::Read).map_err(|_| missing(&run, &number))?;
        let Some(open) = find_open(backend, &row, &number)? else {
            // A settled approval has no outcomes; one that never existed is missing.
            find_record(&shared, backend, &caller, &row, &number)?;
            return Ok(Json(ApprovalOutcomes { items: Vec::new() }));
        };
        let (view, secrets) = (backend.load(row.run)?, backend.secrets(row.run)?);
        let outcomes = approval_outcomes(&view.program, &view.state, &open.approval, now_ms());
        let items = outcomes.iter().map(|outcome| record(outcome, &view.program, &secrets)).collect();
        Ok(Json(ApprovalOutcomes { items }))
    })
    .await
}

fn record(outcome: &ApprovalOutcome, program: &branchpoint_core::ir::Program, secrets: &Secrets) -> OutcomeRecord {
    let decisions = outcome.decisions.iter().map(|decided| LeadingDecision::new(decided, program, secrets));
    OutcomeRecord {
        choice: match &outcome.settlement {
            Settlement::Choice(choice) => secrets.mask(choice).into_owned(),
            Settlement::Timeout => "timeout".into(),
        },
        is_timeout: outcome.settlement == Settlement::Timeout,
        leads_to: outcome.leads_to.iter().map(|step| secrets.mask(step).into_owned()).collect(),
        at: outcome.at_ms.map(rfc3339),
        decisions: decisions.collect(),
        ends: outcome.ends.map(branchpoint_core::ir::Status::as_str),
    }
}
