//! Memories over a full-text index and vectors.

use branchpoint_core::effect::{MemoryEntry, MemoryMatch};
use branchpoint_runners::CancellationToken;
use branchpoint_runners::storage::{
    CANDIDATES, EntrySearch, MAX_ENTRIES, Memory, ModelVector, StorageError, WriteId, fuse,
};
use rusqlite::params;

use super::best_matches::BestMatches;
use super::nearest::Nearest;
use super::{LoadedBytes, SqliteStorage, full_text_query, metadata_text, read_metadata, removed};
use crate::store::{Store, StoreError};

impl Memory for SqliteStorage {
    fn add_entry(
        &self,
        write: &WriteId,
        collection: &str,
        entry: &MemoryEntry,
        vector: Option<&ModelVector>,
    ) -> Result<(), StorageError> {
        self.write_once(write, |store| {
            store.execute("DELETE FROM memories WHERE collection = ?1 AND key = ?2", [collection, &entry.key])?;
            check_count(store, collection)?;
            let sql = "INSERT INTO memories (collection, key, content, metadata) VALUES (?1, ?2, ?3, ?4)";
            store.execute(sql, params![collection, entry.key, entry.content, metadata_text(&entry.metadata)])?;
            if let Some(ModelVector { model, vector }) = vector {
                let sql = "INSERT INTO memory_vectors (entry, model, vector) VALUES (?1, ?2, ?3)";
                store.execute(sql, params![store.db.last_insert_rowid(), model, vector.to_bytes()])?;
            }
            Ok(())
        })
    }

    fn search_entries(
        &self,
        collection: &str,
        search: &EntrySearch,
        cancel: &CancellationToken,
    ) -> Result<Vec<MemoryMatch>, StorageError> {
        let query = full_text_query(&search.query, " OR ")?;
        self.search(cancel, |store| loaded(store, &ranked(store, collection, query.as_deref(), search)?))
    }

    fn load_entry(&self, collection: &str, key: &str) -> Result<Option<MemoryEntry>, StorageError> {
        self.read(|store| {
            let sql = "SELECT content, metadata FROM memories WHERE collection = ?1 AND key = ?2";
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get::<_, String>(1)?));
            let Some((content, metadata)) = store.first(sql, [collection, key], row)? else {
                return Ok(None);
            };
            Ok(Some(MemoryEntry { key: key.to_owned(), content, metadata: read_metadata(&metadata)? }))
        })
    }

    fn collections(&self) -> Result<Vec<(String, u32)>, StorageError> {
        self.read(|store| {
            let sql = "SELECT collection, count(*) FROM memories GROUP BY collection ORDER BY collection";
            store.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        })
    }

    fn entries(&self, collection: &str, after: Option<&str>, limit: u32) -> Result<Vec<MemoryEntry>, StorageError> {
        self.read(|store| {
            let sql = "SELECT key, content, metadata FROM memories
                WHERE collection = ?1 AND (?2 IS NULL OR key > ?2) ORDER BY key LIMIT ?3";
            let mut statement = store.db.prepare_cached(sql)?;
            let mut rows = statement.query(params![collection, after, limit])?;
            let (mut loaded, mut entries) = (LoadedBytes::default(), Vec::new());
            while let Some(row) = rows.next()? {
                let (content, metadata): (String, String) = (row.get(1)?, row.get(2)?);
                loaded.add(&[&content, &metadata])?;
                entries.push(MemoryEntry { key: row.get(0)?, content, metadata: read_metadata(&metadata)? });
            }
            Ok(entries)
        })
    }

    fn remove_entries(&self, collection: &str, key: Option<&str>) -> Result<u32, StorageError> {
        self.write(|store| {
            let sql = "DELETE FROM memories WHERE collection = ?1 AND (?2 IS NULL OR key = ?2)";
            Ok(removed(store.execute(sql, params![collection, key])?))
        })
    }
}

/// The entries that match, best first, with their scores: by words alone, or by words and vectors together.
fn ranked(
    store: &Store,
    collection: &str,
    query: Option<&str>,
    search: &EntrySearch,
) -> Result<Vec<(i64, f64)>, StoreError> {
    let limit = if search.vector.is_some() { CANDIDATES.max(search.limit) } else { search.limit };
    let by_words = query.map_or(Ok(Vec::new()), |query| by_words(store, collection, query, limit))?;
    let Some(vector) = &search.vector else { return Ok(by_words) };
    let by_words = by_words.into_iter().map(|(entry, _)| entry).collect();
    let mut ranked = fuse(&[by_words, by_vector(store, collection, vector, limit)?]);
    ranked.truncate(search.limit as usize);
    Ok(ranked)
}

/// The entries that have any word of a query, best first, with their scores.
fn by_words(store: &Store, collection: &str, query: &str, limit: u32) -> Result<Vec<(i64, f64)>, StoreError> {
    // The index ranks all matches by itself. Only the best are looked up in the other table, until there are enough.
    let sql = "SELECT rowid, -rank FROM memory_index WHERE memory_index MATCH ?1 ORDER BY rank";
    let mut statement = store.db.prepare_cached(sql)?;
    let mut of_collection = store.db.prepare_cached("SELECT 1 FROM memories WHERE entry = ?1 AND collection = ?2")?;
    let mut rows = statement.query([query])?;
    let mut best = BestMatches::new(limit);
    while let Some(row) = rows.next()? {
        let (entry, score): (i64, f64) = (row.get(0)?, row.get(1)?);
        if best.are_complete(score) {
            break;
        }
        if of_collection.exists(params![entry, collection])? {
            best.add(entry, score);
        }
    }
    Ok(best.ranked())
}

/// The entries whose vectors of the same model are the most similar.
fn by_vector(store: &Store, collection: &str, query: &ModelVector, limit: u32) -> Result<Vec<i64>, StoreError> {
    let sql =
        "SELECT entry, vector FROM memories JOIN memory_vectors USING (entry) WHERE collection = ?1 AND model = ?2";
    let mut statement = store.db.prepare_cached(sql)?;
    let mut rows = statement.query(params![collection, query.model])?;
    let mut nearest = Nearest::new(&query.vector, limit);
    while let Some(row) = rows.next()? {
        nearest.add(row.get(0)?, row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?;
    }
    Ok(nearest.ranked())
}

/// Ranked entries with their texts.
fn loaded(store: &Store, ranked: &[(i64, f64)]) -> Result<Vec<MemoryMatch>, StoreError> {
    let mut bytes = LoadedBytes::default();
    let mut load = |&(entry, score): &(i64, f64)| {
        let sql = "SELECT key, content, metadata FROM memories WHERE entry = ?1";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let (key, content, metadata): (_, String, String) = store.db.prepare_cached(sql)?.query_row([entry], read)?;
        bytes.add(&[&content, &metadata])?;
        Ok(MemoryMatch { key, content, metadata: read_metadata(&metadata)?, score })
    };
    ranked.iter().map(&mut load).collect()
}

fn check_count(store: &Store, collection: &str) -> Result<(), StoreError> {
    let entries: u32 = store.value("SELECT count(*) FROM memories WHERE collection = ?1", [collection])?;
    if entries < MAX_ENTRIES {
        return Ok(());
    }
    let message = format!("the collection `{collection}` has {MAX_ENTRIES} entries, the most that one can have");
    Err(StoreError::StorageLimit(message + "; use another collection, or keys that replace older entries"))
}
