//! The entries of one step, and which of them were taken.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use branchpoint_expr::Value;

use super::entry::{CALL, MATCH};

#[derive(Clone, Debug, Default)]
pub(super) struct List {
    entries: Vec<Value>,
    /// Entries that are for one call each and were not taken, by its identity.
    for_calls: BTreeMap<Arc<str>, VecDeque<usize>>,
    /// The other entries.
    open: Vec<usize>,
    /// Whether some of those are for calls that were asked with a certain text.
    pub(super) matches: bool,
    /// How many calls the other entries have answered, where they go by order.
    used: usize,
    /// Which of them were taken, where they go by text.
    taken: BTreeSet<usize>,
}

impl List {
    pub(super) fn of(entries: Vec<Value>) -> Self {
        let mut list = Self::default();
        for (at, entry) in entries.iter().enumerate() {
            match entry.get(CALL) {
                Some(Value::Str(call)) => list.for_calls.entry(call.clone()).or_default().push_back(at),
                _ => list.open.push(at),
            }
        }
        list.matches = list.open.iter().any(|at| entries[*at].get(MATCH).is_some());
        Self { entries, ..list }
    }

    /// The texts that entries are for.
    pub(super) fn matches(&self) -> impl Iterator<Item = &str> {
        self.open.iter().filter_map(|at| self.entries[*at].get(MATCH)?.as_str())
    }

    /// The entry for a call: the one that is for it alone, then the first of the others that fits and was not taken, then the last
    /// that fits.
    pub(super) fn take(
        &mut self,
        mut identities: impl Iterator<Item = String>,
        asked: impl FnOnce() -> String,
    ) -> Option<&Value> {
        if !self.for_calls.is_empty() {
            let of_call = |identity: String| self.for_calls.get_mut(identity.as_str()).and_then(VecDeque::pop_front);
            if let Some(at) = identities.find_map(of_call) {
                return self.entries.get(at);
            }
        }
        let at = if self.matches {
            let asked = asked();
            let fitting: Vec<usize> = self.open.iter().copied().filter(|at| fits(&self.entries[*at], &asked)).collect();
            let at = fitting.iter().find(|at| !self.taken.contains(at)).or(fitting.last()).copied()?;
            self.taken.insert(at);
            at
        } else {
            self.used += 1;
            self.open.get(self.used - 1).or(self.open.last()).copied()?
        };
        self.entries.get(at)
    }
}

fn fits(entry: &Value, asked: &str) -> bool {
    match entry.get(MATCH).and_then(Value::as_str) {
        // As it stands in JSON, because that is what is searched.
        Some(text) => serde_json::to_string(text).is_ok_and(|text| asked.contains(&text[1..text.len() - 1])),
        None => true,
    }
}
