//! Memories over a full-text index.

use branchpoint_core::effect::{MemoryEntry, MemoryMatch};
use branchpoint_runners::CancellationToken;
use branchpoint_runners::storage::{MAX_ENTRIES, Memory, StorageError, WriteId};
use rusqlite::params;

use super::{LoadedBytes, SqliteStorage, full_text_query, metadata_text, read_metadata};
use crate::store::{Store, Trouble};

impl Memory for SqliteStorage {
    fn add_entry(&self, write: &WriteId, collection: &str, entry: &MemoryEntry) -> Result<(), StorageError> {
        self.write_once(write, |store| {
            store.execute("DELETE FROM memories WHERE collection = ?1 AND key = ?2", [collection, &entry.key])?;
            check_count(store, collection)?;
            let sql = "INSERT INTO memories (collection, key, content, metadata) VALUES (?1, ?2, ?3, ?4)";
            let values = params![collection, entry.key, entry.content, metadata_text(&entry.metadata)];
            store.execute(sql, values).map(drop)
        })
    }

    fn search_entries(
        &self,
        collection: &str,
        query: &str,
        limit: u32,
        cancel: &CancellationToken,
    ) -> Result<Vec<MemoryMatch>, StorageError> {
        let Some(query) = full_text_query(query, " OR ")? else { return Ok(Vec::new()) };
        self.search(cancel, |store| {
            let sql = "SELECT key, memories.content, metadata, bm25(memory_index) AS score
                FROM memory_index JOIN memories ON entry = memory_index.rowid
                WHERE memory_index MATCH ?1 AND collection = ?2 ORDER BY score, entry LIMIT ?3";
            let mut found = store.db.prepare_cached(sql)?;
            let mut rows = found.query(params![query, collection, limit])?;
            let (mut loaded, mut matches) = (LoadedBytes::default(), Vec::new());
            while let Some(row) = rows.next()? {
                let (content, metadata): (String, String) = (row.get(1)?, row.get(2)?);
                loaded.add(&[&content, &metadata])?;
                let (metadata, score) = (read_metadata(&metadata)?, -row.get::<_, f64>(3)?);
                matches.push(MemoryMatch { key: row.get(0)?, content, metadata, score });
            }
            Ok(matches)
        })
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
}

fn check_count(store: &Store, collection: &str) -> Result<(), Trouble> {
    let entries: u32 = store.value("SELECT count(*) FROM memories WHERE collection = ?1", [collection])?;
    if entries < MAX_ENTRIES {
        return Ok(());
    }
    let message = format!("the collection `{collection}` has {MAX_ENTRIES} entries, the most that one can have");
    Err(Trouble::StorageLimit(message + "; use another collection, or keys that replace older entries"))
}
