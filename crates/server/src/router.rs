//! All routes, with what surrounds them.

use axum::extract::DefaultBodyLimit;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use axum::{Json, Router};
use tower_http::compression::CompressionLayer;
use utoipa::openapi::OpenApi as Document;
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::guard::{Guard, guard};
use crate::openapi;
use crate::page;
use crate::parameters::{QueryParameters, reject_unknown};
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
    let routes = if base.is_empty() { routes } else { below(base, routes, get(page::serve_root)).fallback(not_found) };
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
    let known = QueryParameters::of(&document);
    (routes.route_layer(from_fn_with_state(known, reject_unknown)), openapi::finish(document))
}

/// Routes below a path. A nested router does not match the path with a slash at its end, so its root has a route of its own.
fn below<S: Clone + Send + Sync + 'static>(base: &str, routes: Router<S>, root: MethodRouter<S>) -> Router<S> {
    Router::new().nest(base, routes).route(&format!("{base}/"), root)
}

async fn not_found() -> Problem {
    Problem::not_found("There is no endpoint at this path. `/openapi.json` lists all endpoints.")
}

async fn method_not_allowed(method: Method) -> Response {
    let detail = format!("This path does not support {method}. The header `Allow` lists its methods.");
    Problem::new(ProblemKind::MethodNotAllowed, detail).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::extract::Request;
    use tower::ServiceExt as _;

    use super::*;

    #[test]
    fn words_in_the_place_of_the_id_of_a_run_are_reserved() {
        let (_, document) = documented("0.0.0", "");
        let words =
            document.paths.paths.keys().filter_map(|path| path.strip_prefix("/api/v1/runs/")?.split('/').next());
        let words: Vec<&str> = words.filter(|word| !word.starts_with('{')).collect();
        assert!(words.contains(&"bulk"), "{words:?}");
        assert!(words.iter().all(|word| branchpoint_backend::RESERVED_RUN_IDS.contains(word)), "{words:?}");
    }

    #[tokio::test]
    async fn the_root_below_a_base_path_is_found_with_and_without_a_slash() {
        let inner = Router::new().route("/api", get(|| async { "api" })).fallback(|| async { "page" });
        let routes = below::<()>("/flows", inner, get(|| async { "root" })).fallback(|| async { "missing" });
        for (path, expect) in [
            ("/flows", "page"),
            ("/flows/", "root"),
            ("/flows/runs", "page"),
            ("/flows/api", "api"),
            ("/runs", "missing"),
        ] {
            let request = Request::builder().uri(path).body(Body::empty()).unwrap();
            let response = routes.clone().oneshot(request).await.unwrap();
            let body = axum::body::to_bytes(response.into_body(), 100).await.unwrap();
            assert_eq!(String::from_utf8_lossy(&body), expect, "{path}");
        }
    }
}
