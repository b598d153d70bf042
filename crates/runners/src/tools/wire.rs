//! Sends HTTP requests of tools: checks addresses, follows redirects, and limits responses.

use std::error::Error;
use std::sync::Arc;

use branchpoint_core::effect::{Body, HttpResponse};
use branchpoint_expr::{Object, Value};
use encoding_rs::{Encoding, UTF_8};
use reqwest::header::{self, AsHeaderName, HeaderMap, HeaderName};
use reqwest::{Client, Method, Response};
use url::Url;

use super::failure::{busy, failed, impossible, refused};
use super::settings::{HttpSettings, Redirects};
use crate::network::clients::Clients;
use crate::network::retry_after::{retry_after, retry_hint};
use crate::network::{Source, causes, refusal};
use crate::runner::Answer;
use crate::shorten::shortened;

/// The most redirects that a call follows.
const MAX_REDIRECTS: usize = 10;

/// Headers that are sent to another host after a redirect. Any other may contain credentials.
const CROSS_HOST_HEADERS: [HeaderName; 4] =
    [header::ACCEPT, header::ACCEPT_LANGUAGE, header::CONTENT_TYPE, header::USER_AGENT];

/// Sends HTTP requests for all tools.
#[derive(Debug)]
pub(super) struct Wire {
    clients: Clients,
    redirects: Redirects,
    max_bytes: u64,
}

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Vec<u8>>,
    /// Whether redirects are followed.
    pub(super) follow: bool,
    pub(super) source: Source,
}

impl Outgoing {
    pub(super) fn new(method: Method, url: Url, source: Source) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: None, follow: true, source }
    }
}

/// A complete response.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    bytes: Vec<u8>,
}

impl Wire {
    pub(super) fn new(settings: &HttpSettings, clients: Clients) -> Self {
        Self { clients, redirects: settings.redirects, max_bytes: settings.max_response_bytes }
    }

    /// Sends a request and follows its redirects.
    pub(super) async fn send(&self, mut out: Outgoing) -> Result<Reply, Answer> {
        for _ in 0..=MAX_REDIRECTS {
            let client = self.client(&out)?;
            let mut request = client.request(out.method.clone(), out.url.clone()).headers(out.headers.clone());
            if let Some(body) = &out.body {
                request = request.body(body.clone());
            }
            let response = request.send().await.map_err(|error| send_failure(&out.url, error))?;
            match self.redirect(&out, &response)? {
                Some(next) => out = next,
                None => return self.read(&out.url, response).await,
            }
        }
        Err(refused(format!(
            "the server redirects more than {MAX_REDIRECTS} times, probably in a loop; check the address"
        )))
    }

    fn client(&self, out: &Outgoing) -> Result<&Client, Answer> {
        let source = match out.source {
            Source::Operator => Source::Operator,
            Source::Document => self.clients.admit(&out.url).map_err(|refused| impossible(refused.to_string()))?,
        };
        self.clients.client(source).map_err(impossible)
    }

    /// The next request after a redirect; `None` if the response is not redirected.
    fn redirect(&self, out: &Outgoing, response: &Response) -> Result<Option<Outgoing>, Answer> {
        let status = response.status().as_u16();
        if !out.follow || self.redirects == Redirects::None {
            return Ok(None);
        }
        let Some(location) = location(status, response.headers()) else { return Ok(None) };
        let shown = shortened(location);
        let to = out.url.join(location);
        let to = to.map_err(|_| refused(format!("the server redirects to `{shown}`, which is not a valid URL")))?;
        let is_same_host = is_same_host(&out.url, &to);
        if !is_same_host && self.redirects == Redirects::SameHost {
            return Err(refused(format!(
                "the server redirects to another host, `{shown}`; call that address, or set redirects = \"any\" under \
                 [http] in the settings"
            )));
        }
        if out.url.scheme() == "https" && to.scheme() != "https" {
            let message =
                format!("the server redirects from https to `{shown}`, which is not followed; use an https address");
            return Err(refused(message));
        }
        Ok(Some(out.clone().redirected(status, to, is_same_host)))
    }

    async fn read(&self, url: &Url, mut response: Response) -> Result<Reply, Answer> {
        let too_long = || {
            refused(format!(
                "the response exceeds {} bytes; raise max_response_bytes under [http] in the settings",
                self.max_bytes
            ))
        };
        if response.content_length().is_some_and(|length| length > self.max_bytes) {
            return Err(too_long());
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| send_failure(url, error))? {
            if (bytes.len() + chunk.len()) as u64 > self.max_bytes {
                return Err(too_long());
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(Reply { status: response.status().as_u16(), headers: response.headers().clone(), bytes })
    }
}

impl Outgoing {
    fn redirected(mut self, status: u16, to: Url, is_same_host: bool) -> Self {
        let reads = self.method == Method::GET || self.method == Method::HEAD;
        if status == 303 && !reads || matches!(status, 301 | 302) && self.method == Method::POST {
            self.method = Method::GET;
            self.body = None;
            for name in [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::CONTENT_ENCODING] {
                self.headers.remove(name);
            }
            self.headers.remove("idempotency-key");
        }
        if !is_same_host {
            let names: Vec<HeaderName> = self.headers.keys().cloned().collect();
            for name in names.iter().filter(|name| !CROSS_HOST_HEADERS.contains(name)) {
                self.headers.remove(name);
            }
            // The redirect is not from the operator, so its address is checked like one of a document.
            self.source = Source::Document;
        }
        self.url = to;
        self
    }
}

/// The target of a redirect; `None` if the response is not a redirect.
fn location(status: u16, headers: &HeaderMap) -> Option<&str> {
    let is_redirect = matches!(status, 301 | 302 | 303 | 307 | 308);
    headers.get(header::LOCATION).filter(|_| is_redirect)?.to_str().ok()
}

/// Whether a redirect stays at the same host and port. An upgrade to https counts as the same.
fn is_same_host(from: &Url, to: &Url) -> bool {
    let same_port = from.port_or_known_default() == to.port_or_known_default() && from.scheme() == to.scheme();
    let upgrade = from.scheme() == "http" && to.scheme() == "https" && from.port().is_none() && to.port().is_none();
    from.host() == to.host() && (same_port || upgrade)
}

impl Reply {
    /// The raw answer, with its body as text or decoded.
    pub(super) fn answer(&self, body: Body) -> Answer {
        Answer::Http(HttpResponse { status: self.status, headers: self.headers(), body })
    }

    /// The value of a header.
    pub(super) fn header(&self, name: impl AsHeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The body as text, decoded with the character set of the headers.
    pub(super) fn text(&self) -> Arc<str> {
        let content_type = self.header(header::CONTENT_TYPE).unwrap_or_default();
        let charset = content_type
            .split(';')
            .filter_map(|part| part.trim().split_once('='))
            .find_map(|(name, value)| name.eq_ignore_ascii_case("charset").then(|| value.trim_matches('"')));
        let encoding = charset.and_then(|label| Encoding::for_label(label.as_bytes())).unwrap_or(UTF_8);
        encoding.decode(&self.bytes).0.into()
    }

    fn headers(&self) -> Object {
        let mut headers = Object::default();
        for name in self.headers.keys() {
            let values = self.headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
            let values: Vec<_> = values.collect();
            headers.insert(name.as_str().into(), Value::from(values.join(", ").as_str()));
        }
        headers
    }

    /// The target of its redirect, as the server sent it; `None` if it is not a redirect.
    pub(super) fn redirects_to(&self) -> Option<&str> {
        location(self.status, &self.headers)
    }

    pub(super) fn is_success(&self) -> bool {
        (200..=299).contains(&self.status)
    }

    /// The failure of a call with an unsuccessful status. `message` contains the service and the status.
    pub(super) fn rejection(&self, message: String) -> Answer {
        let is_busy = self.status == 429 || self.status >= 500;
        if is_busy { busy(message, retry_hint(retry_after(|name| self.header(name)))) } else { refused(message) }
    }

    /// The headers and the body.
    pub(super) fn into_parts(self) -> (HeaderMap, Vec<u8>) {
        (self.headers, self.bytes)
    }
}

fn send_failure(url: &Url, error: reqwest::Error) -> Answer {
    // The URL may contain a secret.
    let error = error.without_url();
    if let Some(refused) = refusal(&error) {
        return impossible(refused.to_string());
    }
    let host = url.host_str().unwrap_or_default();
    let message = if error.is_connect() {
        format!("`{host}` cannot be reached: {}", reason(&error))
    } else if error.is_builder() {
        return impossible(format!("the request to `{host}` is invalid: {}", reason(&error)));
    } else {
        format!("the connection to `{host}` was lost before the response was complete: {}", reason(&error))
    };
    failed(message)
}

/// The innermost cause of an error, which says what happened.
pub(super) fn reason(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}
