//! Starts runs on a server.

use branchpoint_backend::{Accepted, BackendError, Rejection};
use branchpoint_expr::{Object, Value};
use reqwest::Method;
use serde_json::json;

use crate::Remote;
use crate::connection::{Body, Change, new_key};

/// The start of a run on a server, in the form in which a person writes it: the server computes what the run starts with.
#[derive(Clone, Debug)]
pub struct RemoteStart {
    /// The id of the run. A second start with the same id changes nothing, so a start can be repeated after a lost connection.
    pub id: String,
    /// The name of the workflow.
    pub workflow: String,
    /// The inputs, by name.
    pub inputs: Object,
    /// What answers its calls; runners if absent.
    pub script: Option<Value>,
    /// The tags.
    pub tags: Vec<String>,
    /// The priority in queues.
    pub priority: i64,
    /// The files: name, media type and content.
    pub files: Vec<(String, String, Vec<u8>)>,
}

impl Remote {
    /// Starts a run, which is stored when this returns.
    pub fn start_run(&self, start: &RemoteStart) -> Result<Accepted, BackendError> {
        let live = start.script.is_none();
        let request = json!({
            "workflow": start.workflow, "inputs": start.inputs, "script": start.script, "tags": start.tags,
            "priority": start.priority, "id": start.id, "live": live,
        });
        let body = if start.files.is_empty() { Body::Json(request) } else { multipart(&request, &start.files)? };
        let change = Change { method: Method::POST, path: &["runs"], body, key: Some(start.id.clone()) };
        let changed = self.0.change(&change)?;
        let run = self.0.run(&start.id)?.ok_or(Rejection::NoRun)?;
        self.0.set_focus(run.run, &run.id);
        Ok(Accepted { run: run.run, new: !changed.is_replayed })
    }

    /// Saves a document as the latest version of a workflow, unless the latest version has the same text.
    pub fn save_document(&self, name: &str, text: &str, dialect: &str) -> Result<(), BackendError> {
        let dialect = Some(dialect).filter(|dialect| !dialect.is_empty());
        let path = ["workflows", name];
        let known = self.0.connection.get::<serde_json::Value>(&path);
        let base = match known {
            Ok(known) if known["text"] == text => return Ok(()),
            Ok(known) => known["version"].clone(),
            Err(_) => serde_json::Value::Null,
        };
        let mut body = json!({"text": text, "dialect": dialect});
        if !base.is_null() {
            body["base_version"] = base;
        }
        // The same text is saved once, so a repeated request changes nothing.
        let key = Some(new_key()?);
        self.0.change(&Change { method: Method::PUT, path: &path, body: Body::Json(body), key }).map(drop)
    }
}

/// A request with files.
fn multipart(request: &serde_json::Value, files: &[(String, String, Vec<u8>)]) -> Result<Body, BackendError> {
    let boundary = new_key()?;
    let mut bytes = Vec::new();
    let head = format!("--{boundary}\r\ncontent-disposition: form-data; name=\"request\"\r\n\r\n{request}\r\n");
    bytes.extend_from_slice(head.as_bytes());
    for (name, media_type, content) in files {
        let is_control = |text: &str| text.chars().any(|c| c.is_control() || c == '"');
        if is_control(name) || is_control(media_type) {
            return Err(BackendError::Refused(format!(
                "the name of the file {name:?} has characters that cannot be sent"
            )));
        }
        let head = format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\ncontent-type: {media_type}\r\n\r\n"
        );
        bytes.extend_from_slice(head.as_bytes());
        bytes.extend_from_slice(content);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok(Body::Bytes(format!("multipart/form-data; boundary={boundary}"), bytes))
}
