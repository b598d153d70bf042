//! A bucket of an S3-compatible service.
//!
//! `object_store` signs the requests; the HTTP clients of all tools send them, with their limits. It does not repeat requests itself,
//! because the run repeats failed attempts.

use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::BodyExt as _;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use object_store::path::Path;
use object_store::{Attribute, Attributes, GetOptions, ObjectStore as _, PutOptions, RetryConfig};
use reqwest::header::{self, HeaderValue};
use url::Url;

use super::Tools;
use super::failure::{failed, impossible};
use super::files::MAX_KEY_BYTES;
use super::settings::ObjectsSettings;
use super::wire::{Outgoing, Wire};
use crate::network::Source;
use crate::runner::Answer;
use crate::shorten::shortened;

/// A bucket that steps may use.
pub(super) struct Bucket {
    store: AmazonS3,
    transport: Transport,
    max_bytes: u64,
}

impl ObjectsSettings {
    /// The names of the secrets that requests are signed with.
    pub(super) fn secret_names(&self) -> impl Iterator<Item = &String> {
        [&self.access_key_env, &self.secret_key_env].into_iter().chain(&self.session_token_env)
    }

    fn allows(&self, bucket: &str) -> bool {
        self.bucket == bucket || self.buckets.iter().any(|allowed| allowed == bucket)
    }
}

impl Tools {
    /// A bucket by its name, or the default one; `None` if no service is configured.
    pub(super) fn bucket(&self, name: Option<&str>) -> Option<Result<Bucket, Answer>> {
        let settings = self.settings.objects.as_ref()?;
        Some(self.open(settings, name.unwrap_or(&settings.bucket)))
    }

    fn open(&self, settings: &ObjectsSettings, name: &str) -> Result<Bucket, Answer> {
        if let Some(reason) = self.objects_unavailable_reason() {
            return Err(impossible(reason));
        }
        if !settings.allows(name) {
            let name = shortened(name);
            return Err(impossible(format!(
                "steps may not write to the bucket `{name}`; add it to `buckets` under [objects] in the settings"
            )));
        }
        let transport = Transport { wire: Arc::clone(&self.wire), failure: Arc::default() };
        let secret = |name: &String| self.lookup.get(name).unwrap_or_default();
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(name)
            .with_region(&settings.region)
            .with_access_key_id(secret(&settings.access_key_env))
            .with_secret_access_key(secret(&settings.secret_key_env))
            .with_retry(RetryConfig { max_retries: 0, ..RetryConfig::default() })
            .with_http_connector(transport.clone());
        if let Some(token) = &settings.session_token_env {
            builder = builder.with_token(secret(token));
        }
        if let Some(endpoint) = &settings.endpoint {
            let is_web = Url::parse(endpoint).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
            if !is_web {
                return Err(impossible(
                    "`endpoint` of [objects] in the settings is not a URL that begins with http:// or https://",
                ));
            }
            builder = builder.with_endpoint(endpoint);
        }
        let store =
            builder.build().map_err(|error| impossible(format!("[objects] in the settings is invalid: {error}")))?;
        Ok(Bucket { store, transport, max_bytes: settings.max_bytes })
    }
}

impl Bucket {
    /// Writes an object. Repeated with the same content, it changes nothing.
    pub(super) async fn put_object(&self, key: &str, media_type: String, content: Vec<u8>) -> Result<(), Answer> {
        if content.len() as u64 > self.max_bytes {
            let (bytes, allowed) = (content.len(), self.max_bytes);
            return Err(impossible(format!(
                "the object `{}` would have {bytes} bytes, but at most {allowed} are allowed; raise max_bytes under [objects] in the settings",
                shortened(key)
            )));
        }
        let attributes = Attributes::from_iter([(Attribute::ContentType, media_type)]);
        let options = PutOptions { attributes, ..PutOptions::default() };
        let path = path(key)?;
        self.store.put_opts(&path, content.into(), options).await.map_err(|error| self.failure(key, &error))?;
        Ok(())
    }

    /// The content of an object.
    pub(super) async fn get(&self, key: &str) -> Result<Vec<u8>, Answer> {
        let path = path(key)?;
        let object =
            self.store.get_opts(&path, GetOptions::default()).await.map_err(|error| self.failure(key, &error))?;
        if object.meta.size > self.max_bytes {
            return Err(impossible(format!(
                "the object `{}` exceeds {} bytes; raise max_bytes under [objects] in the settings",
                shortened(key),
                self.max_bytes
            )));
        }
        let content = object.bytes().await.map_err(|error| self.failure(key, &error))?;
        Ok(content.to_vec())
    }

    /// The failure that the transport has recorded, or else the error of the library.
    fn failure(&self, key: &str, error: &object_store::Error) -> Answer {
        let recorded = self.transport.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        recorded.unwrap_or_else(|| {
            failed(format!("the object store did not respond as expected for the object `{}`: {error}", shortened(key)))
        })
    }
}

/// The path of a key. Keys that the library would change are rejected, so that an object is stored under the reported key.
fn path(key: &str) -> Result<Path, Answer> {
    if key.len() > MAX_KEY_BYTES {
        let key = shortened(key);
        return Err(impossible(format!("the key `{key}` is too long; use at most {MAX_KEY_BYTES} bytes")));
    }
    let path = Path::parse(key).ok().filter(|path| !key.is_empty() && path.as_ref() == key);
    path.ok_or_else(|| {
        let key = shortened(key);
        impossible(format!(
            "`{key}` is not a valid object key; write names separated by `/`, none of them empty, `.` or `..`"
        ))
    })
}

/// Sends the requests of the library over the HTTP clients of tools, and records why one failed.
#[derive(Clone, Debug)]
struct Transport {
    wire: Arc<Wire>,
    failure: Arc<Mutex<Option<Answer>>>,
}

/// Tells the library that the transport has recorded a failure.
#[derive(Debug, thiserror::Error)]
#[error("the request failed")]
struct Recorded;

impl Transport {
    fn record(&self, failure: Answer) -> HttpError {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        HttpError::new(HttpErrorKind::Unknown, Recorded)
    }
}

impl HttpConnector for Transport {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait::async_trait]
impl HttpService for Transport {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes().to_vec();
        let url = Url::parse(&parts.uri.to_string()).map_err(|_| {
            self.record(impossible(
                "[objects] in the settings does not give a valid URL; check `endpoint` and `bucket`",
            ))
        })?;
        let mut out = Outgoing::new(parts.method, url, Source::Operator);
        out.headers = parts.headers;
        // An object is read as it is stored: decompressing would change its length.
        out.headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        out.body = Some(body).filter(|body| !body.is_empty() || out.headers.contains_key(header::CONTENT_LENGTH));
        // The signature is valid for this address only.
        out.follow = false;
        let reply = self.wire.send(out).await.map_err(|failure| self.record(failure))?;
        if !reply.is_success() {
            let (status, text) = (reply.status, reply.text());
            let message = format!("the object store responded with status {status}: {}", shortened(&text));
            return Err(self.record(reply.rejection(message)));
        }
        let (headers, body) = reply.into_parts();
        let mut response = HttpResponse::new(HttpResponseBody::from(body));
        *response.headers_mut() = headers;
        Ok(response)
    }
}
