//! What the environment of this process keeps secret, such as keys of providers. A command may print it; a run in which it comes up
//! seals it from then on, so that the store and whatever is told of the run do not show it.

use aho_corasick::AhoCorasick;

use super::Host;
use crate::secrets::Secrets;
use crate::store::{Packed, Packing, RunNo, Trouble};

/// The values, and what finds all of them at once.
#[derive(Default)]
pub(super) struct Private {
    values: Vec<String>,
    automaton: Option<AhoCorasick>,
}

impl Private {
    /// Those that stand in what is to be stored and are not sealed, each once.
    pub(super) fn found(&self, packed: &Packed, packing: &Packing) -> Vec<String> {
        let Some(automaton) = &self.automaton else { return Vec::new() };
        let mut found: Vec<usize> = packed
            .pieces()
            .flat_map(|bytes| automaton.find_overlapping_iter(bytes).map(|found| found.pattern().as_usize()))
            .collect();
        found.sort_unstable();
        found.dedup();
        let found = found.into_iter().map(|place| &self.values[place]);
        found.filter(|value| !packing.secrets.contains(value)).cloned().collect()
    }
}

impl Host {
    /// Keeps these values out of what is stored: a run seals one when it comes up.
    #[must_use]
    pub fn keeping_private(mut self, secrets: &Secrets) -> Self {
        let values = secrets.values().to_vec();
        let automaton = AhoCorasick::new(&values).expect("what an environment holds is not too much to be looked for");
        self.private = Private { values, automaton: Some(automaton) };
        self
    }

    /// Seals more secrets of a run. Those that it has keep their numbers.
    pub(super) fn seal_too(&mut self, run: RunNo, found: Vec<String>) -> Result<(), Trouble> {
        let Some(open) = self.open.get_mut(&run) else { return Ok(()) };
        let secrets: Vec<String> = open.packing.secrets.iter().cloned().chain(found).collect();
        open.packing = Packing { secrets: secrets.as_slice().into() };
        self.seal(run, &secrets)
    }
}
