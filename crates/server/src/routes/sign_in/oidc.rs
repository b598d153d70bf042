//! Signs browsers in with an OpenID Connect provider.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{BROWSER_S, set_cookie};
use crate::access::{CredentialKind, NewCredential};
use crate::app::App;
use crate::body::Query;
use crate::guard::{Forwarded, known_host};
use crate::oidc::{Grant, Oidc, OidcError};
use crate::page::accepts;
use crate::problem::{Problem, ProblemKind};
use crate::routes::workflows::percent_encoded;
use crate::time::now_ms;

/// The cookie that ties a sign-in to the browser that began it, so that a link cannot sign a person in as another user.
const STATE_COOKIE: &str = "branchpoint-sign-in";

/// The cookie with the message of a failed sign-in, which the page reads once.
const PROBLEM_COOKIE: &str = "branchpoint-sign-in-problem";

/// How long this message is kept.
const PROBLEM_S: i64 = 60;

/// The longest message in characters.
const MAX_MESSAGE_CHARS: usize = 300;

/// How long a person may take to sign in at the provider.
const STATE_S: i64 = 10 * 60;

/// The path of the endpoint to which the provider sends the browser back.
const CALLBACK: &str = "/api/v1/sign-in/oidc/callback";

/// The longest path of a page to which a sign-in returns.
const MAX_PAGE_BYTES: usize = 2_000;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(begin)).routes(routes!(complete))
}

/// Where a sign-in ends.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct BeginRequest {
    /// The path of the page to show afterwards; the overview if absent.
    #[serde(default)]
    to: Option<String>,
}

/// Sends the browser to the provider.
#[utoipa::path(get, path = "/sign-in/oidc", tag = "general", operation_id = "begin_sign_in", params(BeginRequest),
    responses((status = 303, description = "The provider")))]
async fn begin(
    State(app): State<App>,
    headers: HeaderMap,
    uri: Uri,
    Query(request): Query<BeginRequest>,
) -> Result<Response, Problem> {
    let begun = redirect_to_provider(&app, &headers, &uri, &request).await;
    begun.or_else(|problem| show_problem(&app, &headers, problem))
}

async fn redirect_to_provider(
    app: &App,
    headers: &HeaderMap,
    uri: &Uri,
    request: &BeginRequest,
) -> Result<Response, Problem> {
    let oidc = provider(app)?;
    let to = request.to.as_deref().filter(|to| is_own_page(to)).unwrap_or("/").to_owned();
    let host = known_host(app, headers, uri)?;
    let scheme = if is_https(app, headers) { "https" } else { "http" };
    let callback = format!("{scheme}://{host}{}{CALLBACK}", app.settings.base_path);
    let begun = oidc.begin(callback, to).await?;
    let mut response = Redirect::to(&begun.url).into_response();
    set_state(app, headers, &mut response, &begun.state, STATE_S);
    Ok(response)
}

/// A browser gets the page to sign in, which shows the message, because a person cannot read the response of the API. The message is in a
/// cookie, not in the address, so that a link cannot make the page say something else.
fn show_problem(app: &App, headers: &HeaderMap, problem: Problem) -> Result<Response, Problem> {
    if !accepts(headers, &header::ACCEPT, "text/html") {
        return Err(problem);
    }
    let base = &app.settings.base_path;
    let mut response = Redirect::to(&format!("{base}/signin")).into_response();
    let message: String = problem.detail().chars().take(MAX_MESSAGE_CHARS).collect();
    let secure = if is_https(app, headers) { "; Secure" } else { "" };
    let cookie = format!(
        "{PROBLEM_COOKIE}={}; Path={base}/; SameSite=Lax; Max-Age={PROBLEM_S}{secure}",
        percent_encoded(&message)
    );
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// What the provider tells the browser to bring back.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct CallbackRequest {
    /// The state of the sign-in. Some providers leave it out if the person declines.
    #[serde(default)]
    state: String,
    /// The code; absent if the person did not sign in.
    #[serde(default)]
    code: Option<String>,
    /// Why there is no code.
    #[serde(default)]
    error: Option<String>,
}

/// Signs the browser in that returns from the provider.
#[utoipa::path(get, path = "/sign-in/oidc/callback", tag = "general", operation_id = "complete_sign_in", params(CallbackRequest),
    responses((status = 303, description = "The page to show")))]
async fn complete(
    State(app): State<App>,
    headers: HeaderMap,
    Query(request): Query<CallbackRequest>,
) -> Result<Response, Problem> {
    sign_in(&app, &headers, request).await.or_else(|problem| show_problem(&app, &headers, problem))
}

async fn sign_in(app: &App, headers: &HeaderMap, request: CallbackRequest) -> Result<Response, Problem> {
    let oidc = provider(app)?;
    let is_of_browser = super::cookie(headers, STATE_COOKIE) == Some(&request.state);
    let Some(code) = request.code else {
        // Only a browser that began the sign-in is shown a text of its address.
        let reason = request.error.filter(|_| is_of_browser).unwrap_or_else(|| "no code".into());
        let reason: String = reason.chars().filter(|c| !c.is_control()).take(200).collect();
        let detail = format!("{} did not sign you in: {reason}.", oidc.name());
        return Err(Problem::new(ProblemKind::Unauthenticated, detail));
    };
    if !is_of_browser {
        let detail = "This browser did not begin the sign-in, or it took more than ten minutes. Sign in again.";
        return Err(Problem::new(ProblemKind::Unauthenticated, detail));
    }
    let signed_in = oidc.complete(&request.state, code).await?;
    let cookie = create_credential(app, signed_in.grant).await?;
    let mut response = Redirect::to(&format!("{}{}", app.settings.base_path, signed_in.to)).into_response();
    set_cookie(app, headers, &mut response, &cookie, BROWSER_S);
    set_state(app, headers, &mut response, "", 0);
    Ok(response)
}

/// Stores the sign-in of a browser and returns its cookie.
async fn create_credential(app: &App, grant: Grant) -> Result<String, Problem> {
    let shared = app.clone();
    app.compute(move || {
        let now_ms = now_ms();
        let expires_ms = Some(now_ms.saturating_add(BROWSER_S * 1_000));
        let Grant { user, role, workflows } = grant;
        let new = NewCredential { kind: CredentialKind::Browser, user, role, workflows, expires_ms, issued_by: None };
        Ok(super::access(&shared)?.create(new, now_ms)?.1)
    })
    .await
}

fn provider(app: &App) -> Result<&Oidc, Problem> {
    app.host.oidc.as_ref().ok_or_else(|| Problem::not_found("This server has no sign-in provider."))
}

/// Whether a text is the path of a page of this server. A browser reads `//host`, `/\host` and `/<tab>/host` as other sites.
fn is_own_page(path: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_graphic() && c != '\\';
    path.len() <= MAX_PAGE_BYTES && path.starts_with('/') && !path.starts_with("//") && path.chars().all(is_plain)
}

fn is_https(app: &App, headers: &HeaderMap) -> bool {
    app.settings.behind_proxy && Forwarded::of(headers).scheme.as_deref() == Some("https")
}

/// The provider's site sends the browser back, so the cookie must not be `SameSite=Strict`.
fn set_state(app: &App, headers: &HeaderMap, response: &mut Response, state: &str, seconds: i64) {
    let secure = if is_https(app, headers) { "; Secure" } else { "" };
    let path = format!("{}/api/v1/sign-in/oidc", app.settings.base_path);
    let cookie = format!("{STATE_COOKIE}={state}; Path={path}; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

impl From<OidcError> for Problem {
    fn from(error: OidcError) -> Self {
        let kind = match error {
            OidcError::Provider { .. } => ProblemKind::Unavailable,
            OidcError::UnknownState | OidcError::Response(_) => ProblemKind::Unauthenticated,
            OidcError::Refused(_) => ProblemKind::Forbidden,
        };
        Self::new(kind, format!("Sign-in failed: {error}."))
    }
}

#[cfg(test)]
mod tests {
    use super::is_own_page;

    #[test]
    fn a_sign_in_ends_at_a_page_of_this_server_only() {
        for page in ["/", "/runs/a?tab=why#x", "/a/b%2F"] {
            assert!(is_own_page(page), "{page}");
        }
        let foreign = [
            "",
            "runs",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/\t/evil.example",
            "/a b",
            "/\u{202e}",
        ];
        for page in foreign {
            assert!(!is_own_page(page), "{page:?}");
        }
        assert!(!is_own_page(&format!("/{}", "a".repeat(2_000))));
    }
}
