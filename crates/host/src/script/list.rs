//! The entries of one step at one place, and which of them are used.

use std::collections::BTreeSet;

use branchpoint_expr::Value;

use super::entry::MATCH;

#[derive(Clone, Debug, Default)]
pub(super) struct List {
    entries: Vec<Value>,
    /// Whether some entries are for calls whose input contains a text.
    pub(super) matches: bool,
    /// Indexes of the entries that have answered a call.
    used: BTreeSet<usize>,
    /// Every entry below this index is used.
    first_unused: usize,
}

impl List {
    pub(super) fn of(entries: Vec<Value>) -> Self {
        let matches = entries.iter().any(|entry| entry.get(MATCH).is_some());
        Self { entries, matches, ..Self::default() }
    }

    /// The texts that entries are for.
    pub(super) fn matches(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|entry| entry.get(MATCH)?.as_str())
    }

    /// Uses the entry for a call and returns its index: the first unused entry that matches, then, if entries repeat, the last one.
    pub(super) fn take(&mut self, repeats: bool, request_text: impl FnOnce() -> String) -> Option<usize> {
        let at = if self.matches {
            let request = request_text();
            let fitting: Vec<usize> =
                (0..self.entries.len()).filter(|at| matches_request(&self.entries[*at], &request)).collect();
            let unused = fitting.iter().find(|at| !self.used.contains(at));
            unused.or(fitting.last().filter(|_| repeats)).copied()?
        } else {
            while self.used.contains(&self.first_unused) {
                self.first_unused += 1;
            }
            let last = self.entries.len().checked_sub(1)?;
            Some(self.first_unused.min(last)).filter(|at| repeats || !self.used.contains(at))?
        };
        self.used.insert(at);
        Some(at)
    }

    /// The entry at an index that [`Self::take`] returned.
    pub(super) fn entry(&self, at: usize) -> &Value {
        &self.entries[at]
    }

    /// Marks an entry as used. Returns it, or none if there is no such entry.
    pub(super) fn mark_used(&mut self, at: usize) -> Option<&Value> {
        let entry = self.entries.get(at)?;
        self.used.insert(at);
        Some(entry)
    }
}

fn matches_request(entry: &Value, request: &str) -> bool {
    match entry.get(MATCH).and_then(Value::as_str) {
        // The request is searched as JSON, so the text is escaped as in JSON.
        Some(text) => serde_json::to_string(text).is_ok_and(|text| request.contains(&text[1..text.len() - 1])),
        None => true,
    }
}
