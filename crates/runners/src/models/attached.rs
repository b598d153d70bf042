//! Images and files that go with a prompt, as `{mime, name}` with `data` in base64, a `url`, or the `storage_key` of a file in the
//! folder for files of steps.
//!
//! What cannot be sent fails the call. The library leaves out what the wire format of a provider does not take; so what it sends is
//! looked through, before it goes out, for everything that was attached.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use branchpoint_core::Failed;
use branchpoint_expr::Value;
use genai::chat::{Binary, BinarySource, ChatRequest, ChatRole, ContentPart};

use crate::runner::Answer;
use crate::tools::FilesSettings;

/// One of them as a part of a message.
pub(super) fn part(written: &Value, files: Option<&FilesSettings>) -> Result<ContentPart, Answer> {
    let text = |key: &str| written.get(key).and_then(Value::as_str);
    let mime = text("mime").or(text("content_type")).unwrap_or("application/octet-stream");
    let name = text("name").map(str::to_owned);
    let binary = match (text("data"), text("url"), text("storage_key")) {
        (Some(data), ..) => Binary::from_base64(mime, base64(data)?, name),
        (None, Some(url), _) => Binary::from_url(mime, url, name),
        (None, None, Some(key)) => {
            let name = name.or_else(|| key.rsplit('/').next().map(str::to_owned));
            Binary::from_base64(mime, STANDARD.encode(stored(key, files)?), name)
        }
        (None, None, None) => {
            let message = format!(
                "nothing is known of the attachment {written} but its name; give it `data` in base64, a `url`, or a `storage_key`"
            );
            return Err(Answer::impossible("step_failed", message));
        }
    };
    Ok(ContentPart::Binary(binary))
}

/// Data as it is sent: programs break it into lines.
fn base64(data: &str) -> Result<String, Answer> {
    let data: String = data.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
    match STANDARD.decode(&data) {
        Ok(_) => Ok(data),
        Err(error) => {
            Err(Answer::impossible("step_failed", format!("the `data` of an attachment is no base64: {error}")))
        }
    }
}

fn stored(key: &str, files: Option<&FilesSettings>) -> Result<Vec<u8>, Answer> {
    let Some(files) = files else {
        let message = format!(
            "the attachment `{key}` cannot be read: no folder is set for files of steps; add [files] with dir to the settings"
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

/// All that a call attaches: a list, or one alone. A template that found none says nothing.
pub(super) fn parts(written: &Value, files: Option<&FilesSettings>) -> Result<Vec<ContentPart>, Answer> {
    let one = std::slice::from_ref(written);
    let said =
        written.as_list().unwrap_or(one).iter().filter(|one| !matches!(one, Value::Null) && **one != Value::from(""));
    let read = |one: &Value| {
        if one.as_object().is_some() {
            return part(one, files);
        }
        let message = format!("`attachments` has {one}, and an attachment is an object such as {{mime, name, url}}");
        Err(Answer::impossible("step_failed", message))
    };
    said.map(read).collect()
}

/// Something that was attached, and by which it is found in what is sent.
#[derive(Clone, Debug)]
pub(super) struct Attached {
    told: String,
    source: BinarySource,
}

impl Attached {
    /// Everything that is attached to a request.
    pub(super) fn to(request: &ChatRequest) -> Vec<Self> {
        // What a model has said goes back to it as its provider wants, which is not our business.
        let asked = request.messages.iter().filter(|message| message.role == ChatRole::User);
        let parts = asked.flat_map(|message| message.content.iter());
        let binary = parts.filter_map(|part| match part {
            ContentPart::Binary(binary) => Some(binary),
            _ => None,
        });
        binary
            .map(|binary| {
                let name = binary.name.as_deref().unwrap_or("without a name");
                Self { told: format!("{name} ({})", binary.content_type), source: binary.source.clone() }
            })
            .collect()
    }

    /// Why it is not in what would be sent, if so.
    pub(super) fn is_missing_in(&self, body: &str) -> Option<String> {
        let (found, how) = match &self.source {
            BinarySource::Base64(data) => (body.contains(&**data), "as data"),
            BinarySource::Url(url) => {
                let written = serde_json::to_string(url).unwrap_or_default();
                (body.contains(written.trim_matches('"')), "by its address; attach it with `data` or `storage_key`")
            }
        };
        (!found).then(|| format!("this provider does not take the attachment {} {how}", self.told))
    }
}
