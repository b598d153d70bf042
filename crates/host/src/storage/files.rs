//! Files of runs.

use branchpoint_runners::storage::{Blobs, FileKey, LoadedFile, StorageError, Upload, WriteId};

use super::SqliteStorage;
use crate::store::StoreError;

impl Blobs for SqliteStorage {
    fn put_file(&self, write: &WriteId, file: &Upload) -> Result<(), StorageError> {
        self.write_once(write, |store| {
            let run = store.run(&write.run)?.ok_or_else(|| StoreError::Missing(format!("run `{}`", write.run)))?.run;
            store.add_attachment(run, file)
        })
    }

    fn load_file(&self, run: &str, key: &FileKey) -> Result<Option<LoadedFile>, StorageError> {
        self.read(|store| store.load_attachment(run, key))
    }
}
