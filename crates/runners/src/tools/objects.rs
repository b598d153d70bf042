//! Writes objects and published contents: to the buckets of an S3-compatible service, or to the folder for files if no service is
//! configured.

use branchpoint_core::effect::{FilesOperation, FilesRequest, ObjectStoreRequest, StoredObject};
use branchpoint_expr::Value;

use super::failure::impossible;
use super::files::{PUBLISHED, content_text, is_published, size, written};
use super::{Tools, blocking};
use crate::runner::{Answer, Call};
use crate::secrets::Secrets;
use crate::shorten::shortened;

/// The longest media type of an object, in bytes.
const MAX_MEDIA_TYPE_BYTES: usize = 255;

/// An object to write.
struct Object {
    /// `None` for the default bucket, or for the folder for files.
    bucket: Option<String>,
    key: String,
    media_type: String,
    content: Vec<u8>,
}

impl Tools {
    /// Performs `object_store`.
    pub(super) async fn write_object(&self, request: ObjectStoreRequest) -> Result<Answer, Answer> {
        if let Some(reason) = self.objects_unavailable_reason() {
            return Err(impossible(reason));
        }
        let default = self.settings.objects.as_ref().map(|objects| objects.bucket.clone());
        let bucket = required("bucket", request.bucket.or(default))?;
        let key = required("key", request.key)?;
        let media_type = media_type(request.content_type, "text/plain")?;
        let content = request.content.unwrap_or_default().into_bytes();
        let bytes = size(content.len());
        self.put_object(Object { bucket: Some(bucket.clone()), key: key.clone(), media_type, content }).await?;
        Ok(Answer::data(StoredObject { bucket, key, bytes }))
    }

    /// Publishes a content. A missing key is derived from the effect, so that every attempt writes the same object.
    pub(super) async fn publish(&self, call: &Call, request: FilesRequest, named: &Secrets) -> Result<Answer, Answer> {
        let mut secrets = named.clone();
        secrets.add(call.sealed.values());
        let key = match request.path {
            Some(key) if key.trim().is_empty() => {
                return Err(impossible("the key of the published content is empty; set it or leave it out"));
            }
            Some(key) => format!("{PUBLISHED}{key}"),
            None => format!("{PUBLISHED}{}/{}", call.run, call.effect.0),
        };
        if secrets.mask(&key) != key {
            return Err(impossible(
                "the key of the published content contains a secret, but keys are stored unencrypted; use another key",
            ));
        }
        let default =
            if matches!(request.content, Value::Null | Value::Str(_)) { "text/plain" } else { "application/json" };
        let media_type = media_type(request.content_type, default)?;
        let content = secrets.mask(&content_text(&request.content)).into_owned().into_bytes();
        let answer = written(&key, &media_type, content.len());
        self.put_object(Object { bucket: None, key, media_type, content }).await?;
        Ok(answer)
    }

    /// Why objects cannot be written.
    pub(super) fn objects_unavailable_reason(&self) -> Option<String> {
        let Some(objects) = &self.settings.objects else { return self.folder().err() };
        let missing = objects.secret_names().find(|name| self.lookup.get(name).is_none())?;
        Some(format!("[objects] needs a secret in the environment variable {missing}, which is not set"))
    }

    async fn put_object(&self, object: Object) -> Result<(), Answer> {
        let Object { bucket, key, media_type, content } = object;
        if let Some(configured) = self.bucket(bucket.as_deref()) {
            return configured?.put_object(&key, media_type, content).await;
        }
        // A folder does not store media types.
        let folder = self.folder().map_err(impossible)?.clone();
        blocking(move || folder.write_object(bucket.as_deref(), &key, &content)).await.map(drop)
    }
}

/// Whether a request for files uses objects if a service is configured.
pub(super) fn uses_objects(request: &FilesRequest) -> bool {
    match request.operation {
        FilesOperation::Publish => true,
        FilesOperation::Load => request.path.as_deref().is_some_and(is_published),
        _ => false,
    }
}

fn required(field: &str, value: Option<String>) -> Result<String, Answer> {
    let value = value.filter(|value| !value.trim().is_empty());
    value.ok_or_else(|| impossible(format!("`{field}` of an object is empty; set it")))
}

/// The media type of an object. A blank one counts as missing.
fn media_type(given: Option<String>, default: &str) -> Result<String, Answer> {
    let Some(given) = given.filter(|given| !given.trim().is_empty()) else { return Ok(default.to_owned()) };
    let has_parts = given.split_once('/').is_some_and(|(kind, subtype)| !kind.is_empty() && !subtype.is_empty());
    if has_parts && given.len() <= MAX_MEDIA_TYPE_BYTES && given.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Ok(given);
    }
    let given = shortened(&given);
    Err(impossible(format!("`content_type` is `{given}`, which is not a media type; use one such as `text/plain`")))
}
