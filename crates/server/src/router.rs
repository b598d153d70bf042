//! All routes, with what surrounds them.

use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use tower_http::compression::CompressionLayer;
use utoipa::openapi::OpenApi as Document;
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::guard::{Guard, guard};
use crate::openapi;
use crate::page;
use crate::problem::{Problem, ProblemKind};
use crate::routes::{api, health, sign_in};

/// The service of a server.
pub(crate) fn router(app: &App) -> Router {
    let base = app.settings.base_path.trim_end_matches('/');
    let (routes, document) = documented(app.content.version, base);
    let routes = routes
        .route("/openapi.json", get(move || std::future::ready(Json(document.clone()))))
        .route("/api/docs", get(openapi::page))
        .merge(sign_in::page())
        .fallback(page::serve)
        .method_not_allowed_fallback(method_not_allowed);
    let routes = if base.is_empty() { routes } else { Router::new().nest(base, routes).fallback(not_found) };
    routes
        .layer(DefaultBodyLimit::max(app.settings.body_bytes))
        .layer(from_fn_with_state(Guard::new(app.clone()), guard))
        .layer(CompressionLayer::new())
        .with_state(app.clone())
}

/// The routes of the API, and the document that describes them.
pub(crate) fn documented(version: &str, base_path: &str) -> (Router<App>, Document) {
    let (routes, document) = OpenApiRouter::with_openapi(openapi::base(version, base_path))
        .nest("/api/v1", api())
        .merge(health::routes())
        .split_for_parts();
    (routes, openapi::finish(document))
}

async fn not_found() -> Problem {
    Problem::not_found("Nothing is served at this path.")
}

async fn method_not_allowed() -> Response {
    Problem::new(ProblemKind::MethodNotAllowed, "This path does not support the method.").into_response()
}
