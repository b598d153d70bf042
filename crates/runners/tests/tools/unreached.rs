//! Stored data that a test must not reach.

use branchpoint_core::effect::{ChatTurn, MemoryEntry, MemoryMatch, Passage, Role};
use branchpoint_runners::CancellationToken;
use branchpoint_runners::storage::{
    Blobs, Chat, ChatHistory, DocumentSummary, EntrySearch, FileKey, KnowledgeBase, KnowledgeDocument, LoadedFile,
    Memory, ModelVector, PassageSearch, Retrieval, StorageError, Upload, WriteId,
};

#[derive(Debug)]
pub(crate) struct Unreached;

type Done<T> = Result<T, StorageError>;

impl Memory for Unreached {
    fn add_entry(&self, _: &WriteId, _: &str, _: &MemoryEntry, _: Option<&ModelVector>) -> Done<()> {
        panic!("a memory is added")
    }
    fn search_entries(&self, _: &str, _: &EntrySearch, _: &CancellationToken) -> Done<Vec<MemoryMatch>> {
        panic!("memories are searched")
    }
    fn load_entry(&self, _: &str, _: &str) -> Done<Option<MemoryEntry>> {
        panic!("a memory is loaded")
    }
    fn collections(&self) -> Done<Vec<(String, u32)>> {
        panic!("collections are listed")
    }
    fn entries(&self, _: &str, _: Option<&str>, _: u32) -> Done<Vec<MemoryEntry>> {
        panic!("memories are listed")
    }
    fn remove_entries(&self, _: &str, _: Option<&str>) -> Done<u32> {
        panic!("memories are removed")
    }
}

impl ChatHistory for Unreached {
    fn add_turn(&self, _: &WriteId, _: &str, _: Role, _: &str) -> Done<()> {
        panic!("a turn is added")
    }
    fn load_turns(&self, _: &str, _: u32) -> Done<Vec<ChatTurn>> {
        panic!("turns are loaded")
    }
    fn chats(&self) -> Done<Vec<Chat>> {
        panic!("chats are listed")
    }
    fn remove_chat(&self, _: &str) -> Done<u32> {
        panic!("a chat is removed")
    }
}

impl Retrieval for Unreached {
    fn search_passages(&self, _: &str, _: &PassageSearch, _: &CancellationToken) -> Done<Vec<Passage>> {
        panic!("passages are searched")
    }
    fn put_document(&self, _: &str, _: &KnowledgeDocument) -> Done<()> {
        panic!("a document is added")
    }
    fn remove_document(&self, _: &str, _: &str) -> Done<bool> {
        panic!("a document is removed")
    }
    fn documents(&self, _: &str) -> Done<Vec<DocumentSummary>> {
        panic!("documents are listed")
    }
    fn knowledge_bases(&self) -> Done<Vec<KnowledgeBase>> {
        panic!("knowledge bases are listed")
    }
}

impl Blobs for Unreached {
    fn put_file(&self, _: &WriteId, _: &Upload) -> Done<()> {
        panic!("a file is stored")
    }
    fn load_file(&self, _: &str, _: &FileKey) -> Done<Option<LoadedFile>> {
        panic!("a file is loaded")
    }
}
