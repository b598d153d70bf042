//! Requests to the local machine: processes, files and messages to the user.

use std::sync::Arc;

use branchpoint_expr::{Kind, Object, Value};

use super::fields::{request, result, word};

use crate::RunKinds as _;

request! {
    /// A process: a `command` for the shell, or the words of a program (`argv`).
    ProcessRequest {
        /// The command for the shell.
        command: Option<String>,
        /// The program and its arguments, run without a shell.
        argv: Option<Vec<String>>,
        /// Whether the command is a script, whose first line may name an interpreter.
        script: bool,
        /// Whether the user's shell runs the command instead of `/bin/sh`.
        user_shell: bool,
        /// The folder, relative to that of the run.
        dir: Option<String>,
        /// Environment variables.
        env: Object,
        /// Inputs of the run, which become environment variables if their names are safe.
        inputs: Option<Object>,
        /// The standard input.
        stdin: Option<String>,
    }
}

impl ProcessRequest {
    /// Failures that every dialect reports under their own kind, because the remedy is to change the document, not the command.
    pub const OWN_FAILURES: [Kind; 4] = [Kind::OutputLimit, Kind::StartFailed, Kind::BadWorkingDir, Kind::BadEnvName];
}

/// The result of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessResult {
    /// The exit code; none if the process exceeded its time limit.
    pub exit_code: Option<i32>,
    /// The standard output.
    pub stdout: Arc<str>,
    /// The standard error.
    pub stderr: Arc<str>,
    /// The stream that exceeded the output limit, if one did. Its text is truncated.
    pub cut: Option<Stream>,
}

impl ProcessResult {
    /// The result of a process that exited with a code, with complete output.
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
        /// The operation.
        operation: FilesOperation,
        /// The file: relative to the folder of the run, or the key of stored content or metadata.
        path: Option<String>,
        /// Find: the files to look for, in order. They are relative to `base`; `~/` is the home folder.
        paths: Vec<String>,
        /// Find: a folder, relative to that of the run; none: the folder of the run.
        base: Option<String>,
        /// Find: whether to list the files below the folder of the file.
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
    /// An operation on files.
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
    /// Whether the operation reads the local machine rather than stored content.
    pub const fn is_local(self) -> bool {
        matches!(self, Self::Read | Self::Exists | Self::Find | Self::Environment)
    }
}

result! {
    /// A file that was found.
    FoundFile {
        /// The absolute path.
        path: String,
        /// The folder of the file.
        folder: String,
        /// The text of the file.
        text: String,
        /// The other files below the folder, if requested, as sorted relative paths.
        files: Vec<Value>,
    }
}

result! {
    /// A file that was stored.
    StoredFile {
        /// The key to load the content.
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
