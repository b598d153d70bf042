//! Signs browsers in with one-time links, tokens or a provider, and out.

mod oidc;

use axum::extract::State;
use axum::extract::rejection::QueryRejection;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Form, Json};
use axum::{Router, extract::Query as RawQuery};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{Access, Credential, CredentialKind, NewCredential};
use crate::app::App;
use crate::body::Body;
use crate::caller::{COOKIE, cookie, cookie_of};
use crate::guard::Forwarded;
use crate::problem::{Problem, ProblemKind};
use crate::time::now_ms;

/// How long a browser stays signed in.
const BROWSER_S: i64 = 12 * 60 * 60;

pub(crate) fn api() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(methods, sign_in_with_token)).routes(routes!(sign_out)).merge(oidc::routes())
}

/// The page that a link opens.
pub(crate) fn page() -> Router<App> {
    Router::new().route("/sign-in", get(form).post(sign_in))
}

/// The code of a link.
#[derive(Debug, Deserialize)]
struct Code {
    #[serde(default)]
    code: String,
}

impl Code {
    /// The code, if it can be one. Then it can be written into a page.
    fn checked(&self) -> Option<&str> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        (!self.code.is_empty() && self.code.len() < 200 && self.code.chars().all(is_plain)).then_some(&self.code)
    }
}

/// Shows a button. Opening a link is not enough to sign in, because mail clients and chats open links.
async fn form(State(app): State<App>, code: Result<RawQuery<Code>, QueryRejection>) -> Response {
    let Some(code) = code.as_ref().ok().and_then(|RawQuery(code)| code.checked()) else {
        let page = Html(
            "<!doctype html><title>Sign in</title><p>This link is incomplete. Create a new one with <code>branchpoint token link</code>.",
        );
        return (StatusCode::BAD_REQUEST, page).into_response();
    };
    let base = &app.settings.base_path;
    let page = Html(format!(
        "<!doctype html><meta name=viewport content=\"width=device-width\"><title>Sign in</title>\
         <form method=post action=\"{base}/sign-in\"><input type=hidden name=code value=\"{code}\"><button>Sign in to Branchpoint</button></form>"
    ));
    // Browsers send the form of a page without a referrer with the origin `null`, which is rejected.
    ([(header::REFERRER_POLICY, "same-origin")], page).into_response()
}

/// Signs a browser in. A link works once.
async fn sign_in(State(app): State<App>, headers: HeaderMap, Form(code): Form<Code>) -> Result<Response, Problem> {
    let invalid =
        || Problem::new(ProblemKind::Unauthenticated, "The link is unknown, used or expired. Create a new one.");
    let code = code.checked().ok_or_else(invalid)?.to_owned();
    let shared = app.clone();
    let redeemed = app.compute(move || {
        let Some(access) = &shared.host.access else { return Ok(None) };
        let now_ms = now_ms();
        Ok(access.redeem(&code, now_ms.saturating_add(BROWSER_S * 1_000), now_ms)?)
    });
    let (_, cookie) = redeemed.await?.ok_or_else(invalid)?;
    let base = &app.settings.base_path;
    let mut response = Redirect::to(&format!("{base}/")).into_response();
    set_cookie(&app, &headers, &mut response, &cookie, BROWSER_S);
    Ok(response)
}

/// How people can sign in.
#[derive(Serialize, ToSchema)]
struct SignInMethods {
    /// Whether requests need to be signed in at all.
    required: bool,
    /// Whether tokens and one-time links are accepted.
    token: bool,
    /// The provider; null if there is none.
    oidc: Option<SignInProvider>,
}

/// A provider, with which `GET /sign-in/oidc` signs in.
#[derive(Serialize, ToSchema)]
struct SignInProvider {
    name: String,
}

/// Shows how people can sign in. Needs no credential.
#[utoipa::path(get, path = "/sign-in", tag = "general", operation_id = "list_sign_in_methods",
    responses((status = 200, description = "The methods", body = SignInMethods)))]
async fn methods(State(app): State<App>) -> Json<SignInMethods> {
    let oidc = app.host.oidc.as_ref().map(|oidc| SignInProvider { name: oidc.name().to_owned() });
    Json(SignInMethods { required: app.settings.requires_sign_in, token: app.host.access.is_some(), oidc })
}

/// What a browser signs in with: a token, or the code of a one-time link.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SignInRequest {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    code: Option<String>,
}

/// Signs a browser in with a token or with the code of a one-time link, which works once. Sets a cookie.
#[utoipa::path(post, path = "/sign-in", tag = "general", operation_id = "sign_in", request_body = SignInRequest,
    responses((status = 204, description = "The browser is signed in")))]
async fn sign_in_with_token(
    State(app): State<App>,
    headers: HeaderMap,
    Body(request): Body<SignInRequest>,
) -> Result<Response, Problem> {
    let shared = app.clone();
    let signed_in = app.compute(move || {
        let (access, now_ms) = (access(&shared)?, now_ms());
        let until_ms = now_ms.saturating_add(BROWSER_S * 1_000);
        match (request.token, request.code) {
            (Some(token), None) => browser_of_token(access, token.trim(), until_ms, now_ms),
            (None, Some(code)) => Ok(access.redeem(code.trim(), until_ms, now_ms)?),
            _ => Err(Problem::invalid_input("Send either `token` or `code`.")),
        }
    });
    let unknown =
        || Problem::new(ProblemKind::Unauthenticated, "The token or link is unknown, used, revoked or expired.");
    let (_, cookie) = signed_in.await?.ok_or_else(unknown)?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    set_cookie(&app, &headers, &mut response, &cookie, BROWSER_S);
    Ok(response)
}

/// The credential of a browser that signs in with a token. It ends with the token.
fn browser_of_token(
    access: &Access,
    token: &str,
    until_ms: i64,
    now_ms: i64,
) -> Result<Option<(Credential, String)>, Problem> {
    let Some(token) = access.find(token, CredentialKind::Token, now_ms)? else { return Ok(None) };
    let expires_ms = Some(token.expires_ms.map_or(until_ms, |expires_ms| expires_ms.min(until_ms)));
    let Credential { id, user, role, workflows, .. } = token;
    let new = NewCredential { kind: CredentialKind::Browser, user, role, workflows, expires_ms, issued_by: Some(id) };
    Ok(Some(access.create(new, now_ms)?))
}

fn access(app: &App) -> Result<&Access, Problem> {
    let missing = || Problem::new(ProblemKind::Conflict, "This server stores no credentials.");
    app.host.access.as_ref().ok_or_else(missing)
}

fn set_cookie(app: &App, headers: &HeaderMap, response: &mut Response, value: &str, seconds: i64) {
    let is_https = app.settings.behind_proxy && Forwarded::of(headers).scheme.as_deref() == Some("https");
    let secure = if is_https { "; Secure" } else { "" };
    let base = &app.settings.base_path;
    let cookie = format!("{COOKIE}={value}; Path={base}/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

/// Signs the browser out, and ends its event streams.
#[utoipa::path(post, path = "/sign-out", tag = "general", operation_id = "sign_out",
    responses((status = 204, description = "The browser is signed out")))]
async fn sign_out(State(app): State<App>, headers: HeaderMap) -> Result<Response, Problem> {
    let cookie = cookie_of(&headers).map(str::to_owned);
    let shared = app.clone();
    let revoked = app.compute(move || {
        let (Some(access), Some(cookie)) = (&shared.host.access, cookie) else { return Ok(None) };
        let credential = access.find(&cookie, CredentialKind::Browser, now_ms())?;
        if let Some(credential) = &credential {
            access.revoke(&credential.id, now_ms())?;
        }
        Ok(credential.map(|credential| credential.id))
    });
    if let Some(id) = revoked.await? {
        app.live.disconnect(|caller| caller.credential.as_deref() == Some(&id));
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    set_cookie(&app, &headers, &mut response, "", 0);
    Ok(response)
}
