//! The log of who did what.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::file::private;
use crate::time::{now_ms, rfc3339};

/// A change that somebody requested.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = AuditEntry)]
pub(crate) struct AuditEntry {
    pub(crate) at: String,
    /// The user; null if the request had no valid credential.
    pub(crate) user: Option<String>,
    /// The id of the credential; null for the local user.
    pub(crate) credential: Option<String>,
    /// The method of the request, or `COMMAND` for a command on the command line.
    pub(crate) method: String,
    /// The path without its query, or the command without secrets.
    pub(crate) path: String,
    /// The status of the response.
    pub(crate) status: u16,
}

/// Logs a command that a user of this machine has executed on the store at a path. Blocks.
///
/// # Errors
///
/// The log cannot be written.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// branchpoint_server::log_command(&folder.path().join("store.db"), "ada", "secrets remove OLD_TOKEN")?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn log_command(store: &Path, user: &str, command: &str) -> io::Result<()> {
    AuditLog::of_store(store).append(&AuditEntry {
        at: rfc3339(now_ms()),
        user: Some(user.to_owned()),
        credential: None,
        method: "COMMAND".into(),
        path: command.to_owned(),
        status: 200,
    })
}

/// A file with one entry in each line.
#[derive(Debug)]
pub(crate) struct AuditLog {
    path: PathBuf,
    file: Mutex<Option<File>>,
}

/// How much of the end of the file is read.
const TAIL_BYTES: u64 = 1024 * 1024;

impl AuditLog {
    pub(crate) fn of_store(store: &Path) -> Self {
        let mut path = store.as_os_str().to_owned();
        path.push(".audit.jsonl");
        Self { path: path.into(), file: Mutex::default() }
    }

    /// Appends an entry. Blocks.
    pub(crate) fn append(&self, entry: &AuditEntry) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry).map_err(io::Error::other)?;
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            private(&self.path)?;
            *file = Some(OpenOptions::new().append(true).open(&self.path)?);
        }
        file.as_mut().map_or(Ok(()), |file| file.write_all(&line))
    }

    /// The latest entries, newest first. Blocks.
    pub(crate) fn latest(&self, limit: usize) -> io::Result<Vec<AuditEntry>> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let lines: Vec<Vec<u8>> = BufReader::new(file).split(b'\n').collect::<io::Result<_>>()?;
        // The first line may be cut.
        Ok(lines.iter().rev().filter_map(|line| serde_json::from_slice(line).ok()).take(limit).collect())
    }
}
