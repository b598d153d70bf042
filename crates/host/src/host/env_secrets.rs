//! What the environment of this process keeps secret, such as keys of providers. A command may print it; a run in which it comes up
//! seals it from then on, so that the store and whatever is told of the run do not show it.

use super::Host;
use crate::store::{Packed, Packing, RunNo, StoreError};
use branchpoint_runners::{Finder, Secrets, SharedSecrets};

/// The values, and what finds all of them at once.
#[derive(Default)]
pub(super) struct EnvSecrets {
    values: Vec<String>,
    finder: Option<Finder>,
}

impl EnvSecrets {
    pub(super) fn values(&self) -> &[String] {
        &self.values
    }

    /// Those that appear in what is to be stored, in any encoding, and are not sealed, each once.
    pub(super) fn found(&self, packed: &Packed, packing: &Packing) -> Vec<String> {
        let Some(finder) = &self.finder else { return Vec::new() };
        let mut found: Vec<usize> = packed.pieces().flat_map(|bytes| finder.secrets_in(bytes)).collect();
        found.sort_unstable();
        found.dedup();
        let found = found.into_iter().map(|place| &self.values[place]);
        found.filter(|value| !packing.secrets.contains(value)).cloned().collect()
    }
}

impl Host {
    /// Keeps these values out of what is stored: a run seals one when it comes up.
    #[must_use]
    pub fn with_env_secrets(mut self, secrets: &Secrets) -> Self {
        let values = secrets.values().to_vec();
        self.settings.env_secrets = EnvSecrets { finder: Finder::of(&values), values };
        self
    }

    /// Adds the sealed secrets of every run that this host opens to a shared set, for whoever shows what runs do.
    #[must_use]
    pub fn with_shared_secrets(mut self, shared: SharedSecrets) -> Self {
        self.settings.shared_secrets = Some(shared);
        self
    }

    pub(super) fn share_secrets(&self, packing: &Packing) {
        if let Some(shared) = self.settings.shared_secrets.as_ref().filter(|_| !packing.secrets.is_empty()) {
            shared.add(packing.secrets.iter().cloned());
        }
    }

    /// Seals more secrets of a run. Those that it has keep their numbers.
    pub(super) fn seal_too(&mut self, run: RunNo, found: Vec<String>) -> Result<(), StoreError> {
        let Some(open) = self.open.get(&run) else { return Ok(()) };
        let secrets: Vec<String> = open.packing.secrets.iter().cloned().chain(found).collect();
        // Nothing changes if they cannot be sealed.
        self.seal(run, &secrets)?;
        let packing = Packing::new(secrets.as_slice());
        self.open.get_mut(&run).into_iter().for_each(|open| open.packing = packing.clone());
        self.share_secrets(&packing);
        Ok(())
    }
}
