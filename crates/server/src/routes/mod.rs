//! The endpoints, a file for each resource.

pub(crate) mod approvals;
mod diff;
mod documents;
mod edit;
pub(crate) mod eval;
mod events;
pub(crate) mod health;
mod me;
pub(crate) mod overview;
mod read;
pub(crate) mod runs;
mod secrets;
mod sessions;
mod settings;
pub(crate) mod sign_in;
mod versions;
mod webhooks;
pub(crate) mod workflows;

use utoipa_axum::router::OpenApiRouter;

use crate::app::App;

/// Everything below `/api/v1`.
pub(crate) fn api() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(me::routes())
        .merge(overview::routes())
        .merge(read::routes())
        .merge(events::routes())
        .merge(workflows::routes())
        .merge(documents::routes())
        .merge(edit::routes())
        .merge(diff::routes())
        .merge(runs::routes())
        .merge(approvals::routes())
        .merge(eval::routes())
        .merge(sessions::routes())
        .merge(settings::routes())
        .merge(webhooks::routes())
        .merge(secrets::routes())
        .merge(sign_in::api())
}
