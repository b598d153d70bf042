//! The web page: the files of its build, and its document at every address of a page.
//!
//! Scripts and styles come from this server only. Two libraries of the page (the editor and the headless components) insert style elements,
//! so styles may also carry the nonce of the response; scripts may not be inline at all. Style attributes are allowed, because browsers write
//! them themselves while somebody types into an editor.

use std::io::Read as _;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

use crate::app::App;
use crate::problem::Problem;
use crate::random;

/// A file of the built page.
#[derive(Clone, Copy, Debug)]
pub struct WebFile {
    /// The path below the page's root, such as `assets/index-4f2a.js`.
    pub path: &'static str,
    /// The bytes, compressed if `is_gzip`.
    pub bytes: &'static [u8],
    /// Whether the bytes are compressed with gzip.
    pub is_gzip: bool,
}

/// The document of the page.
const DOCUMENT: &str = "index.html";

/// The first segments of the addresses of pages. Everything else that is not a file does not exist.
const PAGES: [&str; 12] = [
    "",
    "a",
    "approvals",
    "chat",
    "docs",
    "playground",
    "runs",
    "sessions",
    "settings",
    "signin",
    "start",
    "workflows",
];

/// Responds to a request that no endpoint of the API handles.
pub(crate) async fn serve(State(app): State<App>, request: Request) -> Response {
    respond(&app, &request, request.uri().path().trim_start_matches('/'))
}

/// Responds to a request for the root with a slash at its end, which a nested router does not match.
pub(crate) async fn serve_root(State(app): State<App>, request: Request) -> Response {
    respond(&app, &request, "")
}

fn respond(app: &App, request: &Request, path: &str) -> Response {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let first = path.split('/').next().unwrap_or_default();
    let missing = || {
        Problem::not_found("There is no endpoint at this path. `/openapi.json` lists all endpoints.").into_response()
    };
    if !is_read || first == "api" {
        return missing();
    }
    if let Some(file) = app.content.web.iter().find(|file| file.path == path && path != DOCUMENT) {
        return asset(file, request.headers());
    }
    let is_page = PAGES.contains(&first);
    let wants_document = accepts(request.headers(), &header::ACCEPT, "text/html");
    match app.content.web.iter().find(|file| file.path == DOCUMENT) {
        _ if !is_page && !wants_document => missing(),
        Some(document) => {
            let status = if is_page { StatusCode::OK } else { StatusCode::NOT_FOUND };
            (status, page(app, document)).into_response()
        }
        None if path.is_empty() => Html(include_str!("page_missing.html")).into_response(),
        None => missing(),
    }
}

/// A file whose name contains the hash of its content never changes.
fn asset(file: &WebFile, headers: &HeaderMap) -> Response {
    let is_hashed = file.path.starts_with("assets/");
    let lifetime = if is_hashed { "public, max-age=31536000, immutable" } else { "public, max-age=3600" };
    let mut response = Response::builder()
        .header(header::CONTENT_TYPE, media_type(file.path))
        .header(header::CONTENT_SECURITY_POLICY, ASSET_POLICY)
        .header(header::CACHE_CONTROL, lifetime);
    let is_packed = file.is_gzip && accepts(headers, &header::ACCEPT_ENCODING, "gzip");
    if file.is_gzip {
        response = response.header(header::VARY, "accept-encoding");
    }
    if is_packed {
        response = response.header(header::CONTENT_ENCODING, "gzip");
    }
    let body = if file.is_gzip && !is_packed { unpacked(file.bytes).into() } else { Body::from(file.bytes) };
    response.body(body).unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

/// A worker has the policy of its script, and the worker of the event stream connects to this server.
const ASSET_POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'";

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    // The bytes were packed when the program was built.
    let _ = flate2::read::GzDecoder::new(bytes).read_to_end(&mut content);
    content
}

/// Whether a header with a list of values accepts one.
pub(crate) fn accepts(headers: &HeaderMap, name: &HeaderName, value: &str) -> bool {
    let lists = headers.get_all(name).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let is_named = parts.next() == Some(value);
        is_named && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("woff2") => "font/woff2",
        Some("json" | "map") => "application/json",
        _ => "application/octet-stream",
    }
}

/// The document, with the base path and a nonce of its own.
fn page(app: &App, document: &WebFile) -> Result<Response, Problem> {
    let text = if document.is_gzip { unpacked(document.bytes) } else { document.bytes.to_vec() };
    let base = app.settings.base_path.trim_end_matches('/');
    let nonce = random::token(16)?;
    let text = String::from_utf8_lossy(&text)
        .replace("=\"./", &format!("=\"{base}/"))
        .replace("name=\"base-path\" content=\"\"", &format!("name=\"base-path\" content=\"{base}\""))
        .replace("CSP_NONCE", &nonce);
    let mut response = Html(text).into_response();
    let headers = response.headers_mut();
    for (name, value) in PAGE_HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if let Ok(policy) = HeaderValue::from_str(&policy(&nonce)) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    Ok(response)
}

/// Headers of the document, beside those of every response.
const PAGE_HEADERS: [(&str, &str); 4] = [
    ("cache-control", "no-cache"),
    ("cross-origin-opener-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ("x-frame-options", "DENY"),
];

fn policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; style-src-attr 'unsafe-inline'; \
         img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_that_a_client_rejects_are_not_used() {
        for (value, expect) in
            [("gzip", true), ("br, gzip;q=0.5", true), ("gzip;q=0", false), ("*", false), ("br", false)]
        {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            assert_eq!(accepts(&headers, &header::ACCEPT_ENCODING, "gzip"), expect, "{value}");
        }
    }

    #[test]
    fn scripts_are_never_inline() {
        let policy = policy("abc");
        let scripts = policy.split(';').find(|part| part.trim().starts_with("script-src"));
        assert_eq!(scripts.map(str::trim), Some("script-src 'self'"), "{policy}");
    }
}
