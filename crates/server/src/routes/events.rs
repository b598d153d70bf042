//! The stream of live events, and its topics.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body as HttpBody, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::body::{Body, Path, Query};
use crate::caller::{Action, Caller};
use crate::live::{OpenStream, Topic, check_count};
use crate::problem::Problem;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(events)).routes(routes!(topics))
}

/// How often a silent stream shows that it is alive.
const PING_INTERVAL: Duration = Duration::from_secs(15);

/// What a client follows.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct EventsRequest {
    /// Topics separated by commas: `runs`, `approvals`, `overview`, `workflows`, `sessions`, `run:ID`, `session:DOCUMENT/ID`.
    #[serde(default)]
    topics: String,
}

/// Streams events as `text/event-stream`. The first event, `hello`, has the id of the client for changes of its topics. A client that
/// reconnects with `Last-Event-ID` gets the events that it missed, or `reset` for a topic that it must load again.
#[utoipa::path(get, path = "/events", tag = "events", operation_id = "stream_events",
    params(EventsRequest, ("last-event-id" = Option<String>, Header, description = "The id of the last event received")),
    responses((status = 200, description = "The events", body = String, content_type = "text/event-stream")))]
async fn events(
    State(app): State<App>,
    caller: Caller,
    Query(request): Query<EventsRequest>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let names = request.topics.split(',').map(str::trim).filter(|name| !name.is_empty());
    let topics: BTreeSet<Topic> = names.map(Topic::parse).collect::<Result<_, _>>()?;
    check_count(topics.len())?;
    caller.may_on_some(Action::Read)?;
    may_follow(&app, &caller, topics.iter().cloned().collect()).await?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let OpenStream { receiver, first, client } = app.live.open(&app, caller, &topics, last.as_deref())?;
    app.live.wake();
    let state = (first.into_iter(), receiver, client);
    let stream = stream::unfold(state, |(mut first, mut receiver, client)| async move {
        let text = match first.next() {
            Some(text) => Bytes::copy_from_slice(text.as_bytes()),
            None => match tokio::time::timeout(PING_INTERVAL, receiver.recv()).await {
                Ok(Some(text)) => Bytes::copy_from_slice(text.as_bytes()),
                Ok(None) => return None,
                Err(_) => Bytes::from_static(b": ping\n\n"),
            },
        };
        Some((Ok::<_, Infallible>(text), (first, receiver, client)))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    Ok((headers, HttpBody::from_stream(stream)).into_response())
}

/// Fails unless the caller may read the runs among these topics.
async fn may_follow(app: &App, caller: &Caller, topics: Vec<Topic>) -> Result<(), Problem> {
    let is_of_one = |topic: &Topic| matches!(topic, Topic::Run(_) | Topic::Session(_));
    if !topics.iter().any(is_of_one) {
        return Ok(());
    }
    let (shared, caller) = (app.clone(), caller.clone());
    app.call(move |backend| {
        for topic in &topics {
            match topic {
                // A run that does not exist yet may be started in a moment.
                Topic::Run(id) => {
                    if let Some(run) = backend.run(id)? {
                        caller.may(Action::Read, &shared.version(backend, run.workflow)?.name)?;
                    }
                }
                Topic::Session(name) => caller.may(Action::Read, name.split('/').next().unwrap_or_default())?,
                _ => {}
            }
        }
        Ok(())
    })
    .await
}

/// Changes of the topics of a client.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct TopicsRequest {
    /// Topics to follow.
    #[schema(value_type = Vec<TopicName>)]
    add: Vec<String>,
    /// Topics to leave.
    #[schema(value_type = Vec<TopicName>)]
    remove: Vec<String>,
}

/// The name of a topic: `runs`, `approvals`, `overview`, `workflows`, `sessions`, `run:ID` or `session:DOCUMENT/ID`.
#[derive(ToSchema)]
#[schema(pattern = "^(runs|approvals|overview|workflows|sessions|(run|session):[!-~]{1,600})$")]
#[expect(dead_code, reason = "it only describes the names in the OpenAPI document")]
struct TopicName(String);

/// Changes the topics of an event stream.
#[utoipa::path(post, path = "/events/{client}/topics", tag = "events", operation_id = "change_topics",
    params(("client" = String, Path, description = "The id of the client, from `hello`")), request_body = TopicsRequest,
    responses((status = 204, description = "The topics are changed")))]
async fn topics(
    State(app): State<App>,
    caller: Caller,
    Path(client): Path<String>,
    Body(request): Body<TopicsRequest>,
) -> Result<StatusCode, Problem> {
    caller.may_on_some(Action::Read)?;
    check_count(request.add.len())?;
    check_count(request.remove.len())?;
    let parse = |names: &[String]| names.iter().map(|name| Topic::parse(name)).collect::<Result<Vec<_>, _>>();
    let (add, remove) = (parse(&request.add)?, parse(&request.remove)?);
    may_follow(&app, &caller, add.clone()).await?;
    app.live.change(&client, &caller, add, &remove)?;
    app.live.wake();
    Ok(StatusCode::NO_CONTENT)
}
