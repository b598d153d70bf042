//! Named secrets, which are sealed at rest and never listed with their values.

use std::fmt;

/// The longest name in bytes.
pub const MAX_SECRET_NAME: usize = 200;

/// The longest value in bytes.
pub const MAX_SECRET_BYTES: usize = 64 * 1024;

/// The maximum number of named secrets.
pub const MAX_SECRETS: usize = 1_000;

/// A secret to store.
#[derive(Clone)]
pub struct NewSecret {
    /// The name by which workflows and settings refer to it.
    pub name: String,
    /// The value.
    pub value: String,
    /// Patterns of the workflows that may use it although their documents were saved over the API.
    pub workflows: Vec<String>,
    /// Who stores it.
    pub set_by: String,
}

impl fmt::Debug for NewSecret {
    /// Shows the secret without its value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NewSecret({})", self.name)
    }
}

/// A stored secret without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSecret {
    /// The name.
    pub name: String,
    /// Patterns of the workflows that may use it although their documents were saved over the API.
    pub workflows: Vec<String>,
    /// Who has stored it.
    pub set_by: String,
    /// When it was stored.
    pub set_ms: i64,
}

/// Whether a text can be the name of a secret: a letter or `_`, then letters, digits and `_`, as in the environment.
///
/// ```
/// use branchpoint_backend::is_secret_name;
///
/// assert!(is_secret_name("DEPLOY_TOKEN") && !is_secret_name("deploy token") && !is_secret_name("1st"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let mut chars = name.chars();
    name.len() <= MAX_SECRET_NAME
        && chars.next().is_some_and(is_first)
        && chars.all(|c| is_first(c) || c.is_ascii_digit())
}
