//! Checks every request before its handler: the host name, the origin, limits of time and number.
//!
//! A server without credentials trusts everything that this machine sends, and a browser on this machine runs pages of others. So a
//! request must address the server by a known name (a page cannot rebind a name of its own to loopback), and a request that changes
//! something must not come from a page of another origin.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::Semaphore;

use crate::access::AuditEntry;
use crate::app::App;
use crate::caller::{Caller, identify};
use crate::problem::{Problem, ProblemKind};
use crate::time::{now_ms, rfc3339};

/// How long a request may take in addition to the limit when it waits for a run.
pub(crate) const MAX_WAIT_S: u64 = 60;

/// The limits that requests share.
#[derive(Clone)]
pub(crate) struct Guard {
    app: App,
    free: Arc<Semaphore>,
}

impl Guard {
    pub(crate) fn new(app: App) -> Self {
        let free = Arc::new(Semaphore::new(app.settings.requests));
        Self { app, free }
    }
}

/// Checks a request, calls its handler, and counts it.
pub(crate) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let app = &guard.app;
    app.metrics.requests.fetch_add(1, Ordering::Relaxed);
    let mut response = match handle(&guard, request, next).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    };
    app.metrics.count(response.status());
    let headers = response.headers_mut();
    for (name, value) in SECURITY_HEADERS {
        headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Headers of every response. A page that needs more sets its own policy.
const SECURITY_HEADERS: [(&str, &str); 5] = [
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("cache-control", "no-store"),
];

async fn handle(guard: &Guard, request: Request, next: Next) -> Result<Response, Problem> {
    let app = &guard.app;
    let host = known_host(app, request.headers(), request.uri())?;
    if !is_safe(request.method()) {
        same_origin(app, request.headers(), &host)?;
    }
    let Ok(permit) = Arc::clone(&guard.free).try_acquire_owned() else {
        let detail = format!("The server handles {} requests already.", app.settings.requests);
        return Err(Problem::new(ProblemKind::Unavailable, detail).retry_after(1));
    };
    let is_waiting = request.uri().query().is_some_and(|query| query.contains("wait="));
    let request = identified(app, request).await?;
    let caller = request.extensions().get::<Caller>().cloned();
    let change = Change::of(app, request.method().clone(), request.uri().path().to_owned(), caller).await?;
    let wait = std::time::Duration::from_secs(if is_waiting { MAX_WAIT_S } else { 0 });
    let limit = app.settings.request_time + wait;
    let app = app.clone();
    // A task of its own, so that a change is logged also if the client does not wait for the response.
    let handled = tokio::spawn(async move {
        let _permit = permit;
        let response = tokio::time::timeout(limit, next.run(request)).await;
        let response = response.unwrap_or_else(|_| {
            let detail = format!("The request took more than {} s.", limit.as_secs());
            Problem::new(ProblemKind::Timeout, detail).into_response()
        });
        if let Some(change) = change {
            change.log(&app, response.status()).await;
        }
        response
    });
    let defect = "The request could not be handled because of a defect of the server.";
    handled.await.map_err(|_| Problem::new(ProblemKind::Internal, defect))
}

/// Adds the caller to a request.
async fn identified(app: &App, mut request: Request) -> Result<Request, Problem> {
    let (method, headers) = (request.method().clone(), request.headers().clone());
    let needs_file = headers.contains_key(header::AUTHORIZATION) || headers.contains_key(header::COOKIE);
    let caller = if needs_file {
        let shared = app.clone();
        app.compute(move || identify(&shared, &method, &headers)).await?
    } else {
        identify(app, &method, &headers)?
    };
    if let Some(caller) = caller {
        request.extensions_mut().insert(caller);
    }
    Ok(request)
}

/// Paths of requests that store nothing, although they are sent with POST.
const TOOLS: [&str; 7] = ["/check", "/format", "/drawing", "/edit", "/diff", "/eval", "/read"];

/// Whether a request only computes. Only whole paths count: a workflow, a run or a secret may have the name of a tool.
fn is_tool(method: &Method, path: &str) -> bool {
    let Some((_, path)) = path.split_once("/api/v1/") else { return false };
    let is_one = TOOLS.iter().any(|tool| *path == tool[1..]);
    let is_what_if = path.starts_with("runs/") && path.contains("/trace/") && path.ends_with("/what-if");
    let is_stream = path.starts_with("events/") && path.ends_with("/topics");
    *method == Method::POST && (is_one || is_what_if || is_stream)
}

/// The part of a path before a signed link.
const LINKS: &str = "/api/v1/links/";

/// A request that may change something, for the audit log.
struct Change {
    user: Option<String>,
    credential: Option<String>,
    method: String,
    path: String,
}

impl Change {
    async fn of(app: &App, method: Method, path: String, caller: Option<Caller>) -> Result<Option<Self>, Problem> {
        let is_change = !is_safe(&method) && !is_tool(&method, &path);
        if app.host.audit.is_none() || !is_change {
            return Ok(None);
        }
        let method = method.to_string();
        if let Some((before, link)) = path.split_once(LINKS) {
            return Self::by_link(app, method, before.to_owned(), link.to_owned()).await.map(Some);
        }
        let (user, credential) = caller.map(|caller| (caller.user, caller.credential)).unzip();
        Ok(Some(Self { user, credential: credential.flatten(), method, path }))
    }

    /// A change by a signed link. The log has its approval in the place of the link, which is a credential.
    async fn by_link(app: &App, method: String, before: String, rest: String) -> Result<Self, Problem> {
        let shared = app.clone();
        app.compute(move || {
            let (link, rest) = rest.split_once('/').unwrap_or((&rest, ""));
            let access = shared.host.access.as_ref();
            let link = access.and_then(|access| access.verify_link(link, now_ms()).ok());
            let approval = link.as_ref().map_or("***".to_owned(), |link| format!("{}/{}", link.run, link.number));
            let path = format!("{before}{LINKS}{approval}/{rest}");
            let credential = link.is_some().then(|| "link".to_owned());
            Ok(Self { user: link.map(|link| link.user), credential, method, path })
        })
        .await
    }

    async fn log(self, app: &App, status: StatusCode) {
        let Self { user, credential, method, path } = self;
        let at = rfc3339(now_ms());
        let entry = AuditEntry { at, user, credential, method, path, status: status.as_u16() };
        let shared = app.clone();
        let logged = app.compute(move || {
            let log = shared.host.audit.as_ref();
            log.map_or(Ok(()), |log| log.append(&entry)).map_err(|error| {
                Problem::new(ProblemKind::Unavailable, format!("The audit log cannot be written: {error}."))
            })
        });
        if logged.await.is_err() {
            app.metrics.lost_audit_entries.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// The host by which a client addresses the server, with its port.
pub(crate) fn known_host(app: &App, headers: &HeaderMap, uri: &Uri) -> Result<String, Problem> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let host = uri.host().and_then(|_| uri.authority().map(ToString::to_string));
    let direct = host.or_else(|| text(header::HOST).map(str::to_owned)).unwrap_or_default();
    let forwarded = if app.settings.behind_proxy { Forwarded::of(headers).host } else { None };
    let host = forwarded.unwrap_or(direct).to_ascii_lowercase();
    let name = without_port(&host);
    let listens_on = app.settings.listen.ip().to_string();
    let is_loopback = matches!(name, "localhost" | "127.0.0.1" | "[::1]");
    let is_own = name.trim_matches(['[', ']']) == listens_on;
    if is_loopback || is_own || app.settings.hosts.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return Ok(host);
    }
    let detail = format!("The server does not know the host name `{name}`. Allow it with `--host`.");
    Err(Problem::new(ProblemKind::Misdirected, detail))
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Rejects requests that a browser sends for a page of another origin.
fn same_origin(app: &App, headers: &HeaderMap, host: &str) -> Result<(), Problem> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_cross_site = text("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none"));
    let is_foreign = text("origin").is_some_and(|origin| !is_origin_of(app, origin, host));
    if is_cross_site || is_foreign {
        let detail = "A page of another origin sent this request.";
        return Err(Problem::new(ProblemKind::Forbidden, detail));
    }
    Ok(())
}

fn is_origin_of(app: &App, origin: &str, host: &str) -> bool {
    let scheme_and_host = origin.split_once("://");
    let is_scheme = |scheme: &str| scheme == "http" || scheme == "https" && app.settings.behind_proxy;
    scheme_and_host.is_some_and(|(scheme, origin)| is_scheme(scheme) && origin.eq_ignore_ascii_case(host))
}

/// What the proxy nearest to the server says about a request: the last element of each header, because clients can send others.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Forwarded {
    /// The host that the client addressed.
    pub(crate) host: Option<String>,
    /// The scheme that the client used.
    pub(crate) scheme: Option<String>,
}

impl Forwarded {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let last = |name: &str| {
            let value = headers.get_all(name).iter().next_back()?.to_str().ok()?;
            Some(value.rsplit(',').next().unwrap_or_default().trim().to_owned())
        };
        let Some(element) = last("forwarded") else {
            return Self { host: last("x-forwarded-host"), scheme: last("x-forwarded-proto") };
        };
        let part = |key: &str| {
            let mut pairs = element.split(';').filter_map(|pair| pair.split_once('='));
            let pair = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case(key));
            pair.map(|(_, value)| value.trim().trim_matches('"').to_owned())
        };
        Self { host: part("host"), scheme: part("proto") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(headers: &[(&'static str, &'static str)], host: Option<&str>, scheme: Option<&str>) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        let expect = Forwarded { host: host.map(str::to_owned), scheme: scheme.map(str::to_owned) };
        assert_eq!(Forwarded::of(&map), expect, "{headers:?}");
    }

    #[test]
    fn the_nearest_proxy_is_believed() {
        check(&[], None, None);
        check(
            &[("forwarded", "for=1.2.3.4;host=evil.example, host=\"flow.example:8443\";proto=https")],
            Some("flow.example:8443"),
            Some("https"),
        );
        check(&[("forwarded", "host=evil.example"), ("forwarded", "Host=flow.example")], Some("flow.example"), None);
        check(
            &[("x-forwarded-host", "evil.example, flow.example"), ("x-forwarded-proto", "https")],
            Some("flow.example"),
            Some("https"),
        );
    }

    #[test]
    fn only_requests_that_store_nothing_are_tools() {
        for path in [
            "/api/v1/check",
            "/api/v1/read",
            "/base/api/v1/diff",
            "/api/v1/events/c/topics",
            "/api/v1/runs/a/trace/b/what-if",
        ] {
            assert!(is_tool(&Method::POST, path), "{path}");
        }
        assert!(!is_tool(&Method::PUT, "/api/v1/settings/secrets/eval"));
        for path in ["/api/v1/workflows/check", "/api/v1/runs/check", "/api/v1/runs", "/check"] {
            assert!(!is_tool(&Method::POST, path), "{path}");
        }
    }

    #[test]
    fn ports_are_not_part_of_host_names() {
        for (host, name) in
            [("a.example", "a.example"), ("a.example:80", "a.example"), ("[::1]:80", "[::1]"), ("[::1]", "[::1]")]
        {
            assert_eq!(without_port(host), name);
        }
    }
}
