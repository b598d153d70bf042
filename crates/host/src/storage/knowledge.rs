//! Knowledge bases over a full-text index and vectors.

use branchpoint_core::effect::Passage;
use branchpoint_expr::{Value, iso_utc};
use branchpoint_runners::CancellationToken;
use branchpoint_runners::storage::{
    DocumentSummary, KnowledgeBase, KnowledgeDocument, MAX_CONTENT_BYTES, MAX_METADATA_BYTES, MAX_METADATA_DEPTH,
    MAX_NAME_BYTES, MAX_PASSAGES, ModelVector, PassageSearch, Retrieval, StorageError, fuse,
};
use rusqlite::types::{ToSql, ValueRef};
use rusqlite::{Row, params};

use super::best_matches::BestMatches;
use super::nearest::Nearest;
use super::{LoadedBytes, SqliteStorage, full_text_query, metadata_text, read_metadata};
use crate::driver::now_ms;
use crate::store::{Store, StoreError};

impl Retrieval for SqliteStorage {
    fn search_passages(
        &self,
        knowledge_base: &str,
        search: &PassageSearch,
        cancel: &CancellationToken,
    ) -> Result<Vec<Passage>, StorageError> {
        let query = full_text_query(&search.query, " OR ")?;
        self.search(cancel, |store| {
            let of = Searched { store, knowledge_base, search };
            let by_words = query.map_or(Ok(Vec::new()), |query| of.by_words(&query))?;
            let Some(vector) = &search.vector else { return of.loaded(&by_words) };
            let by_words = by_words.into_iter().map(|(passage, _)| passage).collect();
            of.loaded(&fuse(&[by_words, of.by_vector(vector)?]))
        })
    }

    fn put_document(&self, knowledge_base: &str, document: &KnowledgeDocument) -> Result<(), StorageError> {
        if !Value::from(document.metadata.clone()).is_within_depth(MAX_METADATA_DEPTH) {
            let message = format!("the metadata of the document `{}` is nested too deeply", document.name);
            return Err(StorageError::Limit(message));
        }
        let metadata = metadata_text(&document.metadata);
        check_sizes(knowledge_base, document, &metadata)?;
        let (model, vectors) = match &document.vectors {
            Some((model, vectors)) if vectors.len() == document.passages.len() => (Some(model), &vectors[..]),
            None => (None, &[][..]),
            Some((_, vectors)) => {
                let (name, given, passages) = (&document.name, vectors.len(), document.passages.len());
                let message = format!("the document `{name}` has {passages} passages and {given} vectors");
                return Err(StorageError::Unavailable(message));
            }
        };
        self.write(|store| {
            remove(store, knowledge_base, &document.name)?;
            let passages = check_count(store, knowledge_base, document.passages.len())?;
            let sql = "INSERT INTO knowledge_documents
                (knowledge_base, name, fingerprint, metadata, is_attachment, passages, model, added_ms)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
            let KnowledgeDocument { name, fingerprint, is_attachment, .. } = document;
            let now_ms = now_ms();
            let values = params![knowledge_base, name, fingerprint, metadata, is_attachment, passages, model, now_ms];
            store.execute(sql, values)?;
            let number = store.db.last_insert_rowid();
            let mut insert = store.db.prepare_cached("INSERT INTO passages (document, content) VALUES (?1, ?2)")?;
            let sql = "INSERT INTO passage_vectors (passage, vector) VALUES (?1, ?2)";
            let mut insert_vector = store.db.prepare_cached(sql)?;
            let mut vectors = vectors.iter();
            for passage in &document.passages {
                insert.execute(params![number, passage])?;
                if let Some(vector) = vectors.next() {
                    insert_vector.execute(params![store.db.last_insert_rowid(), vector.to_bytes()])?;
                }
            }
            Ok(())
        })
    }

    fn remove_document(&self, knowledge_base: &str, name: &str) -> Result<bool, StorageError> {
        self.write(|store| remove(store, knowledge_base, name))
    }

    fn documents(&self, knowledge_base: &str) -> Result<Vec<DocumentSummary>, StorageError> {
        self.read(|store| {
            let sql = "SELECT name, fingerprint, passages, model, added_ms FROM knowledge_documents
                WHERE knowledge_base = ?1 ORDER BY name";
            let read = |row: &Row<'_>| {
                let (name, fingerprint, passages) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(DocumentSummary { name, fingerprint, passages, embedding_model: row.get(3)?, added_ms: row.get(4)? })
            };
            store.rows(sql, [knowledge_base], read)
        })
    }

    fn knowledge_bases(&self) -> Result<Vec<KnowledgeBase>, StorageError> {
        self.read(|store| {
            let sql = "SELECT knowledge_base, count(*), sum(passages), count(model) FROM knowledge_documents
                GROUP BY knowledge_base ORDER BY knowledge_base";
            let read = |row: &Row<'_>| {
                let (name, documents, passages) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(KnowledgeBase { name, documents, passages, embedded_documents: row.get(3)? })
            };
            store.rows(sql, [], read)
        })
    }
}

/// The condition for the documents of a search: the knowledge base, the times, and whether attachments count.
const SEARCHED: &str = "knowledge_base = ?1 AND added_ms > ?2 AND added_ms < ?3 AND NOT (?4 AND is_attachment)";

/// A search of a knowledge base in one state of the store.
struct Searched<'s> {
    store: &'s Store,
    knowledge_base: &'s str,
    search: &'s PassageSearch,
}

impl Searched<'_> {
    /// The passages that have any word of the query, best first, with their scores.
    fn by_words(&self, query: &str) -> Result<Vec<(i64, f64)>, StoreError> {
        let limit = if self.search.vector.is_some() { self.search.candidates } else { self.search.limit };
        // The index ranks all matches by itself. Only the best are looked up in the other tables, until there are enough.
        let sql = "SELECT rowid, -rank FROM passage_index WHERE passage_index MATCH ?1 ORDER BY rank";
        let mut statement = self.store.db.prepare_cached(sql)?;
        let document = format!(
            "SELECT metadata FROM passages JOIN knowledge_documents USING (document) WHERE {SEARCHED} AND passage = ?5"
        );
        let mut document = self.store.db.prepare_cached(&document)?;
        let mut rows = statement.query([query])?;
        let mut best = BestMatches::new(limit);
        while let Some(row) = rows.next()? {
            let (passage, score): (i64, f64) = (row.get(0)?, row.get(1)?);
            if best.are_complete(score) {
                break;
            }
            let mut searched = document.query(self.values(&passage).as_slice())?;
            if let Some(row) = searched.next()?
                && self.accepts(row.get_ref(0)?)?
            {
                best.add(passage, score);
            }
        }
        Ok(best.ranked())
    }

    /// The passages whose vectors are the most similar. Documents without vectors of the model are found by their words only. A knowledge
    /// base without any vectors of the model is an error, because its searches would not be as the settings say.
    fn by_vector(&self, query: &ModelVector) -> Result<Vec<i64>, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM knowledge_documents WHERE knowledge_base = ?1)
            AND NOT EXISTS (SELECT 1 FROM knowledge_documents WHERE knowledge_base = ?1 AND model = ?2)";
        if self.store.value(sql, params![self.knowledge_base, query.model])? {
            let (name, model) = (self.knowledge_base, &query.model);
            return Err(StoreError::Embeddings(format!(
                "the knowledge base `{name}` has no vectors of the embedding model `{model}`; add its files again with \
                 `branchpoint knowledge add`, or remove [embeddings] from the settings"
            )));
        }
        let sql = format!(
            "SELECT passages.passage, vector, document, metadata FROM knowledge_documents JOIN passages USING (document)
            JOIN passage_vectors USING (passage) WHERE {SEARCHED} AND model = ?5"
        );
        let mut statement = self.store.db.prepare_cached(&sql)?;
        let mut rows = statement.query(self.values(&query.model).as_slice())?;
        let mut nearest = Nearest::new(&query.vector, self.search.candidates);
        let mut newest: Option<(i64, bool)> = None;
        while let Some(row) = rows.next()? {
            let document = row.get(2)?;
            let is_accepted = match newest {
                Some((same, is_accepted)) if same == document => is_accepted,
                _ => self.accepts(row.get_ref(3)?)?,
            };
            newest = Some((document, is_accepted));
            if is_accepted {
                nearest.add(row.get(0)?, row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?;
            }
        }
        Ok(nearest.ranked())
    }

    /// The parameters of [`SEARCHED`], and one more parameter.
    fn values<'v>(&'v self, last: &'v dyn ToSql) -> [&'v dyn ToSql; 5] {
        let PassageSearch { added_after_ms, added_before_ms, without_attachments, .. } = self.search;
        let after: &dyn ToSql = added_after_ms.as_ref().map_or(&i64::MIN, |time| time);
        let before: &dyn ToSql = added_before_ms.as_ref().map_or(&i64::MAX, |time| time);
        [&self.knowledge_base, after, before, without_attachments, last]
    }

    fn accepts(&self, metadata: ValueRef<'_>) -> Result<bool, StoreError> {
        let metadata = metadata.as_str().map_err(rusqlite::Error::from)?;
        Ok(self.search.filter.is_empty() || self.search.accepts(&read_metadata(metadata)?))
    }

    /// The first of ranked passages with their texts.
    fn loaded(&self, ranked: &[(i64, f64)]) -> Result<Vec<Passage>, StoreError> {
        let sql = "SELECT name, content, metadata, added_ms FROM passages JOIN knowledge_documents USING (document)
            WHERE passage = ?1";
        let mut statement = self.store.db.prepare_cached(sql)?;
        let mut bytes = LoadedBytes::default();
        let mut load = |&(passage, score): &(i64, f64)| {
            let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
            let (document, content, metadata, added_ms): (_, String, String, _) =
                statement.query_row([passage], read)?;
            bytes.add(&[&content, &metadata])?;
            let (metadata, added_at) = (read_metadata(&metadata)?, iso_utc(added_ms).unwrap_or_default());
            Ok(Passage { document, content, metadata, score, added_at })
        };
        ranked.iter().take(self.search.limit as usize).map(&mut load).collect()
    }
}

fn remove(store: &Store, knowledge_base: &str, name: &str) -> Result<bool, StoreError> {
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
fn check_count(store: &Store, knowledge_base: &str, new: usize) -> Result<u32, StoreError> {
    let sql = "SELECT coalesce(sum(passages), 0) FROM knowledge_documents WHERE knowledge_base = ?1";
    let present: u32 = store.value(sql, [knowledge_base])?;
    let new = u32::try_from(new).ok().filter(|new| *new <= MAX_PASSAGES.saturating_sub(present));
    new.ok_or_else(|| {
        let message = format!("the knowledge base `{knowledge_base}` would have more than {MAX_PASSAGES} passages");
        StoreError::StorageLimit(message + "; remove documents or use another knowledge base")
    })
}
