//! Settings: named secrets. They can be set and removed, and never read.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use branchpoint_backend::{MAX_SECRET_BYTES, MAX_SECRET_NAME, NamedSecret, NewSecret, is_secret_name};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Pattern;
use crate::app::App;
use crate::body::{Body, Path};
use crate::caller::{Action, Caller};
use crate::problem::{Problem, ProblemKind};
use crate::time::{now_ms, rfc3339};

/// The most patterns of workflows of a secret.
const MAX_PATTERNS: usize = 50;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(set, remove))
}

/// A named secret without its value.
#[derive(Serialize, ToSchema)]
#[schema(as = NamedSecret)]
struct SecretRecord {
    name: String,
    /// Patterns of the workflows that may use it although their documents were saved over the API.
    workflows: Vec<String>,
    /// The user who has set it.
    set_by: String,
    set: String,
    /// Whether the environment or the secrets file of the server has a secret of this name, which is used instead.
    hidden: bool,
}

impl SecretRecord {
    fn new(app: &App, secret: NamedSecret) -> Self {
        let hidden = (app.host.has_own_secret)(&secret.name);
        let NamedSecret { name, workflows, set_by, set_ms } = secret;
        Self { name, workflows, set_by, set: rfc3339(set_ms), hidden }
    }
}

/// Lists the named secrets of the store. Their values cannot be read.
#[utoipa::path(get, path = "/settings/secrets", tag = "settings", operation_id = "list_secrets",
    responses((status = 200, description = "The secrets", body = Vec<SecretRecord>)))]
async fn list(State(app): State<App>, caller: Caller) -> Result<Json<Vec<SecretRecord>>, Problem> {
    caller.may_on_server(Action::Administer)?;
    let shared = app.clone();
    app.call(move |backend| {
        let secrets = backend.named_secrets()?.into_iter();
        Ok(Json(secrets.map(|secret| SecretRecord::new(&shared, secret)).collect()))
    })
    .await
}

/// A secret to store. The handler reads it by hand, so that no message about a wrong body repeats a part of it.
#[derive(ToSchema)]
#[schema(as = SecretRequest)]
#[expect(dead_code, reason = "it describes the body in the OpenAPI document")]
struct SecretRequest {
    /// The value, 1 to 65,536 bytes.
    value: String,
    /// Patterns of the workflows that may use it although their documents were saved over the API; none if absent.
    workflows: Option<Vec<String>>,
}

/// Stores a named secret, or replaces it. The value is sealed at rest and cannot be read again.
#[utoipa::path(put, path = "/settings/secrets/{name}", tag = "settings", operation_id = "set_secret",
    params(("name" = String, Path, description = "The name, such as `DEPLOY_TOKEN`")),
    request_body = SecretRequest,
    responses((status = 200, description = "The secret is stored", body = SecretRecord)))]
async fn set(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Body(request): Body<Value>,
) -> Result<Json<SecretRecord>, Problem> {
    caller.may_on_server(Action::Administer)?;
    if !is_secret_name(&name) {
        let detail = format!(
            "The name of a secret must be 1 to {MAX_SECRET_NAME} letters, digits and `_`, and must not begin with a digit."
        );
        return Err(Problem::invalid_input(detail));
    }
    if (app.host.has_own_secret)(&name) {
        let detail = format!(
            "The environment or the secrets file of the server has a secret `{name}`, which would be used instead. Choose another name."
        );
        return Err(Problem::new(ProblemKind::Conflict, detail));
    }
    let (value, workflows) = parse(request)?;
    let shared = app.clone();
    app.call(move |backend| {
        let now_ms = now_ms();
        let secret = NewSecret { name, value, workflows, set_by: caller.user };
        backend.set_secret(&secret, now_ms)?;
        let NewSecret { name, workflows, set_by, .. } = secret;
        Ok(Json(SecretRecord::new(&shared, NamedSecret { name, workflows, set_by, set_ms: now_ms })))
    })
    .await
}

/// The value and the patterns of a request.
fn parse(request: Value) -> Result<(String, Vec<String>), Problem> {
    let invalid = |detail: &str| Problem::invalid_input(detail);
    let Value::Object(mut fields) = request else { return Err(invalid("The body must be an object with `value`.")) };
    let value = match fields.remove("value") {
        Some(Value::String(value)) if (1..=MAX_SECRET_BYTES).contains(&value.len()) && !value.contains('\0') => value,
        _ => return Err(invalid("`value` must be text of 1 to 65,536 bytes without NUL.")),
    };
    let patterns = match fields.remove("workflows") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(patterns)) if patterns.len() <= MAX_PATTERNS => patterns,
        Some(_) => return Err(invalid("`workflows` must be a list of at most 50 patterns.")),
    };
    if !fields.is_empty() {
        return Err(invalid("The body has unknown fields. It has `value` and `workflows`."));
    }
    let pattern = |pattern: Value| match pattern {
        Value::String(pattern) => pattern.parse::<Pattern>().ok().map(|pattern| pattern.to_string()),
        _ => None,
    };
    let patterns = patterns.into_iter().map(pattern).collect::<Option<Vec<String>>>();
    let patterns =
        patterns.ok_or_else(|| invalid("A pattern of workflows is text of 1 to 200 bytes, such as `support-*`."))?;
    Ok((value, patterns))
}

/// Removes a named secret. Calls that need it fail from now on.
#[utoipa::path(delete, path = "/settings/secrets/{name}", tag = "settings", operation_id = "remove_secret",
    params(("name" = String, Path, description = "The name")),
    responses((status = 204, description = "The secret is removed")))]
async fn remove(State(app): State<App>, caller: Caller, Path(name): Path<String>) -> Result<StatusCode, Problem> {
    caller.may_on_server(Action::Administer)?;
    app.call(move |backend| {
        let missing = || Problem::not_found("There is no such secret.");
        backend.remove_secret(&name)?.then_some(StatusCode::NO_CONTENT).ok_or_else(missing)
    })
    .await
}
