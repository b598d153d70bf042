//! Loads the files that calls name by key, from the operator's folder or the host's store, and extracts their text.

use std::sync::Arc;

use branchpoint_core::AttemptError;
use tokio_util::sync::CancellationToken;

use crate::documents::{DocumentError, DocumentFormat, MAX_TEXT_BYTES, TextExtractor};
use crate::runner::Answer;
use crate::shorten::shortened;
use crate::storage::{ContentKey, LoadedFile, Storage};
use crate::tools::FilesSettings;

/// The places where files are looked up. A key `sha256:…` is a file of the run in the store. Any other key is a path in the folder;
/// without a folder, it is the name of a file of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoredFiles {
    pub(crate) folder: Option<FilesSettings>,
    pub(crate) storage: Option<Storage>,
    pub(crate) extractor: Option<TextExtractor>,
}

impl StoredFiles {
    /// Loads a file by its key, for a run.
    pub(crate) async fn load(&self, run: &Arc<str>, key: &str) -> Result<LoadedFile, Answer> {
        let (files, run, key) = (self.clone(), run.clone(), key.to_owned());
        let loaded = tokio::task::spawn_blocking(move || files.load_now(&run, &key)).await;
        loaded.unwrap_or_else(|_| {
            Err(Answer::failed("runner", "the runner of this call crashed; please report this as a bug"))
        })
    }

    fn load_now(&self, run: &str, key: &str) -> Result<LoadedFile, Answer> {
        if let Some(folder) = self.folder.as_ref().filter(|_| ContentKey::parse(key).is_none()) {
            let bytes = folder.bytes(key).map_err(of_attachment)?;
            return Ok(LoadedFile { name: last_name(key).to_owned(), mime: String::new(), bytes });
        }
        let Some(storage) = &self.storage else {
            return Err(impossible(format!(
                "the attachment `{}` cannot be read: no folder for files is configured; add [files] with dir to the settings",
                shortened(key)
            )));
        };
        let key = if ContentKey::parse(key).is_some() { key } else { last_name(key) };
        storage.load_file(run, key)?.ok_or_else(|| {
            let remedy = "attach it when the run is started, or set [files] with dir to read files of a folder";
            impossible(format!("the run has no attachment `{}`; {remedy}", shortened(key)))
        })
    }

    /// The text of a file. The error names the file.
    pub(crate) async fn text(&self, file: LoadedFile, cancel: &CancellationToken) -> Result<String, Answer> {
        let LoadedFile { name, mime, bytes } = file;
        let of_file =
            |why: &dyn std::fmt::Display| format!("the attachment `{}` cannot be read: {why}", shortened(&name));
        let Some(format) = DocumentFormat::of(&mime, &name) else {
            let mime = if mime.is_empty() { "of an unknown type" } else { &mime };
            return Err(impossible(of_file(&format!(
                "it is {}, and has no text that can be extracted",
                shortened(mime)
            ))));
        };
        if format == DocumentFormat::Text {
            if bytes.len() > MAX_TEXT_BYTES {
                return Err(impossible(of_file(&format!("its text has more than {MAX_TEXT_BYTES} bytes"))));
            }
            return String::from_utf8(bytes).map_err(|_| impossible(of_file(&"it is not text in UTF-8")));
        }
        let Some(extractor) = &self.extractor else {
            return Err(impossible(of_file(&"this host does not extract the text of documents")));
        };
        extractor.text(format, bytes, cancel).await.map_err(|error| match error {
            DocumentError::Cancelled => Answer::Missing,
            DocumentError::Process(_) => Answer::failed("step_failed", of_file(&error)),
            DocumentError::Limit(_) | DocumentError::Invalid(_) => impossible(of_file(&error)),
        })
    }
}

/// The name of a file without the folders of its key.
pub(crate) fn last_name(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

/// Turns the error of a file in the folder into that of an attachment.
fn of_attachment(answer: Answer) -> Answer {
    match answer {
        Answer::Failed(failed) => {
            Answer::Failed(AttemptError { message: format!("the attachment {}", failed.message).into(), ..failed })
        }
        other => other,
    }
}

fn impossible(message: String) -> Answer {
    Answer::impossible("step_failed", message)
}
