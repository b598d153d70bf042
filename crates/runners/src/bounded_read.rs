//! Reads files, standard input and lines up to a limit, because they may be endless.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

/// Why a text could not be read.
///
/// ```
/// use branchpoint_runners::{ReadError, read_text};
///
/// assert!(matches!(read_text(&b"hello"[..], 3), Err(ReadError::TooLong { limit: 3 })));
/// ```
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system reports an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The text is longer than the limit. The rest was not read.
    #[error("it has more than the allowed {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: u64,
    },
    /// The bytes are not text.
    #[error("it is not UTF-8 text")]
    NotText,
    /// A directory, a device, a socket or a pipe where a regular file is required.
    #[error("it is not a regular file")]
    NotRegular,
}

/// Reads a text file that a person named, up to a limit. Pipes and devices are read like files.
///
/// # Errors
///
/// The file cannot be opened or read, is longer than the limit, or is not text.
///
/// ```
/// let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
/// assert!(branchpoint_runners::read_text_file(file.as_ref(), 100_000)?.contains("[package]"));
/// # Ok::<(), branchpoint_runners::ReadError>(())
/// ```
pub fn read_text_file(path: &Path, limit: u64) -> Result<String, ReadError> {
    read_text(File::open(path)?, limit)
}

/// Reads a regular text file, up to a limit. It does not open pipes, which might block for ever.
///
/// # Errors
///
/// As [`read_text_file`], or the file is not regular.
///
/// ```
/// use branchpoint_runners::{ReadError, read_regular_text_file};
///
/// assert!(matches!(read_regular_text_file("/dev/zero".as_ref(), 100), Err(ReadError::NotRegular)));
/// ```
pub fn read_regular_text_file(path: &Path, limit: u64) -> Result<String, ReadError> {
    text(read_regular_file(path, limit)?)
}

/// Reads the bytes of a regular file, up to a limit.
///
/// # Errors
///
/// The file cannot be opened or read, is not regular, or is longer than the limit.
///
/// ```
/// let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
/// assert!(!branchpoint_runners::read_regular_file(file.as_ref(), 100_000)?.is_empty());
/// # Ok::<(), branchpoint_runners::ReadError>(())
/// ```
pub fn read_regular_file(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty()).map_err(io::Error::from)?);
    if !file.metadata()?.is_file() {
        return Err(ReadError::NotRegular);
    }
    read_bytes(file, limit)
}

/// Reads text to its end, up to a limit.
///
/// # Errors
///
/// Reading fails, the text is longer than the limit, or the bytes are not text.
///
/// ```
/// assert_eq!(branchpoint_runners::read_text(&b"hello"[..], 100)?, "hello");
/// # Ok::<(), branchpoint_runners::ReadError>(())
/// ```
pub fn read_text(reader: impl Read, limit: u64) -> Result<String, ReadError> {
    text(read_bytes(reader, limit)?)
}

fn read_bytes(reader: impl Read, limit: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    // Some files report no length, so only a byte after the limit shows that there are more.
    reader.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(ReadError::TooLong { limit }) } else { Ok(bytes) }
}

/// Reads the next line without its end, up to a limit; `None` at the end of the text.
///
/// # Errors
///
/// As [`read_text`]. After a line that is too long, the reader is in the middle of it.
///
/// ```
/// use branchpoint_runners::read_line;
///
/// let mut lines = &b"one\r\ntwo"[..];
/// assert_eq!(read_line(&mut lines, 100)?.as_deref(), Some("one"));
/// assert_eq!(read_line(&mut lines, 100)?.as_deref(), Some("two"));
/// assert_eq!(read_line(&mut lines, 100)?, None);
/// # Ok::<(), branchpoint_runners::ReadError>(())
/// ```
pub fn read_line(reader: &mut impl BufRead, limit: u64) -> Result<Option<String>, ReadError> {
    let mut line = Vec::new();
    reader.take(limit.saturating_add(1)).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.ends_with(b"\n") {
        line.pop();
        line.pop_if(|last| *last == b'\r');
    } else if line.len() as u64 > limit {
        return Err(ReadError::TooLong { limit });
    }
    text(line).map(Some)
}

fn text(bytes: Vec<u8>) -> Result<String, ReadError> {
    String::from_utf8(bytes).map_err(|_| ReadError::NotText)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source without an end that counts what was read from it.
    struct Endless<'c>(&'c mut u64);

    impl Read for Endless<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer.fill(0);
            *self.0 += buffer.len() as u64;
            Ok(buffer.len())
        }
    }

    #[test]
    fn an_endless_source_is_read_up_to_the_limit() {
        for limit in [0, 1, 4_095, 4_096, 100_000] {
            let mut read = 0;
            let refused = read_text(Endless(&mut read), limit).expect_err("it has no end");
            assert!(matches!(refused, ReadError::TooLong { limit: reported } if reported == limit));
            assert_eq!(read, limit + 1);
            let mut read = 0;
            let refused = read_line(&mut io::BufReader::new(Endless(&mut read)), limit).expect_err("it has no end");
            assert!(matches!(refused, ReadError::TooLong { .. }));
            assert!(read <= limit + 8 * 1024 + 1, "{read}");
        }
    }

    #[test]
    fn a_text_of_exactly_the_limit_is_read() {
        assert_eq!(read_text(&b"abc"[..], 3).expect("it fits"), "abc");
        assert!(matches!(read_text(&b"abcd"[..], 3), Err(ReadError::TooLong { limit: 3 })));
        assert!(matches!(read_text(&b"\xff"[..], 3), Err(ReadError::NotText)));
        let mut lines = &b"ab\r\nabc\n\nabc"[..];
        for expect in [Some("ab"), Some("abc"), Some(""), Some("abc"), None] {
            assert_eq!(read_line(&mut lines, 4).expect("it fits").as_deref(), expect);
        }
    }

    #[test]
    fn only_regular_files_are_opened_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe.yaml");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .expect("a pipe");
        assert!(matches!(read_regular_text_file(&pipe, 10), Err(ReadError::NotRegular)));
        assert!(matches!(read_regular_text_file(folder.path(), 10), Err(ReadError::NotRegular)));
        assert!(matches!(read_regular_text_file(Path::new("/dev/zero"), 10), Err(ReadError::NotRegular)));
        assert!(matches!(read_text_file(Path::new("/dev/zero"), 10), Err(ReadError::TooLong { .. })));
    }
}
