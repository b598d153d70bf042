//! Stored data of runs: memories, chats, knowledge bases and files.
//!
//! A host implements the traits [`Memory`], [`ChatHistory`], [`Retrieval`] and [`Blobs`]; [`Storage`] performs the effects over them.
//! Stored data is not encrypted, so secrets are redacted before a host sees what steps write. Files belong to their run, all other data
//! to the store.

mod attachments;
mod checks;
mod vector;

use std::borrow::Cow;
use std::fmt::{self, Debug};
use std::sync::Arc;

use branchpoint_core::EffectNo;
use branchpoint_core::effect::{
    ChatHistoryRequest, ChatOperation, ChatTurn, FieldError, MemoryEntry, MemoryMatch, MemoryOperation, MemoryRequest,
    Passage, Request, RetrievalRequest, Role,
};
use branchpoint_expr::{Object, Value};
use tokio_util::sync::CancellationToken;

use crate::runner::{Answer, Call};
use crate::secrets::Secrets;
pub use attachments::{
    Blobs, ContentKey, FileKey, LoadedFile, MAX_FILE_BYTES, MAX_FILE_NAME_BYTES, MAX_FILES_BYTES, MAX_UPLOADS, Upload,
    UploadError, Uploads,
};
use checks::Checks;
pub use vector::{MAX_DIMENSIONS, ModelVector, Vector, fuse};

/// The most bytes of the text of an entry, a turn or a passage.
pub const MAX_CONTENT_BYTES: usize = 256 * 1024;
/// The most bytes of the name of a collection, a chat, a knowledge base or a document, and of a key.
pub const MAX_NAME_BYTES: usize = 512;
/// The most bytes of metadata as JSON.
pub const MAX_METADATA_BYTES: usize = 64 * 1024;
/// The greatest depth of nested lists and objects in metadata, so that stored JSON can be parsed again.
pub const MAX_METADATA_DEPTH: u16 = 64;
/// The most bytes of the text of a search.
pub const MAX_QUERY_BYTES: usize = 16 * 1024;
/// The most distinct words of a search.
pub const MAX_QUERY_WORDS: usize = 512;
/// The most bytes of texts and metadata that one request loads.
pub const MAX_RESULT_BYTES: usize = 16 * 1024 * 1024;
/// The most entries of a collection.
pub const MAX_ENTRIES: u32 = 100_000;
/// The most turns of a chat.
pub const MAX_TURNS: u32 = 100_000;
/// The most passages of a knowledge base.
pub const MAX_PASSAGES: u32 = 1_000_000;

/// The default number of candidates of a search: the best by words, and the best by vectors.
pub const CANDIDATES: u32 = 100;

/// The default collection and knowledge base.
pub(crate) const DEFAULT_NAME: &str = "default";

/// Memories: texts in named collections.
pub trait Memory: Debug + Send + Sync {
    /// Adds an entry, replacing one with the same key. Repeating a write changes nothing.
    fn add_entry(
        &self,
        write: &WriteId,
        collection: &str,
        entry: &MemoryEntry,
        vector: Option<&ModelVector>,
    ) -> Result<(), StorageError>;

    /// The entries that match a search, best first. A search that is cancelled fails.
    fn search_entries(
        &self,
        collection: &str,
        search: &EntrySearch,
        cancel: &CancellationToken,
    ) -> Result<Vec<MemoryMatch>, StorageError>;

    /// The entry of a key.
    fn load_entry(&self, collection: &str, key: &str) -> Result<Option<MemoryEntry>, StorageError>;

    /// All collections by name, each with the number of its entries.
    fn collections(&self) -> Result<Vec<(String, u32)>, StorageError>;

    /// One page of the entries of a collection, ordered by key: at most `limit` entries after a key.
    fn entries(&self, collection: &str, after: Option<&str>, limit: u32) -> Result<Vec<MemoryEntry>, StorageError>;

    /// Removes the entry of a key, or all entries. Returns the number of removed entries.
    fn remove_entries(&self, collection: &str, key: Option<&str>) -> Result<u32, StorageError>;
}

/// What to search for in a collection of memories.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntrySearch {
    /// The words to search for.
    pub query: String,
    /// The vector of the query: entries with a similar vector match as well.
    pub vector: Option<ModelVector>,
    /// The most entries.
    pub limit: u32,
}

/// Chats: turns in the order in which they were added.
pub trait ChatHistory: Debug + Send + Sync {
    /// Appends a turn. Repeating a write changes nothing.
    fn add_turn(&self, write: &WriteId, chat: &str, role: Role, content: &str) -> Result<(), StorageError>;

    /// The newest turns of a chat, oldest first. An unknown chat has none.
    fn load_turns(&self, chat: &str, limit: u32) -> Result<Vec<ChatTurn>, StorageError>;

    /// All chats by id.
    fn chats(&self) -> Result<Vec<Chat>, StorageError>;

    /// Removes a chat. Returns the number of removed turns.
    fn remove_chat(&self, chat: &str) -> Result<u32, StorageError>;
}

/// A stored chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chat {
    /// Its id.
    pub id: String,
    /// The number of its turns.
    pub turns: u32,
    /// When its newest turn was added.
    pub newest_ms: i64,
}

/// Knowledge bases: documents that are searched passage by passage.
pub trait Retrieval: Debug + Send + Sync {
    /// The passages that match a search, best first. A search that is cancelled fails.
    fn search_passages(
        &self,
        knowledge_base: &str,
        search: &PassageSearch,
        cancel: &CancellationToken,
    ) -> Result<Vec<Passage>, StorageError>;

    /// Adds a document, replacing one with the same name, in one transaction.
    fn put_document(&self, knowledge_base: &str, document: &KnowledgeDocument) -> Result<(), StorageError>;

    /// Removes a document. Returns whether it existed.
    fn remove_document(&self, knowledge_base: &str, name: &str) -> Result<bool, StorageError>;

    /// The documents of a knowledge base by name.
    fn documents(&self, knowledge_base: &str) -> Result<Vec<DocumentSummary>, StorageError>;

    /// All knowledge bases by name.
    fn knowledge_bases(&self) -> Result<Vec<KnowledgeBase>, StorageError>;
}

/// A document of a knowledge base without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentSummary {
    /// Its name.
    pub name: String,
    /// The fingerprint with which it was added.
    pub fingerprint: Vec<u8>,
    /// The number of its passages.
    pub passages: u32,
    /// The model of its vectors; none if it has no vectors.
    pub embedding_model: Option<String>,
    /// When it was added.
    pub added_ms: i64,
}

/// A knowledge base with its counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnowledgeBase {
    /// Its name.
    pub name: String,
    /// The number of its documents.
    pub documents: u32,
    /// The number of their passages.
    pub passages: u32,
    /// The number of documents with vectors.
    pub embedded_documents: u32,
}

/// Identifies a write by its effect. A second write of the same effect changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteId {
    /// The id of the run.
    pub run: Arc<str>,
    /// The effect of the run.
    pub effect: EffectNo,
}

impl fmt::Display for WriteId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.run, self.effect.0)
    }
}

/// What to search for in a knowledge base.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassageSearch {
    /// The words to search for.
    pub query: String,
    /// The vector of the query: passages with a similar vector match as well.
    pub vector: Option<ModelVector>,
    /// The most passages.
    pub limit: u32,
    /// The number of candidates: the best passages by words, and the best by vectors.
    pub candidates: u32,
    /// Values that the metadata of a document must have; a list allows each of its values.
    pub filter: Object,
    /// Only documents added after this time.
    pub added_after_ms: Option<i64>,
    /// Only documents added before this time.
    pub added_before_ms: Option<i64>,
    /// Whether attachments are left out.
    pub without_attachments: bool,
}

impl PassageSearch {
    /// Whether the metadata of a document has the values of the filter.
    ///
    /// ```
    /// use branchpoint_runners::storage::PassageSearch;
    ///
    /// let search = PassageSearch { filter: [("team".into(), "core".into())].into_iter().collect(), ..Default::default() };
    /// assert!(search.accepts(&search.filter) && !search.accepts(&Default::default()));
    /// ```
    pub fn accepts(&self, metadata: &Object) -> bool {
        self.filter.iter().all(|(name, wanted)| {
            let value = metadata.get(name).unwrap_or(&Value::Null);
            value == wanted || wanted.as_list().is_some_and(|any| any.contains(value))
        })
    }
}

/// A document of a knowledge base, in passages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnowledgeDocument {
    /// Its name, unique in its knowledge base.
    pub name: String,
    /// Its metadata.
    pub metadata: Object,
    /// Whether it is an attachment of another document.
    pub is_attachment: bool,
    /// Its text.
    pub passages: Vec<String>,
    /// The vectors of the passages, in their order, and the model that computed them.
    pub vectors: Option<(Arc<str>, Vec<Vector>)>,
    /// Identifies its content and how it was split. Documents with equal fingerprints are equal.
    pub fingerprint: Vec<u8>,
}

/// Why stored data cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// A field of the request is missing or invalid.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A size or a count exceeds its limit.
    #[error("{0}")]
    Limit(String),
    /// The stored vectors are from another embedding model than the configured one.
    #[error("{0}")]
    Embeddings(String),
    /// The storage failed; another attempt may succeed.
    #[error("{0}")]
    Unavailable(String),
}

impl From<StorageError> for Answer {
    fn from(error: StorageError) -> Self {
        let message = error.to_string();
        match error {
            StorageError::Field(_) | StorageError::Embeddings(_) => Self::impossible("step_failed", message),
            StorageError::Limit(_) => Self::impossible("storage_limit", message),
            StorageError::Unavailable(_) => Self::failed("step_failed", message),
        }
    }
}

/// Performs effects on the stored data of a host.
#[derive(Clone, Debug)]
pub struct Storage {
    memory: Arc<dyn Memory>,
    chats: Arc<dyn ChatHistory>,
    knowledge: Arc<dyn Retrieval>,
    files: Arc<dyn Blobs>,
}

impl Storage {
    /// Stored data of which all kinds are in one store.
    pub fn new<S: Memory + ChatHistory + Retrieval + Blobs + 'static>(storage: Arc<S>) -> Self {
        Self { memory: storage.clone(), chats: storage.clone(), knowledge: storage.clone(), files: storage }
    }

    /// Stores a file of a run. Secrets in text are redacted before it is stored.
    pub(crate) fn put_file(
        &self,
        call: &Call,
        (name, mime): (&str, Option<&str>),
        content: &str,
        secrets: &Secrets,
    ) -> Result<Upload, StorageError> {
        let checks = Checks { kind: call.kind(), secrets };
        let name = checks.name("path", Some(name.to_owned()))?;
        let content = secrets.mask(content);
        let file = Upload::new(&name, mime.filter(|mime| !mime.is_empty()), content.as_bytes());
        let file = file.map_err(|error| match error {
            UploadError::Name { .. } => checks.error("path", &format!("is invalid: {error}")).into(),
            UploadError::MediaType { .. } => checks.error("content_type", &format!("is invalid: {error}")).into(),
            limit => StorageError::Limit(limit.to_string()),
        })?;
        self.files.put_file(&WriteId { run: call.run.clone(), effect: call.effect }, &file)?;
        Ok(file)
    }

    /// The file of a run, by storage key or name.
    pub(crate) fn load_file(&self, run: &str, key: &str) -> Result<Option<LoadedFile>, StorageError> {
        self.files.load_file(run, &FileKey::parse(key))
    }

    /// Memories.
    pub fn memory(&self) -> &dyn Memory {
        &*self.memory
    }

    /// Chats.
    pub fn chats(&self) -> &dyn ChatHistory {
        &*self.chats
    }

    /// Knowledge bases.
    pub fn knowledge(&self) -> &dyn Retrieval {
        &*self.knowledge
    }

    /// The text of a request that needs a vector for [`Self::perform`], with secrets redacted.
    pub(crate) fn embedded_text<'r>(request: &'r Request, secrets: &Secrets) -> Option<Cow<'r, str>> {
        let text = match request {
            Request::Memory(request) => match request.operation {
                MemoryOperation::Add => request.content.as_ref().filter(|text| text.len() <= MAX_CONTENT_BYTES),
                MemoryOperation::Search => request.query.as_ref().filter(|text| text.len() <= MAX_QUERY_BYTES),
                MemoryOperation::Load => None,
            },
            Request::Retrieval(request) => request.query.as_ref().filter(|text| text.len() <= MAX_QUERY_BYTES),
            _ => None,
        };
        text.filter(|text| !text.trim().is_empty()).map(|text| secrets.mask(text))
    }

    /// Performs a request to stored data. Secrets in texts and metadata are redacted before they are stored. `vector` is that of
    /// [`Self::embedded_text`], if an embedding model is configured.
    pub(crate) fn perform(
        &self,
        call: &Call,
        request: Request,
        secrets: &Secrets,
        vector: Option<ModelVector>,
        cancel: &CancellationToken,
    ) -> Result<Answer, StorageError> {
        let checks = Checks { kind: call.kind(), secrets };
        let write = WriteId { run: call.run.clone(), effect: call.effect };
        let done = match request {
            Request::Memory(request) => self.perform_memory(&write, request, vector, &checks, cancel),
            Request::ChatHistory(request) => self.perform_chat(&write, request, &checks),
            Request::Retrieval(request) => self.perform_retrieval(request, vector, &checks, cancel),
            _ => Err(StorageError::Unavailable(format!("the storage does not support `{}`", call.kind()))),
        };
        done.map(Answer::data)
    }

    fn perform_memory(
        &self,
        write: &WriteId,
        request: MemoryRequest,
        vector: Option<ModelVector>,
        checks: &Checks<'_>,
        cancel: &CancellationToken,
    ) -> Result<Value, StorageError> {
        let collection = checks.name_or("collection", request.collection, DEFAULT_NAME)?;
        match request.operation {
            MemoryOperation::Add => {
                let entry = MemoryEntry {
                    key: checks.name_or("key", request.key, &write.to_string())?,
                    content: checks.content(request.content)?,
                    metadata: checks.metadata(&request.metadata)?,
                };
                self.memory.add_entry(write, &collection, &entry, vector.as_ref())?;
                Ok(request.input)
            }
            MemoryOperation::Search => {
                let query = checks.query(request.query)?;
                let search = EntrySearch { query, vector, limit: request.top_n.map_or(10, |count| count.0) };
                Ok(list(self.memory.search_entries(&collection, &search, cancel)?))
            }
            MemoryOperation::Load => {
                let key = checks.name("key", request.key)?;
                Ok(self.memory.load_entry(&collection, &key)?.map(Value::from).unwrap_or_default())
            }
        }
    }

    fn perform_chat(
        &self,
        write: &WriteId,
        request: ChatHistoryRequest,
        checks: &Checks<'_>,
    ) -> Result<Value, StorageError> {
        let chat = checks.name("chat_id", request.chat_id)?;
        match request.operation {
            ChatOperation::Add => {
                self.chats.add_turn(write, &chat, request.role, &checks.content(request.content)?)?;
                Ok(request.input)
            }
            ChatOperation::Load => {
                let limit = request.limit.map_or(20, |count| count.0);
                Ok(list(self.chats.load_turns(&chat, limit)?))
            }
        }
    }

    fn perform_retrieval(
        &self,
        request: RetrievalRequest,
        vector: Option<ModelVector>,
        checks: &Checks<'_>,
        cancel: &CancellationToken,
    ) -> Result<Value, StorageError> {
        if let Some(problem) = unavailable_reason(&request) {
            return Err(checks.error("reranker_model", problem).into());
        }
        let knowledge_base = checks.name_or("knowledge_base_id", request.knowledge_base_id, DEFAULT_NAME)?;
        let candidates = request.top_k.map_or(CANDIDATES, u32::from);
        let search = PassageSearch {
            query: checks.query(request.query)?,
            vector,
            limit: request.top_n.map_or(20, |count| count.0).min(candidates),
            candidates,
            filter: request.filter,
            added_after_ms: request.added_after.map(|time| time.0),
            added_before_ms: request.added_before.map(|time| time.0),
            without_attachments: request.include_attachments == Some(false),
        };
        Ok(list(self.knowledge.search_passages(&knowledge_base, &search, cancel)?))
    }
}

/// Why a search of a knowledge base cannot be performed, as far as its fixed fields determine.
pub(crate) fn unavailable_reason(request: &RetrievalRequest) -> Option<&'static str> {
    let is_named = request.reranker_model.as_ref().is_some_and(|model| !model.trim().is_empty());
    is_named.then_some("names a reranking model, but no reranker is supported; remove the field")
}

fn list<T: Into<Value>>(results: Vec<T>) -> Value {
    Value::from(results.into_iter().map(Into::into).collect::<Vec<_>>())
}
