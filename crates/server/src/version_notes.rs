//! Who saved the versions of workflows, and why: a file beside the store with one entry in each line.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::access::private_file;

/// The most bytes of the file that are read.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// What is known of how a version was saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VersionNote {
    /// The hash of the version.
    pub(crate) hash: String,
    /// Who saved it.
    pub(crate) user: String,
    /// What has changed, in the words of that person.
    pub(crate) message: Option<String>,
}

/// The notes of a store. Versions that other programs have saved have none.
#[derive(Debug)]
pub(crate) struct VersionNotes {
    path: PathBuf,
    known: Mutex<ReadNotes>,
}

#[derive(Debug, Default)]
struct ReadNotes {
    notes: HashMap<String, VersionNote>,
    /// The length of the file that was read.
    bytes: u64,
}

impl VersionNotes {
    /// The notes of the store at a path.
    pub(crate) fn of_store(store: &Path) -> Self {
        let mut path = store.as_os_str().to_owned();
        path.push(".versions.jsonl");
        Self { path: path.into(), known: Mutex::default() }
    }

    /// Appends a note. Blocks.
    pub(crate) fn add(&self, note: &VersionNote) -> io::Result<()> {
        let mut line = serde_json::to_vec(note).map_err(io::Error::other)?;
        line.push(b'\n');
        private_file(&self.path)?;
        OpenOptions::new().append(true).open(&self.path)?.write_all(&line)
    }

    /// The note of a version. Blocks. A file that cannot be read has none, because lists must not depend on it.
    pub(crate) fn find(&self, hash: &str) -> Option<VersionNote> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        if bytes != known.bytes {
            *known = ReadNotes { notes: self.read().unwrap_or_default(), bytes };
        }
        known.notes.get(hash).cloned()
    }

    /// The notes of the file. A line that is damaged is left out.
    fn read(&self) -> io::Result<HashMap<String, VersionNote>> {
        let lines = BufReader::new(File::open(&self.path)?.take(MAX_BYTES)).split(b'\n');
        let notes = lines.map_while(Result::ok).filter_map(|line| serde_json::from_slice::<VersionNote>(&line).ok());
        Ok(notes.map(|note| (note.hash.clone(), note)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{VersionNote, VersionNotes};

    #[test]
    fn notes_are_found_by_the_version_also_after_damage() {
        let folder = tempfile::tempdir().unwrap();
        let notes = VersionNotes::of_store(&folder.path().join("store.db"));
        assert_eq!(notes.find("a"), None);
        let note = VersionNote { hash: "a".into(), user: "ada".into(), message: Some("Fix".into()) };
        notes.add(&note).unwrap();
        std::fs::OpenOptions::new()
            .append(true)
            .open(folder.path().join("store.db.versions.jsonl"))
            .and_then(|mut file| std::io::Write::write_all(&mut file, b"{broken\n"))
            .unwrap();
        notes.add(&VersionNote { hash: "b".into(), ..note.clone() }).unwrap();
        assert_eq!((notes.find("a"), notes.find("b").map(|note| note.hash)), (Some(note), Some("b".into())));
    }
}
