//! The child process that parses one document: bytes on standard input, text on standard output.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, setrlimit};

use super::{DocumentFormat, MAX_DOCUMENT_BYTES};

/// The exit code for a document that cannot be read. The reason is on standard error.
pub(super) const REJECTED: i32 = 3;

/// The most memory of the process.
const MAX_MEMORY_BYTES: u64 = 1024 * 1024 * 1024;
/// The most processor time of the process.
const MAX_CPU_SECONDS: u64 = 30;

/// Reads a document of the named format and prints its text. A program calls this first thing, so that nothing else of it runs
/// under the limits.
pub fn run(format: &str) -> ExitCode {
    let rejected = |reason: &str| {
        eprintln!("{reason}");
        ExitCode::from(u8::try_from(REJECTED).unwrap_or(u8::MAX))
    };
    let Some(format) = DocumentFormat::parse(format) else {
        return rejected("unknown document format; use pdf, docx, html or text");
    };
    match limit().and_then(|()| read()) {
        Ok(bytes) => match format.text(&bytes) {
            Ok(text) => match io::stdout().write_all(text.as_bytes()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::FAILURE,
            },
            Err(reason) => rejected(&reason),
        },
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn limit() -> io::Result<()> {
    let at_most = |most| Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(Resource::As, at_most(MAX_MEMORY_BYTES))?;
    setrlimit(Resource::Cpu, at_most(MAX_CPU_SECONDS))?;
    setrlimit(Resource::Core, at_most(0))?;
    // A parser has no reason to write files.
    setrlimit(Resource::Fsize, at_most(0))?;
    Ok(())
}

fn read() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().take(MAX_DOCUMENT_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
