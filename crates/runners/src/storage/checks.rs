//! Checks the fields of requests to stored data, and redacts values before they are stored.

use branchpoint_core::effect::{FieldError, Kind};
use branchpoint_expr::{Object, Value};

use super::{MAX_CONTENT_BYTES, MAX_METADATA_BYTES, MAX_METADATA_DEPTH, MAX_NAME_BYTES, MAX_QUERY_BYTES, StorageError};
use crate::secrets::Secrets;

pub(super) struct Checks<'c> {
    pub(super) kind: Kind,
    pub(super) secrets: &'c Secrets,
}

impl Checks<'_> {
    /// A required name. A name with a secret is rejected, because redacted names would collide.
    pub(super) fn name(&self, field: &str, name: Option<String>) -> Result<String, StorageError> {
        let name = self.required(field, name)?;
        if name.trim().is_empty() {
            return Err(self.error(field, "is empty").into());
        }
        within(field, &name, MAX_NAME_BYTES)?;
        if self.secrets.mask(&name) != name {
            return Err(self
                .error(field, "contains a secret, but names are stored unencrypted; use another name")
                .into());
        }
        Ok(name)
    }

    /// An optional name with a default. An empty name is an error.
    pub(super) fn name_or(&self, field: &str, name: Option<String>, default: &str) -> Result<String, StorageError> {
        name.map_or_else(|| Ok(default.to_owned()), |name| self.name(field, Some(name)))
    }

    pub(super) fn content(&self, content: Option<String>) -> Result<String, StorageError> {
        let content = self.required("content", content)?;
        within("content", &content, MAX_CONTENT_BYTES)?;
        Ok(self.secrets.mask(&content).into_owned())
    }

    pub(super) fn metadata(&self, metadata: &Object) -> Result<Object, StorageError> {
        let metadata = self.secrets.mask_value(&Value::from(metadata.clone()));
        if !metadata.is_within_depth(MAX_METADATA_DEPTH) {
            return Err(StorageError::Limit(format!(
                "`metadata` is nested more than {MAX_METADATA_DEPTH} levels deep; flatten it"
            )));
        }
        within("metadata", &metadata.to_string(), MAX_METADATA_BYTES)?;
        Ok(metadata.as_object().cloned().unwrap_or_default())
    }

    pub(super) fn query(&self, query: Option<String>) -> Result<String, StorageError> {
        let query = self.required("query", query)?;
        within("query", &query, MAX_QUERY_BYTES)?;
        Ok(query)
    }

    pub(super) fn error(&self, field: &str, problem: &str) -> FieldError {
        FieldError { kind: self.kind, field: field.into(), problem: problem.to_owned() }
    }

    fn required(&self, field: &str, value: Option<String>) -> Result<String, FieldError> {
        value.ok_or_else(|| self.error(field, "is missing"))
    }
}

fn within(field: &str, text: &str, limit: usize) -> Result<(), StorageError> {
    let bytes = text.len();
    if bytes <= limit {
        return Ok(());
    }
    Err(StorageError::Limit(format!("`{field}` has {bytes} bytes, but at most {limit} are allowed; shorten it")))
}
