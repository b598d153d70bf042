//! Encryption of secrets at rest: secret inputs, secrets of the environment that appear in runs, and named secrets. The key is a file next to the store and
//! never in it, so a copy of the store alone reveals no secret.
//!
//! A key that is missing, damaged or of another store affects only runs with sealed secrets: all other runs continue, and the affected
//! runs can be listed, shown with masked secrets, cancelled and pruned.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use branchpoint_backend::KeyState;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};

use super::permissions::private_file;
use super::upkeep::with_suffix;
use super::{RunNo, Store, StoreError};
use branchpoint_runners::hexadecimal;

const NONCE: usize = 12;
const KEY_BYTES: usize = 32;

/// The check value of a store, in plain text. The right key opens it.
const CHECK: &str = "branchpoint key check 1";

/// Seals and opens secrets.
pub(crate) struct Key(ChaCha20Poly1305);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(***)")
    }
}

impl Key {
    /// The key of a store, for opening sealed secrets.
    pub(crate) fn of(store: &Store) -> Result<Self, StoreError> {
        let Some(path) = store.key_path() else { return Self::in_memory(store) };
        let key = Self::read(&path)?.ok_or_else(|| missing(&path))?;
        key.verify(store, &path)?;
        Ok(key)
    }

    /// The key of a store, for sealing. It is created if nothing is sealed yet; processes that do so at the same time agree on one key.
    pub(crate) fn for_sealing(store: &Store) -> Result<Self, StoreError> {
        let Some(path) = store.key_path() else { return Self::in_memory(store) };
        let key = match Self::read(&path)? {
            Some(key) => key,
            None if store.has_sealed()? => return Err(missing(&path)),
            None => {
                create(&path)
                    .map_err(|error| StoreError::Sealed(format!("cannot create {}: {error}", path.display())))?;
                Self::read(&path)?.ok_or_else(|| missing(&path))?
            }
        };
        key.verify(store, &path)?;
        Ok(key)
    }

    /// The key of a store in memory.
    fn in_memory(store: &Store) -> Result<Self, StoreError> {
        if store.memory_key.get().is_none() {
            // No other thread uses this store, so the key cannot be set already.
            let _ = store.memory_key.set(random()?);
        }
        Self::from_bytes(store.memory_key.get().map_or(&[], |key| key.as_slice()))
    }

    /// The key in a file; `None` if the file does not exist.
    fn read(path: &Path) -> Result<Option<Self>, StoreError> {
        match fs::read(path) {
            Ok(bytes) if bytes.len() == KEY_BYTES => Self::from_bytes(&bytes).map(Some),
            Ok(bytes) => Err(StoreError::Sealed(format!(
                "the key in {} is damaged: it has {} bytes, and a key has {KEY_BYTES}; restore it from a backup",
                path.display(),
                bytes.len()
            ))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::Sealed(format!("the key in {} cannot be read: {error}", path.display()))),
        }
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, StoreError> {
        ChaCha20Poly1305::new_from_slice(bytes)
            .map(Self)
            .map_err(|_| StoreError::Sealed(format!("a key has {KEY_BYTES} bytes")))
    }

    /// Fails if it is the key of another store. While nothing is sealed, the key may be replaced.
    fn verify(&self, store: &Store, path: &Path) -> Result<(), StoreError> {
        if !store.has_sealed()? {
            return Ok(());
        }
        let fits = match self.fits_check(store)? {
            Some(fits) => fits,
            // Stores of named secrets always have a check value.
            None => store.any_sealed()?.is_none_or(|sealed| self.open(&sealed).is_ok()),
        };
        if fits {
            return Ok(());
        }
        Err(StoreError::Sealed(format!(
            "the key in {} is not the key of this store; restore the right one from a backup",
            path.display()
        )))
    }

    /// Whether it opens the check value of a store; `None` if the store has none.
    fn fits_check(&self, store: &Store) -> Result<Option<bool>, StoreError> {
        let sealed: Option<Vec<u8>> = store.first("SELECT bytes FROM key_check WHERE id = 1", [], |row| row.get(0))?;
        Ok(sealed.map(|sealed| self.open(&sealed).is_ok_and(|opened| opened == CHECK)))
    }

    fn seal(&self, secret: &str) -> Result<Vec<u8>, StoreError> {
        let nonce = random::<NONCE>()?;
        let sealed = self.0.encrypt(&Nonce::from(nonce), secret.as_bytes());
        let sealed = sealed.map_err(|_| StoreError::Sealed("a value is too large".into()))?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    fn open(&self, sealed: &[u8]) -> Result<String, StoreError> {
        let damaged = || StoreError::Sealed("their key does not fit, or they are damaged".into());
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>().ok_or_else(damaged)?;
        let opened = self.0.decrypt(&Nonce::from(*nonce), sealed).map_err(|_| damaged())?;
        String::from_utf8(opened).map_err(|_| damaged())
    }

    /// Seals the value of a named secret together with its name.
    pub(super) fn seal_named(&self, name: &str, value: &str) -> Result<Vec<u8>, StoreError> {
        let nonce = random::<NONCE>()?;
        let payload = Payload { msg: value.as_bytes(), aad: name.as_bytes() };
        let sealed = self.0.encrypt(&Nonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| StoreError::Sealed("a value is too large".into()))?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    /// Opens the value of a named secret that was sealed under this name.
    pub(super) fn open_named(&self, name: &str, sealed: &[u8]) -> Result<String, StoreError> {
        let damaged = || StoreError::Sealed("their key does not fit, or they are damaged".into());
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>().ok_or_else(damaged)?;
        let payload = Payload { msg: sealed, aad: name.as_bytes() };
        let opened = self.0.decrypt(&Nonce::from(*nonce), payload).map_err(|_| damaged())?;
        String::from_utf8(opened).map_err(|_| damaged())
    }

    /// Opens sealed secrets.
    pub(crate) fn opened(&self, sealed: &[Vec<u8>]) -> Result<Vec<String>, StoreError> {
        sealed.iter().map(|sealed| self.open(sealed)).collect()
    }
}

impl Store {
    /// Stores the sealed secrets of a run and the check value of the key when the turn commits.
    pub(crate) fn seal(&self, key: &Key, run: RunNo, secrets: &[String]) -> Result<(), StoreError> {
        if !key.fits_check(self)?.unwrap_or(false) {
            let check = key.seal(CHECK)?;
            self.execute_later(run, "INSERT OR REPLACE INTO key_check (id, bytes) VALUES (1, ?1)", [check]);
        }
        for (number, secret) in (0_i64..).zip(secrets) {
            let sealed = key.seal(secret)?;
            let sql = "INSERT OR IGNORE INTO sealed (run, number, bytes) VALUES (?1, ?2, ?3)";
            self.execute_later(run, sql, (run.0, number, sealed));
        }
        Ok(())
    }

    /// Stores the check value of a key, within a transaction.
    pub(super) fn check_key(&self, key: &Key) -> Result<(), StoreError> {
        if key.fits_check(self)?.unwrap_or(false) {
            return Ok(());
        }
        let check = key.seal(CHECK)?;
        self.execute("INSERT OR REPLACE INTO key_check (id, bytes) VALUES (1, ?1)", [check]).map(drop)
    }

    /// The sealed secrets of a run.
    pub(crate) fn sealed(&self, run: RunNo) -> Result<Vec<Vec<u8>>, StoreError> {
        self.rows("SELECT bytes FROM sealed WHERE run = ?1 ORDER BY number", [run.0], |row| row.get(0))
    }

    /// The state of the key.
    pub(crate) fn key_state(&self) -> Result<KeyState, StoreError> {
        let Some(path) = self.key_path() else { return Ok(KeyState::None) };
        if !self.has_sealed()? && !path.exists() {
            return Ok(KeyState::None);
        }
        match Key::of(self) {
            Ok(_) => Ok(KeyState::Fits),
            Err(StoreError::Sealed(why)) => Ok(KeyState::Unusable(why)),
            Err(error) => Err(error),
        }
    }

    /// The file of the key; `None` for a store in memory.
    ///
    /// ```
    /// use branchpoint_host::store::*;
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("store.db");
    /// let key = Store::open(&path, Durability::Full).unwrap().key_path().unwrap();
    /// assert_eq!(key.file_name().unwrap(), "store.db-key");
    /// ```
    pub fn key_path(&self) -> Option<PathBuf> {
        self.path().map(|path| with_suffix(path, "-key"))
    }

    fn has_sealed(&self) -> Result<bool, StoreError> {
        self.value("SELECT EXISTS (SELECT 1 FROM sealed) OR EXISTS (SELECT 1 FROM named_secrets)", [])
    }

    fn any_sealed(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.first("SELECT bytes FROM sealed LIMIT 1", [], |row| row.get(0))
    }
}

fn missing(path: &Path) -> StoreError {
    StoreError::Sealed(format!("the key is missing from {}; restore it from a backup", path.display()))
}

/// Creates a key file that only the user can read. The file appears complete and durable, or not at all; a key that another process
/// has created first stays.
fn create(path: &Path) -> io::Result<()> {
    let chance = |_| io::Error::other("the system has no randomness");
    let (key, name) = (random::<KEY_BYTES>().map_err(chance)?, random::<8>().map_err(chance)?);
    let own = with_suffix(path, &format!(".{}", hexadecimal(&name)));
    let written = private_file(&own).and_then(|mut file| {
        file.write_all(&key)?;
        file.sync_all()
    });
    // A link, unlike a rename, does not replace an existing file.
    let linked = written.and_then(|()| match fs::hard_link(&own, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    });
    // The temporary file is not needed any more.
    let _ = fs::remove_file(&own);
    linked?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(folder)?.sync_all()
}

/// Cryptographically secure random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| StoreError::Sealed(format!("the system has no randomness: {error}")))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
