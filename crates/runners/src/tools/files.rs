//! Files in one folder that the operator has named, and nowhere else.
//!
//! A path is walked folder by folder from the open folder on, and no link is followed on the way, so that nobody can put a
//! link there between looking and opening. What is written appears whole or not at all.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use branchpoint_core::effect::{FilesOperation, FilesRequest, StoredFile};
use branchpoint_expr::Value;
use rustix::fs::{AtFlags, Mode, OFlags, fsync, mkdirat, open, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::failure::{failed, impossible};
use super::settings::FilesSettings;
use crate::hexadecimal::hexadecimal;
use crate::runner::Answer;
use crate::shorten::shortened;

/// The most bytes of a key, and of one name in it.
pub(super) const MAX_KEY_BYTES: usize = 1024;
const MAX_NAME_BYTES: usize = 255;

/// Where metadata of contents are kept, below the folder.
const METADATA: &str = "metadata";

/// The beginning of the keys of published contents.
pub(super) const PUBLISHED: &str = "published/";

/// Whether a key is that of a published content.
pub(super) fn is_published(key: &str) -> bool {
    key.starts_with(PUBLISHED)
}

/// The text of a content to write.
pub(super) fn content_text(content: &Value) -> String {
    if *content == Value::Null { String::new() } else { content.to_string() }
}

impl FilesSettings {
    /// Performs `files`: what a step writes is a file in the folder, named by its key.
    pub(super) fn perform(&self, request: &FilesRequest) -> Result<Answer, Answer> {
        let key = request.path.as_deref().unwrap_or_default();
        let content = &request.content;
        match request.operation {
            FilesOperation::Write => {
                let text = content_text(content);
                let mime = request.content_type.as_deref().unwrap_or("text/plain");
                self.write(key, text.as_bytes()).map(|bytes| written(key, mime, bytes))
            }
            FilesOperation::WriteMetadata => {
                if key.trim().is_empty() {
                    return Err(impossible("the metadata key is empty"));
                }
                parts(key)?;
                let json = content
                    .as_str()
                    .map_or_else(|| content.to_string(), |text| serde_json::Value::from(text).to_string());
                let file = format!("{METADATA}/{key}.json");
                self.write(&file, json.as_bytes()).map(|bytes| written(&file, "application/json", bytes))
            }
            other => Err(impossible(format!("stored files do not have the operation `{}`", other.as_str()))),
        }
    }

    /// Writes an object: a file in a folder that is named after its bucket, or in this one.
    pub(super) fn write_object(&self, bucket: Option<&str>, key: &str, content: &[u8]) -> Result<Answer, Answer> {
        let Some(bucket) = bucket else { return self.write(key, content).map(|_| Answer::data(Value::Null)) };
        parts(key)?;
        if !parts(bucket)?.0.is_empty() {
            return Err(impossible("`bucket` of an `object_store` request must not have folders"));
        }
        self.write(&format!("{bucket}/{key}"), content).map(|_| Answer::data(Value::Null))
    }
}

/// The answer about a file that was written.
pub(super) fn written(key: &str, mime: &str, bytes: usize) -> Answer {
    let name = Path::new(key).file_name().and_then(OsStr::to_str).unwrap_or(key);
    let file =
        StoredFile { storage_key: key.to_owned(), mime: mime.to_owned(), name: name.to_owned(), bytes: size(bytes) };
    Answer::data(file)
}

/// A size as a result has it.
pub(super) fn size(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

impl FilesSettings {
    /// What stands in a file.
    pub(crate) fn bytes(&self, key: &str) -> Result<Vec<u8>, Answer> {
        let (folders, name) = parts(key)?;
        let unread = |error: Errno| unusable("read", key, error);
        let folder = self.folder(&folders, false).map_err(unread)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(&folder, name, flags, Mode::empty()).map_err(unread)?);
        let about = file.metadata().map_err(|error| failed(format!("`{key}` cannot be read: {error}")))?;
        if !about.is_file() {
            return Err(impossible(format!("`{key}` is no file")));
        }
        if about.len() > self.max_bytes {
            return Err(impossible(format!("`{key}` has more than the {} bytes that are read", self.max_bytes)));
        }
        let mut bytes = Vec::new();
        let read = file.take(self.max_bytes).read_to_end(&mut bytes);
        read.map_err(|error| failed(format!("`{key}` cannot be read: {error}")))?;
        Ok(bytes)
    }

    /// Writes beside, then renames: whoever reads meanwhile sees the old file or the new one.
    fn write(&self, key: &str, bytes: &[u8]) -> Result<usize, Answer> {
        if bytes.len() as u64 > self.max_bytes {
            let message = format!("`{key}` would have {} bytes, and {} are allowed", bytes.len(), self.max_bytes);
            return Err(impossible(message + "; raise max_bytes under [files]"));
        }
        let (folders, name) = parts(key)?;
        let unwritten = |error: Errno| unusable("written", key, error);
        let folder = self.folder(&folders, true).map_err(unwritten)?;
        let beside = beside(key)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&folder, &*beside, flags, Mode::from_raw_mode(0o644)).map_err(unwritten)?;
        let mut file = File::from(file);
        let done = file.write_all(bytes).and_then(|()| file.sync_all());
        let done = done.and_then(|()| Ok(renameat(&folder, &*beside, &folder, name)?));
        let done = done.and_then(|()| Ok(keep(&folder)?));
        done.map_err(|error| {
            // Nothing of a failed attempt stays behind; that it failed is told anyway.
            let _ = unlinkat(&folder, &*beside, AtFlags::empty());
            failed(format!("`{key}` cannot be written: {error}"))
        })?;
        Ok(bytes.len())
    }

    fn folder(&self, folders: &[&OsStr], make: bool) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut folder = open(&self.dir, flags, Mode::empty())?;
        for name in folders {
            if make {
                match mkdirat(&folder, *name, Mode::from_raw_mode(0o755)) {
                    Ok(()) => keep(&folder)?,
                    Err(Errno::EXIST) => {}
                    Err(error) => return Err(error),
                }
            }
            folder = openat(&folder, *name, flags | OFlags::NOFOLLOW, Mode::empty())?;
        }
        Ok(folder)
    }
}

/// A name for what is being written. It is drawn by lot: somebody who was killed may have left others behind, and numbers of processes
/// come again.
fn beside(key: &str) -> Result<String, Answer> {
    let mut lot = [0; 8];
    getrandom::fill(&mut lot)
        .map_err(|error| failed(format!("`{key}` cannot be written: there is no randomness: {error}")))?;
    Ok(format!(".branchpoint-{}", hexadecimal(&lot)))
}

/// Makes names in a folder outlast the machine's next moment: what the journal says was written is there after a power cut too.
fn keep(folder: &OwnedFd) -> Result<(), Errno> {
    match fsync(folder) {
        // There are file systems that keep the names of a folder by themselves, and say that this is nothing to ask for.
        Err(Errno::INVAL) => Ok(()),
        done => done,
    }
}

/// The folders of a key, and the name of the file in the last of them.
fn parts(key: &str) -> Result<(Vec<&OsStr>, &OsStr), Answer> {
    if key.len() > MAX_KEY_BYTES || key.split('/').any(|name| name.len() > MAX_NAME_BYTES) {
        return Err(impossible(format!(
            "`{}` is too long for a file: a name has at most {MAX_NAME_BYTES} bytes, and a path {MAX_KEY_BYTES} bytes",
            shortened(key)
        )));
    }
    let mut names = Vec::new();
    for part in Path::new(key).components() {
        match part {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                let key = shortened(key);
                return Err(impossible(format!(
                    "`{key}` leads out of the folder for files; write a path inside of it"
                )));
            }
        }
    }
    let name = names.pop().filter(|_| !key.ends_with('/') && !key.contains('\0'));
    name.map(|name| (names, name)).ok_or_else(|| impossible(format!("`{}` does not name a file", shortened(key))))
}

fn unusable(what: &str, key: &str, error: Errno) -> Answer {
    let key = shortened(key);
    match error {
        Errno::LOOP | Errno::NOTDIR => {
            impossible(format!("`{key}` cannot be {what}: a part of its path is a link or no folder"))
        }
        Errno::NOENT => impossible(format!("`{key}` cannot be {what}: it does not exist")),
        error => failed(format!("`{key}` cannot be {what}: {error}")),
    }
}
