//! The log of who did what.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
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

/// How much of the file is read at once.
const BLOCK_BYTES: u64 = 256 * 1024;

/// How much of the file is read for one page.
const SCAN_BYTES: u64 = 8 * 1024 * 1024;

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

    /// A page of the entries, newest first. Blocks.
    pub(crate) fn page(&self, filter: &AuditFilter, limit: usize) -> io::Result<AuditPage> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(AuditPage::default()),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        let mut end = filter.before.map_or(length, |before| before.min(length));
        let oldest = end.saturating_sub(SCAN_BYTES);
        let mut entries = Vec::new();
        while end > oldest {
            let start = end.saturating_sub(BLOCK_BYTES);
            let (block, first) = lines_between(&mut file, start, end)?;
            for line in block.iter().rev() {
                end = line.at;
                let entry = serde_json::from_slice(&line.bytes).ok().filter(|entry| filter.matches(entry));
                entries.extend(entry);
                if entries.len() == limit {
                    return Ok(AuditPage { entries, next: (end > 0).then_some(end) });
                }
            }
            // A line that does not fit into a block is skipped.
            end = first.unwrap_or(start);
        }
        Ok(AuditPage { entries, next: (end > 0).then_some(end) })
    }
}

/// Which entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct AuditFilter {
    /// Entries before this position of the file.
    pub(crate) before: Option<u64>,
    /// Entries of this user.
    pub(crate) user: Option<String>,
    /// Entries that contain this text in lower case.
    pub(crate) text: Option<String>,
}

impl AuditFilter {
    fn matches(&self, entry: &AuditEntry) -> bool {
        let by_user = self.user.as_ref().is_none_or(|user| entry.user.as_ref() == Some(user));
        let contains = |text: &String| {
            let AuditEntry { user, credential, method, path, status, .. } = entry;
            let (user, credential) = (user.as_deref().unwrap_or_default(), credential.as_deref().unwrap_or_default());
            format!("{user} {credential} {method} {path} {status}").to_lowercase().contains(text)
        };
        by_user && self.text.as_ref().is_none_or(contains)
    }
}

/// A page of entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct AuditPage {
    pub(crate) entries: Vec<AuditEntry>,
    /// Where the next page ends; none at the beginning of the log. A page may be short, because a search reads a limited part.
    pub(crate) next: Option<u64>,
}

/// A line and its position in the file.
struct Line {
    at: u64,
    bytes: Vec<u8>,
}

/// The whole lines of a part of the file, and where the first of them begins. A line that begins before the part is not among them.
fn lines_between(file: &mut File, start: u64, end: u64) -> io::Result<(Vec<Line>, Option<u64>)> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    io::Read::take(&mut *file, end - start).read_to_end(&mut bytes)?;
    let mut at = start;
    let mut lines: Vec<Line> = Vec::new();
    for bytes in bytes.split_inclusive(|byte| *byte == b'\n') {
        lines.push(Line { at, bytes: bytes.to_vec() });
        at += bytes.len() as u64;
    }
    if start > 0 && !lines.is_empty() {
        lines.remove(0);
    }
    let first = lines.first().map(|line| line.at);
    Ok((lines, first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: usize) -> AuditEntry {
        AuditEntry {
            at: rfc3339(0),
            user: Some(if number.is_multiple_of(2) { "ada".into() } else { "bob".into() }),
            credential: None,
            method: "POST".into(),
            path: format!("/runs/{number}/{}", "x".repeat(200)),
            status: 200,
        }
    }

    /// All pages of a filter, as the numbers of their entries.
    fn pages(log: &AuditLog, filter: &AuditFilter, limit: usize) -> Vec<usize> {
        let (mut numbers, mut filter) = (Vec::new(), filter.clone());
        loop {
            let page = log.page(&filter, limit).expect("the log is readable");
            assert!(page.entries.len() <= limit);
            let number = |entry: &AuditEntry| entry.path.split('/').nth(2).and_then(|part| part.parse::<usize>().ok());
            numbers.extend(page.entries.iter().filter_map(number));
            match page.next {
                Some(next) => filter.before = Some(next),
                None => return numbers,
            }
        }
    }

    #[test]
    fn pages_contain_every_entry_once_and_newest_first() {
        let folder = tempfile::tempdir().expect("there is room for a log");
        let log = AuditLog::of_store(&folder.path().join("store.db"));
        assert!(pages(&log, &AuditFilter::default(), 10).is_empty());
        // More than a block.
        let count = usize::try_from(BLOCK_BYTES).expect("it is small") / 200 + 20;
        (0..count).for_each(|number| log.append(&entry(number)).expect("the log is writable"));
        let all: Vec<usize> = (0..count).rev().collect();
        for limit in [7, 200, count + 1] {
            assert_eq!(pages(&log, &AuditFilter::default(), limit), all, "{limit}");
        }
        let of_bob = AuditFilter { user: Some("bob".into()), ..AuditFilter::default() };
        assert!(pages(&log, &of_bob, 200).iter().all(|number| number % 2 == 1));
        let by_text = AuditFilter { text: Some("/runs/17/".into()), ..AuditFilter::default() };
        assert_eq!(pages(&log, &by_text, 200), [17]);
    }
}
