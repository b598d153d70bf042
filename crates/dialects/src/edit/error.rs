//! Why an edit is rejected.

use std::fmt;

use branchpoint_expr::{Diagnostic, Dialect, Severity};

use crate::path::{Segment, path_text};

/// Why an edit is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditError {
    /// The kind of rejection.
    pub kind: EditErrorKind,
    /// One sentence for people.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
    /// The kind of finding that the result would have; only of rejected connections.
    pub finding: Option<&'static str>,
}

/// The kind of rejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditErrorKind {
    /// The text is not a document.
    InvalidText,
    /// Documents of the dialect are edited as text.
    UnsupportedDialect,
    /// The operation does not exist in the dialect.
    UnsupportedOperation,
    /// There is no such step.
    UnknownStep,
    /// The step has no such branch or handle.
    UnknownBranch,
    /// There is no such type of step.
    UnknownType,
    /// There is no such connection.
    UnknownConnection,
    /// The step cannot be at this position.
    InvalidPosition,
    /// A step cannot be moved into itself.
    IntoItself,
    /// The id cannot be an id of a step.
    InvalidId,
    /// Another step has the id.
    DuplicateId,
    /// The step has children that cannot take its place.
    HasChildren,
    /// There is no field or item at the path, or it cannot be set there.
    InvalidPath,
    /// The pasted text is not a step of the dialect.
    InvalidFragment,
    /// The connection breaks a rule of the dialect.
    InvalidConnection,
    /// The two nodes are connected already.
    DuplicateConnection,
    /// The notation of this part of the source cannot be edited without writing it anew.
    UnsupportedNotation,
}

impl EditErrorKind {
    /// The stable name.
    ///
    /// ```
    /// assert_eq!(branchpoint_dialects::EditErrorKind::UnknownStep.as_str(), "unknown_step");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidText => "invalid_text",
            Self::UnsupportedDialect => "unsupported_dialect",
            Self::UnsupportedOperation => "unsupported_operation",
            Self::UnknownStep => "unknown_step",
            Self::UnknownBranch => "unknown_branch",
            Self::UnknownType => "unknown_type",
            Self::UnknownConnection => "unknown_connection",
            Self::InvalidPosition => "invalid_position",
            Self::IntoItself => "into_itself",
            Self::InvalidId => "invalid_id",
            Self::DuplicateId => "duplicate_id",
            Self::HasChildren => "has_children",
            Self::InvalidPath => "invalid_path",
            Self::InvalidFragment => "invalid_fragment",
            Self::InvalidConnection => "invalid_connection",
            Self::DuplicateConnection => "duplicate_connection",
            Self::UnsupportedNotation => "unsupported_notation",
        }
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, " {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for EditError {}

impl EditError {
    pub(super) fn new(kind: EditErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), help: None, finding: None }
    }

    pub(super) fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    pub(super) fn invalid(findings: &[Diagnostic]) -> Self {
        let error = findings.iter().find(|finding| finding.severity == Severity::Error);
        let message = error.map_or("the text is not a document", |finding| &finding.message);
        Self::new(EditErrorKind::InvalidText, format!("The text cannot be read: {message}."))
    }

    pub(super) fn dialect(dialect: Dialect) -> Self {
        let message = format!("Documents of the dialect `{}` are edited as text.", dialect.as_str());
        Self::new(EditErrorKind::UnsupportedDialect, message)
    }

    pub(super) fn step(id: &str) -> Self {
        Self::new(EditErrorKind::UnknownStep, format!("There is no step `{id}`."))
    }

    pub(super) fn path(path: &[Segment]) -> Self {
        let message = format!("There is no place for a value at `{}`.", path_text(path));
        Self::new(EditErrorKind::InvalidPath, message)
    }

    pub(super) fn notation() -> Self {
        Self::notation_of("")
    }

    pub(super) fn notation_of(path: &str) -> Self {
        let place = if path.is_empty() { String::new() } else { format!(" of `{path}`") };
        let message = format!("The notation{place} cannot be edited here.");
        Self::new(EditErrorKind::UnsupportedNotation, message).with_help("Edit the source instead.")
    }
}
