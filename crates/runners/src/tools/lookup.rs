//! Values that settings name: secrets of the host, and the environment.

use crate::local::SecretStore;
use crate::secrets::Secrets;

/// Where values are found whose names stand in settings or documents.
#[derive(Clone)]
pub(super) struct Lookup(pub(super) SecretStore);

impl std::fmt::Debug for Lookup {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Lookup")
    }
}

impl Lookup {
    /// A value that the settings name: the host's secrets go first, then the environment.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).or_else(|| std::env::var(name).ok()).filter(|value| !value.is_empty())
    }

    /// What stands under names of the settings, to be masked in answers of those who were given it.
    pub(super) fn secrets<'n>(&self, names: impl IntoIterator<Item = &'n String>) -> Secrets {
        Secrets::from_values(names.into_iter().filter_map(|name| self.get(name)))
    }
}
