//! Secrets of this process's environment, such as keys of providers, and named secrets of the store. A command may print them. A run seals a
//! secret when it appears in its data, so that neither the store nor the output shows it.

use super::Host;
use crate::store::{Packed, Packing, RunNo, StoreError};
use branchpoint_runners::{Finder, Secrets, SharedSecrets};

/// The secret values, and a finder of all of them.
#[derive(Default)]
pub(super) struct EnvSecrets {
    values: Vec<String>,
    finder: Option<Finder>,
    /// The secrets of the environment.
    environment: Vec<String>,
    /// The named secrets of the store as they were sealed when they were read.
    sealed: Vec<(String, Vec<u8>)>,
    /// The version of the store that they were read at.
    version: i64,
}

/// The shortest value of a named secret that is looked for in all data, in bytes. Shorter ones are masked in the calls that use them.
const SHORTEST: usize = 8;

impl EnvSecrets {
    pub(super) fn values(&self) -> &[String] {
        &self.values
    }

    fn set_named(&mut self, named: Vec<String>, sealed: Vec<(String, Vec<u8>)>) {
        let named = named.into_iter().filter(|value| value.len() >= SHORTEST && !self.environment.contains(value));
        self.values = self.environment.iter().cloned().chain(named).collect();
        self.finder = Finder::of(&self.values);
        self.sealed = sealed;
    }

    /// The secrets that appear in data to store, in any encoding, and are not sealed yet.
    pub(super) fn exposed_in(&self, packed: &Packed, packing: &Packing) -> Vec<String> {
        let Some(finder) = &self.finder else { return Vec::new() };
        let mut exposed: Vec<usize> = packed.pieces().flat_map(|bytes| finder.secrets_in(bytes)).collect();
        exposed.sort_unstable();
        exposed.dedup();
        let exposed = exposed.into_iter().map(|place| &self.values[place]);
        exposed.filter(|value| !packing.secrets.contains(value)).cloned().collect()
    }
}

impl Host {
    /// Sets the secrets of the environment. A run seals one when it appears in its data.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// let secrets = branchpoint_runners::Secrets::from_values(["pa55word".into()]);
    /// let host = host.with_env_secrets(&secrets);
    /// ```
    #[must_use]
    pub fn with_env_secrets(mut self, secrets: &Secrets) -> Self {
        self.settings.env_secrets = EnvSecrets { environment: secrets.values().to_vec(), ..EnvSecrets::default() };
        // Without the key of the store, no run can use its named secrets.
        let named = self.store.named_secrets_sealed().and_then(|sealed| Ok((self.store.open_named(&sealed)?, sealed)));
        let (named, sealed) = named.unwrap_or_default();
        self.settings.env_secrets.set_named(named, sealed);
        self
    }

    /// Reads the named secrets of the store again, if they have changed.
    pub(super) fn refresh_named_secrets(&mut self) -> Result<(), StoreError> {
        let version = self.store.version()?;
        if std::mem::replace(&mut self.settings.env_secrets.version, version) == version {
            return Ok(());
        }
        let sealed = self.store.named_secrets_sealed()?;
        if sealed == self.settings.env_secrets.sealed {
            return Ok(());
        }
        match self.store.open_named(&sealed) {
            Ok(named) => {
                self.share_values(&named);
                self.settings.env_secrets.set_named(named, sealed);
            }
            // Without the key, no run can use them.
            Err(StoreError::Sealed(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn share_values(&self, values: &[String]) {
        if let Some(shared) = &self.settings.shared_secrets {
            shared.add(values.iter().filter(|value| value.len() >= SHORTEST).cloned());
        }
    }

    /// Adds the sealed secrets of every opened run to a shared set, with which output masks them.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// let host = host.with_shared_secrets(Default::default());
    /// ```
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

    /// Seals more secrets of a run. Its other secrets keep their numbers.
    pub(super) fn seal_more(&mut self, run: RunNo, exposed: Vec<String>) -> Result<(), StoreError> {
        let Some(open) = self.open.get(&run) else { return Ok(()) };
        let secrets: Vec<String> = open.packing.secrets.iter().cloned().chain(exposed).collect();
        // Nothing changes if they cannot be sealed.
        self.seal(run, &secrets)?;
        let packing = Packing::new(secrets.as_slice());
        self.open.get_mut(&run).into_iter().for_each(|open| open.packing = packing.clone());
        self.share_secrets(&packing);
        Ok(())
    }
}
