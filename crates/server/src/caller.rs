//! Who sends a request, and what they may do. Every endpoint calls [`authorize`].

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};

use crate::access::{Credential, CredentialKind, Pattern, Role};
use crate::app::App;
use crate::problem::{Problem, ProblemKind};
use crate::time::now_ms;

/// The person or program that sends a request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The user name.
    pub(crate) user: String,
    /// What the user may do.
    pub(crate) role: Role,
    /// The workflows for which the user has the role.
    workflows: Vec<Pattern>,
    /// The id of the credential; none for the local user, who needs none.
    pub(crate) credential: Option<String>,
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

    /// The roles that permit it.
    const fn roles(self) -> &'static [Role] {
        match self {
            Self::Read | Self::Try => &[Role::Viewer, Role::Operator, Role::Approver, Role::Editor, Role::Admin],
            Self::Operate => &[Role::Operator, Role::Editor, Role::Admin],
            Self::Approve => &[Role::Approver, Role::Editor, Role::Admin],
            Self::Edit => &[Role::Editor, Role::Admin],
            Self::Administer => &[Role::Admin],
        }
    }
}

/// What an action concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource<'a> {
    /// The server, or all workflows.
    Server,
    /// At least one workflow. The endpoint then selects those that the caller may use.
    Some,
    /// A workflow with its runs, sessions and approvals, by name.
    Workflow(&'a str),
}

/// Whether a caller may do something. The only place that decides it.
pub(crate) fn authorize(caller: &Caller, action: Action, resource: Resource<'_>) -> Result<(), Problem> {
    let roles = action.roles();
    let by_role = roles.contains(&caller.role);
    let by_workflow = match resource {
        Resource::Server => caller.workflows.iter().any(Pattern::is_all),
        Resource::Some => !caller.workflows.is_empty(),
        Resource::Workflow(name) => caller.workflows.iter().any(|pattern| pattern.matches(name)),
    };
    if by_role && by_workflow {
        return Ok(());
    }
    Err(Problem::new(ProblemKind::Forbidden, missing_right(caller, roles, by_role, resource)))
}

/// Why a caller may not do something: the roles that may, or the workflows that the caller's token or sign-in covers.
fn missing_right(caller: &Caller, roles: &[Role], by_role: bool, resource: Resource<'_>) -> String {
    let Caller { user, role, .. } = caller;
    if !by_role {
        let needed = roles.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let one_of = if roles.len() > 1 { "one of the roles" } else { "the role" };
        return format!("{user} has the role {role}, but this needs {one_of} {needed}.");
    }
    let covered = match resource {
        Resource::Workflow(name) => format!("workflow `{name}`"),
        Resource::Server => "all workflows".to_owned(),
        Resource::Some => "any workflow".to_owned(),
    };
    format!("The permissions of {user} (role: {role}) do not cover {covered}.")
}

impl Caller {
    /// The user of this machine, who may do everything.
    fn local(app: &App) -> Self {
        let (user, workflows) = (app.host.user.clone(), vec![Pattern::all()]);
        Self { user, role: Role::Admin, workflows, credential: None }
    }

    fn of(credential: Credential) -> Self {
        let Credential { id, user, role, workflows, .. } = credential;
        Self { user, role, workflows, credential: Some(id) }
    }

    /// The user of a link to an approval of a workflow. The link is checked, and its endpoints give access to this approval only.
    pub(crate) fn of_link(user: String, workflow: &str) -> Self {
        let workflows = vec![Pattern::exact(workflow)];
        Self { user, role: Role::Approver, workflows, credential: Some("link".into()) }
    }

    /// Fails unless the caller may do something with a workflow.
    pub(crate) fn may(&self, action: Action, workflow: &str) -> Result<(), Problem> {
        authorize(self, action, Resource::Workflow(workflow))
    }

    /// Fails unless the caller may do something with at least one workflow.
    pub(crate) fn may_on_some(&self, action: Action) -> Result<(), Problem> {
        authorize(self, action, Resource::Some)
    }

    /// Fails unless the caller may do something with the server as a whole.
    pub(crate) fn may_on_server(&self, action: Action) -> Result<(), Problem> {
        authorize(self, action, Resource::Server)
    }
}

/// The name of the cookie of a browser that has signed in.
pub(crate) const COOKIE: &str = "branchpoint";

/// The header that the page sends, and that a form of another site cannot send.
const PAGE_HEADER: &str = "x-branchpoint";

/// The caller of a request: the owner of its bearer token or of its cookie, else the local user where no credentials are required.
/// None if the request has no caller. Reads a small file.
pub(crate) fn identify(app: &App, method: &Method, headers: &HeaderMap) -> Result<Option<Caller>, Problem> {
    let invalid = |detail: &str| Problem::new(ProblemKind::Unauthenticated, detail);
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let token = value.to_str().ok().and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        let token = token.ok_or_else(|| invalid("`Authorization` must be `Bearer` with a token."))?;
        let credential = app.find_credential(token, CredentialKind::Token)?;
        let credential = credential.ok_or_else(|| {
            invalid("The token is unknown, revoked or expired. Create one with `branchpoint token create`.")
        })?;
        return Ok(Some(Caller::of(credential)));
    }
    if let Some(cookie) = cookie_of(headers)
        && let Some(found) = app.find_credential(cookie, CredentialKind::Browser)?
    {
        let is_safe = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        if !is_safe && !headers.contains_key(PAGE_HEADER) {
            let detail = format!("A request of a browser that changes something needs the header `{PAGE_HEADER}`.");
            return Err(Problem::new(ProblemKind::Forbidden, detail));
        }
        return Ok(Some(Caller::of(found)));
    }
    Ok((!app.settings.requires_sign_in).then(|| Caller::local(app)))
}

/// The credential in the cookie of a request.
pub(crate) fn cookie_of(headers: &HeaderMap) -> Option<&str> {
    cookie(headers, COOKIE)
}

/// The value of a cookie of a request.
pub(crate) fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.into_iter().find(|(found, _)| *found == name).map(|(_, value)| value)
}

impl App {
    fn find_credential(&self, text: &str, kind: CredentialKind) -> Result<Option<Credential>, Problem> {
        let Some(access) = &self.host.access else { return Ok(None) };
        Ok(access.find(text, kind, now_ms())?)
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Problem;

    /// The caller that the guard has identified.
    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        let missing = || Problem::new(ProblemKind::Unauthenticated, "Send a token with `Authorization: Bearer`.");
        parts.extensions.get::<Self>().cloned().ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(role: Role, action: Action, resource: Resource<'_>, expect: &str) {
        let workflows = vec!["support-*".parse().expect("a pattern")];
        let caller = Caller { user: "vi".to_owned(), role, workflows, credential: None };
        let problem = authorize(&caller, action, resource).expect_err("the caller may not");
        assert_eq!(problem.detail(), expect);
    }

    #[test]
    fn a_missing_permission_names_the_roles_that_have_it_or_the_workflow() {
        let workflow = Resource::Workflow("support-mail");
        check(
            Role::Viewer,
            Action::Edit,
            workflow,
            "vi has the role viewer, but this needs one of the roles editor, admin.",
        );
        check(
            Role::Editor,
            Action::Administer,
            Resource::Server,
            "vi has the role editor, but this needs the role admin.",
        );
        let other = Resource::Workflow("refund");
        check(Role::Admin, Action::Edit, other, "The permissions of vi (role: admin) do not cover workflow `refund`.");
    }
}
