//! Whether the server works, and its counters.

use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::caller::{Action, Caller};
use crate::problem::{Problem, ProblemKind};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz)).routes(routes!(metrics))
}

/// Whether the process responds.
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, description = "It responds", body = String)))]
async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether the server accepts work: its storage responds and it drives runs.
#[utoipa::path(get, path = "/readyz", tag = "health", responses((status = 200, description = "It is ready", body = String)))]
async fn readyz(State(app): State<App>) -> Result<&'static str, Problem> {
    if app.is_stopping.load(Ordering::Relaxed) {
        return Err(Problem::new(ProblemKind::Unavailable, "The server is shutting down."));
    }
    app.call(|backend| {
        backend.version()?;
        if backend.is_driving() {
            return Ok("ready\n");
        }
        Err(Problem::new(ProblemKind::Unavailable, "The server has stopped driving runs."))
    })
    .await
}

/// Counters in the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "health", responses((status = 200, description = "The counters", body = String)))]
async fn metrics(State(app): State<App>, caller: Caller) -> Result<impl IntoResponse, Problem> {
    caller.may_on_server(Action::Read)?;
    let metrics = app.clone();
    let text = app.call(move |backend| metrics.metrics.render(backend)).await?;
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text))
}
