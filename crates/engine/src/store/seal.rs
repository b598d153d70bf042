//! Secrets of runs at rest, be they inputs or of the environment: encrypted with a key that lies beside the store and never in it,
//! so that a copy of the store alone tells nobody any of them.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use rusqlite::params;

use super::{RunNo, Store, Trouble};

const NONCE: usize = 12;

/// What seals and opens.
pub(crate) struct Key(ChaCha20Poly1305);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(***)")
    }
}

impl Key {
    /// The key of a store, made when it is needed for the first time. One that was made and is gone is not made anew while
    /// something is sealed with it.
    pub(crate) fn of(store: &Store) -> Result<Self, Trouble> {
        let bytes = match store.path().map(key_path) {
            Some(path) => match fs::read(&path) {
                Ok(bytes) => bytes,
                Err(_) if store.has_sealed()? => {
                    return Err(Trouble::Sealed(format!("their key is gone from {}", path.display())));
                }
                Err(_) => made(&path)?,
            },
            None => random::<32>()?.to_vec(),
        };
        let key = ChaCha20Poly1305::new_from_slice(&bytes);
        key.map(Self).map_err(|_| Trouble::Sealed("their key has not 32 bytes".into()))
    }

    fn seal(&self, secret: &str) -> Result<Vec<u8>, Trouble> {
        let nonce = random::<NONCE>()?;
        let sealed = self.0.encrypt(&Nonce::from(nonce), secret.as_bytes());
        let sealed = sealed.map_err(|_| Trouble::Sealed("a value is too large".into()))?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    fn open(&self, sealed: &[u8]) -> Result<String, Trouble> {
        let damaged = || Trouble::Sealed("their key does not fit, or they are damaged".into());
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>().ok_or_else(damaged)?;
        let opened = self.0.decrypt(&Nonce::from(*nonce), sealed).map_err(|_| damaged())?;
        String::from_utf8(opened).map_err(|_| damaged())
    }
}

impl Store {
    /// Keeps the secrets of a run.
    pub(crate) fn seal(&self, key: &Key, run: RunNo, secrets: &[String]) -> Result<(), Trouble> {
        for (number, secret) in (0_i64..).zip(secrets) {
            let sealed = key.seal(secret)?;
            self.defer(run, move |store| {
                let sql = "INSERT OR IGNORE INTO sealed (run, number, bytes) VALUES (?1, ?2, ?3)";
                Ok(store.db.prepare_cached(sql)?.execute(params![run.0, number, sealed]).map(drop)?)
            });
        }
        Ok(())
    }

    /// The secrets of a run, as they were sealed.
    pub(crate) fn sealed(&self, run: RunNo) -> Result<Vec<Vec<u8>>, Trouble> {
        let mut found = self.db.prepare_cached("SELECT bytes FROM sealed WHERE run = ?1 ORDER BY number")?;
        let sealed = found.query_map([run.0], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(sealed)
    }

    fn has_sealed(&self) -> Result<bool, Trouble> {
        Ok(self.db.query_row("SELECT EXISTS (SELECT 1 FROM sealed)", [], |row| row.get(0))?)
    }
}

impl Key {
    /// Opens what was sealed.
    pub(crate) fn opened(&self, sealed: &[Vec<u8>]) -> Result<Vec<String>, Trouble> {
        sealed.iter().map(|sealed| self.open(sealed)).collect()
    }
}

fn key_path(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push("-key");
    name.into()
}

/// Nobody but the user may read it. Two processes may make it at once: the first wins, and both read it.
fn made(path: &Path) -> Result<Vec<u8>, Trouble> {
    let trouble = |error| Trouble::File { path: path.into(), error };
    let mut options = fs::OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            file.write_all(&random::<32>()?).and_then(|()| file.sync_all()).map_err(trouble)?;
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(trouble(error)),
    }
    fs::read(path).map_err(trouble)
}

/// Bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Trouble> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| Trouble::Sealed(format!("there is no randomness: {error}")))?;
    Ok(bytes)
}
