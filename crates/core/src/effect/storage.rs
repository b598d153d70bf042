//! Requests to stored data (memories, chats, knowledge bases and objects) and their results.

use std::num::NonZeroU32;

use branchpoint_expr::{Object, Value, instant_ms};

use super::fields::{FromField, parsed, request, result, word};

request! {
    /// Memories: texts in named collections, found by key or by search.
    MemoryRequest {
        /// The operation.
        operation: MemoryOperation,
        /// The collection; none: `default`.
        collection: Option<String>,
        /// The key of the entry. An entry replaces the one with the same key.
        key: Option<String>,
        /// Add: the text.
        content: Option<String>,
        /// Add: the metadata of the entry.
        metadata: Object,
        /// Search: the text whose words are searched for.
        query: Option<String>,
        /// Search: the number of results; none: 10.
        top_n: Option<ResultCount>,
        /// Add: the value that the response returns.
        input: Value,
    }
}

word! {
    /// An operation on memories.
    MemoryOperation, "add, search or load" {
        /// Add an entry.
        Add = "add",
        /// Search a collection.
        #[default]
        Search = "search",
        /// Load an entry by its key.
        Load = "load",
    }
}

result! {
    /// An entry of a memory.
    MemoryEntry {
        /// The key, unique in its collection.
        key: String,
        /// The text.
        content: String,
        /// The metadata of the entry.
        metadata: Object,
    }
}

result! {
    /// An entry of a memory that matches a search.
    MemoryMatch {
        /// The key, unique in its collection.
        key: String,
        /// The text.
        content: String,
        /// The metadata of the entry.
        metadata: Object,
        /// The relevance; higher is better.
        score: f64,
    }
}

request! {
    /// A stored chat.
    ChatHistoryRequest {
        /// The operation.
        operation: ChatOperation,
        /// The chat.
        chat_id: Option<String>,
        /// Add: the speaker.
        role: Role,
        /// Add: the text of the turn.
        content: Option<String>,
        /// Load: the number of newest turns; none: 20.
        limit: Option<TurnCount>,
        /// Add: the value that the response returns.
        input: Value,
    }
}

word! {
    /// An operation on a chat.
    ChatOperation, "add or load" {
        /// Append a turn.
        Add = "add",
        /// Load the newest turns, oldest first.
        #[default]
        Load = "load",
    }
}

word! {
    /// The speaker of a turn of a chat.
    Role, "user, assistant or system" {
        /// A person.
        #[default]
        User = "user",
        /// A model.
        Assistant = "assistant",
        /// The author of the chat's instructions.
        System = "system",
    }
}

result! {
    /// A turn of a chat.
    ChatTurn {
        /// The speaker.
        role: Role,
        /// The text.
        content: String,
        /// The time when the turn was added, ISO 8601 in UTC.
        at: String,
    }
}

request! {
    /// A search of a knowledge base.
    RetrievalRequest {
        /// The knowledge base; none: `default`.
        knowledge_base_id: Option<String>,
        /// The text whose words are searched for.
        query: Option<String>,
        /// The number of passages; none: 20.
        top_n: Option<ResultCount>,
        /// The number of candidates; none: all matches.
        top_k: Option<NonZeroU32>,
        /// The model that reranks the passages.
        reranker_model: Option<String>,
        /// Values that the metadata of a document must have; a list allows each of its values.
        filter: Object,
        /// Only documents added after this time.
        added_after: Option<TimeMs>,
        /// Only documents added before this time.
        added_before: Option<TimeMs>,
        /// Whether to search attachments of documents; none: yes.
        include_attachments: Option<bool>,
    }
}

result! {
    /// A passage of a document that matches a search of a knowledge base.
    Passage {
        /// The name of the document.
        document: String,
        /// The text of the passage.
        content: String,
        /// The metadata of the document.
        metadata: Object,
        /// The relevance; higher is better.
        score: f64,
        /// The time when the document was added, ISO 8601 in UTC.
        added_at: String,
    }
}

request! {
    /// A request to write an object.
    ObjectStoreRequest {
        /// The bucket.
        bucket: Option<String>,
        /// The key of the object in its bucket.
        key: Option<String>,
        /// The content.
        content: Option<String>,
        /// The media type of the content.
        content_type: Option<String>,
    }
}

result! {
    /// A written object.
    StoredObject {
        /// The bucket.
        bucket: String,
        /// The key of the object in its bucket.
        key: String,
        /// The size of the content.
        bytes: i64,
    }
}

/// The number of results of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultCount(pub u32);

impl FromField for Option<ResultCount> {
    fn from_field(value: &Value) -> Result<Self, &'static str> {
        let count = parsed(value, "a whole number from 1 to 100", |count| (1..=100).contains(count))?;
        Ok(count.map(ResultCount))
    }
}

/// The number of turns of a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnCount(pub u32);

impl FromField for Option<TurnCount> {
    fn from_field(value: &Value) -> Result<Self, &'static str> {
        let count = parsed(value, "a whole number from 1 to 1000", |count| (1..=1000).contains(count))?;
        Ok(count.map(TurnCount))
    }
}

/// A moment in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeMs(pub i64);

impl FromField for Option<TimeMs> {
    /// Reads a date or a date-time in ISO 8601. Blank text counts as absent.
    fn from_field(value: &Value) -> Result<Self, &'static str> {
        match value.as_str() {
            Some(text) if text.trim().is_empty() => Ok(None),
            text => {
                let time = text.and_then(instant_ms).map(TimeMs);
                time.map(Some).ok_or("a date or a date-time such as `2026-01-31T12:00:00Z`")
            }
        }
    }
}
