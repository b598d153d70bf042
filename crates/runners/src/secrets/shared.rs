//! Secrets that are added while runs work, shared by all outputs that mask them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Secrets;

/// A growing set of secrets. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct SharedSecrets(Arc<Mutex<Secrets>>);

impl SharedSecrets {
    /// Adds values, which are masked from now on.
    ///
    /// ```
    /// let secrets = branchpoint_runners::SharedSecrets::default();
    /// secrets.clone().add(["pa55word".into()]);
    /// assert_eq!(secrets.mask("my pa55word"), "my ***");
    /// ```
    pub fn add(&self, values: impl IntoIterator<Item = String>) {
        let mut known = self.lock();
        let new: Vec<String> = values.into_iter().filter(|value| !known.values().contains(value)).collect();
        known.add(new);
    }

    /// The text with all secrets known so far masked.
    ///
    /// ```
    /// assert_eq!(branchpoint_runners::SharedSecrets::default().mask("hello"), "hello");
    /// ```
    pub fn mask(&self, text: &str) -> String {
        self.lock().mask(text).into_owned()
    }

    /// The secrets known so far.
    ///
    /// ```
    /// assert!(branchpoint_runners::SharedSecrets::default().secrets().values().is_empty());
    /// ```
    pub fn secrets(&self) -> Secrets {
        let known = self.lock();
        // The finder is built once and shared by all clones.
        let _ = known.finder();
        known.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Secrets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Secrets> for SharedSecrets {
    fn from(secrets: Secrets) -> Self {
        Self(Arc::new(Mutex::new(secrets)))
    }
}
