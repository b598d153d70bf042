//! The files of runs. Equal contents are stored once, as large values.

use branchpoint_runners::storage::{FileKey, LoadedFile, MAX_FILES_BYTES, Upload, Uploads};
use rusqlite::{Row, params};

use super::workflows::hash;
use super::{RunNo, Store, StoreError};

impl Store {
    /// Stores the files that a run is started with, when the turn commits.
    pub(crate) fn attach_later(&self, run: RunNo, uploads: Uploads) {
        if !uploads.files().is_empty() {
            self.defer(run, move |store| uploads.files().iter().try_for_each(|file| store.add_attachment(run, file)));
        }
    }

    /// Stores a file of a run within a transaction, once.
    pub(crate) fn add_attachment(&self, run: RunNo, file: &Upload) -> Result<(), StoreError> {
        let content = hash([file.bytes()]);
        self.put_blob(run, &content, file.bytes())?;
        let sql = "INSERT OR IGNORE INTO attachments (run, sha256, name, mime, bytes, content) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let values = params![run.0, file.key().0, file.name(), file.mime(), file.bytes().len(), content];
        self.execute(sql, values)?;
        let bytes: u64 =
            self.value("SELECT coalesce(sum(bytes), 0) FROM attachments WHERE run = ?1", params![run.0])?;
        if bytes <= MAX_FILES_BYTES as u64 {
            return Ok(());
        }
        Err(StoreError::StorageLimit(format!(
            "with `{}`, the attachments of the run have {bytes} bytes together, but at most {MAX_FILES_BYTES} are allowed",
            file.name()
        )))
    }

    /// The newest file of a run, or else of the runs that called it, with this key or name.
    pub(crate) fn load_attachment(&self, run: &str, key: &FileKey) -> Result<Option<LoadedFile>, StoreError> {
        let mut next = self.run(run)?.map(|row| row.run);
        while let Some(run) = next {
            let file = match key {
                FileKey::Content(key) => self.attachment("sha256 = ?2", params![run.0, key.0])?,
                FileKey::Name(name) => self.attachment("name = ?2", params![run.0, name])?,
            };
            if file.is_some() {
                return Ok(file);
            }
            next = self.row(run)?.parent.map(|parent| parent.run);
        }
        Ok(None)
    }

    fn attachment(&self, which: &str, values: impl rusqlite::Params) -> Result<Option<LoadedFile>, StoreError> {
        let sql = format!(
            "SELECT name, mime, blobs.bytes FROM attachments JOIN blobs ON hash = content
            WHERE run = ?1 AND {which} ORDER BY attachment DESC LIMIT 1"
        );
        self.first(&sql, values, file_of)
    }

    /// The files of a run, in the order in which they were stored.
    pub(super) fn attachments_of(&self, run: RunNo) -> Result<Vec<LoadedFile>, StoreError> {
        let sql = "SELECT name, mime, blobs.bytes FROM attachments JOIN blobs ON hash = content
            WHERE run = ?1 ORDER BY attachment";
        self.rows(sql, [run.0], file_of)
    }

    /// Copies the files that a run can read to its fork when the turn commits.
    pub(crate) fn share_attachments_later(&self, from: RunNo, with: RunNo) {
        self.defer(with, move |store| {
            let mut lines = vec![from];
            while let Some(parent) = store.row(lines[lines.len() - 1])?.parent {
                lines.push(parent.run);
            }
            // Files of the run itself are inserted last, so they are the newest.
            for run in lines.into_iter().rev() {
                let sql = "INSERT OR IGNORE INTO attachments (run, sha256, name, mime, bytes, content)
                    SELECT ?2, sha256, name, mime, bytes, content FROM attachments WHERE run = ?1 ORDER BY attachment";
                store.execute(sql, params![run.0, with.0])?;
            }
            let sql = "INSERT OR IGNORE INTO blob_uses (run, hash) SELECT run, content FROM attachments WHERE run = ?1";
            store.execute(sql, [with.0]).map(drop)
        });
    }
}

fn file_of(row: &Row<'_>) -> rusqlite::Result<LoadedFile> {
    Ok(LoadedFile { name: row.get(0)?, mime: row.get(1)?, bytes: row.get(2)? })
}
