//! Attachments: the files of runs, by the SHA-256 of their content.

use std::fmt::{self, Debug};
use std::sync::Arc;

use branchpoint_expr::{Object, Value};
use sha2::{Digest, Sha256};

use super::{StorageError, WriteId};
use crate::hexadecimal::hexadecimal;

/// The most files that a run can be started with.
pub const MAX_UPLOADS: usize = 20;
/// The most bytes of one file.
pub const MAX_FILE_BYTES: usize = 20 * 1024 * 1024;
/// The most bytes of all files of a run.
pub const MAX_FILES_BYTES: usize = 64 * 1024 * 1024;
/// The most bytes of the name of a file, and of its media type.
pub const MAX_FILE_NAME_BYTES: usize = 255;

/// The files of runs. A run can read the files of the runs that called it, and no others.
pub trait Blobs: Debug + Send + Sync {
    /// Stores a file of a run. Repeating a write changes nothing.
    fn put_file(&self, write: &WriteId, file: &Upload) -> Result<(), StorageError>;

    /// The newest file of a run, or else of the runs that called it, with this key or name.
    fn load_file(&self, run: &str, key: &FileKey) -> Result<Option<LoadedFile>, StorageError>;
}

/// A reference to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileKey {
    /// By the hash of its content.
    Content(ContentKey),
    /// By its name.
    Name(String),
}

impl FileKey {
    /// Reads a storage key; any other text is a name.
    pub fn parse(text: &str) -> Self {
        ContentKey::parse(text).map_or_else(|| Self::Name(text.to_owned()), Self::Content)
    }
}

/// The SHA-256 of a file. As text, it is the file's storage key: `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContentKey(pub [u8; 32]);

impl ContentKey {
    const PREFIX: &'static str = "sha256:";

    /// The key of a content.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Reads a storage key.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(Self::PREFIX)?.as_bytes();
        if digits.len() != 64 || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let mut key = [0; 32];
        for (byte, pair) in key.iter_mut().zip(digits.chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(key))
    }
}

impl fmt::Display for ContentKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", Self::PREFIX, hexadecimal(&self.0))
    }
}

impl Debug for ContentKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self}")
    }
}

/// A loaded file.
#[derive(Clone, PartialEq, Eq)]
pub struct LoadedFile {
    /// Its name.
    pub name: String,
    /// Its media type.
    pub mime: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl Debug for LoadedFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "LoadedFile({:?}, {:?}, {} bytes)", self.name, self.mime, self.bytes.len())
    }
}

/// A file to store.
#[derive(Clone, PartialEq, Eq)]
pub struct Upload {
    name: String,
    mime: String,
    key: ContentKey,
    bytes: Arc<[u8]>,
}

impl Debug for Upload {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Upload({:?}, {:?}, {} bytes)", self.name, self.mime, self.bytes.len())
    }
}

impl Upload {
    /// A file with a name without folders. A missing media type is derived from the name and the content.
    pub fn new(name: &str, mime: Option<&str>, bytes: impl Into<Arc<[u8]>>) -> Result<Self, UploadError> {
        let bytes = bytes.into();
        check_name(name)?;
        if bytes.len() > MAX_FILE_BYTES {
            return Err(UploadError::FileBytes { name: name.to_owned(), bytes: bytes.len() });
        }
        let mime = match mime {
            Some(mime) => mime.to_owned(),
            None => media_type(name, &bytes).to_owned(),
        };
        if !is_media_type(&mime) {
            return Err(UploadError::MediaType { name: name.to_owned() });
        }
        Ok(Self { name: name.to_owned(), mime, key: ContentKey::of(&bytes), bytes })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its media type.
    pub fn mime(&self) -> &str {
        &self.mime
    }

    /// Its storage key.
    pub fn key(&self) -> ContentKey {
        self.key
    }

    /// Its content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its entry in a manifest.
    pub fn entry(&self) -> Value {
        let bytes = i64::try_from(self.bytes.len()).unwrap_or(i64::MAX);
        object([
            ("storage_key", Value::from(self.key.to_string())),
            ("mime", Value::from(self.mime.as_str())),
            ("name", Value::from(self.name.as_str())),
            ("bytes", Value::Int(bytes)),
        ])
    }
}

/// The files with which a run is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uploads(Vec<Upload>);

impl Uploads {
    /// Checks the limits of a run.
    pub fn new(files: Vec<Upload>) -> Result<Self, UploadError> {
        if files.len() > MAX_UPLOADS {
            return Err(UploadError::Count(files.len()));
        }
        let bytes: usize = files.iter().map(|file| file.bytes.len()).sum();
        if bytes > MAX_FILES_BYTES {
            return Err(UploadError::Bytes(bytes));
        }
        Ok(Self(files))
    }

    /// The files in order.
    pub fn files(&self) -> &[Upload] {
        &self.0
    }

    /// The input of a run with these files: `{text, attachments: [{storage_key, mime, name, bytes}]}`; without files, only the text.
    pub fn manifest(&self, text: Value) -> Value {
        if self.0.is_empty() {
            return text;
        }
        let attachments = self.0.iter().map(Upload::entry).collect::<Vec<_>>();
        object([("text", text), ("attachments", Value::from(attachments))])
    }
}

/// Why a file cannot be attached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UploadError {
    /// There are too many files.
    #[error("{0} files are attached, but at most {MAX_UPLOADS} are allowed")]
    Count(usize),
    /// The files are too large together.
    #[error("the attachments have {0} bytes together, but at most {MAX_FILES_BYTES} are allowed")]
    Bytes(usize),
    /// One file is too large.
    #[error("the attachment `{name}` has {bytes} bytes, but at most {MAX_FILE_BYTES} are allowed")]
    FileBytes {
        /// The name of the file.
        name: String,
        /// Its size.
        bytes: usize,
    },
    /// The name of a file is not allowed.
    #[error("`{name}` is not a name for an attachment: {reason}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The media type of a file is not one.
    #[error("the media type of the attachment `{name}` is invalid; use one such as `application/pdf`")]
    MediaType {
        /// The name of the file.
        name: String,
    },
}

/// Checks a name, which is shown to people and models and must not contain folders.
fn check_name(name: &str) -> Result<(), UploadError> {
    let reason = match name {
        "" | "." | ".." => "it must name a file",
        name if name.len() > MAX_FILE_NAME_BYTES => "it must have at most 255 bytes",
        name if name.contains(['/', '\\']) => "it must not have folders",
        name if name.chars().any(char::is_control) => "it must not have control characters",
        _ => return Ok(()),
    };
    Err(UploadError::Name { name: crate::shorten::shortened(name), reason })
}

fn is_media_type(text: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    let plain = text.split(';').next().unwrap_or_default().trim();
    text.len() <= MAX_FILE_NAME_BYTES
        && !text.chars().any(char::is_control)
        && plain.split_once('/').is_some_and(|(kind, subtype)| word(kind) && word(subtype))
}

/// Extensions and their media types.
const EXTENSIONS: [(&str, &str); 29] = [
    ("pdf", "application/pdf"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("txt", "text/plain"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("csv", "text/csv"),
    ("tsv", "text/tab-separated-values"),
    ("json", "application/json"),
    ("jsonl", "application/x-ndjson"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("toml", "text/plain"),
    ("eml", "message/rfc822"),
    ("zip", "application/zip"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("svg", "image/svg+xml"),
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
];

/// Signatures at the beginning of contents, and their media types.
const SIGNATURES: [(&[u8], &str); 5] = [
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"PK\x03\x04", "application/zip"),
];

fn media_type(name: &str, bytes: &[u8]) -> &'static str {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).unwrap_or_default();
    let by_name = EXTENSIONS.iter().find(|(known, _)| *known == extension).map(|(_, mime)| *mime);
    let by_content = || SIGNATURES.iter().find(|(begin, _)| bytes.starts_with(begin)).map(|(_, mime)| *mime);
    let is_text = || std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'));
    by_name.or_else(by_content).unwrap_or_else(|| if is_text() { "text/plain" } else { "application/octet-stream" })
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::from(fields.into_iter().map(|(key, value)| (Arc::from(key), value)).collect::<Object>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_folders_or_control_characters_are_rejected() {
        for name in ["", ".", "..", "../a.pdf", "/etc/passwd", "a/b", "a\\b", "a\nb", "a\0b", &"n".repeat(256)] {
            let error = Upload::new(name, None, *b"x").expect_err(name);
            assert!(matches!(error, UploadError::Name { .. }), "{error}");
        }
        for name in ["a.pdf", "..a", "Rechnung März.pdf", &"n".repeat(255)] {
            Upload::new(name, None, *b"x").expect(name);
        }
    }

    #[test]
    fn the_media_type_follows_from_the_name_or_the_content() {
        let mime = |name: &str, bytes: &[u8]| Upload::new(name, None, bytes).expect("a good file").mime;
        assert_eq!(mime("a.PDF", b"x"), "application/pdf");
        assert_eq!(mime("scan", b"%PDF-1.7"), "application/pdf");
        assert_eq!(mime("notes", b"hello"), "text/plain");
        assert_eq!(mime("blob", b"\xff\x00"), "application/octet-stream");
        assert!(Upload::new("a", Some("text/plain; charset=utf-8"), *b"x").is_ok());
        for invalid in ["", "text", "text/", "/plain", "text/pl ain", "text/plain\r\nX: y"] {
            assert!(Upload::new("a", Some(invalid), *b"x").is_err(), "{invalid:?}");
        }
    }

    #[test]
    fn a_run_has_a_limit_of_files_and_of_bytes() {
        let file = |bytes: usize| Upload::new("a", None, vec![0; bytes]).expect("a good file");
        assert!(Uploads::new(vec![file(1); MAX_UPLOADS]).is_ok());
        assert_eq!(Uploads::new(vec![file(1); MAX_UPLOADS + 1]), Err(UploadError::Count(MAX_UPLOADS + 1)));
        assert!(matches!(
            Upload::new("a", None, vec![0; MAX_FILE_BYTES + 1]),
            Err(UploadError::FileBytes { bytes, .. }) if bytes == MAX_FILE_BYTES + 1
        ));
        let large = file(MAX_FILE_BYTES);
        assert!(Uploads::new(vec![large.clone(); 3]).is_ok());
        assert!(matches!(Uploads::new(vec![large; 4]), Err(UploadError::Bytes(_))));
    }

    #[test]
    fn a_storage_key_is_the_sha256_of_the_content() {
        let key = ContentKey::of(b"abc");
        let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((key.to_string().as_str(), ContentKey::parse(text)), (text, Some(key)));
        for other in ["ba78", "sha256:", &text[..70], &text.to_uppercase(), "sha256:../../etc/passwd"] {
            assert_eq!(ContentKey::parse(other), None, "{other}");
        }
    }
}
