//! Images and files that go with a prompt, as `{mime, name}` with `data` in base64, a `url`, or the `storage_key` of a file in the
//! folder for files of steps.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use branchpoint_core::Failed;
use branchpoint_expr::Value;

use crate::runner::Answer;
use crate::shorten::shortened;
use crate::tools::FilesSettings;

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
}

impl Attachment {
    pub(super) fn read(written: &Value, files: Option<&FilesSettings>) -> Result<Self, Answer> {
        let text = |key: &str| written.get(key).and_then(Value::as_str);
        let mime = text("mime").or(text("content_type")).unwrap_or("application/octet-stream").to_owned();
        let name = text("name").map(str::to_owned);
        match (text("data"), text("url"), text("storage_key")) {
            (Some(data), ..) => Ok(Self { mime, name, source: Source::Data(base64(data)?) }),
            (None, Some(url), _) => Ok(Self { mime, name, source: Source::Url(url.to_owned()) }),
            (None, None, Some(key)) => {
                let name = name.or_else(|| key.rsplit('/').next().map(str::to_owned));
                Ok(Self { mime, name, source: Source::Data(STANDARD.encode(stored(key, files)?)) })
            }
            (None, None, None) => {
                let written = shortened(&written.to_string());
                let message = format!(
                    "the attachment {written} has no content; give it `data` in base64, a `url`, or a `storage_key`"
                );
                Err(Answer::impossible("step_failed", message))
            }
        }
    }

    /// All attachments of a call: a list, or a single one. Null and empty text, from a template without matches, are skipped.
    pub(super) fn read_all(written: &Value, files: Option<&FilesSettings>) -> Result<Vec<Self>, Answer> {
        let single = std::slice::from_ref(written);
        let read = |one: &Value| match one {
            Value::Null => None,
            Value::Object(_) => Some(Self::read(one, files)),
            Value::Str(text) if text.is_empty() => None,
            other => {
                let expected = "an attachment is an object such as {mime, name, url}";
                let message = format!("`attachments` has {}, but {expected}", shortened(&other.to_string()));
                Some(Err(Answer::impossible("step_failed", message)))
            }
        };
        written.as_list().unwrap_or(single).iter().filter_map(read).collect()
    }

    /// The first part of its media type, such as `image`.
    pub(super) fn kind(&self) -> &str {
        self.mime.split('/').next().unwrap_or_default()
    }

    /// Its address, or a `data:` URL with its content.
    pub(super) fn url(&self) -> String {
        match &self.source {
            Source::Data(data) => format!("data:{};base64,{data}", self.mime),
            Source::Url(url) => url.clone(),
        }
    }

    /// The error of a wire format that cannot carry it.
    pub(super) fn unsupported(&self) -> String {
        let name = shortened(self.name.as_deref().unwrap_or("without a name"));
        let remedy = match &self.source {
            Source::Data(_) => "as data",
            Source::Url(_) => "by its address; attach it with `data` or `storage_key`",
        };
        format!("this provider does not take the attachment {name} ({}) {remedy}", self.mime)
    }
}

/// Data without the line breaks that programs put into it.
fn base64(data: &str) -> Result<String, Answer> {
    let data: String = data.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
    match STANDARD.decode(&data) {
        Ok(_) => Ok(data),
        Err(error) => {
            Err(Answer::impossible("step_failed", format!("the `data` of an attachment is not base64: {error}")))
        }
    }
}

fn stored(key: &str, files: Option<&FilesSettings>) -> Result<Vec<u8>, Answer> {
    let Some(files) = files else {
        let message = format!(
            "the attachment `{}` cannot be read: no folder is set for files of steps; add [files] with dir to the settings",
            shortened(key)
        );
        return Err(Answer::impossible("step_failed", message));
    };
    files.bytes(key).map_err(|answer| match answer {
        Answer::Failed(failed) => {
            Answer::Failed(Failed { message: format!("the attachment {}", failed.message).into(), ..failed })
        }
        other => other,
    })
}
