//! Who sends a request, and what they may do. Every endpoint calls [`authorize`].

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::problem::{Problem, ProblemKind};

/// What a caller is allowed to do, each role with all rights of those before it, except that approvers cannot operate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// Everything.
    Admin,
}

/// The person or program that sends a request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The user name.
    pub(crate) user: String,
    /// The roles.
    pub(crate) roles: Vec<Role>,
    /// Whether the caller is the local user, who needs no credentials.
    pub(crate) is_local: bool,
}

/// What an endpoint does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Read workflows, runs, sessions and approvals.
    Read,
    /// Check, format and evaluate what the request contains. Nothing is stored.
    Try,
    /// Save workflows.
    Edit,
    /// Start, cancel, resume, retry, fork and signal runs; report to sessions.
    Operate,
    /// Vote.
    Approve,
    /// Read and change settings.
    Administer,
}

impl Action {
    /// All actions with their names in `can` of `/me`.
    pub(crate) const ALL: [(Self, &'static str); 6] = [
        (Self::Read, "read"),
        (Self::Try, "try"),
        (Self::Edit, "edit"),
        (Self::Operate, "operate"),
        (Self::Approve, "approve"),
        (Self::Administer, "administer"),
    ];
}

/// What an action concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource<'a> {
    /// The server, or all workflows.
    Server,
    /// A workflow with its runs, sessions and approvals, by name.
    Workflow(&'a str),
}

/// Whether a caller may do something. The only place that decides it.
pub(crate) fn authorize(caller: &Caller, action: Action, resource: Resource<'_>) -> Result<(), Problem> {
    let is_allowed = match (action, resource) {
        (_, Resource::Server | Resource::Workflow(_)) => caller.roles.contains(&Role::Admin),
    };
    if is_allowed {
        return Ok(());
    }
    Err(Problem::new(ProblemKind::Forbidden, format!("{} may not do this.", caller.user)))
}

impl Caller {
    /// Fails unless the caller may do something with a workflow.
    pub(crate) fn may(&self, action: Action, workflow: &str) -> Result<(), Problem> {
        authorize(self, action, Resource::Workflow(workflow))
    }

    /// Fails unless the caller may do something with at least one workflow.
    pub(crate) fn may_on_some(&self, action: Action) -> Result<(), Problem> {
        authorize(self, action, Resource::Server)
    }

    /// Fails unless the caller may do something with the server as a whole.
    pub(crate) fn may_on_server(&self, action: Action) -> Result<(), Problem> {
        authorize(self, action, Resource::Server)
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Problem;

    /// The local user: the server listens on loopback only, and the guard rejects requests of web pages of other origins.
    async fn from_request_parts(_: &mut Parts, app: &App) -> Result<Self, Problem> {
        Ok(Self { user: app.host.user.clone(), roles: vec![Role::Admin], is_local: true })
    }
}
