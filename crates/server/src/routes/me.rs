//! The caller, the server, and pages about diagnostics.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use branchpoint_backend::READ_VERSION;
use branchpoint_expr::Value;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Role;
use crate::app::App;
use crate::body::Path;
use crate::caller::{Action, Caller, Resource, authorize};
use crate::problem::Problem;
use crate::time::{now_ms, rfc3339};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(me)).routes(routes!(page))
}

/// The caller and the server.
#[derive(Serialize, ToSchema)]
struct Me {
    /// The user name.
    user: String,
    role: Role,
    /// The role, as a list.
    roles: Vec<Role>,
    /// The groups of the user.
    groups: Vec<String>,
    /// What the user may do with at least one workflow, by action.
    can: BTreeMap<&'static str, bool>,
    /// Whether the user needs no credentials because the request comes from this machine.
    local: bool,
    server: ServerFacts,
}

#[derive(Serialize, ToSchema)]
struct ServerFacts {
    version: &'static str,
    /// Changes with every build of the program.
    build: &'static str,
    /// The time of the server, RFC 3339.
    now: String,
    /// What stores and drives the runs.
    host: &'static str,
    /// The version of the requests to `/read`.
    reads: u32,
}

/// Shows the caller and the server.
#[utoipa::path(get, path = "/me", tag = "general", responses((status = 200, description = "The caller and the server", body = Me)))]
async fn me(State(app): State<App>, caller: Caller) -> Json<Me> {
    let can = Action::ALL.map(|(action, name)| (name, authorize(&caller, action, Resource::Some).is_ok()));
    let version = app.content.version;
    let groups = groups_of(&app.host.account, &caller.user);
    Json(Me {
        user: caller.user,
        role: caller.role,
        roles: vec![caller.role],
        groups,
        can: can.into_iter().collect(),
        local: caller.credential.is_none(),
        server: ServerFacts { version, build: version, now: rfc3339(now_ms()), host: "sqlite", reads: READ_VERSION },
    })
}

/// The groups of the operator's settings with this member.
fn groups_of(account: &Value, user: &str) -> Vec<String> {
    let groups = account.get("groups").and_then(Value::as_object).into_iter().flatten();
    let has_user =
        |members: &Value| members.as_list().is_some_and(|list| list.iter().any(|name| name.as_str() == Some(user)));
    groups.filter(|(_, members)| has_user(members)).map(|(name, _)| name.to_string()).collect()
}

/// The page about a kind of diagnostic.
#[derive(Serialize, ToSchema)]
struct DocPage {
    kind: String,
    title: String,
    markdown: String,
}

/// Shows the page about a kind of diagnostic.
#[utoipa::path(get, path = "/docs/{kind}", tag = "general", params(("kind" = String, Path, description = "The kind")),
    responses((status = 200, description = "The page", body = DocPage)))]
async fn page(State(app): State<App>, caller: Caller, Path(kind): Path<String>) -> Result<Json<DocPage>, Problem> {
    caller.may_on_some(Action::Try)?;
    let markdown = app.content.page.and_then(|page| page(&kind));
    let markdown = markdown.ok_or_else(|| Problem::not_found(format!("There is no page about `{kind}`.")))?;
    let title = markdown.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(&kind).to_owned();
    Ok(Json(DocPage { kind, title, markdown: markdown.to_owned() }))
}
