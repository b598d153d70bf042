//! Settings: the webhooks, their latest deliveries, and tests of them.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use branchpoint_backend::{Backend, Delivery, NewDelivery};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::body::Path;
use crate::caller::{Action, Caller};
use crate::problem::Problem;
use crate::time::{now_ms, rfc3339};
use crate::webhooks::Webhook;

/// The number of deliveries in the record of a webhook.
const SHOWN: u32 = 20;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(test))
}

/// A webhook with its latest deliveries.
#[derive(Serialize, ToSchema)]
#[schema(as = Webhook)]
struct WebhookRecord {
    name: String,
    /// The scheme and the host of its address; null if the address is a secret. Paths and queries are never shown.
    host: Option<String>,
    /// The patterns of its events, such as `run.*`.
    events: Vec<String>,
    /// The pattern of its workflows.
    workflow: String,
    /// `json` or `slack`.
    format: &'static str,
    /// Whether its messages are signed.
    signed: bool,
    /// The latest deliveries, newest first.
    deliveries: Vec<DeliveryRecord>,
}

/// A delivery to a webhook.
#[derive(Serialize, ToSchema)]
#[schema(as = Delivery)]
struct DeliveryRecord {
    /// The id that the receiver gets as `Branchpoint-Id`, the same in every attempt.
    id: String,
    /// The event, such as `run.failed`.
    event: String,
    /// The id of the run; null for a test.
    run: Option<String>,
    /// `pending`, `delivered`, `failed`, or `skipped` if it was not necessary any more.
    status: &'static str,
    /// The number of attempts.
    attempts: u32,
    /// What came of the last attempt, such as the status of the response.
    response: Option<String>,
    created: String,
    /// When the last attempt ended.
    last_attempt: Option<String>,
    /// When the next attempt is due.
    next_attempt: Option<String>,
}

impl From<Delivery> for DeliveryRecord {
    fn from(delivery: Delivery) -> Self {
        Self {
            id: delivery.id,
            event: delivery.notice.event,
            run: delivery.notice.run,
            status: delivery.status.as_str(),
            attempts: delivery.attempts,
            response: delivery.response,
            created: rfc3339(delivery.created_ms),
            last_attempt: delivery.last_ms.map(rfc3339),
            next_attempt: delivery.due_ms.map(rfc3339),
        }
    }
}

/// Lists the webhooks of `branchpoint.toml` with their latest deliveries.
#[utoipa::path(get, path = "/settings/webhooks", tag = "settings", operation_id = "list_webhooks",
    responses((status = 200, description = "The webhooks", body = Vec<WebhookRecord>)))]
async fn list(State(app): State<App>, caller: Caller) -> Result<Json<Vec<WebhookRecord>>, Problem> {
    caller.may_on_server(Action::Administer)?;
    let shared = app.clone();
    app.call(move |backend| {
        let webhooks = shared.host.webhooks.configured.iter();
        Ok(Json(webhooks.map(|webhook| record(backend, webhook)).collect::<Result<_, _>>()?))
    })
    .await
}

fn record(backend: &dyn Backend, webhook: &Webhook) -> Result<WebhookRecord, Problem> {
    let deliveries = backend.deliveries(&Webhook::target_of(&webhook.name), SHOWN)?;
    let Webhook { name, host, events, workflow, format, is_signed } = webhook.clone();
    let deliveries = deliveries.into_iter().map(DeliveryRecord::from).collect();
    Ok(WebhookRecord { name, host, events, workflow, format, signed: is_signed, deliveries })
}

/// Sends a message of the event `test` to a webhook. The response does not wait for the receiver: the delivery is in the list of webhooks.
#[utoipa::path(post, path = "/settings/webhooks/{name}/test", tag = "settings", operation_id = "test_webhook",
    params(("name" = String, Path, description = "The name of the webhook")),
    responses((status = 202, description = "The message is stored", body = DeliveryRecord)))]
async fn test(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<(StatusCode, Json<DeliveryRecord>), Problem> {
    caller.may_on_server(Action::Administer)?;
    let shared = app.clone();
    app.call(move |backend| {
        let webhooks = &shared.host.webhooks;
        let known = webhooks.configured.iter().find(|webhook| webhook.name == name);
        let webhook = known.ok_or_else(|| Problem::not_found(format!("There is no webhook `{name}`.")))?;
        let target = Webhook::target_of(&name);
        let now_ms = now_ms();
        let body = match webhook.format {
            "slack" => serde_json::json!({"text": "A test of Branchpoint"}),
            _ => serde_json::json!({"type": "test", "timestamp": rfc3339(now_ms), "data": {"webhook": name}}),
        };
        let notice = NewDelivery {
            target: target.clone(),
            user: None,
            event: "test".into(),
            run: None,
            request: None,
            body: Some(body.to_string()),
        };
        let id = backend.add_delivery(&notice, now_ms)?;
        (webhooks.wake)();
        let stored = backend.deliveries(&target, SHOWN)?.into_iter().find(|delivery| delivery.id == id);
        let stored = stored.ok_or_else(|| Problem::not_found("The delivery was removed."))?;
        Ok((StatusCode::ACCEPTED, Json(stored.into())))
    })
    .await
}
