//! The file of credentials and of the keys of links. Credentials are stored as hashes, so reading them is not enough to sign in.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use branchpoint_runners::hexadecimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::last_used::LastUsed;
use super::links::{LinkKey, RevokedLinks};
use super::{Pattern, Role};

/// The start of every credential, so that scanners of secrets recognise one.
const PREFIX: &str = "bp";

/// The number of random bytes of a secret.
const SECRET_BYTES: usize = 32;

/// The maximum number of credentials.
const MAX_CREDENTIALS: usize = 10_000;

/// The maximum number of browsers in which one user is signed in.
const MAX_BROWSERS: usize = 20;

/// The maximum size of the file in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// What a credential is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CredentialKind {
    /// A bearer token of a program.
    Token,
    /// A link that signs in one browser, once.
    Link,
    /// A browser that has signed in.
    Browser,
}

/// A credential without its secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Credential {
    /// The id, which is not secret.
    pub id: String,
    /// What it is for.
    pub kind: CredentialKind,
    /// The user.
    pub user: String,
    /// What the user may do.
    pub role: Role,
    /// The workflows that it is for.
    pub workflows: Vec<Pattern>,
    /// When it was created.
    pub created_ms: i64,
    /// When it expires.
    pub expires_ms: Option<i64>,
    /// The token with which a browser signed in. The browser is signed out when the token is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    issued_by: Option<String>,
    /// The SHA-256 of the secret in hexadecimal. A secret has 256 random bits, so the hash needs no salt.
    hash: String,
}

/// A credential to create.
#[derive(Clone, Debug)]
pub struct NewCredential {
    /// What it is for.
    pub kind: CredentialKind,
    /// The user.
    pub user: String,
    /// What the user may do.
    pub role: Role,
    /// The workflows that it is for.
    pub workflows: Vec<Pattern>,
    /// When it expires.
    pub expires_ms: Option<i64>,
    /// The id of the token that it ends with.
    pub issued_by: Option<String>,
}

/// Why credentials cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The file cannot be read or written.
    #[error("cannot use {0}: {1}")]
    File(PathBuf, #[source] io::Error),
    /// The content of the file is invalid.
    #[error("{0} is damaged: {1}")]
    Damaged(PathBuf, String),
    /// There is no such credential.
    #[error("there is no token, link or signed-in browser `{0}`")]
    Missing(String),
    /// There are too many credentials.
    #[error("there are {MAX_CREDENTIALS} credentials already; revoke some")]
    Full,
    /// The operating system gives no random numbers.
    #[error("the operating system gives no random numbers")]
    NoRandom,
}

/// The credentials of a store, in a file that several processes use.
#[derive(Debug)]
pub struct Access {
    path: PathBuf,
    known: Mutex<Cached>,
    used: LastUsed,
}

/// The content of the file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Stored {
    pub(super) credentials: Vec<Credential>,
    /// The keys that sign links to approvals, the newest last.
    #[serde(default)]
    pub(super) link_keys: Vec<LinkKey>,
    /// The users whose earlier links do not work any more.
    #[serde(default)]
    pub(super) revoked_links: Vec<RevokedLinks>,
}

/// The content of a file: of this version, or the list of credentials that earlier versions wrote.
#[derive(Deserialize)]
#[serde(untagged)]
enum AnyStored {
    Stored(Stored),
    Credentials(Vec<Credential>),
}

#[derive(Debug, Default)]
struct Cached {
    stored: Stored,
    /// The time and the size of the file that was read.
    read: Option<(SystemTime, u64)>,
}

impl Access {
    /// The credentials of the store at a path, in a file beside it.
    pub fn of_store(store: &Path) -> Self {
        let mut path = store.as_os_str().to_owned();
        path.push(".access.json");
        Self { path: path.into(), known: Mutex::default(), used: LastUsed::of_store(store) }
    }

    /// When credentials were last used, by their ids.
    ///
    /// ```
    /// use branchpoint_server::Access;
    ///
    /// let folder = tempfile::tempdir()?;
    /// assert!(Access::of_store(&folder.path().join("store.db")).last_used_ms().is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn last_used_ms(&self) -> BTreeMap<String, i64> {
        self.used.times()
    }

    /// The credentials that have not expired.
    pub fn list(&self, now_ms: i64) -> Result<Vec<Credential>, AccessError> {
        Ok(self.read()?.credentials.into_iter().filter(|credential| !credential.is_expired(now_ms)).collect())
    }

    /// Creates a credential. Returns it with its text, which is shown once and stored nowhere.
    pub fn create(&self, new: NewCredential, now_ms: i64) -> Result<(Credential, String), AccessError> {
        let (id, secret) = (random(6)?, random(SECRET_BYTES)?);
        let credential = Credential {
            hash: hash(&secret),
            id: id.clone(),
            kind: new.kind,
            user: new.user,
            role: new.role,
            workflows: new.workflows,
            created_ms: now_ms,
            expires_ms: new.expires_ms,
            issued_by: new.issued_by,
        };
        let added = credential.clone();
        self.change(now_ms, move |Stored { credentials, .. }| {
            if credentials.len() >= MAX_CREDENTIALS {
                return Err(AccessError::Full);
            }
            // Signing in again and again must not use up the credentials of others. The oldest are first.
            let is_same = |known: &Credential| known.kind == CredentialKind::Browser && known.user == added.user;
            let browsers = credentials.iter().filter(|known| is_same(known)).count();
            if added.kind == CredentialKind::Browser && browsers >= MAX_BROWSERS {
                let oldest = credentials.iter().position(is_same);
                oldest.map(|oldest| credentials.remove(oldest));
            }
            credentials.push(added);
            Ok(())
        })?;
        Ok((credential, format!("{PREFIX}_{id}_{secret}")))
    }

    /// Revokes a credential, and what was issued for it.
    pub fn revoke(&self, id: &str, now_ms: i64) -> Result<(), AccessError> {
        self.change(now_ms, |Stored { credentials, .. }| {
            let before = credentials.len();
            credentials.retain(|credential| credential.id != id);
            if credentials.len() == before {
                return Err(AccessError::Missing(id.to_owned()));
            }
            credentials.retain(|credential| credential.issued_by.as_deref() != Some(id));
            Ok(())
        })
    }

    /// The valid credential of a text.
    pub fn find(&self, text: &str, kind: CredentialKind, now_ms: i64) -> Result<Option<Credential>, AccessError> {
        let mut parts = text.splitn(3, '_');
        let (Some(PREFIX), Some(id), Some(secret)) = (parts.next(), parts.next(), parts.next()) else {
            return Ok(None);
        };
        let credentials = self.read()?.credentials;
        let credential = credentials.iter().find(|credential| credential.id == id);
        let hash = hash(secret);
        let is_valid = |credential: &&Credential| {
            is_equal(&credential.hash, &hash) && credential.kind == kind && !credential.is_expired(now_ms)
        };
        let credential = credential.filter(is_valid).cloned();
        if credential.is_some() {
            self.used.record(id, now_ms, |id| credentials.iter().any(|credential| credential.id == id));
        }
        Ok(credential)
    }

    /// Replaces the link of a text with the credential of a browser. Only the first of several requests succeeds.
    pub fn redeem(
        &self,
        link: &str,
        expires_ms: i64,
        now_ms: i64,
    ) -> Result<Option<(Credential, String)>, AccessError> {
        let Some(found) = self.find(link, CredentialKind::Link, now_ms)? else { return Ok(None) };
        match self.revoke(&found.id, now_ms) {
            Ok(()) => {}
            Err(AccessError::Missing(_)) => return Ok(None),
            Err(error) => return Err(error),
        }
        let Credential { user, role, workflows, .. } = found;
        let (kind, expires_ms) = (CredentialKind::Browser, Some(expires_ms));
        let new = NewCredential { kind, user, role, workflows, expires_ms, issued_by: None };
        self.create(new, now_ms).map(Some)
    }

    fn failed(&self, error: io::Error) -> AccessError {
        AccessError::File(self.path.clone(), error)
    }

    /// The content of the file, which is read again when it has changed.
    pub(super) fn read(&self) -> Result<Stored, AccessError> {
        let state = match fs::metadata(&self.path) {
            Ok(metadata) => Some((metadata.modified().map_err(|error| self.failed(error))?, metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(self.failed(error)),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_none() || known.read != state {
            known.stored = if state.is_some() { self.parse()? } else { Stored::default() };
            known.read = state;
        }
        Ok(known.stored.clone())
    }

    fn parse(&self) -> Result<Stored, AccessError> {
        let mut text = String::new();
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Stored::default()),
            Err(error) => return Err(self.failed(error)),
        };
        file.take(MAX_BYTES).read_to_string(&mut text).map_err(|error| self.failed(error))?;
        match serde_json::from_str(&text) {
            Ok(AnyStored::Stored(stored)) => Ok(stored),
            Ok(AnyStored::Credentials(credentials)) => Ok(Stored { credentials, ..Stored::default() }),
            Err(error) => Err(AccessError::Damaged(self.path.clone(), error.to_string())),
        }
    }

    /// Changes the file. Only one process does at a time, and a reader sees the file before or after the change.
    pub(super) fn change<T>(
        &self,
        now_ms: i64,
        change: impl FnOnce(&mut Stored) -> Result<T, AccessError>,
    ) -> Result<T, AccessError> {
        let lock = private(&self.path.with_extension("lock")).map_err(|error| self.failed(error))?;
        lock.lock().map_err(|error| self.failed(error))?;
        let mut stored = self.parse()?;
        stored.credentials.retain(|credential| !credential.is_expired(now_ms));
        let result = change(&mut stored)?;
        let text = serde_json::to_string_pretty(&stored)
            .map_err(|error| AccessError::Damaged(self.path.clone(), error.to_string()))?;
        let written = self.path.with_extension("new");
        let replace = || -> io::Result<()> {
            let mut file = private(&written)?;
            file.set_len(0)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&written, &self.path)
        };
        replace().map_err(|error| self.failed(error))?;
        self.known.lock().unwrap_or_else(PoisonError::into_inner).read = None;
        Ok(result)
    }
}

impl Credential {
    /// Whether it has expired.
    pub fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_ms.is_some_and(|expires_ms| expires_ms <= now_ms)
    }
}

/// Opens or creates a file that only its owner can read.
pub(crate) fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

pub(super) fn random(bytes: usize) -> Result<String, AccessError> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|_| AccessError::NoRandom)?;
    Ok(hexadecimal(&random))
}

fn hash(secret: &str) -> String {
    hexadecimal(&Sha256::digest(secret.as_bytes()))
}

/// Compares hashes in a time that does not depend on their content.
fn is_equal(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> (tempfile::TempDir, Access) {
        let folder = tempfile::tempdir().unwrap();
        let access = Access::of_store(&folder.path().join("store.db"));
        (folder, access)
    }

    fn new(kind: CredentialKind, expires_ms: Option<i64>) -> NewCredential {
        let (user, role, workflows) = ("ada".into(), Role::Viewer, vec![Pattern::all()]);
        NewCredential { kind, user, role, workflows, expires_ms, issued_by: None }
    }

    #[test]
    fn a_token_is_found_until_it_expires_or_is_revoked() {
        let (_folder, access) = access();
        let (token, text) = access.create(new(CredentialKind::Token, Some(100)), 0).unwrap();
        assert_eq!(access.find(&text, CredentialKind::Token, 99).unwrap().unwrap().user, "ada");
        assert!(access.find(&text, CredentialKind::Token, 100).unwrap().is_none());
        assert!(access.find(&text, CredentialKind::Browser, 99).unwrap().is_none());
        let forged = format!("{}x", &text[..text.len() - 1]);
        assert!(access.find(&forged, CredentialKind::Token, 99).unwrap().is_none());
        assert!(access.find("bp_", CredentialKind::Token, 99).unwrap().is_none());
        access.revoke(&token.id, 50).unwrap();
        assert!(access.find(&text, CredentialKind::Token, 99).unwrap().is_none());
        assert!(matches!(access.revoke(&token.id, 50), Err(AccessError::Missing(_))));
    }

    #[test]
    fn a_link_signs_in_once() {
        let (_folder, access) = access();
        let (_, link) = access.create(new(CredentialKind::Link, Some(100)), 0).unwrap();
        let (browser, cookie) = access.redeem(&link, 500, 50).unwrap().unwrap();
        assert_eq!((browser.kind, browser.expires_ms), (CredentialKind::Browser, Some(500)));
        assert!(access.redeem(&link, 500, 50).unwrap().is_none());
        assert!(access.find(&cookie, CredentialKind::Browser, 99).unwrap().is_some());
    }

    #[test]
    fn a_browser_is_signed_out_when_its_token_is_revoked() {
        let (_folder, access) = access();
        let (token, _) = access.create(new(CredentialKind::Token, None), 0).unwrap();
        let issued = NewCredential { issued_by: Some(token.id.clone()), ..new(CredentialKind::Browser, None) };
        let (_, cookie) = access.create(issued, 0).unwrap();
        assert!(access.find(&cookie, CredentialKind::Browser, 1).unwrap().is_some());
        access.revoke(&token.id, 1).unwrap();
        assert!(access.find(&cookie, CredentialKind::Browser, 1).unwrap().is_none());
    }

    #[test]
    fn the_file_has_no_secret_and_is_private() {
        let (folder, access) = access();
        let (_, text) = access.create(new(CredentialKind::Token, None), 0).unwrap();
        let stored = fs::read_to_string(folder.path().join("store.db.access.json")).unwrap();
        assert!(!stored.contains(text.rsplit('_').next().unwrap()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(folder.path().join("store.db.access.json")).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0);
        }
    }
}
