//! Settings: the log of changes.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::access::{AuditEntry, AuditFilter, AuditPage};
use crate::app::App;
use crate::body::Query;
use crate::caller::{Action, Caller};
use crate::list::{Page, PageRequest};
use crate::problem::{Problem, ProblemKind};

/// Which entries.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct AuditRequest {
    /// Only entries whose user, credential, method, path or status contains this text.
    q: Option<String>,
    /// Only changes by this user.
    user: Option<String>,
    /// The most items, from 1 to 200.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The cursor of the page before, from its `next`.
    #[param(pattern = "^[0-9]{1,15}$")]
    cursor: Option<String>,
}

/// Lists changes, newest first: who requested what, and the status of the response. A page can have fewer items than its limit although
/// `next` is set, because one request reads a limited part of the log.
#[utoipa::path(get, path = "/settings/audit", tag = "settings", operation_id = "list_changes", params(AuditRequest),
    responses((status = 200, description = "The changes", body = Page<AuditEntry>)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(request): Query<AuditRequest>,
) -> Result<Json<Page<AuditEntry>>, Problem> {
    caller.may_on_server(Action::Administer)?;
    let AuditRequest { q, user, limit, cursor } = request;
    let page = PageRequest::new(limit, cursor);
    let (limit, before) = (page.limit()? as usize, page.cursor()?);
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let filter = AuditFilter { before, user: given(user), text: given(q).map(|text| text.to_lowercase()) };
    let shared = app.clone();
    app.compute(move || {
        let Some(log) = &shared.host.audit else { return Ok(Json(Page { items: Vec::new(), next: None })) };
        let unreadable =
            |error| Problem::new(ProblemKind::Unavailable, format!("The audit log cannot be read: {error}."));
        let AuditPage { entries, next } = log.page(&filter, limit).map_err(unreadable)?;
        Ok(Json(Page { items: entries, next: next.map(|next| next.to_string()) }))
    })
    .await
}
