//! What a call asks with, its secrets filled in: the one way by which tools read their input.

use super::failure::impossible;
use crate::local::SecretStore;
use crate::runner::{Answer, Call};
use crate::secrets::{Secrets, resolve};

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

/// A call with its secrets filled in.
pub(super) struct Asked {
    pub(super) call: Call,
    secrets: Secrets,
}

impl Asked {
    /// Puts the secrets that the call names into it.
    pub(super) fn resolved(call: &Call, store: &SecretStore) -> Result<Self, Answer> {
        let missing = |why: String| impossible(why);
        let (input, known) = resolve(&call.input, &call.definition.secrets, store).map_err(missing)?;
        Ok(Self { call: Call { input, ..call.clone() }, secrets: Secrets::from_values(known) })
    }

    /// The answer, without the secrets that the call was given: whoever repeats them must not bring them into what is kept.
    pub(super) fn masked(&self, answer: Answer) -> Answer {
        self.secrets.mask_answer(answer)
    }
}
