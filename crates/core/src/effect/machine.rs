//! Requests to the machine: processes, files and messages to the user.

use std::sync::Arc;

use branchpoint_expr::{Kind, Object, Value};

use super::fields::{request, result, word};

use crate::RunKinds as _;

request! {
    /// A process: a `command` for the shell, or the words of a program (`argv`).
    ProcessRequest {
        /// The command for the shell.
        command: Option<String>,
        /// The program and its arguments. No shell reads them.
        argv: Option<Vec<String>>,
        /// The command is a script, whose first line may name the program that reads it.
        script: bool,
        /// The user's shell reads the command; otherwise `/bin/sh` does.
        user_shell: bool,
        /// The folder, relative to that of the run.
        dir: Option<String>,
        /// Environment variables.
        env: Object,
        /// Inputs of the run, which become environment variables where that is safe.
        inputs: Option<Object>,
        /// The standard input.
        stdin: Option<String>,
    }
}

impl ProcessRequest {
    /// Failures that every dialect reports under their own kind: the document, not the command, has to change.
    pub const OWN_FAILURES: [Kind; 4] = [Kind::OutputLimit, Kind::StartFailed, Kind::BadWorkingDir, Kind::BadEnvName];
}

/// A process that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessResult {
    /// The exit code; none if the process was ended at its time limit.
    pub exit_code: Option<i32>,
    /// The standard output.
    pub stdout: Arc<str>,
    /// The standard error.
    pub stderr: Arc<str>,
    /// The stream that exceeded the output limit, if one did; its text is cut.
    pub cut: Option<Stream>,
}

impl ProcessResult {
    /// A process that ended with a code, with all its output.
    ///
    /// ```
    /// use branchpoint_core::effect::ProcessResult;
    ///
    /// let result = ProcessResult::new(0, "hello\n", "");
    /// assert_eq!((result.exit_code, &*result.stdout), (Some(0), "hello\n"));
    /// ```
    pub fn new(exit_code: i32, stdout: impl Into<Arc<str>>, stderr: impl Into<Arc<str>>) -> Self {
        Self { exit_code: Some(exit_code), stdout: stdout.into(), stderr: stderr.into(), cut: None }
    }
}

/// A stream of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The standard output.
    Out,
    /// The standard error.
    Err,
}

request! {
    /// Files and environment variables of the machine, and content in the folder for stored files.
    FilesRequest {
        /// What to do.
        operation: FilesOperation,
        /// The file: relative to the folder of the run, or the key of stored content or metadata.
        path: Option<String>,
        /// Find: the files to look for, in order. They are relative to `base`; `~/` is the home folder.
        paths: Vec<String>,
        /// Find: a folder, relative to that of the run; none: the folder of the run.
        base: Option<String>,
        /// Find: whether the files below the folder of the file are listed.
        list: bool,
        /// The environment variables to read.
        names: Option<Vec<String>>,
        /// The content to write.
        content: Value,
        /// The media type of the content.
        content_type: Option<String>,
        /// Write: whether the content is added to the knowledge base `default`.
        indexed: bool,
    }
}

word! {
    /// What to do with files.
    FilesOperation, "read, exists, find, environment, load, write, write_metadata or publish" {
        /// Read the text of a file.
        #[default]
        Read = "read",
        /// Whether a file exists.
        Exists = "exists",
        /// Read the first of several files that exists.
        Find = "find",
        /// Read environment variables.
        Environment = "environment",
        /// Load stored content.
        Load = "load",
        /// Store content.
        Write = "write",
        /// Store metadata as JSON.
        WriteMetadata = "write_metadata",
        /// Publish content.
        Publish = "publish",
    }
}

impl FilesOperation {
    /// Whether it reads the machine rather than stored content.
    pub const fn is_local(self) -> bool {
        matches!(self, Self::Read | Self::Exists | Self::Find | Self::Environment)
    }
}

result! {
    /// A file that was found.
    FoundFile {
        /// The absolute path.
        path: String,
        /// The folder that has it.
        folder: String,
        /// The text of the file.
        text: String,
        /// The other files below the folder, if they were asked for: relative paths in order.
        files: Vec<Value>,
    }
}

result! {
    /// A file that was stored.
    StoredFile {
        /// The key that loads it.
        storage_key: String,
        /// The media type of the content.
        mime: String,
        /// The name of the file.
        name: String,
        /// The size of the content.
        bytes: i64,
    }
}

request! {
    /// A message to the user.
    NotifyRequest {
        /// The message.
        message: Option<String>,
    }
}
