//! Looks up values that settings refer to by name: secrets of the host, and environment variables.

use crate::local::SecretStore;
use crate::secrets::Secrets;

/// Looks up values by the names in settings or documents.
#[derive(Clone)]
pub(super) struct Lookup(pub(super) SecretStore);

impl std::fmt::Debug for Lookup {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Lookup")
    }
}

impl Lookup {
    /// A value by its name: first among the host's secrets, then in the environment.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).or_else(|| std::env::var(name).ok()).filter(|value| !value.is_empty())
    }

    /// The values of these names, to be masked in answers of services that receive them.
    pub(super) fn secrets<'n>(&self, names: impl IntoIterator<Item = &'n String>) -> Secrets {
        Secrets::from_values(names.into_iter().filter_map(|name| self.get(name)))
    }
}
