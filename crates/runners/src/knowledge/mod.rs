//! Knowledge bases from files: finds files, extracts their text, splits it into passages and adds them to the stored data of a host.

mod chunk;
mod files;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use branchpoint_expr::{Object, Value};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::bounded_read::read_regular_file;
use crate::documents::{DocumentError, DocumentFormat, MAX_DOCUMENT_BYTES, TextExtractor};
use crate::secrets::Secrets;
use crate::storage::{DocumentSummary, KnowledgeDocument, Retrieval, StorageError};
use crate::tools::{EmbeddingError, Tools};
pub use chunk::{ChunkSize, passages};
pub use files::{FoundFiles, MAX_FILES, find_files};

/// The version of splitting. Documents that an older version has split are added again.
const VERSION: u8 = 1;

/// Adds files to a knowledge base.
#[derive(Debug)]
pub struct Indexer<'i> {
    /// Where the documents are stored.
    pub knowledge: &'i dyn Retrieval,
    /// The name of the knowledge base.
    pub knowledge_base: &'i str,
    /// Extracts the text of documents.
    pub extractor: &'i TextExtractor,
    /// Computes vectors, if an embedding model is configured.
    pub tools: &'i Tools,
    /// Secrets that are redacted in everything that is stored or sent to the embedding model.
    pub secrets: &'i Secrets,
    /// How texts are split.
    pub size: ChunkSize,
    /// Facts about each document, which searches can filter by.
    pub metadata: Object,
}

/// The documents of a knowledge base, kept up to date while files are added.
#[derive(Debug)]
pub struct DocumentIndex {
    by_name: BTreeMap<String, DocumentSummary>,
    /// A document of each content.
    by_fingerprint: BTreeMap<Vec<u8>, String>,
}

/// The outcome of adding a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Indexed {
    /// The file is a new document with this number of passages.
    Added(usize),
    /// The file has replaced an older version of itself.
    Updated(usize),
    /// The file is in the knowledge base already.
    Unchanged,
    /// The named document has the same content.
    Duplicate(String),
    /// The file has no text.
    Empty,
}

/// Why a file was not added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// This file cannot be used. Others can.
    #[error("{0}")]
    File(String),
    /// The store, the embedding model or the text extraction fails for every file.
    #[error("{0}")]
    System(String),
}

impl From<StorageError> for IndexError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Unavailable(message) => Self::System(message),
            error => Self::File(error.to_string()),
        }
    }
}

impl From<DocumentError> for IndexError {
    fn from(error: DocumentError) -> Self {
        match error {
            DocumentError::Process(_) => Self::System(error.to_string()),
            error => Self::File(error.to_string()),
        }
    }
}

impl From<EmbeddingError> for IndexError {
    fn from(error: EmbeddingError) -> Self {
        Self::System(error.to_string())
    }
}

impl DocumentIndex {
    /// The documents of a knowledge base.
    pub fn load(knowledge: &dyn Retrieval, knowledge_base: &str) -> Result<Self, StorageError> {
        let documents = knowledge.documents(knowledge_base)?;
        let by_fingerprint = documents.iter().map(|of| (of.fingerprint.clone(), of.name.clone())).collect();
        Ok(Self { by_name: documents.into_iter().map(|of| (of.name.clone(), of)).collect(), by_fingerprint })
    }

    /// The names of the documents below a folder.
    pub fn below(&self, folder: &str) -> Vec<String> {
        let prefix = if folder.is_empty() || folder.ends_with('/') { folder.to_owned() } else { format!("{folder}/") };
        self.by_name.keys().filter(|name| name.starts_with(&prefix)).cloned().collect()
    }

    /// Drops a document that was removed.
    pub fn forget(&mut self, name: &str) {
        if let Some(document) = self.by_name.remove(name)
            && self.by_fingerprint.get(&document.fingerprint).is_some_and(|of| of == name)
        {
            self.by_fingerprint.remove(&document.fingerprint);
        }
    }

    fn remember(&mut self, document: &KnowledgeDocument) {
        self.forget(&document.name);
        let (name, fingerprint) = (document.name.clone(), document.fingerprint.clone());
        self.by_fingerprint.entry(fingerprint.clone()).or_insert_with(|| name.clone());
        let embedding_model = document.vectors.as_ref().map(|(model, _)| model.to_string());
        let passages = u32::try_from(document.passages.len()).unwrap_or(u32::MAX);
        let summary = DocumentSummary { name: name.clone(), fingerprint, passages, embedding_model, added_ms: 0 };
        self.by_name.insert(name, summary);
    }
}

impl Indexer<'_> {
    /// Adds a file under a name, unless it is unchanged. The file is added completely or not at all.
    pub async fn index(
        &self,
        (path, format): (&Path, DocumentFormat),
        name: &str,
        known: &mut DocumentIndex,
        cancel: &CancellationToken,
    ) -> Result<Indexed, IndexError> {
        let bytes = read(path, format)?;
        let fingerprint = self.fingerprint(&bytes);
        let before = known.by_name.get(name);
        if before.is_some_and(|before| before.fingerprint == fingerprint && self.has_vectors(before)) {
            return Ok(Indexed::Unchanged);
        }
        let is_new = before.is_none();
        if let Some(other) = known.by_fingerprint.get(&fingerprint).filter(|other| *other != name) {
            let other = other.clone();
            self.remove(name, known)?;
            return Ok(Indexed::Duplicate(other));
        }
        let Some(document) = self.document(name, format, bytes, fingerprint, cancel).await? else {
            self.remove(name, known)?;
            return Ok(Indexed::Empty);
        };
        self.knowledge.put_document(self.knowledge_base, &document)?;
        known.remember(&document);
        let passages = document.passages.len();
        Ok(if is_new { Indexed::Added(passages) } else { Indexed::Updated(passages) })
    }

    /// Removes the older version of a file, so that searches do not find it any more.
    fn remove(&self, name: &str, known: &mut DocumentIndex) -> Result<(), IndexError> {
        if known.by_name.contains_key(name) {
            self.knowledge.remove_document(self.knowledge_base, name)?;
            known.forget(name);
        }
        Ok(())
    }

    /// The document of a file; none if it has no text.
    async fn document(
        &self,
        name: &str,
        format: DocumentFormat,
        bytes: Vec<u8>,
        fingerprint: Vec<u8>,
        cancel: &CancellationToken,
    ) -> Result<Option<KnowledgeDocument>, IndexError> {
        let text = self.extractor.text(format, bytes, cancel).await?;
        let text = self.secrets.mask(&text);
        let passages = passages(&text, self.size);
        if passages.is_empty() {
            return Ok(None);
        }
        let vectors = self.tools.embed_documents(&passages, cancel).await?;
        let mut metadata = self.metadata.clone();
        metadata.insert("format".into(), Value::from(format.as_str()));
        Ok(Some(KnowledgeDocument {
            name: name.to_owned(),
            metadata,
            is_attachment: false,
            passages: passages.into_iter().map(str::to_owned).collect(),
            vectors: self.tools.embedding_model().zip(vectors),
            fingerprint,
        }))
    }

    /// Whether a document has the vectors that the settings ask for.
    fn has_vectors(&self, document: &DocumentSummary) -> bool {
        let wanted = self.tools.embedding_model();
        wanted.is_none_or(|wanted: Arc<str>| document.embedding_model.as_deref() == Some(&*wanted))
    }

    /// Identifies the content of a file, how it is split, and its metadata.
    fn fingerprint(&self, bytes: &[u8]) -> Vec<u8> {
        let metadata = Value::from(self.metadata.clone()).to_string();
        let ChunkSize { passage, overlap } = self.size;
        let how = format!("{VERSION} {passage} {overlap} {} {metadata} ", metadata.len());
        Sha256::new().chain_update(how).chain_update(bytes).finalize().to_vec()
    }
}

fn read(path: &Path, format: DocumentFormat) -> Result<Vec<u8>, IndexError> {
    let bytes =
        read_regular_file(path, MAX_DOCUMENT_BYTES as u64).map_err(|error| IndexError::File(error.to_string()))?;
    if format == DocumentFormat::Text && bytes.contains(&0) {
        let message = "it is not text, although its extension says so";
        return Err(IndexError::File(message.to_owned()));
    }
    Ok(bytes)
}
