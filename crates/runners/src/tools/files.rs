//! Files in the operator's folder.
//!
//! Each folder of a path is opened relative to the one before, without following symbolic links, so that no link can be inserted between a
//! check and the opening (a TOCTOU attack). Files are written atomically.

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

/// The subfolder for metadata of contents.
const METADATA: &str = "metadata";

/// The prefix of the keys of published contents.
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
                    return Err(impossible("the key of the metadata is empty; set it"));
                }
                parts(key)?;
                let json = content
                    .as_str()
                    .map_or_else(|| content.to_string(), |text| serde_json::Value::from(text).to_string());
                let file = format!("{METADATA}/{key}.json");
                self.write(&file, json.as_bytes()).map(|bytes| written(&file, "application/json", bytes))
            }
            other => Err(impossible(format!("the operation `{}` is not supported for stored files", other.as_str()))),
        }
    }

    /// Writes an object: a file in a folder with the name of its bucket, or in this folder.
    pub(super) fn write_object(&self, bucket: Option<&str>, key: &str, content: &[u8]) -> Result<Answer, Answer> {
        let Some(bucket) = bucket else { return self.write(key, content).map(|_| Answer::data(Value::Null)) };
        parts(key)?;
        if !parts(bucket)?.0.is_empty() {
            return Err(impossible("`bucket` must be one name, without `/`"));
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

/// Converts a size to the integer of a result.
pub(super) fn size(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

impl FilesSettings {
    /// The content of a file.
    pub(crate) fn bytes(&self, key: &str) -> Result<Vec<u8>, Answer> {
        let (folders, name) = parts(key)?;
        let unread = |error: Errno| unusable("read", key, error);
        let folder = self.folder(&folders, false).map_err(unread)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(&folder, name, flags, Mode::empty()).map_err(unread)?);
        let metadata = file.metadata().map_err(|error| failed(format!("`{key}` cannot be read: {error}")))?;
        if !metadata.is_file() {
            return Err(impossible(format!("`{key}` is not a file")));
        }
        if metadata.len() > self.max_bytes {
            return Err(impossible(format!(
                "`{key}` exceeds {} bytes; raise max_bytes under [files] in the settings",
                self.max_bytes
            )));
        }
        let mut bytes = Vec::new();
        let read = file.take(self.max_bytes).read_to_end(&mut bytes);
        read.map_err(|error| failed(format!("`{key}` cannot be read: {error}")))?;
        Ok(bytes)
    }

    /// Writes a temporary file and renames it, so that readers see the old content or the new one.
    fn write(&self, key: &str, bytes: &[u8]) -> Result<usize, Answer> {
        if bytes.len() as u64 > self.max_bytes {
            let message =
                format!("`{key}` would have {} bytes, but at most {} are allowed", bytes.len(), self.max_bytes);
            return Err(impossible(message + "; raise max_bytes under [files] in the settings"));
        }
        let (folders, name) = parts(key)?;
        let unwritten = |error: Errno| unusable("written", key, error);
        let folder = self.folder(&folders, true).map_err(unwritten)?;
        let temporary_name = temporary_name(key)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&folder, &*temporary_name, flags, Mode::from_raw_mode(0o644)).map_err(unwritten)?;
        let mut file = File::from(file);
        let done = file.write_all(bytes).and_then(|()| file.sync_all());
        let done = done.and_then(|()| Ok(renameat(&folder, &*temporary_name, &folder, name)?));
        let done = done.and_then(|()| Ok(sync_folder(&folder)?));
        done.map_err(|error| {
            // Removes the temporary file. Its own failure is ignored, because the write has failed anyway.
            let _ = unlinkat(&folder, &*temporary_name, AtFlags::empty());
            failed(format!("`{key}` cannot be written: {error}"))
        })?;
        Ok(bytes.len())
    }

    fn folder(&self, folders: &[&OsStr], create: bool) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut folder = open(&self.dir, flags, Mode::empty())?;
        for name in folders {
            if create {
                match mkdirat(&folder, *name, Mode::from_raw_mode(0o755)) {
                    Ok(()) => sync_folder(&folder)?,
                    Err(Errno::EXIST) => {}
                    Err(error) => return Err(error),
                }
            }
            folder = openat(&folder, *name, flags | OFlags::NOFOLLOW, Mode::empty())?;
        }
        Ok(folder)
    }
}

/// A random name for a temporary file. A process id would not do: killed processes leave files behind, and ids are reused.
fn temporary_name(key: &str) -> Result<String, Answer> {
    let mut random = [0; 8];
    getrandom::fill(&mut random)
        .map_err(|error| failed(format!("`{key}` cannot be written: the system has no random numbers: {error}")))?;
    Ok(format!(".branchpoint-{}", hexadecimal(&random)))
}

/// Syncs a folder, so that a file that the journal reports as written also survives a power failure.
fn sync_folder(folder: &OwnedFd) -> Result<(), Errno> {
    match fsync(folder) {
        // Some file systems sync folders themselves and reject the call.
        Err(Errno::INVAL) => Ok(()),
        done => done,
    }
}

/// Splits a key into its folders and the name of the file.
fn parts(key: &str) -> Result<(Vec<&OsStr>, &OsStr), Answer> {
    if key.len() > MAX_KEY_BYTES || key.split('/').any(|name| name.len() > MAX_NAME_BYTES) {
        return Err(impossible(format!(
            "`{}` is too long; use names of at most {MAX_NAME_BYTES} bytes and a path of at most {MAX_KEY_BYTES} bytes",
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
                    "`{key}` leads out of the folder for files; use a path inside the folder"
                )));
            }
        }
    }
    let name = names.pop().filter(|_| !key.ends_with('/') && !key.contains('\0'));
    name.map(|name| (names, name)).ok_or_else(|| {
        impossible(format!("`{}` does not name a file; it must not be empty or end with `/`", shortened(key)))
    })
}

fn unusable(what: &str, key: &str, error: Errno) -> Answer {
    let key = shortened(key);
    match error {
        Errno::LOOP | Errno::NOTDIR => {
            impossible(format!("`{key}` cannot be {what}: a part of its path is a symbolic link or not a folder"))
        }
        Errno::NOENT => impossible(format!("`{key}` cannot be {what}: it does not exist")),
        error => failed(format!("`{key}` cannot be {what}: {error}")),
    }
}
