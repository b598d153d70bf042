//! The places of secrets in a request. Only the effect names secrets: the data of a run can fill the text next to a secret, but cannot
//! name one.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A text of the request that names secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretText {
    /// The path of the text in the request.
    pub at: Vec<PathKey>,
    /// How secrets are inserted into the text.
    #[serde(default)]
    pub form: SecretForm,
}

/// How secrets are inserted into a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretForm {
    /// The input has a list of parts at the path, alternating text and `{secret: name}`, beginning and ending with text. Secrets are
    /// inserted unchanged.
    #[default]
    Plain,
    /// The same for a shell command: each secret is inserted as one quoted word.
    ShellWord,
    /// The input has no value at the path: the text is a prefix and one secret.
    Credential {
        /// The text before the secret.
        before: Arc<str>,
        /// The name of the secret.
        secret: Arc<str>,
    },
}

/// One key of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathKey {
    /// A field of an object.
    Field(Arc<str>),
    /// An item of a list.
    Item(u32),
}

impl SecretText {
    /// A text at a path whose secrets are inserted unchanged.
    ///
    /// ```
    /// use branchpoint_core::effect::SecretText;
    ///
    /// assert_eq!(SecretText::plain(vec!["headers".into(), "token".into()]).to_string(), "headers.token");
    /// ```
    pub fn plain(at: Vec<PathKey>) -> Self {
        Self { at, form: SecretForm::Plain }
    }
}

impl From<&str> for PathKey {
    fn from(field: &str) -> Self {
        Self::Field(field.into())
    }
}

impl fmt::Display for SecretText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, key) in self.at.iter().enumerate() {
            match key {
                PathKey::Field(name) if at == 0 => out.write_str(name)?,
                PathKey::Field(name) => write!(out, ".{name}")?,
                PathKey::Item(item) => write!(out, "[{item}]")?,
            }
        }
        match &self.form {
            SecretForm::Plain => Ok(()),
            SecretForm::ShellWord => out.write_str(" quoted"),
            SecretForm::Credential { before, secret } => write!(out, " = {before}{secret}"),
        }
    }
}
