//! Requests over HTTP: limits of size and time, the token, and errors.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use branchpoint_backend::{BackendError, Rejection};
use branchpoint_core::{Rejected, VoteRejection};
use branchpoint_runners::{hexadecimal, operator_client, runtime};
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{ServerAddress, Token};

/// How long a request may take.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The most bytes of a response.
const MAX_BYTES: usize = 96 * 1024 * 1024;

/// How often a request is sent that may be repeated, while the server does not respond.
const ATTEMPTS: u32 = 3;

/// How long a server may be unreachable while a run is followed.
pub(crate) const MAX_DOWNTIME: Duration = Duration::from_secs(15);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(300);

/// A server and how to reach it.
pub(crate) struct Connection {
    client: Client,
    address: ServerAddress,
    token: Option<Token>,
    /// Whether a run is followed, so that reading waits for a server that is started again.
    waits_for_restart: AtomicBool,
}

/// How often a request is tried, at least, and for how long.
#[derive(Clone, Copy)]
struct RetryLimits {
    attempts: u32,
    time: Duration,
}

/// A request that changes something.
pub(crate) struct Change<'c> {
    pub(crate) method: Method,
    /// The parts of the path below `/api/v1`.
    pub(crate) path: &'c [&'c str],
    pub(crate) body: Body,
    /// A key with which the request can be repeated; none if a repetition could change something twice.
    pub(crate) key: Option<String>,
}

/// The body of a request.
#[derive(Clone)]
pub(crate) enum Body {
    None,
    Json(Value),
    /// A body of another media type.
    Bytes(String, Vec<u8>),
}

/// A response to a change.
pub(crate) struct Changed {
    pub(crate) body: Value,
    /// Whether an earlier request with the same key or id had done it.
    pub(crate) is_replayed: bool,
}

/// The body of an error.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Problem {
    kind: String,
    detail: String,
    code: Option<String>,
    rejection: Option<Value>,
}

impl Connection {
    pub(crate) fn new(address: ServerAddress, token: Option<Token>) -> Result<Self, BackendError> {
        let client = operator_client().map_err(BackendError::Unavailable)?;
        Ok(Self { client, address, token, waits_for_restart: AtomicBool::new(false) })
    }

    /// From now on, reading waits for a server that is unreachable for a while.
    pub(crate) fn wait_for_restarts(&self) {
        self.waits_for_restart.store(true, Ordering::Relaxed);
    }

    pub(crate) fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// A request with the token.
    pub(crate) fn request(&self, method: Method, path: &[&str]) -> RequestBuilder {
        self.authorized(self.client.request(method, self.address.endpoint(path)))
    }

    /// A request for the events of topics.
    pub(crate) fn events(&self, topics: &str) -> RequestBuilder {
        let mut url = self.address.endpoint(&["events"]);
        url.query_pairs_mut().append_pair("topics", topics);
        self.authorized(self.client.get(url))
    }

    fn authorized(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.token {
            Some(token) => request.header(AUTHORIZATION, token.header()),
            None => request,
        }
    }

    /// Reads something by its path.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, BackendError> {
        let (body, _) = self.repeat(self.read_limits(), || self.request(Method::GET, path))?;
        self.parse(&body)
    }

    /// Reads something with a request in the body.
    pub(crate) fn read<T: DeserializeOwned>(&self, request: &Value) -> Result<T, BackendError> {
        let bytes = request.to_string();
        let request =
            || self.request(Method::POST, &["read"]).header("content-type", "application/json").body(bytes.clone());
        let (body, _) = self.repeat(self.read_limits(), request)?;
        self.parse(&body)
    }

    /// Changes something.
    pub(crate) fn change(&self, change: &Change<'_>) -> Result<Changed, BackendError> {
        let attempts = if change.key.is_some() { ATTEMPTS } else { 1 };
        let attempts = RetryLimits { attempts, time: Duration::ZERO };
        let build = || {
            let request = self.request(change.method.clone(), change.path);
            let request = match &change.key {
                Some(key) => request.header("idempotency-key", key),
                None => request,
            };
            match change.body.clone() {
                Body::None => request,
                Body::Json(body) => request.header("content-type", "application/json").body(body.to_string()),
                Body::Bytes(media_type, bytes) => request.header("content-type", media_type).body(bytes),
            }
        };
        let (body, is_replayed) = self.repeat(attempts, build)?;
        let body = if body.is_empty() { Value::Null } else { self.parse(&body)? };
        Ok(Changed { body, is_replayed })
    }

    /// How often reading is tried.
    fn read_limits(&self) -> RetryLimits {
        let waits_for_restart = self.waits_for_restart.load(Ordering::Relaxed);
        RetryLimits { attempts: ATTEMPTS, time: if waits_for_restart { MAX_DOWNTIME } else { Duration::ZERO } }
    }

    fn parse<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, BackendError> {
        serde_json::from_slice(body).map_err(|error| {
            BackendError::Incompatible(format!("the response of the server at {} is unexpected: {error}", self.address))
        })
    }

    /// Sends a request until the server responds. The body and whether the response is one of an earlier request.
    fn repeat(&self, limits: RetryLimits, build: impl Fn() -> RequestBuilder) -> Result<(Vec<u8>, bool), BackendError> {
        let (mut attempt, begin) = (1, Instant::now());
        loop {
            match runtime().block_on(self.exchange(build())) {
                Err(Failure::Lost(_)) if attempt < limits.attempts || begin.elapsed() < limits.time => {
                    attempt += 1;
                    std::thread::sleep(PAUSE);
                }
                Err(Failure::Lost(message)) => return Err(BackendError::Unavailable(message)),
                Err(Failure::Error(error)) => return Err(error),
                Ok(response) => return Ok(response),
            }
        }
    }

    async fn exchange(&self, request: RequestBuilder) -> Result<(Vec<u8>, bool), Failure> {
        let exchanged = tokio::time::timeout(TIMEOUT, async {
            let mut response = request.send().await.map_err(|error| self.lost(error))?;
            let body = self.body(&mut response).await?;
            Ok((response, body))
        });
        let too_slow =
            || Failure::Lost(format!("the server at {} did not respond within {} s", self.address, TIMEOUT.as_secs()));
        let (response, body) = exchanged.await.map_err(|_| too_slow())??;
        if response.status().is_success() {
            let is_replayed = response.headers().contains_key("idempotency-replayed");
            return Ok((body, is_replayed));
        }
        Err(self.failure(&response, &body))
    }

    async fn body(&self, response: &mut Response) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.lost(error))? {
            if body.len() + chunk.len() > MAX_BYTES {
                let message =
                    format!("the response of the server at {} exceeds {} MiB", self.address, MAX_BYTES / (1024 * 1024));
                return Err(Failure::Error(BackendError::Limit(message)));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// A connection that failed. The message has the address without anything that a URL could carry.
    fn lost(&self, error: reqwest::Error) -> Failure {
        let error = error.without_url();
        let mut reason = &error as &dyn std::error::Error;
        while let Some(source) = reason.source() {
            reason = source;
        }
        Failure::Lost(format!("the server at {} cannot be reached, or the connection was lost: {reason}", self.address))
    }

    /// The error of a response.
    fn failure(&self, response: &Response, body: &[u8]) -> Failure {
        let status = response.status();
        if status.is_redirection() {
            let to =
                response.headers().get("location").and_then(|value| value.to_str().ok()).unwrap_or("another address");
            let to = to.split(['?', '#']).next().unwrap_or_default();
            let message = format!(
                "the server at {} redirects to {to}, which is not followed, because it would get the token\nhelp: if you trust that address, set --server or BRANCHPOINT_SERVER to it",
                self.address
            );
            return Failure::Error(BackendError::Unavailable(message));
        }
        let Ok(problem) = serde_json::from_slice::<Problem>(body) else {
            let message = format!(
                "the server at {} responded with {status}, not as a Branchpoint server does\nhelp: check the address, and whether a proxy responds instead",
                self.address
            );
            let is_passing = matches!(status, StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT);
            return if is_passing {
                Failure::Lost(message)
            } else {
                Failure::Error(BackendError::Incompatible(message))
            };
        };
        Failure::Error(self.error_of(status, problem))
    }

    fn error_of(&self, status: StatusCode, problem: Problem) -> BackendError {
        if let Some(rejection) =
            problem.rejection.and_then(|rejection| serde_json::from_value::<Rejection>(rejection).ok())
        {
            return rejection.into();
        }
        let detail = problem.detail.trim_end_matches('.').to_owned();
        match (problem.kind.as_str(), problem.code.as_deref()) {
            ("unauthenticated", _) if self.token.is_none() => BackendError::Unavailable(format!(
                "the server at {} needs a token\nhelp: `branchpoint token create` on the server creates one; set BRANCHPOINT_TOKEN to it",
                self.address
            )),
            ("unauthenticated", _) => BackendError::Unavailable(format!(
                "the server at {} rejected the token of BRANCHPOINT_TOKEN: it is unknown, revoked or expired\nhelp: `branchpoint token create` on the server creates a new one",
                self.address
            )),
            (_, Some("damaged")) => BackendError::Damaged(detail),
            ("not_pending", _) => Rejection::Rejected(Rejected::Vote(VoteRejection::NotPending)).into(),
            ("not_found", _) if problem.detail == "The run does not exist." => Rejection::NoRun.into(),
            ("too_large", _) => BackendError::Limit(detail),
            _ if status.is_server_error() => {
                BackendError::Unavailable(format!("the server at {} reports: {detail}", self.address))
            }
            _ => BackendError::Refused(detail),
        }
    }
}

/// Why a request has no response.
enum Failure {
    /// The server did not respond, or the connection was lost.
    Lost(String),
    Error(BackendError),
}

/// A key with which a request can be repeated.
pub(crate) fn new_key() -> Result<String, BackendError> {
    let mut bytes = [0; 16];
    let failed = |_| BackendError::Unavailable("the operating system gives no random numbers".into());
    getrandom::fill(&mut bytes).map_err(failed)?;
    Ok(hexadecimal(&bytes))
}

/// The value of a header with the id of the last event.
pub(crate) fn event_id(id: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(id).ok()
}
