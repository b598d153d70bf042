//! Which process drives which run.
//!
//! A lease here is a lock of the operating system: a process holds the lock on a file of its own as long as it lives, however it
//! ends, and a process that only sleeps keeps it. So no clock decides whether somebody is dead, nothing must be renewed, and
//! what a killed process drove can be taken over at once.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use branchpoint_backend::DriverProcess;
use rusqlite::params;

use super::permissions::{lock_file, lock_folder};
use super::upkeep::beside;
use super::{Store, StoreError};

/// This process, as long as it drives runs.
#[derive(Debug)]
pub(crate) struct Owner {
    pub(crate) number: i64,
    /// The lock, and where it is. A store in memory has no other owner.
    lock: Option<(File, PathBuf)>,
}

impl Store {
    /// Enters this process among those who drive runs.
    pub(crate) fn enter(&self, what: &str, now_ms: i64) -> Result<Owner, StoreError> {
        self.change(|| self.enter_row(what, now_ms))
    }

    /// Others see the row when it is committed, and by then the lock is held.
    fn enter_row(&self, what: &str, now_ms: i64) -> Result<Owner, StoreError> {
        let sql = "INSERT INTO owners (pid, what, since_ms) VALUES (?1, ?2, ?3)";
        self.db.execute(sql, params![std::process::id(), what, now_ms])?;
        let number = self.db.last_insert_rowid();
        let Some(path) = self.lock_path(number) else { return Ok(Owner { number, lock: None }) };
        let error = |error| StoreError::File { path: path.clone(), error };
        let store = self.path().unwrap_or(&path);
        lock_folder(store, &owners_folder(store)).map_err(error)?;
        let file = lock_file(store, &path).map_err(error)?;
        file.lock().map_err(error)?;
        Ok(Owner { number, lock: Some((file, path)) })
    }

    /// Lets go of what processes drove that are gone. True: there was one.
    pub(crate) fn release_dead_owners(&self, own: Option<i64>) -> Result<bool, StoreError> {
        let owners: Vec<i64> = self.rows("SELECT owner FROM owners", [], |row| row.get(0))?;
        let dead: Vec<i64> = owners.into_iter().filter(|owner| Some(*owner) != own && !self.is_alive(*owner)).collect();
        for owner in &dead {
            self.unsynced(|| self.free(*owner))?;
            if let Some(path) = self.lock_path(*owner) {
                // It is in nobody's way.
                let _ = fs::remove_file(path);
            }
        }
        Ok(!dead.is_empty())
    }

    /// What it drove belongs to nobody from now on.
    pub(crate) fn free(&self, owner: i64) -> Result<(), StoreError> {
        self.execute("UPDATE runs SET owner = NULL WHERE owner = ?1", [owner])?;
        self.execute("DELETE FROM owners WHERE owner = ?1", [owner])?;
        Ok(())
    }

    /// The processes that drive runs.
    pub fn drivers(&self) -> Result<Vec<DriverProcess>, StoreError> {
        let mut drivers = self.rows("SELECT owner, pid, what, since_ms FROM owners ORDER BY owner", [], |row| {
            Ok(DriverProcess { owner: row.get(0)?, pid: row.get(1)?, command: row.get(2)?, since_ms: row.get(3)? })
        })?;
        drivers.retain(|driver| self.is_alive(driver.owner));
        Ok(drivers)
    }

    /// Whether the process lives: nobody else can take the lock of one that does.
    pub(crate) fn is_alive(&self, owner: i64) -> bool {
        let Some(path) = self.lock_path(owner) else { return true };
        // Only who has no file, or a file that anybody may lock, is gone; what cannot be told counts as alive.
        match File::open(path) {
            Ok(file) => !matches!(file.try_lock(), Ok(())),
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        }
    }

    fn lock_path(&self, owner: i64) -> Option<PathBuf> {
        self.path().map(|path| owners_folder(path).join(owner.to_string()))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.lock {
            // The lock goes with the file; the name of a process that has left is in nobody's way.
            let _ = fs::remove_file(path);
        }
    }
}

pub(super) fn owners_folder(store: &Path) -> PathBuf {
    beside(store, "-owners")
}
