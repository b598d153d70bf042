//! Knowledge bases over a full-text index.

use branchpoint_core::effect::Passage;
use branchpoint_expr::{Value, iso_utc};
use branchpoint_runners::CancellationToken;
use branchpoint_runners::storage::{
    KnowledgeDocument, MAX_CONTENT_BYTES, MAX_METADATA_BYTES, MAX_METADATA_DEPTH, MAX_NAME_BYTES, MAX_PASSAGES,
    PassageSearch, Retrieval, StorageError,
};
use rusqlite::params;

use super::{LoadedBytes, SqliteStorage, full_text_query, metadata_text, read_metadata};
use crate::driver::now_ms;
use crate::store::{Store, Trouble};

impl Retrieval for SqliteStorage {
    fn search_passages(
        &self,
        knowledge_base: &str,
        search: &PassageSearch,
        cancel: &CancellationToken,
    ) -> Result<Vec<Passage>, StorageError> {
        let Some(query) = full_text_query(&search.query, " OR ")? else { return Ok(Vec::new()) };
        self.search(cancel, |store| {
            // Passages are ranked without their texts, which are read for the results only.
            let sql = "SELECT name, passage, metadata, bm25(passage_index) AS score, added_ms
                FROM passage_index JOIN passages ON passage = passage_index.rowid JOIN knowledge_documents USING (document)
                WHERE passage_index MATCH ?1 AND knowledge_base = ?2 AND added_ms > ?3 AND added_ms < ?4
                    AND NOT (?5 AND is_attachment)
                ORDER BY score, passage";
            let mut found = store.db.prepare_cached(sql)?;
            let mut rows = found.query(params![
                query,
                knowledge_base,
                search.added_after_ms.unwrap_or(i64::MIN),
                search.added_before_ms.unwrap_or(i64::MAX),
                search.without_attachments,
            ])?;
            let (mut loaded, mut passages) = (LoadedBytes::default(), Vec::new());
            while passages.len() < search.limit as usize
                && let Some(row) = rows.next()?
            {
                let metadata = read_metadata(row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?)?;
                if search.accepts(&metadata) {
                    let sql = "SELECT content FROM passages WHERE passage = ?1";
                    let passage: i64 = row.get(1)?;
                    let content: String = store.value(sql, [passage])?;
                    loaded.add(&[&content, row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?])?;
                    let (score, added_at) = (-row.get::<_, f64>(3)?, iso_utc(row.get(4)?).unwrap_or_default());
                    passages.push(Passage { document: row.get(0)?, content, metadata, score, added_at });
                }
            }
            Ok(passages)
        })
    }

    fn put_document(&self, knowledge_base: &str, document: &KnowledgeDocument) -> Result<(), StorageError> {
        if !Value::from(document.metadata.clone()).is_within_depth(MAX_METADATA_DEPTH) {
            let message = format!("the metadata of the document `{}` is nested too deeply", document.name);
            return Err(StorageError::Limit(message));
        }
        let metadata = metadata_text(&document.metadata);
        check_sizes(knowledge_base, document, &metadata)?;
        self.write(|store| {
            remove(store, knowledge_base, &document.name)?;
            let passages = check_count(store, knowledge_base, document.passages.len())?;
            let sql =
                "INSERT INTO knowledge_documents (knowledge_base, name, metadata, is_attachment, passages, added_ms)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let values = params![knowledge_base, document.name, metadata, document.is_attachment, passages, now_ms()];
            store.execute(sql, values)?;
            let number = store.db.last_insert_rowid();
            let mut insert = store.db.prepare_cached("INSERT INTO passages (document, content) VALUES (?1, ?2)")?;
            for passage in &document.passages {
                insert.execute(params![number, passage])?;
            }
            Ok(())
        })
    }

    fn remove_document(&self, knowledge_base: &str, name: &str) -> Result<bool, StorageError> {
        self.write(|store| remove(store, knowledge_base, name))
    }
}

fn remove(store: &Store, knowledge_base: &str, name: &str) -> Result<bool, Trouble> {
    let sql = "DELETE FROM passages WHERE document =
        (SELECT document FROM knowledge_documents WHERE knowledge_base = ?1 AND name = ?2)";
    store.execute(sql, [knowledge_base, name])?;
    let sql = "DELETE FROM knowledge_documents WHERE knowledge_base = ?1 AND name = ?2";
    Ok(store.execute(sql, [knowledge_base, name])? == 1)
}

fn check_sizes(knowledge_base: &str, document: &KnowledgeDocument, metadata: &str) -> Result<(), StorageError> {
    let names = [("knowledge base", knowledge_base, MAX_NAME_BYTES), ("document", &document.name, MAX_NAME_BYTES)];
    let texts = document.passages.iter().map(|passage| ("passage", passage.as_str(), MAX_CONTENT_BYTES));
    let sizes = names.into_iter().chain([("metadata", metadata, MAX_METADATA_BYTES)]).chain(texts);
    for (part, text, limit) in sizes {
        if text.len() > limit {
            let (name, bytes) = (&document.name, text.len());
            let message =
                format!("the {part} of the document `{name}` has {bytes} bytes, but at most {limit} are allowed");
            return Err(StorageError::Limit(message));
        }
    }
    Ok(())
}

/// The number of new passages, if the knowledge base has room for them.
fn check_count(store: &Store, knowledge_base: &str, new: usize) -> Result<u32, Trouble> {
    let sql = "SELECT coalesce(sum(passages), 0) FROM knowledge_documents WHERE knowledge_base = ?1";
    let there: u32 = store.value(sql, [knowledge_base])?;
    let new = u32::try_from(new).ok().filter(|new| *new <= MAX_PASSAGES.saturating_sub(there));
    new.ok_or_else(|| {
        let message = format!("the knowledge base `{knowledge_base}` would have more than {MAX_PASSAGES} passages");
        Trouble::StorageLimit(message + "; remove documents or use another knowledge base")
    })
}
