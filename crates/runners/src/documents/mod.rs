//! Extracts the text of PDF, DOCX and HTML files, for knowledge bases and for models that do not accept such files.
//!
//! Parsers of such files may panic, loop or use much memory on damaged files. So [`TextExtractor`] parses in a child process with
//! limits ([`child`]): a bad file fails its step and nothing else.

pub mod child;
mod docx;
mod pdf;

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use crate::tools::page_text;

/// The most bytes of a document.
pub const MAX_DOCUMENT_BYTES: usize = 32 * 1024 * 1024;
/// The most bytes of the text of a document.
pub const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
/// The longest time for one document.
const MAX_TIME: Duration = Duration::from_mins(1);
/// The most bytes of an error message of the child process.
const MAX_MESSAGE_BYTES: u64 = 2048;

/// A format whose text can be extracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentFormat {
    /// Portable Document Format.
    Pdf,
    /// Documents of Microsoft Word and other word processors.
    Docx,
    /// Web pages.
    Html,
    /// Text in UTF-8, Markdown, CSV, JSON and the like.
    Text,
}

impl DocumentFormat {
    /// The format of a file by its media type, or by the extension of its name if the type is missing or generic.
    ///
    /// ```
    /// use branchpoint_runners::documents::DocumentFormat;
    ///
    /// assert_eq!(DocumentFormat::of("application/pdf", "scan"), Some(DocumentFormat::Pdf));
    /// assert_eq!(DocumentFormat::of("application/octet-stream", "Offer.DOCX"), Some(DocumentFormat::Docx));
    /// assert_eq!(DocumentFormat::of("image/png", "logo.png"), None);
    /// ```
    pub fn of(mime: &str, name: &str) -> Option<Self> {
        let mime = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match &*mime {
            "application/pdf" => Some(Self::Pdf),
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => Some(Self::Docx),
            "text/html" | "application/xhtml+xml" => Some(Self::Html),
            "application/json" | "application/xml" | "application/yaml" | "application/x-ndjson" => Some(Self::Text),
            "" | "application/octet-stream" => Self::of_name(name),
            text if text.starts_with("text/") => Some(Self::Text),
            _ => None,
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        match &*ending.to_ascii_lowercase() {
            "pdf" => Some(Self::Pdf),
            "docx" => Some(Self::Docx),
            "html" | "htm" | "xhtml" => Some(Self::Html),
            "txt" | "text" | "md" | "markdown" | "rst" | "csv" | "tsv" | "json" | "jsonl" | "ndjson" | "xml"
            | "yaml" | "yml" | "toml" | "log" => Some(Self::Text),
            _ => None,
        }
    }

    /// The name of the format, as the child process gets it.
    ///
    /// ```
    /// assert_eq!(branchpoint_runners::documents::DocumentFormat::Pdf.as_str(), "pdf");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Docx => "docx",
            Self::Html => "html",
            Self::Text => "text",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::Pdf, Self::Docx, Self::Html, Self::Text].into_iter().find(|format| format.as_str() == name)
    }

    /// The text of a document, parsed in this process.
    fn text(self, bytes: &[u8]) -> Result<String, String> {
        match self {
            Self::Pdf => pdf::text(bytes),
            Self::Docx => docx::text(bytes),
            Self::Html => page_text(&String::from_utf8_lossy(bytes)),
            Self::Text => Ok(String::from_utf8_lossy(bytes).into_owned()),
        }
    }
}

/// Why the text of a document cannot be extracted.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The file is damaged, encrypted or not of its format.
    #[error("{0}")]
    Invalid(String),
    /// The file, its text, or the time to read it exceeds a limit.
    #[error("{0}")]
    Limit(String),
    /// The child process cannot be used.
    #[error("the process that reads documents failed: {0}")]
    Process(#[from] io::Error),
    /// The call was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// Extracts the text of documents in child processes.
#[derive(Clone, Debug)]
pub struct TextExtractor {
    /// The program of the child process.
    pub program: PathBuf,
    /// Its arguments before the name of the format; the program calls [`child::run`].
    pub arguments: Vec<String>,
}

impl TextExtractor {
    /// The text of a document.
    pub async fn text(
        &self,
        format: DocumentFormat,
        bytes: Vec<u8>,
        cancel: &CancellationToken,
    ) -> Result<String, DocumentError> {
        if bytes.len() > MAX_DOCUMENT_BYTES {
            return Err(DocumentError::Limit(format!(
                "the document has {} bytes, but at most {MAX_DOCUMENT_BYTES} are read",
                bytes.len()
            )));
        }
        if format == DocumentFormat::Text {
            return within_limit(String::from_utf8_lossy(&bytes).into_owned());
        }
        let child = self.start(format)?;
        tokio::select! {
            () = cancel.cancelled() => Err(DocumentError::Cancelled),
            text = tokio::time::timeout(MAX_TIME, converse(child, bytes)) => text.unwrap_or_else(|_| {
                Err(DocumentError::Limit(format!("the document takes longer than {} s to read", MAX_TIME.as_secs())))
            }),
        }
    }

    fn start(&self, format: DocumentFormat) -> io::Result<Child> {
        Command::new(&self.program)
            .args(&self.arguments)
            .arg(format.as_str())
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
    }
}

/// Sends a document to a child process and reads its text.
async fn converse(mut child: Child, bytes: Vec<u8>) -> Result<String, DocumentError> {
    let (Some(mut input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("it has no streams").into());
    };
    let send = async move {
        // A child that rejects a document may end before it has read all of it; its exit code says why.
        let _ = input.write_all(&bytes).await;
    };
    let ((), text, message) =
        tokio::join!(send, read(output, MAX_TEXT_BYTES as u64 + 1), read(errors, MAX_MESSAGE_BYTES));
    let (text, message) = (text?, message?);
    let status = if text.len() > MAX_TEXT_BYTES {
        // The child may block, because its output is no longer read.
        child.kill().await?;
        None
    } else {
        Some(child.wait().await?)
    };
    let text = within_limit(String::from_utf8_lossy(&text).into_owned())?;
    match status.and_then(|status| status.code()) {
        Some(0) => Ok(text),
        Some(child::REJECTED) => Err(DocumentError::Invalid(String::from_utf8_lossy(&message).trim().to_owned())),
        _ => Err(DocumentError::Invalid(
            "the document is damaged, or reading it exceeds the limit of time or memory".to_owned(),
        )),
    }
}

async fn read(stream: impl AsyncRead + Unpin, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(limit).read_to_end(&mut bytes).await?;
    Ok(bytes)
}

fn within_limit(text: String) -> Result<String, DocumentError> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(DocumentError::Limit(format!("the text of the document has more than {MAX_TEXT_BYTES} bytes")));
    }
    Ok(text)
}
