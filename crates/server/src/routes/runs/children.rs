//! The runs that a run called.

use axum::Json;
use axum::extract::State;

use super::readable;
use super::record::{RunReader, RunRecord};
use crate::app::App;
use crate::body::{Path, Query};
use crate::caller::Caller;
use crate::list::{Page, PageRequest};
use crate::problem::Problem;

/// Lists the runs that a run called, in the order of their starts.
#[utoipa::path(get, path = "/runs/{run}/children", tag = "runs", operation_id = "list_child_runs",
    params(("run" = String, Path, description = "The id of the run"), PageRequest),
    responses((status = 200, description = "The runs", body = Page<RunRecord>)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Path(run): Path<String>,
    Query(page): Query<PageRequest>,
) -> Result<Json<Page<RunRecord>>, Problem> {
    page.limit()?;
    let shared = app.clone();
    app.call(move |backend| {
        let (row, _) = readable(&shared, backend, &caller, &run)?;
        let page = page.page(backend.children(row.run)?)?;
        let reader = RunReader::new(&shared, backend)?;
        let items = page.items.iter().map(|child| reader.record(child)).collect::<Result<_, _>>()?;
        Ok(Json(Page { items, next: page.next }))
    })
    .await
}
