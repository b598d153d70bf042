//! Indexes contents that steps write, as attachments in the knowledge base `default`.

use branchpoint_core::effect::FilesRequest;
use branchpoint_expr::Object;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::failure::impossible;
use super::files::content_text;
use super::{Tools, blocking};
use crate::documents::DocumentFormat;
use crate::knowledge::{ChunkSize, passages};
use crate::runner::{Answer, Call};
use crate::secrets::Secrets;
use crate::storage::{DEFAULT_NAME, KnowledgeDocument, LoadedFile, WriteId};
use crate::stored_files::last_name;

impl Tools {
    /// The document of an indexed content, with secrets redacted; `None` for other contents. Its name contains the key of the file, or the
    /// effect if the file belongs to the run, so that a repeated attempt replaces the document.
    pub(super) async fn attachment_document(
        &self,
        call: &Call,
        request: &FilesRequest,
        named: &Secrets,
    ) -> Result<Option<KnowledgeDocument>, Answer> {
        if !request.indexed {
            return Ok(None);
        }
        let unavailable = self.storage_unavailable_reason();
        unavailable.map_or(Ok(()), |reason| Err(impossible(reason)))?;
        let mut secrets = named.clone();
        secrets.add(call.sealed.values());
        let path = request.path.as_deref().unwrap_or_default();
        let name = if self.keeps_files_in_folder() {
            format!("attachment:{path}")
        } else {
            let write = WriteId { run: call.run.clone(), effect: call.effect };
            format!("attachment:{write}/{}", last_name(path))
        };
        if secrets.mask(&name) != name {
            return Err(impossible(
                "the key of the content contains a secret, but names of documents are stored unencrypted; use another key",
            ));
        }
        let text = self.indexed_text(request).await?;
        let passages: Vec<String> =
            passages(&secrets.mask(&text), ChunkSize::default()).into_iter().map(str::to_owned).collect();
        let texts: Vec<&str> = passages.iter().map(String::as_str).collect();
        let vectors = self.embed_passages(&texts).await?;
        let fingerprint = Sha256::new().chain_update(&name).chain_update(text.as_bytes()).finalize().to_vec();
        Ok(Some(KnowledgeDocument {
            name,
            is_attachment: true,
            passages,
            vectors,
            fingerprint,
            metadata: Object::default(),
        }))
    }

    /// Adds the document of a written content to the knowledge base, or removes it if it has no text.
    pub(super) async fn index(&self, mut document: KnowledgeDocument, written: Answer) -> Result<Answer, Answer> {
        let unavailable = || impossible(self.storage_unavailable_reason().unwrap_or_default());
        let storage = self.storage.clone().ok_or_else(unavailable)?;
        if let Answer::Data(file) = &written {
            let fact = |name: &str| (name.into(), file.value.get(name).cloned().unwrap_or_default());
            document.metadata = ["name", "mime", "storage_key"].into_iter().map(fact).collect();
        }
        blocking(move || {
            let knowledge = storage.knowledge();
            if document.passages.is_empty() {
                knowledge.remove_document(DEFAULT_NAME, &document.name)?;
            } else {
                knowledge.put_document(DEFAULT_NAME, &document)?;
            }
            Ok(written)
        })
        .await
    }

    /// The text to index: the text of an HTML page, any other content unchanged.
    async fn indexed_text(&self, request: &FilesRequest) -> Result<String, Answer> {
        let text = content_text(&request.content);
        let path = request.path.as_deref().unwrap_or_default();
        let mime = request.content_type.as_deref().unwrap_or_default();
        if DocumentFormat::of(mime, path) != Some(DocumentFormat::Html) {
            return Ok(text);
        }
        let file = LoadedFile { name: last_name(path).to_owned(), mime: mime.to_owned(), bytes: text.into_bytes() };
        self.stored_files().text(file, &CancellationToken::new()).await
    }
}
