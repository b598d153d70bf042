//! The entries of one step, and which of them are used.

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
    /// Indexes of the entries that have answered a call.
    used: BTreeSet<usize>,
    /// Every position of `open` below this one is used.
    first_unused: usize,
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

    /// The index of the entry for a call: the one recorded for this call, then the first other entry that fits and is unused,
    /// then the last one that fits.
    pub(super) fn take(
        &mut self,
        mut identities: impl Iterator<Item = String>,
        asked: impl FnOnce() -> String,
    ) -> Option<usize> {
        if !self.for_calls.is_empty() {
            let of_call = |identity: String| self.for_calls.get_mut(identity.as_str()).and_then(VecDeque::pop_front);
            if let Some(at) = identities.find_map(of_call) {
                self.used.insert(at);
                return Some(at);
            }
        }
        let at = if self.matches {
            let asked = asked();
            let fitting: Vec<usize> = self.open.iter().copied().filter(|at| fits(&self.entries[*at], &asked)).collect();
            fitting.iter().find(|at| !self.used.contains(at)).or(fitting.last()).copied()?
        } else {
            while self.open.get(self.first_unused).is_some_and(|at| self.used.contains(at)) {
                self.first_unused += 1;
            }
            self.open.get(self.first_unused).or(self.open.last()).copied()?
        };
        self.used.insert(at);
        Some(at)
    }

    /// The entry at an index that [`Self::take`] returned.
    pub(super) fn entry(&self, at: usize) -> &Value {
        &self.entries[at]
    }

    /// The indexes of the used entries, in order.
    pub(super) fn used(&self) -> &BTreeSet<usize> {
        &self.used
    }

    /// Marks an entry as used. Returns false if there is no such entry.
    pub(super) fn mark_used(&mut self, at: usize) -> bool {
        let Some(entry) = self.entries.get(at) else { return false };
        if let Some(Value::Str(call)) = entry.get(CALL)
            && let Some(left) = self.for_calls.get_mut(call)
        {
            left.retain(|other| *other != at);
        }
        self.used.insert(at);
        true
    }

    /// Makes an entry available again, because the call that took it has not ended.
    pub(super) fn give_back(&mut self, at: usize) {
        if !self.used.remove(&at) {
            return;
        }
        self.first_unused = 0;
        if let Some(Value::Str(call)) = self.entries[at].get(CALL) {
            let left = self.for_calls.entry(call.clone()).or_default();
            let place = left.partition_point(|other| *other < at);
            left.insert(place, at);
        }
    }
}

fn fits(entry: &Value, asked: &str) -> bool {
    match entry.get(MATCH).and_then(Value::as_str) {
        // As it stands in JSON, because that is what is searched.
        Some(text) => serde_json::to_string(text).is_ok_and(|text| asked.contains(&text[1..text.len() - 1])),
        None => true,
    }
}
