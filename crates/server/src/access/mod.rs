//! Who may use a server: bearer tokens, one-time sign-in links and browser sessions, stored beside the runs.

mod audit;
mod file;
mod last_used;
mod links;
mod pattern;

pub use audit::log_command;
pub(crate) use audit::{AuditEntry, AuditFilter, AuditLog, AuditPage};
pub(crate) use file::private as private_file;
pub use file::{Access, AccessError, Credential, CredentialKind, NewCredential};
pub use links::{ApprovalLink, InvalidLink, MAX_LINK_MS};
pub use pattern::{InvalidPattern, Pattern};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What the owner of a credential may do with the workflows that it is for.
///
/// ```
/// use branchpoint_server::Role;
///
/// assert_eq!("approver".parse(), Ok(Role::Approver));
/// assert_eq!(Role::Editor.to_string(), "editor");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads, checks and evaluates.
    Viewer,
    /// Also starts, cancels, resumes and signals runs, and reports to sessions.
    Operator,
    /// Reads and votes.
    Approver,
    /// All of the above, and saves workflows.
    Editor,
    /// Everything, including settings.
    Admin,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 5] = [Self::Viewer, Self::Operator, Self::Approver, Self::Editor, Self::Admin];

    fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Approver => "approver",
            Self::Editor => "editor",
            Self::Admin => "admin",
        }
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Role {
    type Err = UnknownRole;

    fn from_str(name: &str) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|role| role.as_str() == name).ok_or(UnknownRole)
    }
}

/// A text is not a [`Role`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a role is viewer, operator, approver, editor or admin")]
pub struct UnknownRole;
