//! The child process that extracts the text of documents: this program under another first argument.

use std::env;
use std::process::ExitCode;

use anyhow::{Context, Result};
use branchpoint_runners::documents::{TextExtractor, child};

/// The first argument of the child process.
const CHILD: &str = "__document-text";

/// Extracts text in child processes of this program.
pub(crate) fn extractor() -> Result<TextExtractor> {
    let program = env::current_exe().context("cannot find the file of this program")?;
    Ok(TextExtractor { program, arguments: vec![CHILD.to_owned()] })
}

/// Runs this process as the child, if its arguments say so.
pub(crate) fn run_child() -> Option<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    (arguments.next()? == CHILD).then(|| child::run(&arguments.next().unwrap_or_default().to_string_lossy()))
}
