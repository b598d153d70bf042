//! The file of a recording. Whether it can be written is checked before the run starts, and an existing file is replaced only by a
//! complete recording.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;

use anyhow::{Context, Result, bail};

use crate::exit::Exit;

pub(crate) struct RecordingFile {
    file: PathBuf,
    /// The temporary file; none if the target is not a regular file, such as a pipe.
    beside: Option<PathBuf>,
}

impl RecordingFile {
    /// Checks that the file can be written.
    pub(crate) fn new(file: &Path) -> Result<Self> {
        let cannot = || format!("cannot write the recording {}", file.display());
        match fs::metadata(file) {
            Ok(known) if known.is_dir() => bail!("{}: it is a folder", cannot()),
            Ok(known) if !known.is_file() => return Ok(Self { file: file.to_owned(), beside: None }),
            _ => {}
        }
        // A link is kept: its target is written.
        let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        let mut name = file.file_name().with_context(cannot)?.to_owned();
        name.push(format!(".{}", process::id()));
        let beside = file.with_file_name(name);
        // A temporary file of a dead process is removed.
        let _ = fs::remove_file(&beside);
        // Answers of models and tools are readable by their user only.
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside).with_context(cannot)?;
        Ok(Self { file, beside: Some(beside) })
    }

    /// Writes it.
    pub(crate) fn write(&self, text: &str) -> Result<()> {
        let written = match &self.beside {
            Some(beside) => File::create(beside)
                .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
                .and_then(|()| fs::rename(beside, &self.file)),
            None => fs::write(&self.file, text),
        };
        written.map_err(|error| {
            Exit::system(format!("cannot write the recording {}: {error}", self.file.display())).into()
        })
    }
}

impl Drop for RecordingFile {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            // It does not exist any more if it was renamed.
            let _ = fs::remove_file(beside);
        }
    }
}
