//! Stored data of runs: memories, chats and knowledge bases.
//!
//! A host implements the traits [`Memory`], [`ChatHistory`] and [`Retrieval`]; [`Storage`] performs the effects over them. Stored data
//! belongs to the store, not to a run, and is not encrypted, so secrets are redacted before a host sees it.

mod checks;

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
use checks::Checks;

/// The most bytes of the text of an entry, a turn or a passage.
pub const MAX_CONTENT_BYTES: usize = 256 * 1024;
/// The most bytes of the name of a collection, a chat, a knowledge base or a document, and of a key.
pub const MAX_NAME_BYTES: usize = 512;
/// The most bytes of metadata as JSON.
pub const MAX_METADATA_BYTES: usize = 64 * 1024;
/// How deeply lists and objects in metadata may be nested: what is written as JSON can be read again.
pub const MAX_METADATA_DEPTH: u16 = 64;
/// The most bytes of the text of a search.
pub const MAX_QUERY_BYTES: usize = 16 * 1024;
/// The most different words of a search.
pub const MAX_QUERY_WORDS: usize = 512;
/// The most bytes of texts and metadata that one request loads.
pub const MAX_RESULT_BYTES: usize = 16 * 1024 * 1024;
/// The most entries of a collection.
pub const MAX_ENTRIES: u32 = 100_000;
/// The most turns of a chat.
pub const MAX_TURNS: u32 = 100_000;
/// The most passages of a knowledge base.
pub const MAX_PASSAGES: u32 = 1_000_000;

/// The collection and the knowledge base of requests that name none.
const DEFAULT_NAME: &str = "default";

/// Memories: texts in named collections.
pub trait Memory: Debug + Send + Sync {
    /// Adds an entry in place of one with the same key. Repeating a write changes nothing.
    fn add_entry(&self, write: &WriteId, collection: &str, entry: &MemoryEntry) -> Result<(), StorageError>;

    /// The entries that match any word of the query, best first. A search that is cancelled fails.
    fn search_entries(
        &self,
        collection: &str,
        query: &str,
        limit: u32,
        cancel: &CancellationToken,
    ) -> Result<Vec<MemoryMatch>, StorageError>;

    /// The entry of a key.
    fn load_entry(&self, collection: &str, key: &str) -> Result<Option<MemoryEntry>, StorageError>;
}

/// Chats: turns in the order in which they were added.
pub trait ChatHistory: Debug + Send + Sync {
    /// Appends a turn. Repeating a write changes nothing.
    fn add_turn(&self, write: &WriteId, chat: &str, role: Role, content: &str) -> Result<(), StorageError>;

    /// The newest turns of a chat, oldest first; none of an unknown chat.
    fn load_turns(&self, chat: &str, limit: u32) -> Result<Vec<ChatTurn>, StorageError>;
}

/// Knowledge bases: documents that are searched passage by passage.
pub trait Retrieval: Debug + Send + Sync {
    /// The passages that match any word of the query, best first. A search that is cancelled fails.
    fn search_passages(
        &self,
        knowledge_base: &str,
        search: &PassageSearch,
        cancel: &CancellationToken,
    ) -> Result<Vec<Passage>, StorageError>;

    /// Adds a document in place of one with the same name.
    fn put_document(&self, knowledge_base: &str, document: &KnowledgeDocument) -> Result<(), StorageError>;

    /// Removes a document. False: there is none of that name.
    fn remove_document(&self, knowledge_base: &str, name: &str) -> Result<bool, StorageError>;
}

/// The effect that writes: a second write of the same effect changes nothing.
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
    /// The text whose words are searched for.
    pub query: String,
    /// The most passages.
    pub limit: u32,
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
    /// Facts about it.
    pub metadata: Object,
    /// Whether it is an attachment of another document.
    pub is_attachment: bool,
    /// Its text.
    pub passages: Vec<String>,
}

/// Why stored data cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// A field of the request is missing or wrong.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A size or a count exceeds its limit.
    #[error("{0}")]
    Limit(String),
    /// The storage failed; another attempt may succeed.
    #[error("{0}")]
    Unavailable(String),
}

impl From<StorageError> for Answer {
    fn from(error: StorageError) -> Self {
        let message = error.to_string();
        match error {
            StorageError::Field(_) => Self::impossible("step_failed", message),
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
}

impl Storage {
    /// All stored data in one place.
    pub fn new<S: Memory + ChatHistory + Retrieval + 'static>(storage: Arc<S>) -> Self {
        Self { memory: storage.clone(), chats: storage.clone(), knowledge: storage }
    }

    /// Performs a request to stored data. Secrets in texts and metadata are redacted before they are stored.
    pub(crate) fn perform(
        &self,
        call: &Call,
        request: Request,
        secrets: &Secrets,
        cancel: &CancellationToken,
    ) -> Result<Answer, StorageError> {
        let checks = Checks { kind: call.kind(), secrets };
        let write = WriteId { run: call.run.clone(), effect: call.effect };
        let done = match request {
            Request::Memory(request) => self.memory(&write, request, &checks, cancel),
            Request::ChatHistory(request) => self.chat(&write, request, &checks),
            Request::Retrieval(request) => self.retrieval(request, &checks, cancel),
            _ => Err(StorageError::Unavailable(format!("stored data does not have `{}`", call.kind()))),
        };
        done.map(Answer::data)
    }

    fn memory(
        &self,
        write: &WriteId,
        request: MemoryRequest,
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
                self.memory.add_entry(write, &collection, &entry)?;
                Ok(request.input)
            }
            MemoryOperation::Search => {
                let query = checks.query(request.query)?;
                let limit = request.top_n.map_or(10, |count| count.0);
                Ok(list(self.memory.search_entries(&collection, &query, limit, cancel)?))
            }
            MemoryOperation::Load => {
                let key = checks.name("key", request.key)?;
                Ok(self.memory.load_entry(&collection, &key)?.map(Value::from).unwrap_or_default())
            }
        }
    }

    fn chat(&self, write: &WriteId, request: ChatHistoryRequest, checks: &Checks<'_>) -> Result<Value, StorageError> {
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

    fn retrieval(
        &self,
        request: RetrievalRequest,
        checks: &Checks<'_>,
        cancel: &CancellationToken,
    ) -> Result<Value, StorageError> {
        if let Some(lack) = lacks(&request) {
            return Err(checks.wrong("reranker_model", lack).into());
        }
        let knowledge_base = checks.name_or("knowledge_base_id", request.knowledge_base_id, DEFAULT_NAME)?;
        let candidates = request.top_k.map_or(u32::MAX, u32::from);
        let search = PassageSearch {
            query: checks.query(request.query)?,
            limit: request.top_n.map_or(20, |count| count.0).min(candidates),
            filter: request.filter,
            added_after_ms: request.added_after.map(|time| time.0),
            added_before_ms: request.added_before.map(|time| time.0),
            without_attachments: request.include_attachments == Some(false),
        };
        Ok(list(self.knowledge.search_passages(&knowledge_base, &search, cancel)?))
    }
}

/// Why a search of a knowledge base cannot be performed, as far as its fixed fields show.
pub(crate) fn lacks(request: &RetrievalRequest) -> Option<&'static str> {
    let is_named = request.reranker_model.as_ref().is_some_and(|model| !model.trim().is_empty());
    is_named.then_some("names a reranking model, but no reranker is supported; remove the field")
}

fn list<T: Into<Value>>(results: Vec<T>) -> Value {
    Value::from(results.into_iter().map(Into::into).collect::<Vec<_>>())
}
