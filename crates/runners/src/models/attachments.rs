//! Images and files of a prompt: `{mime, name}` with `data` in base64, a `url`, or the `storage_key` of a stored file.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use branchpoint_expr::Value;

use crate::runner::Answer;
use crate::shorten::shortened;
use crate::storage::LoadedFile;
use crate::stored_files::last_name;

/// An image or a file.
#[derive(Clone, Debug)]
pub(super) struct Attachment {
    pub(super) mime: String,
    pub(super) name: Option<String>,
    pub(super) source: Source,
}

#[derive(Clone, Debug)]
pub(super) enum Source {
    /// Its bytes in base64.
    Data(String),
    Url(String),
    /// The key of a stored file, which has to be loaded.
    Stored(String),
}

/// The media type of files without a known one.
const UNKNOWN: &str = "application/octet-stream";

impl Attachment {
    pub(super) fn read(written: &Value) -> Result<Self, Answer> {
        let text = |key: &str| written.get(key).and_then(Value::as_str);
        let mime = text("mime").or(text("content_type")).unwrap_or(UNKNOWN).to_owned();
        let name = text("name").map(str::to_owned);
        match (text("data"), text("url"), text("storage_key")) {
            (Some(data), ..) => Ok(Self { mime, name, source: Source::Data(base64(data)?) }),
            (None, Some(url), _) => Ok(Self { mime, name, source: Source::Url(url.to_owned()) }),
            (None, None, Some(key)) => Ok(Self { mime, name, source: Source::Stored(key.to_owned()) }),
            (None, None, None) => {
                let written = shortened(&written.to_string());
                let message = format!(
                    "the attachment {written} has no content; give it `data` in base64, a `url`, or a `storage_key`"
                );
                Err(Answer::impossible("step_failed", message))
            }
        }
    }

    /// All attachments of a call, given as a list, a manifest or a single one. Null and empty text, from templates without a value, are skipped.
    pub(super) fn read_all(written: &Value) -> Result<Vec<Self>, Answer> {
        let written = written.get("attachments").filter(|list| list.as_list().is_some()).unwrap_or(written);
        let single = std::slice::from_ref(written);
        let read = |one: &Value| match one {
            Value::Null => None,
            Value::Object(_) => Some(Self::read(one)),
            Value::Str(text) if text.is_empty() => None,
            other => {
                let expected = "an attachment is an object such as {mime, name, url}";
                let message = format!("`attachments` has {}, but {expected}", shortened(&other.to_string()));
                Some(Err(Answer::impossible("step_failed", message)))
            }
        };
        written.as_list().unwrap_or(single).iter().filter_map(read).collect()
    }

    /// Fills in a missing name and media type from the loaded file.
    pub(super) fn completed(&self, file: &LoadedFile) -> Self {
        let mime = if self.mime == UNKNOWN && !file.mime.is_empty() { file.mime.clone() } else { self.mime.clone() };
        Self { mime, name: Some(self.name.clone().unwrap_or_else(|| file.name.clone())), source: self.source.clone() }
    }

    /// Its name for messages and models.
    pub(super) fn shown_name(&self) -> &str {
        match (&self.name, &self.source) {
            (Some(name), _) => name,
            (None, Source::Stored(key)) => last_name(key),
            (None, _) => "without a name",
        }
    }

    /// The first part of its media type, such as `image`.
    pub(super) fn kind(&self) -> &str {
        self.mime.split('/').next().unwrap_or_default()
    }

    /// Its address, or a `data:` URL with its content.
    pub(super) fn url(&self) -> String {
        match &self.source {
            Source::Data(data) => format!("data:{};base64,{data}", self.mime),
            Source::Url(url) | Source::Stored(url) => url.clone(),
        }
    }

    /// The error of a model or a wire format that does not support it.
    pub(super) fn unsupported(&self) -> String {
        let name = shortened(self.name.as_deref().unwrap_or("without a name"));
        let remedy = match &self.source {
            Source::Data(_) | Source::Stored(_) => "as data",
            Source::Url(_) => "by its address; attach it with `data` or `storage_key`",
        };
        format!("this provider does not accept the attachment {name} ({}) {remedy}", self.mime)
    }
}

/// Removes line breaks from base64 data and checks it.
fn base64(data: &str) -> Result<String, Answer> {
    let data: String = data.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
    match STANDARD.decode(&data) {
        Ok(_) => Ok(data),
        Err(error) => {
            Err(Answer::impossible("step_failed", format!("the `data` of an attachment is not base64: {error}")))
        }
    }
}
