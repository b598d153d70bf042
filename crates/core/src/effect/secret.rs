//! Where secrets belong in a request. The effect says so, never data: a run can fill the texts around a secret, but it cannot
//! name one.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A text of the request that names secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretText {
    /// Its path in the request.
    pub at: Vec<PathKey>,
    /// How its secrets are written into it.
    #[serde(default)]
    pub form: SecretForm,
}

/// How secrets are written into a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretForm {
    /// The input has a list of parts at the path, in turns a text and `{secret: name}`, beginning and ending with a text. Each
    /// secret is written as it is.
    #[default]
    Plain,
    /// The same for a command: each secret is one quoted word of it.
    ShellWord,
    /// The input has nothing at the path: the text is one secret.
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
    /// A text of parts at a path.
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
