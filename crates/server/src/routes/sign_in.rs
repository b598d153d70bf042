//! Signs browsers in with one-time links, and out.

use axum::Form;
use axum::extract::State;
use axum::extract::rejection::QueryRejection;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Router, extract::Query as RawQuery};
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::CredentialKind;
use crate::app::App;
use crate::caller::{COOKIE, cookie_of};
use crate::guard::Forwarded;
use crate::problem::{Problem, ProblemKind};
use crate::time::now_ms;

/// How long a browser stays signed in.
const BROWSER_S: i64 = 12 * 60 * 60;

pub(crate) fn api() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(sign_out))
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
    Html(format!(
        "<!doctype html><meta name=viewport content=\"width=device-width\"><title>Sign in</title>\
         <form method=post action=\"{base}/sign-in\"><input type=hidden name=code value=\"{code}\"><button>Sign in to Branchpoint</button></form>"
    ))
    .into_response()
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
