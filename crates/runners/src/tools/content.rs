//! Contents that steps load and write: files in the operator's folder, or files of the run in the host's store.

use branchpoint_core::effect::{FilesOperation, FilesRequest, StoredFile};
use branchpoint_expr::Value;
use tokio_util::sync::CancellationToken;

use super::failure::impossible;
use super::files::content_text;
use super::objects::uses_objects;
use super::{Tools, blocking};
use crate::documents::{DocumentFormat, TextExtractor};
use crate::runner::{Answer, Call};
use crate::secrets::Secrets;
use crate::shorten::shortened;
use crate::storage::{ContentKey, LoadedFile};
use crate::stored_files::{StoredFiles, last_name};

impl Tools {
    /// Sets the extractor for the text of documents.
    #[must_use]
    pub fn with_extractor(self, extractor: TextExtractor) -> Self {
        Self { extractor: Some(extractor), ..self }
    }

    pub(super) async fn content(&self, call: &Call, request: FilesRequest, named: &Secrets) -> Result<Answer, Answer> {
        let operation = request.operation;
        match operation {
            FilesOperation::Load => return self.load_content(call, &request).await,
            FilesOperation::Publish => return self.publish(call, request, named).await,
            _ => {}
        }
        let document = self.attachment_document(call, &request, named).await?;
        let answer = if self.keeps_files_in_folder() {
            let folder = self.folder().map_err(impossible)?.clone();
            blocking(move || folder.perform(&request)).await
        } else {
            self.store_content(call, request, named).await
        };
        let answer = answer?;
        match document {
            Some(document) => self.index(document, answer).await,
            None => Ok(answer),
        }
    }

    /// Whether steps write files into the folder, and not into their run.
    pub(super) fn keeps_files_in_folder(&self) -> bool {
        self.settings.files.is_some() || self.storage.is_none()
    }

    /// Why contents cannot be read or written; `None` if they can.
    pub(super) fn content_unavailable_reason(&self, request: &FilesRequest) -> Option<String> {
        match request.operation {
            FilesOperation::Write if request.indexed => {
                let of_file = || self.content_unavailable_reason(&FilesRequest { indexed: false, ..request.clone() });
                self.storage_unavailable_reason().or_else(|| self.embeddings_unavailable_reason()).or_else(of_file)
            }
            FilesOperation::Publish => self.objects_unavailable_reason(),
            _ if self.settings.files.is_none() && self.storage.is_some() => None,
            // Which content is loaded depends on the run: a published one needs no folder, and others need no service.
            FilesOperation::Load if self.settings.objects.is_some() => {
                self.folder().err().and(self.objects_unavailable_reason())
            }
            _ => self.folder().err(),
        }
    }

    /// Loads the text of a content: extracted from PDF and DOCX files, while other files must be text.
    async fn load_content(&self, call: &Call, request: &FilesRequest) -> Result<Answer, Answer> {
        let key = request.path.as_deref().unwrap_or_default();
        let files = self.stored_files();
        let file = if let Some(bucket) = uses_objects(request).then(|| self.bucket(None)).flatten() {
            let bytes = bucket?.get(key).await?;
            LoadedFile { name: last_name(key).to_owned(), mime: String::new(), bytes }
        } else {
            if self.settings.files.is_some() && ContentKey::parse(key).is_none() {
                self.folder().map_err(impossible)?;
            }
            files.load(&call.run, key).await?
        };
        if let Some(DocumentFormat::Pdf | DocumentFormat::Docx) = DocumentFormat::of(&file.mime, &file.name) {
            return Ok(Answer::data(&*files.text(file, &CancellationToken::new()).await?));
        }
        let text = String::from_utf8(file.bytes);
        let text = text.map_err(|_| {
            let name = shortened(&file.name);
            impossible(format!("`{name}` is not text; pass it to a model with `attachments`"))
        })?;
        Ok(Answer::data(text))
    }

    pub(super) fn stored_files(&self) -> StoredFiles {
        StoredFiles {
            folder: self.settings.files.clone(),
            storage: self.storage.clone(),
            extractor: self.extractor.clone(),
        }
    }

    /// Stores a content as a file of the run. The secrets of the call and of its run are redacted.
    async fn store_content(&self, call: &Call, request: FilesRequest, named: &Secrets) -> Result<Answer, Answer> {
        let unavailable = || impossible(self.storage_unavailable_reason().unwrap_or_default());
        let (storage, mut secrets, call) = (self.storage.clone().ok_or_else(unavailable)?, named.clone(), call.clone());
        secrets.add(call.sealed.values());
        blocking(move || {
            let name = last_name(request.path.as_deref().unwrap_or_default()).to_owned();
            let (name, mime, text) = match request.operation {
                FilesOperation::WriteMetadata => (name + ".json", "application/json", json(&request.content)),
                _ => (name, request.content_type.as_deref().unwrap_or("text/plain"), content_text(&request.content)),
            };
            let file = storage.put_file(&call, (&name, Some(mime)), &text, &secrets)?;
            let bytes = i64::try_from(file.bytes().len()).unwrap_or(i64::MAX);
            let (name, mime) = (file.name().to_owned(), file.mime().to_owned());
            Ok(Answer::data(StoredFile { storage_key: file.key().to_string(), mime, name, bytes }))
        })
        .await
    }
}

fn json(content: &Value) -> String {
    content.as_str().map_or_else(|| content.to_string(), |text| serde_json::Value::from(text).to_string())
}
