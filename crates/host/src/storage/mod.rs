//! The stored data of runs (memories, chats, knowledge bases) in the tables of the store.

mod chats;
mod full_text;
mod knowledge;
mod memories;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use branchpoint_expr::{Object, Value};
use branchpoint_runners::CancellationToken;
use branchpoint_runners::storage::{MAX_RESULT_BYTES, StorageError, WriteId};
use rusqlite::params;

use crate::store::{Durability, Store, Trouble};
pub(crate) use full_text::full_text_query;

/// How many instructions SQLite performs between two questions whether a search is cancelled.
const INSTRUCTIONS: i32 = 1_000;

/// The stored data in the file of a store, over connections of its own that are opened when they are first needed.
#[derive(Debug)]
pub struct SqliteStorage {
    path: PathBuf,
    durability: Durability,
    store: Mutex<Option<Store>>,
    /// For searches, so that nothing else waits for them.
    searches: Mutex<Option<Store>>,
}

impl SqliteStorage {
    /// The stored data of the store at a path.
    pub fn new(path: PathBuf, durability: Durability) -> Self {
        Self { path, durability, store: Mutex::default(), searches: Mutex::default() }
    }

    fn over<T>(
        &self,
        connection: &Mutex<Option<Store>>,
        work: impl FnOnce(&mut Store) -> Result<T, Trouble>,
    ) -> Result<T, StorageError> {
        let mut opened = connection.lock().unwrap_or_else(PoisonError::into_inner);
        let store = match &mut *opened {
            Some(store) => store,
            none => none.insert(Store::open(&self.path, self.durability)?),
        };
        Ok(work(store)?)
    }

    fn read<T>(&self, read: impl FnOnce(&Store) -> Result<T, Trouble>) -> Result<T, StorageError> {
        self.over(&self.store, |store| read(store))
    }

    /// Reads until it is cancelled.
    fn search<T>(
        &self,
        cancel: &CancellationToken,
        read: impl FnOnce(&Store) -> Result<T, Trouble>,
    ) -> Result<T, StorageError> {
        self.over(&self.searches, |store| {
            let cancel = cancel.clone();
            store.db.progress_handler(INSTRUCTIONS, Some(move || cancel.is_cancelled()))?;
            let found = read(store);
            // The next search has a handler of its own.
            store.db.progress_handler(0, None::<fn() -> bool>)?;
            found
        })
    }

    /// Makes a change whole or not at all.
    fn write<T>(&self, write: impl FnOnce(&Store) -> Result<T, Trouble>) -> Result<T, StorageError> {
        self.read(|store| store.change(|| write(store)))
    }

    /// Makes the change of an effect, unless the effect has made it before.
    fn write_once(&self, id: &WriteId, write: impl FnOnce(&Store) -> Result<(), Trouble>) -> Result<(), StorageError> {
        self.write(|store| {
            let run = store.run(&id.run)?.ok_or_else(|| Trouble::Missing(format!("run `{}`", id.run)))?.run;
            let sql = "INSERT OR IGNORE INTO storage_writes (run, effect) VALUES (?1, ?2)";
            match store.execute(sql, params![run.0, id.effect.0])? {
                0 => Ok(()),
                _ => write(store),
            }
        })
    }
}

impl From<Trouble> for StorageError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::StorageLimit(message) => Self::Limit(message),
            other => Self::Unavailable(other.to_string()),
        }
    }
}

/// The stored form of metadata.
fn metadata_text(metadata: &Object) -> String {
    Value::from(metadata.clone()).to_string()
}

fn read_metadata(text: &str) -> Result<Object, Trouble> {
    let value: Option<Value> = serde_json::from_str(text).ok();
    let metadata = value.as_ref().and_then(Value::as_object).cloned();
    metadata.ok_or_else(|| Trouble::Missing("readable metadata of a stored text".to_owned()))
}

/// Counts the bytes that a request loads.
#[derive(Default)]
struct LoadedBytes(usize);

impl LoadedBytes {
    fn add(&mut self, texts: &[&str]) -> Result<(), Trouble> {
        self.0 += texts.iter().map(|text| text.len()).sum::<usize>();
        if self.0 <= MAX_RESULT_BYTES {
            return Ok(());
        }
        Err(Trouble::StorageLimit(format!("the results exceed {MAX_RESULT_BYTES} bytes; ask for fewer")))
    }
}
