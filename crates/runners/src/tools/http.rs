//! HTTP requests of documents.

use branchpoint_core::effect::{Body, HttpRequest};
use branchpoint_expr::Object;
use reqwest::Method;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::Tools;
use super::body::{EncodedBody, encode_body, pairs};
use super::failure::impossible;
use super::wire::Outgoing;
use crate::network::Source;
use crate::runner::{Answer, Call};
use crate::shorten::shortened;

/// The header by which the server recognises a repeated call.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Headers that the connection sets. A document that sets them could smuggle a second request, or reach another host than the one that was
/// checked.
const CONNECTION_HEADERS: [HeaderName; 5] =
    [header::CONNECTION, header::CONTENT_LENGTH, header::HOST, header::TRANSFER_ENCODING, header::UPGRADE];

impl Tools {
    /// Performs `http`. The judge reads the body.
    pub(super) async fn http(&self, call: &Call, request: &HttpRequest) -> Result<Answer, Answer> {
        let reply = self.wire.send(outgoing(call, request)?).await?;
        Ok(reply.answer(Body::Text(reply.text())))
    }
}

fn outgoing(call: &Call, request: &HttpRequest) -> Result<Outgoing, Answer> {
    let method = method(request.method.as_deref())?;
    let mut url = address(request.url.as_deref())?;
    let query = pairs(&request.query);
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    let mut out = Outgoing::new(method, url, Source::Document);
    out.headers = headers(&request.headers)?;
    out.follow = request.follow_redirects.unwrap_or_else(|| !expects_redirect(call));
    out.add_body(encode_body(&request.body, request.body_type, &boundary(call))?);
    out.add_key(call);
    Ok(out)
}

impl Outgoing {
    /// Adds a body. Its content type does not replace one that the document sets, except for a form, which needs our boundary.
    pub(super) fn add_body(&mut self, body: Option<EncodedBody>) {
        let Some(body) = body else { return };
        self.body = Some(body.bytes);
        let Some(content_type) = body.content_type.and_then(|name| HeaderValue::try_from(name).ok()) else { return };
        let ours = content_type.as_bytes().starts_with(b"multipart/");
        if ours || !self.headers.contains_key(header::CONTENT_TYPE) {
            self.headers.insert(header::CONTENT_TYPE, content_type);
        }
    }

    /// Adds the idempotency key to requests that may change something.
    pub(super) fn add_key(&mut self, call: &Call) {
        let reads = [Method::GET, Method::HEAD, Method::OPTIONS].contains(&self.method);
        if let (false, Ok(key)) =
            (reads || self.headers.contains_key(IDEMPOTENCY_KEY), HeaderValue::try_from(call.key()))
        {
            self.headers.insert(IDEMPOTENCY_KEY, key);
        }
    }
}

/// Whether the call expects a redirect as its response.
pub(super) fn expects_redirect(call: &Call) -> bool {
    let mut expected = call.response().expected_status.iter().flatten();
    expected.any(|(low, high)| [low, high].into_iter().any(|status| (300..=399).contains(status)))
}

pub(super) fn method(written: Option<&str>) -> Result<Method, Answer> {
    let name = written.unwrap_or_default().trim().to_ascii_uppercase();
    let method = if name.is_empty() { Ok(Method::GET) } else { Method::from_bytes(name.as_bytes()) };
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphabetic());
    method.ok().filter(|method| is_word && *method != Method::CONNECT).ok_or_else(|| {
        impossible(format!("`method` is `{}`, but must be GET, POST, PUT, PATCH or DELETE", shortened(&name)))
    })
}

pub(super) fn address(written: Option<&str>) -> Result<Url, Answer> {
    let text = written.unwrap_or_default().trim();
    Url::parse(text).map_err(|error| {
        impossible(format!(
            "`url` is `{}`, which is not a valid URL ({error}); write a full URL such as https://example.org/path",
            shortened(text)
        ))
    })
}

pub(super) fn headers(written: &Object) -> Result<HeaderMap, Answer> {
    let mut headers = HeaderMap::new();
    for (name, value) in written {
        let known = HeaderName::try_from(name.trim())
            .map_err(|_| impossible(format!("`{}` is not a valid header name", shortened(name))))?;
        if CONNECTION_HEADERS.contains(&known) {
            return Err(impossible(format!("the header `{name}` is set by the connection; remove it")));
        }
        // The value may be a secret, so the message does not show it.
        let value = HeaderValue::try_from(value.to_string().trim()).map_err(|_| {
            impossible(format!("the value of the header `{name}` has a character that a header cannot contain, such as a line break; remove it"))
        })?;
        headers.append(known, value);
    }
    Ok(headers)
}

/// A boundary that no field of a form contains, because it is random.
fn boundary(call: &Call) -> String {
    use std::hash::{BuildHasher, RandomState};
    format!("branchpoint-{:016x}{:016x}", RandomState::new().hash_one(call.key()), RandomState::new().hash_one(0))
}
