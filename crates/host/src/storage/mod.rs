//! The stored data of runs (memories, chats, knowledge bases, files) in the tables of the store.

mod best_matches;
mod chats;
mod files;
mod full_text;
mod knowledge;
mod memories;
mod nearest;
mod readers;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use branchpoint_expr::{Object, Value};
use branchpoint_runners::CancellationToken;
use branchpoint_runners::storage::{MAX_RESULT_BYTES, StorageError, WriteId};
use rusqlite::params;

use crate::store::{Durability, Store, StoreError};
pub(crate) use full_text::full_text_query;
use readers::Readers;

/// The stored data in the file of a store. Its own connections are opened when they are first needed.
#[derive(Debug)]
pub struct SqliteStorage {
    path: PathBuf,
    durability: Durability,
    writer: Mutex<Option<Store>>,
    readers: Readers,
}

impl SqliteStorage {
    /// The stored data of the store at a path.
    ///
    /// ```
    /// use branchpoint_host::{SqliteStorage, store::Durability};
    /// use branchpoint_runners::storage::Memory;
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("store.db");
    /// let storage = SqliteStorage::new(path, Durability::Full);
    /// assert!(storage.collections().unwrap().is_empty());
    /// ```
    pub fn new(path: PathBuf, durability: Durability) -> Self {
        Self { path, durability, writer: Mutex::default(), readers: Readers::default() }
    }

    fn read<T>(&self, read: impl FnOnce(&Store) -> Result<T, StoreError>) -> Result<T, StorageError> {
        self.search(&CancellationToken::new(), read)
    }

    /// Reads until the token is cancelled.
    fn search<T>(
        &self,
        cancel: &CancellationToken,
        read: impl FnOnce(&Store) -> Result<T, StoreError>,
    ) -> Result<T, StorageError> {
        Ok(self.readers.read(&self.path, cancel, read)?)
    }

    /// Makes a change within a transaction.
    fn write<T>(&self, write: impl FnOnce(&Store) -> Result<T, StoreError>) -> Result<T, StorageError> {
        let mut opened = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let store = match &mut *opened {
            Some(store) => store,
            none => none.insert(Store::open(&self.path, self.durability)?),
        };
        Ok(store.change(|| write(store))?)
    }

    /// Makes the change of an effect, unless the effect has made it before.
    fn write_once(
        &self,
        id: &WriteId,
        write: impl FnOnce(&Store) -> Result<(), StoreError>,
    ) -> Result<(), StorageError> {
        self.write(|store| {
            let run = store.run(&id.run)?.ok_or_else(|| StoreError::Missing(format!("run `{}`", id.run)))?.run;
            let sql = "INSERT OR IGNORE INTO storage_writes (run, effect) VALUES (?1, ?2)";
            match store.execute(sql, params![run.0, id.effect.0])? {
                0 => Ok(()),
                _ => write(store),
            }
        })
    }
}

impl From<StoreError> for StorageError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::StorageLimit(message) => Self::Limit(message),
            StoreError::Embeddings(message) => Self::Embeddings(message),
            other => Self::Unavailable(other.to_string()),
        }
    }
}

/// The number of removed rows, which the limits keep small.
fn removed(rows: usize) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX)
}

/// The stored form of metadata.
fn metadata_text(metadata: &Object) -> String {
    Value::from(metadata.clone()).to_string()
}

fn read_metadata(text: &str) -> Result<Object, StoreError> {
    let value: Option<Value> = serde_json::from_str(text).ok();
    let metadata = value.as_ref().and_then(Value::as_object).cloned();
    metadata.ok_or_else(|| StoreError::Missing("readable metadata of a stored text".to_owned()))
}

/// Counts the bytes that a request loads.
#[derive(Default)]
struct LoadedBytes(usize);

impl LoadedBytes {
    fn add(&mut self, texts: &[&str]) -> Result<(), StoreError> {
        self.0 += texts.iter().map(|text| text.len()).sum::<usize>();
        if self.0 <= MAX_RESULT_BYTES {
            return Ok(());
        }
        Err(StoreError::StorageLimit(format!("the results exceed {MAX_RESULT_BYTES} bytes; request fewer results")))
    }
}
