//! The endpoints, a file for each resource.

pub(crate) mod health;
mod me;

use utoipa_axum::router::OpenApiRouter;

use crate::app::App;

/// Everything below `/api/v1`.
pub(crate) fn api() -> OpenApiRouter<App> {
    OpenApiRouter::new().merge(me::routes())
}
