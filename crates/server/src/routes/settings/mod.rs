//! Settings: people, credentials, model providers, the state of the store, and the log of changes.

mod audit;
mod providers;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use branchpoint_backend::{Health, KeyState};
use branchpoint_expr::Value;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{Access, Credential, CredentialKind, NewCredential, Pattern, Role};
use crate::app::App;
use crate::body::{Body, Path};
use crate::caller::{Action, Caller};
use crate::problem::{Problem, ProblemKind};
use crate::time::{now_ms, rfc3339};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(people))
        .routes(routes!(doctor))
        .routes(routes!(tokens, create_token))
        .routes(routes!(revoke_token))
        .routes(routes!(create_link))
        .routes(routes!(audit::list))
        .routes(routes!(providers::list))
        .routes(routes!(providers::check))
        .routes(routes!(providers::runner_check))
}

/// The possible approvers of workflows that name none, and the groups that approvals can name.
#[derive(Serialize, ToSchema)]
struct People {
    owner: Option<String>,
    admins: Vec<String>,
    members: Vec<String>,
    groups: Vec<Group>,
    /// The tokens and browsers of people. Only admins see them; null for others.
    credentials: Option<Vec<PersonCredential>>,
}

/// A group of people.
#[derive(Serialize, ToSchema)]
struct Group {
    name: String,
    members: Vec<String>,
}

/// What a person may do with a token or a browser.
#[derive(Serialize, ToSchema)]
struct PersonCredential {
    user: String,
    role: Role,
    /// Patterns of the workflows.
    workflows: Vec<String>,
    /// When it was last used, to about ten seconds; null if never.
    last_used: Option<String>,
}

/// Shows the possible approvers of workflows that name none, and the groups.
#[utoipa::path(get, path = "/settings/people", tag = "settings", operation_id = "get_people",
    responses((status = 200, description = "The people", body = People)))]
async fn people(State(app): State<App>, caller: Caller) -> Result<Json<People>, Problem> {
    caller.may_on_server(Action::Read)?;
    let account = &app.host.account;
    let names = |listed: Option<&Value>| -> Vec<String> {
        listed.and_then(Value::as_list).unwrap_or_default().iter().map(Value::to_string).collect()
    };
    let groups = account.get("groups").and_then(Value::as_object).into_iter().flatten();
    let groups = groups.map(|(name, members)| Group { name: name.to_string(), members: names(Some(members)) });
    let people = People {
        owner: account.get("owner").filter(|owner| **owner != Value::Null).map(Value::to_string),
        admins: names(account.get("admins")),
        members: names(account.get("members")),
        groups: groups.collect(),
        credentials: None,
    };
    if caller.may_on_server(Action::Administer).is_err() || app.host.access.is_none() {
        return Ok(Json(people));
    }
    let shared = app.clone();
    let credentials = app.compute(move || listed_credentials(&shared)).await?;
    let credentials = credentials.into_iter().filter(|credential| credential.kind != "link");
    let credentials = credentials.map(|CredentialRecord { user, role, workflows, last_used, .. }| PersonCredential {
        user,
        role,
        workflows,
        last_used,
    });
    Ok(Json(People { credentials: Some(credentials.collect()), ..people }))
}

/// Something that was checked.
#[derive(Serialize, ToSchema)]
struct Finding {
    name: &'static str,
    ok: bool,
    message: String,
}

/// The findings about the store.
#[derive(Serialize, ToSchema)]
struct Findings {
    items: Vec<Finding>,
}

/// A timer that is late by less than this is not overdue.
const TOLERANCE_MS: i64 = 60_000;

/// Less free space on the disk than this is too little.
const MIN_DISK_BYTES: u64 = 256 * 1024 * 1024;

/// Checks the store. It reads all of it.
#[utoipa::path(get, path = "/settings/doctor", tag = "settings", operation_id = "check_store",
    responses((status = 200, description = "The findings", body = Findings)))]
async fn doctor(State(app): State<App>, caller: Caller) -> Result<Json<Findings>, Problem> {
    caller.may_on_server(Action::Administer)?;
    app.call(|backend| {
        let health = backend.check(now_ms(), TOLERANCE_MS)?;
        let drivers = backend.drivers()?.len();
        let mut items = findings(&health);
        items.push(Finding {
            name: "processes",
            ok: backend.is_driving(),
            message: format!("Processes that drive runs: {drivers}."),
        });
        Ok(Json(Findings { items }))
    })
    .await
}

fn findings(health: &Health) -> Vec<Finding> {
    let store = if health.damage.is_empty() {
        format!("The store is intact: version {}, {} bytes.", health.version, health.file_bytes)
    } else {
        format!("The store is damaged: {}. Restore a backup.", health.damage.join("; "))
    };
    let (key_ok, key) = match &health.key {
        KeyState::None => (true, "There are no sealed secrets.".to_owned()),
        KeyState::Fits => (true, "The key opens the sealed secrets.".to_owned()),
        KeyState::Unusable(reason) => (false, format!("The key cannot be used: {reason}.")),
    };
    let disk = health.disk_bytes.map_or("The free space on the disk is unknown.".to_owned(), |bytes| {
        format!("{} MB are free on the disk.", bytes / 1_000_000)
    });
    let count = |name, count: u64, what: &str| Finding { name, ok: count == 0, message: format!("{what}: {count}.") };
    vec![
        Finding { name: "store", ok: health.damage.is_empty(), message: store },
        Finding { name: "key", ok: key_ok, message: key },
        count("permissions", health.open_files.len() as u64, "Files of the store that other users can read"),
        Finding { name: "disk", ok: health.disk_bytes.is_none_or(|bytes| bytes >= MIN_DISK_BYTES), message: disk },
        count("clock", health.future_runs, "Runs with events dated in the future"),
        count("timers", health.overdue, "Overdue timers"),
        count("runs", health.abandoned, "Abandoned runs"),
    ]
}

/// A credential without its secret.
#[derive(Serialize, ToSchema)]
struct CredentialRecord {
    id: String,
    /// `token`, `link` or `browser`.
    kind: &'static str,
    user: String,
    role: Role,
    /// Patterns of the workflows that it is for.
    workflows: Vec<String>,
    created: String,
    expires: Option<String>,
    /// When it was last used, to about ten seconds; null if never.
    last_used: Option<String>,
}

impl From<Credential> for CredentialRecord {
    fn from(credential: Credential) -> Self {
        Self {
            id: credential.id,
            kind: match credential.kind {
                CredentialKind::Token => "token",
                CredentialKind::Link => "link",
                CredentialKind::Browser => "browser",
            },
            user: credential.user,
            role: credential.role,
            workflows: credential.workflows.iter().map(ToString::to_string).collect(),
            created: rfc3339(credential.created_ms),
            expires: credential.expires_ms.map(rfc3339),
            last_used: None,
        }
    }
}

fn access(app: &App) -> Result<&Access, Problem> {
    let missing = || Problem::new(ProblemKind::Conflict, "This server stores no credentials.");
    app.host.access.as_ref().ok_or_else(missing)
}

/// Lists the credentials that have not expired.
#[utoipa::path(get, path = "/settings/tokens", tag = "settings", operation_id = "list_tokens",
    responses((status = 200, description = "The credentials", body = Vec<CredentialRecord>)))]
async fn tokens(State(app): State<App>, caller: Caller) -> Result<Json<Vec<CredentialRecord>>, Problem> {
    caller.may_on_server(Action::Administer)?;
    let shared = app.clone();
    app.compute(move || Ok(Json(listed_credentials(&shared)?))).await
}

/// The credentials that have not expired, with their latest use. Blocks.
fn listed_credentials(app: &App) -> Result<Vec<CredentialRecord>, Problem> {
    let access = access(app)?;
    let (listed, used_ms) = (access.list(now_ms())?, access.last_used_ms());
    let record = |credential: Credential| {
        let last_used = used_ms.get(&credential.id).copied().map(rfc3339);
        CredentialRecord { last_used, ..credential.into() }
    };
    Ok(listed.into_iter().map(record).collect())
}

/// A token to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TokenRequest {
    /// The user who acts with the token.
    user: String,
    role: Role,
    /// Patterns of the workflows that it is for; all if absent.
    #[serde(default)]
    workflows: Vec<String>,
    /// The days until it expires; never if absent.
    #[serde(default)]
    expires_days: Option<u32>,
}

/// A new token.
#[derive(Serialize, ToSchema)]
struct NewToken {
    /// The token. It is shown once.
    token: String,
    #[serde(flatten)]
    credential: CredentialRecord,
}

/// The maximum number of patterns of workflows of a credential.
const MAX_PATTERNS: usize = 50;

/// The user and the workflows of a credential to create.
fn owner(user: &str, workflows: &[String]) -> Result<(String, Vec<Pattern>), Problem> {
    let user = user.trim().to_owned();
    if user.is_empty() || user.len() > 200 || user.chars().any(char::is_control) {
        return Err(Problem::invalid_input("A user has 1 to 200 characters that are not control characters."));
    }
    if workflows.len() > MAX_PATTERNS {
        return Err(Problem::invalid_input(format!("A credential is for at most {MAX_PATTERNS} patterns.")));
    }
    let patterns = workflows.iter().map(|pattern| pattern.parse()).collect::<Result<Vec<Pattern>, _>>();
    let mut workflows = patterns.map_err(|error| Problem::invalid_input(format!("Rejected: {error}.")))?;
    if workflows.is_empty() {
        workflows.push(Pattern::all());
    }
    Ok((user, workflows))
}

/// Creates a token. Its text is in the response and stored nowhere.
#[utoipa::path(post, path = "/settings/tokens", tag = "settings", operation_id = "create_token", request_body = TokenRequest,
    responses((status = 201, description = "The token", body = NewToken)))]
async fn create_token(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<TokenRequest>,
) -> Result<(StatusCode, Json<NewToken>), Problem> {
    caller.may_on_server(Action::Administer)?;
    let (user, workflows) = owner(&request.user, &request.workflows)?;
    let shared = app.clone();
    app.compute(move || {
        let now_ms = now_ms();
        let expires_ms = request.expires_days.map(|days| now_ms.saturating_add(i64::from(days) * 86_400_000));
        let (kind, role) = (CredentialKind::Token, request.role);
        let new = NewCredential { kind, user, role, workflows, expires_ms, issued_by: None };
        let (credential, token) = access(&shared)?.create(new, now_ms)?;
        Ok((StatusCode::CREATED, Json(NewToken { token, credential: credential.into() })))
    })
    .await
}

/// A sign-in link to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LinkRequest {
    /// The user who signs in with the link.
    user: String,
    role: Role,
    /// Patterns of the workflows that it is for; all if absent.
    #[serde(default)]
    workflows: Vec<String>,
    /// The minutes until it expires.
    #[serde(default = "link_minutes")]
    #[schema(minimum = 1, maximum = 1440)]
    expires_minutes: u32,
}

fn link_minutes() -> u32 {
    10
}

/// A new sign-in link.
#[derive(Serialize, ToSchema)]
struct NewLink {
    /// The path of the link below the address of the server. It is shown once.
    path: String,
    #[serde(flatten)]
    credential: CredentialRecord,
}

/// Creates a link that signs one browser in, once.
#[utoipa::path(post, path = "/settings/links", tag = "settings", operation_id = "create_link", request_body = LinkRequest,
    responses((status = 201, description = "The link", body = NewLink)))]
async fn create_link(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<LinkRequest>,
) -> Result<(StatusCode, Json<NewLink>), Problem> {
    caller.may_on_server(Action::Administer)?;
    let (user, workflows) = owner(&request.user, &request.workflows)?;
    if !(1..=1440).contains(&request.expires_minutes) {
        return Err(Problem::invalid_input("A sign-in link expires after 1 to 1440 minutes."));
    }
    let shared = app.clone();
    app.compute(move || {
        let (kind, role, now_ms) = (CredentialKind::Link, request.role, now_ms());
        let expires_ms = Some(now_ms.saturating_add(i64::from(request.expires_minutes) * 60_000));
        let new = NewCredential { kind, user, role, workflows, expires_ms, issued_by: None };
        let (credential, code) = access(&shared)?.create(new, now_ms)?;
        let path = format!("{}/sign-in?code={code}", shared.settings.base_path);
        Ok((StatusCode::CREATED, Json(NewLink { path, credential: credential.into() })))
    })
    .await
}

/// Revokes a token, a link or the sign-in of a browser, and ends its event streams.
#[utoipa::path(delete, path = "/settings/tokens/{credential}", tag = "settings", operation_id = "revoke_token",
    params(("credential" = String, Path, description = "The id of the credential")),
    responses((status = 204, description = "The credential is revoked")))]
async fn revoke_token(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    caller.may_on_server(Action::Administer)?;
    let (shared, revoked) = (app.clone(), id.clone());
    app.compute(move || Ok(access(&shared)?.revoke(&revoked, now_ms())?)).await?;
    app.live.disconnect(|caller| caller.credential.as_deref() == Some(&id));
    Ok(StatusCode::NO_CONTENT)
}
