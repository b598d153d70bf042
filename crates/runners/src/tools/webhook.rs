//! Webhooks: notifications to other systems, signed so that receivers can verify the sender. `docs/how-to/webhooks.md` has the format.

use std::time::{SystemTime, UNIX_EPOCH};

use branchpoint_core::effect::{Body, BodyType, WebhookRequest};
use branchpoint_expr::Value;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::Method;
use reqwest::header::{self, HeaderMap, HeaderValue};
use sha2::Sha256;

use super::Tools;
use super::body::encode_body;
use super::failure::impossible;
use super::http::{address, expects_redirect, headers, method};
use super::wire::Outgoing;
use crate::hexadecimal::hexadecimal;
use crate::network::Source;
use crate::runner::{Answer, Call};
use crate::shorten::shortened;

const ID: &str = "branchpoint-id";
const TIMESTAMP: &str = "branchpoint-timestamp";
const SIGNATURE: &str = "branchpoint-signature";

impl Tools {
    /// Performs `webhook`.
    pub(super) async fn webhook(&self, call: &Call, request: &WebhookRequest) -> Result<Answer, Answer> {
        let reply = self.wire.send(self.notification(call, request)?).await?;
        if let Some(to) = reply.redirects_to().filter(|_| !expects_redirect(call)) {
            return Err(moved(reply.status, to));
        }
        Ok(reply.answer(Body::Decoded(Value::Str(reply.text()))))
    }

    /// Why webhooks cannot be signed; `None` if they can, or if no key is configured.
    pub(super) fn webhook_unavailable_reason(&self) -> Option<String> {
        let name = self.settings.webhook.secret_env.as_ref()?;
        self.lookup.get(name).is_none().then(|| {
            format!(
                "webhooks are signed with the secret in the environment variable {name}, which is not set; set it, or remove \
                 secret_env from [webhook] in the settings"
            )
        })
    }

    fn notification(&self, call: &Call, request: &WebhookRequest) -> Result<Outgoing, Answer> {
        let method = method(request.method.as_deref().or(Some("POST")))?;
        if method != Method::POST && method != Method::PUT {
            let method = shortened(method.as_str());
            return Err(impossible(format!("`method` is `{method}`, but a webhook must be sent with POST or PUT")));
        }
        let mut out = Outgoing::new(method, address(request.url.as_deref())?, Source::Document);
        out.headers = headers(&request.headers)?;
        out.follow = false;
        let content_type = request.content_type.as_deref().unwrap_or("application/json");
        if !out.headers.contains_key(header::CONTENT_TYPE) {
            let content_type = HeaderValue::try_from(content_type).map_err(|_| {
                impossible(format!(
                    "`content_type` is `{}`, which is not a valid header value",
                    shortened(content_type)
                ))
            })?;
            out.headers.insert(header::CONTENT_TYPE, content_type);
        }
        let form = if content_type.contains("json") { BodyType::Json } else { BodyType::Raw };
        let mut body = encode_body(&request.payload, form, "")?;
        out.body = Some(body.take().map(|body| body.bytes).unwrap_or_default());
        out.add_key(call);
        self.sign(call, &mut out)?;
        Ok(out)
    }

    fn sign(&self, call: &Call, out: &mut Outgoing) -> Result<(), Answer> {
        let secret = match &self.settings.webhook.secret_env {
            Some(name) => {
                let secret = self.lookup.get(name);
                Some(secret.ok_or_else(|| impossible(self.webhook_unavailable_reason().unwrap_or_default()))?)
            }
            None => None,
        };
        let body = out.body.as_deref().unwrap_or_default();
        for (name, value) in signed_headers(secret.as_deref().map(str::as_bytes), &call.key(), body) {
            set_header(&mut out.headers, name, &value);
        }
        Ok(())
    }
}

/// The headers by which the receiver of a notification recognises its sender, its time and repetitions: the id, the timestamp, and the
/// signature if there is a secret.
///
/// ```
/// let headers = branchpoint_runners::tools::signed_headers(Some(b"secret"), "run-1/7/0", b"{}");
/// assert_eq!(headers[0], ("branchpoint-id", "run-1/7/0".to_owned()));
/// assert!(headers[2].1.starts_with("v1="));
/// ```
pub fn signed_headers(secret: Option<&[u8]>, id: &str, body: &[u8]) -> Vec<(&'static str, String)> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let timestamp = since.as_secs().to_string();
    let signed = secret.map(|secret| (SIGNATURE, format!("v1={}", signature(secret, id, &timestamp, body))));
    [(ID, id.to_owned()), (TIMESTAMP, timestamp)].into_iter().chain(signed).collect()
}

/// The failure of a redirected webhook. Redirects are not followed: most drop the payload, and the signature is meant for the address in the
/// document.
fn moved(status: u16, to: &str) -> Answer {
    let message = format!(
        "the webhook was not delivered: its address responded with {status}, a redirect to `{to}`, and webhooks do not follow \
         redirects; write the new address into the step"
    );
    Answer::refused("http_status", message)
}

fn set_header(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}

/// HMAC-SHA256 of `id.timestamp.body`, in hexadecimal. It includes the id, by which receivers recognise duplicates: a copy with another id
/// must not pass for a new notification.
fn signature(secret: &[u8], id: &str, timestamp: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC accepts keys of every length");
    for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
        mac.update(part);
    }
    hexadecimal(&mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_the_same_as_those_of_openssl() {
        // printf 'run-1/7/0.1700000000.{"a":1}' | openssl dgst -sha256 -hmac secret
        let expected = "c8113f0ffdcfca241775b186bee95a050b8d2c4d4ff824457c33018db599836b";
        assert_eq!(signature(b"secret", "run-1/7/0", "1700000000", br#"{"a":1}"#), expected);
    }
}
